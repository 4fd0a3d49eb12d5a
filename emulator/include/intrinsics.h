// Device functions that need no more than C++: atomics, votes, arithmetic, caches. Included by
// cuda_runtime.h.
#pragma once

#include <time.h>

#include "emulator/include/atomic_values.h"

// ---- Atomics: a thread is never interrupted between barriers, so a plain update is atomic ----

// clang-format off
#define EMULATOR_ATOMIC(name, trace, result, Value)                                                                                     \
    template <class T>                                                                                                       \
    EMULATOR_UNTRACED __attribute__((noinline)) T name(T* address, typename emulator::TypeIdentity<T>::type value) {                 \
        emulator::trace(address, sizeof(T), __builtin_return_address(0));                                                    \
        const T old = *address;                                                                                              \
        *address = result;                                                                                                   \
        emulator::Value::note(address, old, T(value), __builtin_return_address(0));                                          \
        return old;                                                                                                          \
    }
#define EMULATOR_TRACED_ATOMICS(name, trace, result, Value)                                                                  \
    EMULATOR_ATOMIC(name, trace, result, Value) EMULATOR_ATOMIC(name##_block, trace, result, Value)                          \
    EMULATOR_ATOMIC(name##_system, trace, result, Value)
#define EMULATOR_ATOMICS(name, result, Value) EMULATOR_TRACED_ATOMICS(name, trace_atomic, result, Value)
EMULATOR_ATOMICS(atomicAdd, old + value, Sum)
EMULATOR_ATOMICS(atomicSub, old - value, NoValue)
EMULATOR_TRACED_ATOMICS(atomicExch, trace_exchange, value, NoValue)
EMULATOR_ATOMICS(atomicMin, value < old ? value : old, Extreme<false>)
EMULATOR_ATOMICS(atomicMax, old < value ? value : old, Extreme<true>)
EMULATOR_ATOMICS(atomicInc, old >= value ? 0 : old + 1, Increment)
EMULATOR_ATOMICS(atomicDec, old == 0 || old > value ? value : old - 1, NoValue)
EMULATOR_ATOMICS(atomicAnd, old & value, NoValue)
EMULATOR_ATOMICS(atomicOr, old | value, NoValue)
EMULATOR_ATOMICS(atomicXor, old ^ value, NoValue)
#undef EMULATOR_ATOMICS
#undef EMULATOR_TRACED_ATOMICS
#undef EMULATOR_ATOMIC
#define EMULATOR_ATOMIC_CAS(name)                                                                                            \
    template <class T>                                                                                                       \
    EMULATOR_UNTRACED __attribute__((noinline)) T name(T* address, typename emulator::TypeIdentity<T>::type expected,                \
                                                       typename emulator::TypeIdentity<T>::type value) {                            \
        emulator::trace_atomic(address, sizeof(T), __builtin_return_address(0));                                             \
        const T old = *address;                                                                                              \
        if (old == expected) *address = value;                                                                               \
        return old;                                                                                                          \
    }
EMULATOR_ATOMIC_CAS(atomicCAS)
EMULATOR_ATOMIC_CAS(atomicCAS_block)
EMULATOR_ATOMIC_CAS(atomicCAS_system)
#undef EMULATOR_ATOMIC_CAS
// clang-format on

namespace emulator {
void note_fence();
void note_grid_wait();
void require(int since, const char* instruction, const char* file, int line);  // warp_calls.h
}  // namespace emulator
inline void __threadfence() { emulator::note_fence(); }
inline void __threadfence_block() {}
inline void __threadfence_system() { emulator::note_fence(); }
inline void cudaGridDependencySynchronize(EMULATOR_SITE) {
    emulator::require(90, "cudaGridDependencySynchronize", file, line);
    emulator::note_grid_wait();
}
// The next launch begins only after this one, whether it is called or not.
inline void cudaTriggerProgrammaticLaunchCompletion(EMULATOR_SITE) {
    emulator::require(90, "cudaTriggerProgrammaticLaunchCompletion", file, line);
}

// ---- Votes ----

namespace emulator {
// The lanes that have reached the call when no thread can go on.
unsigned active_lanes(const char* file, int line);
template <class T>
uint64_t bits_of(T value) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    return bits;
}
}  // namespace emulator

inline unsigned __ballot_sync(unsigned mask, int predicate, EMULATOR_SITE) {
    return emulator::exchange(mask, predicate != 0, emulator::kBallot, "__ballot_sync", file, line);
}
inline int __any_sync(unsigned mask, int predicate, EMULATOR_SITE) {
    return emulator::exchange(mask, predicate != 0, emulator::kBallot, "__any_sync", file, line) !=
           0;
}
inline int __all_sync(unsigned mask, int predicate, EMULATOR_SITE) {
    return emulator::exchange(mask, predicate == 0, emulator::kBallot, "__all_sync", file, line) ==
           0;
}
inline unsigned __activemask(EMULATOR_SITE) { return emulator::active_lanes(file, line); }
template <class T>
unsigned __match_any_sync(unsigned mask, T value, EMULATOR_SITE) {
    return emulator::exchange(mask, emulator::bits_of(value), emulator::kMatch, "__match_any_sync",
                              file, line);
}
template <class T>
unsigned __match_all_sync(unsigned mask, T value, int* same, EMULATOR_SITE) {
    const unsigned like = __match_any_sync(mask, value, file, line);
    *same = like == __ballot_sync(mask, 1, file, line);
    return *same ? like : 0;
}
namespace emulator {
template <class T, class Operation>
T reduce(unsigned mask, T value, Operation operation, const char* name, const char* file,
         int line) {
    const unsigned lanes = unsigned(exchange(mask, 1, kBallot, name, file, line));
    T result{};
    for (int lane = 0, any = 0; lane < 32; ++lane)
        if (lanes >> lane & 1) {
            const T its = shuffle(name, mask, value, lane, 32, file, line);
            result = any++ ? operation(result, its) : its;
        }
    return result;
}
}  // namespace emulator
#define EMULATOR_REDUCE(name, operation)                                              \
    template <class T>                                                                \
    T name(unsigned mask, T value, EMULATOR_SITE) {                                   \
        return emulator::reduce(                                                      \
            mask, value, [](T a, T b) -> T { return operation; }, #name, file, line); \
    }
EMULATOR_REDUCE(__reduce_add_sync, a + b)
EMULATOR_REDUCE(__reduce_min_sync, b < a ? b : a)
EMULATOR_REDUCE(__reduce_max_sync, a < b ? b : a)
EMULATOR_REDUCE(__reduce_and_sync, a& b)
EMULATOR_REDUCE(__reduce_or_sync, a | b)
EMULATOR_REDUCE(__reduce_xor_sync, a ^ b)
#undef EMULATOR_REDUCE

// A barrier that also counts: predicates are added up in a counter of the block.
namespace emulator {
int barrier_count(int predicate, const char* file, int line, int number);
}
#define __syncthreads_count(predicate) \
    emulator::barrier_count((predicate) != 0, __FILE__, __LINE__, __COUNTER__)
#define __syncthreads_or(predicate) \
    (emulator::barrier_count((predicate) != 0, __FILE__, __LINE__, __COUNTER__) != 0)
#define __syncthreads_and(predicate) \
    (emulator::barrier_count((predicate) == 0, __FILE__, __LINE__, __COUNTER__) == 0)

// ---- Memory ----

// clang-format off
#define EMULATOR_LOAD(name) template <class T> __forceinline__ T name(const T* address) { return *address; }
EMULATOR_LOAD(__ldg) EMULATOR_LOAD(__ldcg) EMULATOR_LOAD(__ldca) EMULATOR_LOAD(__ldcs) EMULATOR_LOAD(__ldlu) EMULATOR_LOAD(__ldcv)
#undef EMULATOR_LOAD
#define EMULATOR_STORE(name) template <class T> __forceinline__ void name(T* address, typename emulator::TypeIdentity<T>::type value) { *address = value; }
EMULATOR_STORE(__stcg) EMULATOR_STORE(__stcs) EMULATOR_STORE(__stwb) EMULATOR_STORE(__stwt)
#undef EMULATOR_STORE

// ---- Arithmetic ----

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
    unsigned result = 0;
    for (int i = 0; i < 32; ++i) result |= (x >> i & 1) << (31 - i);
    return result;
}
inline unsigned long long __brevll(unsigned long long x) { return (unsigned long long)__brev(unsigned(x)) << 32 | __brev(unsigned(x >> 32)); }
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned s) {
    const uint64_t bytes = uint64_t(y) << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; ++i) {
        const unsigned selector = s >> 4 * i & 15, byte = unsigned(bytes >> 8 * (selector & 7)) & 255;
        result |= (selector & 8 ? (byte & 128 ? 255u : 0u) : byte) << 8 * i;
    }
    return result;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) { return unsigned((uint64_t(high) << 32 | low) << (by & 31) >> 32); }
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) { return unsigned((uint64_t(high) << 32 | low) >> (by & 31)); }
inline int __mul24(int a, int b) { return int(unsigned(a << 8 >> 8) * unsigned(b << 8 >> 8)); }
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
inline int __mulhi(int a, int b) { return int((int64_t(a) * b) >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((uint64_t(a) * b) >> 32); }
inline long long __mul64hi(long long a, long long b) { return (long long)((__int128(a) * b) >> 64); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return (unsigned long long)(((unsigned __int128)a * b) >> 64); }
inline unsigned __sad(int a, int b, unsigned c) { return c + unsigned(a < b ? int64_t(b) - a : int64_t(a) - b); }
inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return c + (a < b ? b - a : a - b); }
inline int __dp4a(int a, int b, int c) {
    for (int i = 0; i < 4; ++i) c += int8_t(a >> 8 * i) * int8_t(b >> 8 * i);
    return c;
}
EMULATOR_UNTRACED inline unsigned __float_as_uint(float x) { return emulator::last_float_bits = __builtin_bit_cast(unsigned, x); }
inline int __float_as_int(float x) { return int(__float_as_uint(x)); }
inline float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
inline float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
inline long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
inline double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
inline int __double2hiint(double x) { return int(__double_as_longlong(x) >> 32); }
inline int __double2loint(double x) { return int(__double_as_longlong(x)); }
inline double __hiloint2double(int high, int low) { return __longlong_as_double((long long)high << 32 | unsigned(low)); }
#define EMULATOR_TO_INTEGER(from, From, to, To)                                                          \
    inline To __##from##2##to##_rn(From x) { return (To)std::nearbyint(x); }                             \
    inline To __##from##2##to##_rz(From x) { return (To)std::trunc(x); }                                 \
    inline To __##from##2##to##_ru(From x) { return (To)std::ceil(x); }                                  \
    inline To __##from##2##to##_rd(From x) { return (To)std::floor(x); }                                 \
    inline From __##to##2##from##_rn(To x) { return From(x); }
EMULATOR_TO_INTEGER(float, float, int, int) EMULATOR_TO_INTEGER(float, float, uint, unsigned)
EMULATOR_TO_INTEGER(float, float, ll, long long) EMULATOR_TO_INTEGER(float, float, ull, unsigned long long)
EMULATOR_TO_INTEGER(double, double, int, int) EMULATOR_TO_INTEGER(double, double, uint, unsigned)
EMULATOR_TO_INTEGER(double, double, ll, long long) EMULATOR_TO_INTEGER(double, double, ull, unsigned long long)
#undef EMULATOR_TO_INTEGER
inline float __double2float_rn(double x) { return float(x); }
#define EMULATOR_ROUNDED(prefix, T, suffix)                                                              \
    inline T __##prefix##add_##suffix(T a, T b) { return a + b; }                                        \
    inline T __##prefix##sub_##suffix(T a, T b) { return a - b; }                                        \
    inline T __##prefix##mul_##suffix(T a, T b) { return a * b; }                                        \
    inline T __##prefix##div_##suffix(T a, T b) { return a / b; }                                        \
    inline T __##prefix##rcp_##suffix(T a) { return 1 / a; }                                             \
    inline T __##prefix##sqrt_##suffix(T a) { return std::sqrt(a); }
EMULATOR_ROUNDED(f, float, rn) EMULATOR_ROUNDED(d, double, rn)
#undef EMULATOR_ROUNDED
namespace emulator {
// While one of these exists, the host's arithmetic rounds in that direction. What is computed meanwhile goes through volatile
// variables, or the compiler would compute it before or after.
struct Rounding {
    const int before = std::fegetround();
    explicit Rounding(int direction) { std::fesetround(direction); }
    ~Rounding() { std::fesetround(before); }
};
template <class T, class Operation>
__attribute__((noinline)) EMULATOR_UNTRACED T rounded(int direction, volatile T a, volatile T b, volatile T c, Operation operation) {
    const Rounding rounding(direction);
    volatile T result = operation(T(a), T(b), T(c));
    return result;
}
}  // namespace emulator
#define EMULATOR_DIRECTED(T, name, parameters, values, expression)                                        \
    inline T name##_rd parameters { return emulator::rounded<T>(FE_DOWNWARD, EMULATOR_VALUES values, expression); }     \
    inline T name##_ru parameters { return emulator::rounded<T>(FE_UPWARD, EMULATOR_VALUES values, expression); }       \
    inline T name##_rz parameters { return emulator::rounded<T>(FE_TOWARDZERO, EMULATOR_VALUES values, expression); }
#define EMULATOR_VALUES(...) __VA_ARGS__
#define EMULATOR_ALL_DIRECTED(T, prefix, fma_name)                                                        \
    EMULATOR_DIRECTED(T, __##prefix##add, (T a, T b), (a, b, 0), [](T x, T y, T) { return x + y; })        \
    EMULATOR_DIRECTED(T, __##prefix##sub, (T a, T b), (a, b, 0), [](T x, T y, T) { return x - y; })        \
    EMULATOR_DIRECTED(T, __##prefix##mul, (T a, T b), (a, b, 0), [](T x, T y, T) { return x * y; })        \
    EMULATOR_DIRECTED(T, __##prefix##div, (T a, T b), (a, b, 0), [](T x, T y, T) { return x / y; })        \
    EMULATOR_DIRECTED(T, __##prefix##rcp, (T a), (1, a, 0), [](T x, T y, T) { return x / y; })             \
    EMULATOR_DIRECTED(T, __##prefix##sqrt, (T a), (a, 0, 0), [](T x, T, T) { return std::sqrt(x); })       \
    EMULATOR_DIRECTED(T, fma_name, (T a, T b, T c), (a, b, c), [](T x, T y, T z) { return std::fma(x, y, z); })
EMULATOR_ALL_DIRECTED(float, f, __fmaf)
EMULATOR_ALL_DIRECTED(double, d, __fma)
#undef EMULATOR_ALL_DIRECTED
#undef EMULATOR_DIRECTED
#undef EMULATOR_VALUES
inline float __double2float_rd(double x) { return emulator::rounded<double>(FE_DOWNWARD, x, 0, 0, [](double y, double, double) { return float(y); }); }
inline float __double2float_ru(double x) { return emulator::rounded<double>(FE_UPWARD, x, 0, 0, [](double y, double, double) { return float(y); }); }
inline float __double2float_rz(double x) { return emulator::rounded<double>(FE_TOWARDZERO, x, 0, 0, [](double y, double, double) { return float(y); }); }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
inline float __frsqrt_rn(float x) { return 1 / sqrtf(x); }
// Fast math: more exact here than on a GPU.
inline float __fdividef(float a, float b) { return a / b; }
inline float fdividef(float a, float b) { return a / b; }
inline float __expf(float x) { return std::exp(x); }
inline float __exp10f(float x) { return std::pow(10.0f, x); }
inline float __logf(float x) { return std::log(x); }
inline float __log2f(float x) { return std::log2(x); }
inline float __log10f(float x) { return std::log10(x); }
inline float __powf(float x, float y) { return std::pow(x, y); }
inline float __sinf(float x) { return std::sin(x); }
inline float __cosf(float x) { return std::cos(x); }
inline float __tanf(float x) { return std::tan(x); }
inline float __tanhf(float x) { return std::tanh(x); }
inline void __sincosf(float x, float* s, float* c) { *s = std::sin(x); *c = std::cos(x); }
inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1) : 0; }
inline float saturate(float x) { return __saturatef(x); }
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline double rsqrt(double x) { return 1 / std::sqrt(x); }
inline float rcbrtf(float x) { return 1 / std::cbrt(x); }
inline float sinpif(float x) { return float(std::sin(x * M_PI)); }
inline float cospif(float x) { return float(std::cos(x * M_PI)); }
inline double sinpi(double x) { return std::sin(x * M_PI); }
inline double cospi(double x) { return std::cos(x * M_PI); }
inline void sincospif(float x, float* s, float* c) { *s = sinpif(x); *c = cospif(x); }
inline float normcdff(float x) { return float(std::erfc(-x * M_SQRT1_2) / 2); }
inline double normcdf(double x) { return std::erfc(-x * M_SQRT1_2) / 2; }
inline float norm3df(float a, float b, float c) { return std::sqrt(a * a + b * b + c * c); }
inline long long clock64() { return (long long)clock(); }  // nanoseconds: device.cpp
inline unsigned umin(unsigned a, unsigned b) { return b < a ? b : a; }
inline unsigned umax(unsigned a, unsigned b) { return a < b ? b : a; }
inline void __nanosleep(unsigned) {}
inline void __trap(EMULATOR_SITE) { emulator::trap(file, line); }
#define __brkpt()
#define __builtin_assume(condition) ((void)0)
#define __assume(condition) ((void)0)
// clang-format on

// half and half2 of CUDA's cuda_fp16.h, in software: rounded to nearest even, with subnormals,
// infinities and NaN.
#pragma once

#include "cuda_runtime.h"  // from this folder, wherever this file is included
#include "half_sums.h"

namespace emulator {

// rounded: a result, rounded to its type. error: what the rounding lost. Returns the result rounded
// to odd (towards zero, with the last bit set). Rounding that once more, to a narrower type, gives
// the same as a single rounding.
template <class Bits, class Float>
__forceinline__ Float to_odd(Float rounded, double error) {
    if (!(error < 0 || error > 0)) return rounded;  // exact, infinite or NaN
    Bits bits = __builtin_bit_cast(Bits, rounded);
    if ((error > 0) == std::signbit(rounded)) --bits;
    return __builtin_bit_cast(Float, bits | 1);
}
__forceinline__ float odd_float(double x) {
    return to_odd<uint32_t>(float(x), x - double(float(x)));
}
// a * b must be exact in double.
inline float odd_fma(double a, double b, double c) {
    const double product = a * b, sum = product + c, part = sum - product;
    return odd_float(to_odd<uint64_t>(sum, (product - (sum - part)) + (c - part)));
}

// A half: sign, 5 bits of exponent (bias 15), 10 of mantissa. A float: sign, 8 (bias 127), 23.
__forceinline__ float half_to_float(uint16_t half) {
    const uint32_t sign = uint32_t(half & 0x8000) << 16, rest = half & 0x7fff;
    if (rest < 0x0400) {  // subnormal
        const uint32_t bits = __builtin_bit_cast(uint32_t, float(rest) * 0x1p-24f);
        return __builtin_bit_cast(float, sign | bits);
    }
    // Infinity and NaN have the largest exponent.
    const uint32_t bias = rest < 0x7c00 ? 127 - 15 : 255 - 31;
    return __builtin_bit_cast(float, sign | ((rest << 13) + (bias << 23)));
}
__forceinline__ uint16_t float_to_half(float x) {
    const uint32_t bits = __builtin_bit_cast(uint32_t, x), sign = bits >> 16 & 0x8000,
                   rest = bits & 0x7fffffff;
    if (rest > 0x7f800000)
        return sign | 0x7c00 |
               ((rest >> 13 & 0x3ff) ? rest >> 13 & 0x3ff : 0x200);  // NaN stays NaN
    if (rest >= 0x47800000) return sign | 0x7c00;  // 65536 and more
    if (rest < 0x38800000) {  // below 2^-14
        // In the sum with 0.5, a float's last bit is worth 2^-24, as that of a subnormal half is.
        const float sum = __builtin_bit_cast(float, rest) + 0.5f;
        return sign | (__builtin_bit_cast(uint32_t, sum) - __builtin_bit_cast(uint32_t, 0.5f));
    }
    const uint32_t rebiased = rest - ((127u - 15) << 23);
    // A carry goes into the exponent, and in the end to infinity.
    return sign | ((rebiased + 0xfff + (rebiased >> 13 & 1)) >> 13);
}

// What half and __nv_bfloat16 share. A float has more than twice their bits, so that + - *
// / of floats, rounded again, are correctly rounded. What adds is inlined, so that it is noted where
// the user's code adds.
template <class T>
struct SmallFloat {
    __forceinline__ friend T operator+(T a, T b) { return noted<T>(float(a) + float(b), a, b); }
    __forceinline__ friend T operator-(T a, T b) { return noted<T>(float(a) - float(b), a, -b); }
    friend T operator*(T a, T b) { return float(a) * float(b); }
    friend T operator/(T a, T b) { return float(a) / float(b); }
    friend T operator+(T a) { return a; }
    friend T operator-(T a) {
        a.__x ^= 0x8000;
        return a;
    }
    __forceinline__ friend T& operator+=(T& a, T b) { return a = a + b; }
    __forceinline__ friend T& operator-=(T& a, T b) { return a = a - b; }
    friend T& operator*=(T& a, T b) { return a = a * b; }
    friend T& operator/=(T& a, T b) { return a = a / b; }
    friend bool operator==(T a, T b) { return float(a) == float(b); }
    friend bool operator!=(T a, T b) { return float(a) != float(b); }
    friend bool operator<(T a, T b) { return float(a) < float(b); }
    friend bool operator>(T a, T b) { return float(a) > float(b); }
    friend bool operator<=(T a, T b) { return float(a) <= float(b); }
    friend bool operator>=(T a, T b) { return float(a) >= float(b); }
    __forceinline__ friend T __hadd(T a, T b) { return a + b; }
    __forceinline__ friend T __hsub(T a, T b) { return a - b; }
    friend T __hmul(T a, T b) { return a * b; }
    friend T __hdiv(T a, T b) { return a / b; }
    friend T __hneg(T a) { return -a; }
    __forceinline__ friend T __hfma(T a, T b, T c) {
        return noted<T>(odd_fma(float(a), float(b), float(c)), float(a) * float(b), c);
    }
    friend bool __heq(T a, T b) { return a == b; }
    friend bool __hne(T a, T b) { return a < b || a > b; }  // false for NaN, unlike !=
    friend bool __hlt(T a, T b) { return a < b; }
    friend bool __hgt(T a, T b) { return a > b; }
    friend bool __hle(T a, T b) { return a <= b; }
    friend bool __hge(T a, T b) { return a >= b; }
    friend T __hmax(T a, T b) { return a != a || a < b ? b : a; }  // a number wins over NaN
    friend T __hmin(T a, T b) { return a != a || b < a ? b : a; }
    friend T __habs(T a) {
        a.__x &= 0x7fff;
        return a;
    }
    friend T hexp(T a) { return std::exp(float(a)); }
    friend T hlog(T a) { return std::log(float(a)); }
    friend T hsqrt(T a) { return std::sqrt(float(a)); }
    friend T hrsqrt(T a) { return 1 / std::sqrt(float(a)); }
    friend T hrcp(T a) { return 1 / float(a); }
    friend T htanh(T a) { return std::tanh(float(a)); }
    friend bool __hisnan(T a) { return float(a) != float(a); }
};

// A number before it is rounded to half: an int or a double is rounded once, not first to a float.
template <class T>
__forceinline__ float before_rounding(T x) {
    if constexpr (std::is_same_v<T, float>) return x;
    else return odd_float(double(x));
}

}  // namespace emulator

struct __half : emulator::SmallFloat<__half> {
    static constexpr int kBits = 11;  // of a number
    uint16_t __x;
    __half() = default;
    template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
    __forceinline__ __half(T x) : __x(emulator::float_to_half(emulator::before_rounding(x))) {}
    __forceinline__ operator float() const { return emulator::half_to_float(__x); }
};
using half = __half;

inline half __ushort_as_half(unsigned short bits) {
    half h;
    h.__x = bits;
    return h;
}
inline unsigned short __half_as_ushort(half h) { return h.__x; }
inline half __float2half(float x) { return x; }
inline half __float2half_rn(float x) { return x; }
inline half __double2half(double x) { return x; }
inline float __half2float(half h) { return h; }

namespace emulator {

// Two elements in a register, copied as a whole: see vector_types.h.
template <class T>
struct alignas(4) Pair {
    typedef uint32_t __attribute__((may_alias)) Whole;
    T x, y;
    Pair() = default;
    Pair(T x, T y) : x(x), y(y) {}
    // Inlined, so that the copy is not traced where a launch copies its arguments.
    EMULATOR_NODEBUG __attribute__((always_inline)) Pair(const Pair& other) { *this = other; }
    EMULATOR_NODEBUG __attribute__((always_inline)) Pair& operator=(const Pair& other) {
        reinterpret_cast<Whole&>(*this) = reinterpret_cast<const Whole&>(other);
        return *this;
    }
};

}  // namespace emulator

using __half2 = emulator::Pair<half>;
using half2 = __half2;

inline half2 __halves2half2(half low, half high) { return {low, high}; }
inline half2 make_half2(half x, half y) { return {x, y}; }
inline half2 __half2half2(half h) { return {h, h}; }
inline half2 __float2half2_rn(float x) { return {x, x}; }
inline half2 __floats2half2_rn(float low, float high) { return {low, high}; }
inline half2 __float22half2_rn(float2 v) { return {v.x, v.y}; }
inline float2 __half22float2(half2 v) { return {v.x, v.y}; }
inline half __low2half(half2 v) { return v.x; }
inline half __high2half(half2 v) { return v.y; }
inline float __low2float(half2 v) { return v.x; }
inline float __high2float(half2 v) { return v.y; }
inline half2 __low2half2(half2 v) { return {v.x, v.x}; }
inline half2 __high2half2(half2 v) { return {v.y, v.y}; }
inline half2 __lows2half2(half2 a, half2 b) { return {a.x, b.x}; }
inline half2 __highs2half2(half2 a, half2 b) { return {a.y, b.y}; }
namespace emulator {
#define EMULATOR_PAIRS(name, expression)                 \
    template <class T>                                   \
    __forceinline__ Pair<T> name(Pair<T> a, Pair<T> b) { \
        return {a.x expression b.x, a.y expression b.y}; \
    }
// clang-format off
EMULATOR_PAIRS(operator+, +) EMULATOR_PAIRS(operator-, -) EMULATOR_PAIRS(operator*, *) EMULATOR_PAIRS(operator/, /)
EMULATOR_PAIRS(__hadd2, +) EMULATOR_PAIRS(__hsub2, -) EMULATOR_PAIRS(__hmul2, *) EMULATOR_PAIRS(__h2div, /)
#undef EMULATOR_PAIRS
template <class T> Pair<T> operator-(Pair<T> a) { return {-a.x, -a.y}; }
template <class T> Pair<T> __hneg2(Pair<T> a) { return -a; }
template <class T> __forceinline__ Pair<T>& operator+=(Pair<T>& a, Pair<T> b) { return a = a + b; }
template <class T> __forceinline__ Pair<T>& operator-=(Pair<T>& a, Pair<T> b) { return a = a - b; }
template <class T> Pair<T>& operator*=(Pair<T>& a, Pair<T> b) { return a = a * b; }
template <class T> Pair<T>& operator/=(Pair<T>& a, Pair<T> b) { return a = a / b; }
template <class T> bool operator==(Pair<T> a, Pair<T> b) { return a.x == b.x && a.y == b.y; }
// As in CUDA, true if both elements differ.
template <class T> bool operator!=(Pair<T> a, Pair<T> b) { return a.x != b.x && a.y != b.y; }
template <class T> __forceinline__ Pair<T> __hfma2(Pair<T> a, Pair<T> b, Pair<T> c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }
template <class T> Pair<T> __hmax2(Pair<T> a, Pair<T> b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }
template <class T> Pair<T> __hmin2(Pair<T> a, Pair<T> b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }
// clang-format on
}  // namespace emulator

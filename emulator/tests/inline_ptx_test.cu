// asm statements, traced: what the instructions compute, after the PTX ISA; operands, macros,
// predicates, loops; what the trace reports and counts; what is refused.
#include <cuda_bf16.h>

#include "device.h"

namespace {

class InlinePtx : public Base {};
using Words = std::vector<unsigned>;

// What a kernel of one block stores.
template <class Kernel>
Words words(const Kernel& kernel, unsigned count, unsigned threads = 1) {
    Device<unsigned> out(count, 0);
    kernel<<<1, threads>>>(out.data);
    return out.host();
}

// Macros that store an instruction's result, as many repositories have them.
#define OF_ONE(instruction, a)                               \
    do {                                                     \
        unsigned result;                                     \
        asm(instruction " %0, %1;" : "=r"(result) : "r"(a)); \
        *out++ = result;                                     \
    } while (0)
#define OF_TWO(instruction, a, b)                                        \
    do {                                                                 \
        unsigned result;                                                 \
        asm(instruction " %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b)); \
        *out++ = result;                                                 \
    } while (0)
#define OF_THREE(instruction, a, b, c)                                               \
    do {                                                                             \
        unsigned result;                                                             \
        asm(instruction " %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c)); \
        *out++ = result;                                                             \
    } while (0)

// ---- In registers -------------------------------------------------------------------------------

__global__ void integers(unsigned* out) {
    OF_TWO("add.s32", 5, -7);
    OF_TWO("sub.u32", 5, 7);
    OF_TWO("mul.lo.u32", 0x10001u, 0x10001u);
    OF_TWO("mul.hi.u32", 0x80000000u, 6);
    OF_TWO("mul.hi.s32", -2, 3);
    OF_TWO("div.s32", -7, 2);
    OF_TWO("rem.u32", 7, 4);
    OF_TWO("min.s32", -1, 1);
    OF_TWO("min.u32", -1, 1);
    OF_TWO("max.s32", -1, 1);
    OF_THREE("mad.lo.s32", 3, -4, 5);
    OF_THREE("sad.u32", 3, 9, 1);
    OF_ONE("abs.s32", -3);
    OF_ONE("neg.s32", 3);
    OF_THREE("dp4a.s32.s32", 0x01ff02fe, 0x02030405, 10);
    OF_THREE("dp4a.u32.u32", 0x01ff02fe, 0x02030405, 10);
    long long wide;
    asm("mul.wide.s32 %0, %1, %2;" : "=l"(wide) : "r"(-3), "r"(1 << 30));
    *out++ = unsigned(wide >> 20);
    asm("add.s64 %0, %0, %1;" : "+l"(wide) : "l"(1ll << 40));
    *out++ = unsigned(wide >> 20);
}
TEST_F(InlinePtx, Integers) {
    EXPECT_EQ(words(integers, 18),
              (Words{-2u, -2u, 0x20001, 3, -1u, -3u, 3, -1u, 1, 1, -7u, 7, 3, -3u,
                     unsigned(10 + 2 - 3 + 8 - 10), 10 + 2 + 765 + 8 + 1270, -3u << 10,
                     (1 << 20) - (3 << 10)}));
    expect_silence();
}

__global__ void bits(unsigned* out) {
    OF_TWO("and.b32", 12, 10);
    OF_TWO("or.b32", 12, 10);
    OF_TWO("xor.b32", 12, 10);
    OF_ONE("not.b32", 0xffff0000);
    OF_TWO("shl.b32", 3, 4);
    OF_TWO("shl.b32", 3, 32);  // everything is shifted out
    OF_TWO("shr.u32", 0x80000000, 31);
    OF_TWO("shr.s32", 0x80000000, 40);
    OF_THREE("shf.l.wrap.b32", 0x80000001, 0x7, 33);
    OF_THREE("shf.r.clamp.b32", 0x80000000, 0x7, 40);
    OF_THREE("bfe.u32", 0xabcd, 4, 8);
    OF_THREE("bfe.s32", 0xabcd, 4, 8);
    OF_ONE("brev.b32", 1);
    OF_ONE("clz.b32", 0x00ff0000);
    OF_ONE("popc.b32", 0xf0f0);
    OF_THREE("prmt.b32", 0x33221100, 0x77665544, 0x7420);
    unsigned result;
    asm("lop3.b32 %0, %1, %2, %3, 0xe2;" : "=r"(result) : "r"(0xf0), "r"(0xcc), "r"(0xaa));
    *out++ = result;  // of these three numbers it is the table
    asm("bfi.b32 %0, %1, %2, 8, 4;" : "=r"(result) : "r"(0xf), "r"(0x111111));
    *out++ = result;
}
TEST_F(InlinePtx, Bits) {
    EXPECT_EQ(words(bits, 18), (Words{8, 14, 6, 0xffff, 48, 0, 1, 0xffffffff, 0xf, 7, 0xbc,
                                      0xffffffbc, 0x80000000, 8, 8, 0x77442200, 0xe2, 0x111f11}));
    expect_silence();
}

__global__ void reals(float* out) {
    float x = 0;
    asm("fma.rn.f32 %0, %1, %2, 0f3f800000;" : "=f"(x) : "f"(1 + 0x1p-12f), "f"(1 - 0x1p-12f));
    *out++ = x;  // 2 - 2^-24, rounded once
    asm("add.f32 %0, %1, 1.5;" : "=f"(x) : "f"(2.f));
    *out++ = x;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(x) : "f"(3.f));
    *out++ = x;
    asm("rcp.approx.f32 %0, %1;" : "=f"(x) : "f"(4.f));
    *out++ = x;
    asm("max.f32 %0, %1, %2;" : "=f"(x) : "f"(NAN), "f"(4.f));
    *out++ = x;
    unsigned tf32;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(tf32) : "f"(1 + 0x1p-11f));
    *out++ = __uint_as_float(tf32);
    asm("cvt.rn.f32.s32 %0, %1;" : "=f"(x) : "r"(-7));
    *out++ = x;
    int whole;
    asm("cvt.rzi.s32.f32 %0, %1;" : "=r"(whole) : "f"(-2.7f));
    *out++ = float(whole);
    asm("cvt.rni.sat.u8.f32 %0, %1;" : "=r"(whole) : "f"(300.f));
    *out++ = float(whole);
    unsigned pair, sum;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(2.f), "f"(1.f));  // the upper half first
    asm("{fma.rn.f16x2 %0, %1, %1, %1;}" : "=r"(sum) : "r"(pair));
    *out++ = __low2float(reinterpret_cast<half2&>(sum));
    *out++ = __high2float(reinterpret_cast<half2&>(sum));
    unsigned short half_of_it;
    asm("{.reg .b16 low; mov.b32 {low, %0}, %1;}" : "=h"(half_of_it) : "r"(sum));
    *out++ = __half2float(__ushort_as_half(half_of_it));
    double d;
    asm("fma.rn.f64 %0, %1, %1, %2;" : "=d"(d) : "d"(3.0), "d"(0.5));
    *out++ = float(d);
}
TEST_F(InlinePtx, Reals) {
    Device<float> out(13, 0.f);
    reals<<<1, 1>>>(out.data);
    EXPECT_EQ(out.host(),
              (std::vector<float>{2, 3.5, 8, .25, 4, 1 + 0x1p-10f, -7, -2, 255, 2, 6, 6, 9.5}));
    expect_silence();
}

__global__ void conversions(double* out) {
    float f;
    double d;
    int i;
    unsigned u;
    long long l;
    unsigned long long v;
    const long long large = (1ll << 60) + (1ll << 36) + 1;  // just above halfway
    asm("cvt.rn.f32.s64 %0, %1;" : "=f"(f) : "l"(large));
    *out++ = f;
    asm("cvt.rz.f32.s64 %0, %1;" : "=f"(f) : "l"(large));
    *out++ = f;
    asm("cvt.rz.f32.s32 %0, %1;" : "=f"(f) : "r"(INT_MAX));
    *out++ = f;
    asm("cvt.rm.f32.f64 %0, %1;" : "=f"(f) : "d"(1 + 0x1p-30));
    *out++ = f;
    asm("cvt.rp.f32.f64 %0, %1;" : "=f"(f) : "d"(1 + 0x1p-30));
    *out++ = f;
    asm("cvt.rm.f32.f64 %0, %1;" : "=f"(f) : "d"(-1 - 0x1p-30));
    *out++ = f;
    asm("cvt.rp.f32.f64 %0, %1;" : "=f"(f) : "d"(-1 - 0x1p-30));
    *out++ = f;
    asm("cvt.rn.f64.u64 %0, %1;" : "=d"(d) : "l"(~0ull));
    *out++ = d;
    asm("cvt.rz.f64.u64 %0, %1;" : "=d"(d) : "l"(~0ull));
    *out++ = d;
    asm("cvt.rzi.s32.f32 %0, %1;" : "=r"(i) : "f"(NAN));
    *out++ = i;
    asm("cvt.rzi.s64.f32 %0, %1;" : "=l"(l) : "f"(NAN));
    *out++ = double(l);
    asm("cvt.rzi.s32.f64 %0, %1;" : "=r"(i) : "d"(double(NAN)));
    *out++ = i;
    asm("cvt.rzi.u32.f64 %0, %1;" : "=r"(u) : "d"(double(NAN)));
    *out++ = u;
    asm("cvt.sat.s32.u64 %0, %1;" : "=r"(i) : "l"(1ull << 63));
    *out++ = i;
    asm("cvt.sat.u32.u64 %0, %1;" : "=r"(u) : "l"(1ull << 63));
    *out++ = u;
    asm("cvt.sat.s64.u64 %0, %1;" : "=l"(l) : "l"(1ull << 63));
    *out++ = double(l);
    asm("cvt.sat.u64.s64 %0, %1;" : "=l"(v) : "l"(-1ll));
    *out++ = double(v);
    asm("cvt.ftz.f64.f32 %0, %1;" : "=d"(d) : "f"(0x1p-130f));
    *out++ = d;
    asm("cvt.rn.ftz.f32.f64 %0, %1;" : "=f"(f) : "d"(-0x1p-130));
    *out++ = f;
}
TEST_F(InlinePtx, Conversions) {
    Device<double> out(19, 0.);
    conversions<<<1, 1>>>(out.data);
    const std::vector<double> expected = {0x1p60 + 0x1p37,
                                          0x1p60,
                                          0x1p31 - 128,
                                          1,
                                          1 + 0x1p-23,
                                          -1 - 0x1p-23,
                                          -1,
                                          0x1p64,
                                          0x1p64 - 2048,
                                          0,
                                          -0x1p63,
                                          -0x1p31,
                                          0x1p31,
                                          0x1p31 - 1,
                                          0x1p32 - 1,
                                          0x1p63,
                                          0,
                                          0,
                                          0};
    EXPECT_EQ(out.host(), expected);
    expect_silence();
}

__global__ void to_tf32(unsigned* out) {
    const auto convert = [&](float x) {
        asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(*out++) : "f"(x));
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(*out++) : "f"(x));
        asm("cvt.rz.tf32.f32 %0, %1;" : "=r"(*out++) : "f"(x));
    };
    convert(1 + 0x1p-11f);  // halfway to 1 + 2^-10, which is odd
    convert(1 + 0x1p-10f + 0x1p-11f);
    convert(__uint_as_float(0x7fffffff));  // NaN
}
TEST_F(InlinePtx, RoundsToTf32) {
    Words found = words(to_tf32, 9);
    for (int i = 6; i < 9; ++i) EXPECT_TRUE(std::isnan(__uint_as_float(found[i])));
    found.resize(6);
    EXPECT_EQ(found,
              (Words{0x3f800000, 0x3f802000, 0x3f800000, 0x3f804000, 0x3f804000, 0x3f802000}));
    expect_silence();
}

__global__ void limits(unsigned* out) {
    OF_TWO("add.sat.s32", INT_MAX, 1);
    OF_TWO("add.s32", INT_MAX, 1);
    OF_TWO("sub.sat.s32", INT_MIN, 1);
    OF_THREE("mad.hi.sat.s32", 1 << 30, 1 << 30, INT_MAX - 3);
    OF_TWO("min.f32", 0, 0x80000000);  // of +0 and -0
    OF_TWO("min.f32", 0x80000000, 0);
    OF_TWO("max.f32", 0, 0x80000000);
    OF_TWO("max.f32", 0x80000000, 0);
    OF_TWO("add.ftz.f32", 0x80000001, 0x80000001);  // subnormal
    OF_TWO("add.f32", 0x80000001, 0x80000001);
    unsigned long long sum;
    asm("sad.u64 %0, %1, %2, %3;" : "=l"(sum) : "l"(1ull), "l"((1ull << 63) + 2), "l"(0ull));
    *out++ = unsigned(sum >> 63);
}
TEST_F(InlinePtx, LimitsOfTypes) {
    EXPECT_EQ(words(limits, 11), (Words{INT_MAX, 1u << 31, 1u << 31, INT_MAX, 1u << 31, 1u << 31, 0,
                                        0, 1u << 31, 0x80000002, 1}));
    expect_silence();
}

// ---- Operands, registers, branches --------------------------------------------------------------

template <int n>
__global__ void operands(unsigned* out) {
    unsigned a = 5, b = 0;
    asm volatile("mov.u32 %0, %1;" : "=r"(b) : "r"(a) : "memory");
    out[0] = b;
    asm("add.u32 %0, %0, %1;  // a comment" : "+r"(a) : "n"(n));
    out[1] = a;
    asm("{\n\t.reg .b32 %%sum, t<2>;\n\t"
        "add.u32 t0, %1, 1; mov.b32 t1, -1;  /* another */\n\t"
        "add.u32 %%sum, t0, t1;\n\t"
        "mov.u32 %0, %%sum;\n\t}"
        : "=r"(b)
        : "r"(a));
    out[2] = b;
    unsigned short narrow = 0xffff;
    asm("cvt.u32.u16 %0, %1;" : "=r"(b) : "h"(narrow));
    out[3] = b;
    asm volatile("" ::: "memory");
}
TEST_F(InlinePtx, Operands) {
    EXPECT_EQ(words(operands<7>, 4), (Words{5, 12, 12, 0xffff}));
    expect_silence();
}

__global__ void branches(unsigned* out) {
    unsigned sum = 0, chosen;
    asm("{\n"
        ".reg .pred p, q;\n"
        ".reg .u32 i;\n"
        "mov.u32 i, 0;\n"
        "AGAIN:\n"
        "add.u32 %0, %0, i;\n"
        "add.u32 i, i, 1;\n"
        "setp.lt.u32 p|q, i, %1;\n"
        "@p bra.uni AGAIN;\n"
        "@!q add.u32 %0, %0, 1000;\n"
        "}\n"
        : "+r"(sum)
        : "r"(threadIdx.x + 1));
    out[threadIdx.x * 2] = sum;
    asm("{.reg .pred p, q; setp.gt.s32 p, %1, 1; setp.eq.and.s32 q, %1, 3, p;\n"
        " selp.b32 %0, 10, 20, q;}"
        : "=r"(chosen)
        : "r"(threadIdx.x));
    out[threadIdx.x * 2 + 1] = chosen;
}
TEST_F(InlinePtx, PredicatesAndBranches) {
    EXPECT_EQ(words(branches, 8, 4), (Words{0, 20, 1, 20, 3, 20, 6, 10}));
    expect_silence();
}

__global__ void registers(unsigned* out) {
    unsigned x[6];
    asm("mov.u32 %0, %laneid;" : "=r"(x[0]));
    asm("mov.u32 %0, %%warpid;" : "=r"(x[1]) :);
    asm("mov.u32 %0, %%tid.y;" : "=r"(x[2]));
    asm("mov.u32 %0, %ctaid.x;" : "=r"(x[3]));
    asm("mov.u32 %0, %lanemask_le;" : "=r"(x[4]));
    asm("mov.u32 %0, %cluster_nctarank;" : "=r"(x[5]));
    const int thread = threadIdx.y * 32 + threadIdx.x;
    for (int i = 0; i < 6; ++i) out[thread * 6 + i] = x[i];
}
TEST_F(InlinePtx, SpecialRegisters) {
    Device<unsigned> out(64 * 6, 0);
    registers<<<1, dim3(32, 2)>>>(out.data);
    const Words all = out.host();
    EXPECT_EQ(Words(&all[35 * 6], &all[36 * 6]), (Words{3, 1, 1, 0, 15, 1}));
    expect_silence();
}

// ---- Memory -------------------------------------------------------------------------------------

__device__ unsigned shared(const void* pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

enum Mistake { kFine, kNoBarrier, kPastEnd, kMisaligned, kPointer, kGlobalPastEnd, kIntoArray };
__global__ void access(Mistake mistake, const float4* in, float* out) {
    __shared__ float4 s[32];
    const int t = threadIdx.x;
    float4 v;
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%0, %1, %2, %3}, [%4];"  // @load
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "l"(in + t + (mistake == kGlobalPastEnd)));
    unsigned to = shared(&s[t]) + (mistake == kPastEnd ? 16 : 0) + (mistake == kMisaligned ? 4 : 0);
    if (mistake == kPointer) to = unsigned(reinterpret_cast<size_t>(&s[t]));
    asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};"  // @store
                 ::"r"(to),
                 "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w)
                 : "memory");
    if (mistake != kNoBarrier) __syncthreads();
    float x = 0, y = 0;
    asm volatile("{.reg .u64 at; cvta.to.shared.u64 at, %1; ld.shared.f32 %0, [at + 12];}"  // @read
                 : "=f"(x)
                 : "l"(&s[31 - t]));
    asm volatile("ld.f32 %0, [%1];" : "=f"(y) : "l"(&s[31 - t]));  // a generic address
    if (mistake == kIntoArray) asm volatile("mov.b32 %0, %1;" : "=f"(s[0].x) : "f"(x));  // @into
    asm volatile("st.global.cs.f32 [%0+128], %1;" ::"l"(out + t), "f"(x));
    asm volatile("st.global.f32 [%0], %1;" ::"l"(out + t), "f"(y));
}

TEST_F(InlinePtx, LoadsAndStoresAreTraced) {
    std::vector<float4> numbers(32);
    for (int i = 0; i < 32; ++i) numbers[i] = {float(i), 0, 0, float(100 + i)};
    Device<float4> in(numbers);
    Device<float> out(64, 0.f);
    in_every_order([&] {
        access<<<1, 32>>>(kFine, in.data, out.data);
        const std::vector<float> found = out.host();
        EXPECT_EQ(found[1], 30);
        EXPECT_EQ(found[33], 130);
        EXPECT_EQ(global_loads(), (Traffic{1, 16, 0, 512}));
        EXPECT_EQ(shared_stores(), (Traffic{1, 4, 4, 512}));
        expect_silence();
        access<<<1, 32>>>(kNoBarrier, in.data, out.data);
        expect_some(race("shared", "@store writes", "@read reads"));
        access<<<1, 32>>>(kIntoArray, in.data, out.data);
        expect_some({"race in shared memory: ..@into writes"});
    });
    access<<<1, 32>>>(kPastEnd, in.data, out.data);
    expect_failure({"out of bounds: @store writes 16 bytes, just past the end of s"},
                   cudaErrorIllegalAddress);
    access<<<1, 32>>>(kGlobalPastEnd, in.data, out.data);
    expect_failure({"out of bounds: @load reads 16 bytes, just past the end of 512 bytes"},
                   cudaErrorIllegalAddress);
    access<<<1, 32>>>(kMisaligned, in.data, out.data);
    expect_failure({"misaligned: @store writes 16 bytes"}, cudaErrorMisalignedAddress);
    access<<<1, 32>>>(kPointer, in.data, out.data);
    expect_failure(
        {"st: that is not a shared-memory address..__cvta_generic_to_shared..at @store"});
}

__global__ void atomics(unsigned* all, float* real, unsigned* old) {
    const unsigned t = threadIdx.x;
    unsigned before;
    asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(all), "r"(1));
    old[t] = before;
    asm volatile("red.relaxed.gpu.global.max.u32 [%0], %1;" ::"l"(all + 1), "r"(t));
    asm volatile("atom.cas.b32 %0, [%1], 7, %2;" : "=r"(before) : "l"(all + 2), "r"(9));
    asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" ::"l"(real), "f"(1.f), "f"(float(t)));
}
TEST_F(InlinePtx, Atomics) {
    Device<unsigned> all(Words{0, 0, 7}), old(4, 0);
    Device<float> real(2, 0.f);
    atomics<<<1, 4>>>(all.data, real.data, old.data);
    EXPECT_EQ(all.host(), (Words{4, 3, 9}));
    EXPECT_EQ(old.host(), (Words{0, 1, 2, 3}));
    EXPECT_EQ(real.host(), (std::vector<float>{4, 6}));
    expect_silence();
}

// One block writes, and another one that waits for a flag reads, or so it hopes.
__global__ void flag(bool releases, int* data, unsigned* ready) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        data[0] = 5;  // @data
        if (releases) asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(ready) : "memory");
        else asm volatile("st.relaxed.gpu.global.u32 [%0], 1;" ::"l"(ready) : "memory");
    } else {
        unsigned set;
        do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(set) : "l"(ready) : "memory");
        while (!set);
        data[1] = data[0];  // @copy
    }
}
TEST_F(InlinePtx, ReleaseAndAcquireOrder) {
    for (const bool releases : {true, false}) {
        Device<int> data(2, 0);
        Device<unsigned> ready(1, 0);
        flag<<<2, 32>>>(releases, data.data, ready.data);
        if (releases) expect_silence();
        else expect_problem(race("global", "@data writes", "@copy reads"));
    }
}

enum Copy { kWaits, kWaitsForOneLess, kNoWait };
__global__ void copy(Copy how, const float* in, float* out) {
    __shared__ alignas(16) float s[2][128];
    const int t = threadIdx.x;
    for (int stage = 0; stage < 2; ++stage) {
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], %2;\n"  // @copy
                     ::"r"(shared(&s[stage][4 * t])),
                     "l"(in + 4 * t), "n"(16));
        asm volatile("cp.async.commit_group;\n" ::);
    }
    if (how == kWaits) asm volatile("cp.async.wait_group 0;" ::: "memory");
    if (how == kWaitsForOneLess) asm volatile("cp.async.wait_group %0;" ::"n"(1) : "memory");
    __syncthreads();
    for (int i = 0; i < 4; ++i) out[4 * t + i] = s[1][127 - 4 * t - i];  // @use
}
__global__ void partial_copies(const float* in, float* out) {
    __shared__ float4 s[3];
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(shared(&s[0])), "l"(in),
                 "r"(4));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared(&s[1])), "l"(in));
    asm volatile(
        "{.reg .pred p; setp.ne.b32 p, %2, 0;\n"
        "@p cp.async.cg.shared.global [%0], [%1], 16;}" ::"r"(shared(&s[2])),
        "l"(in), "r"(0));
    asm volatile("cp.async.wait_all;");
    out[0] = s[0].x, out[1] = s[0].y, out[2] = s[1].x;
}
TEST_F(InlinePtx, AsyncCopies) {
    Device<float> in(128, 3.f), out(128, 0.f);
    in_every_order([&] {
        copy<<<1, 32>>>(kWaits, in.data, out.data);
        EXPECT_EQ(out.host(), std::vector<float>(128, 3));
        expect_silence();
        copy<<<1, 32>>>(kWaitsForOneLess, in.data, out.data);
        expect_some({"..@copy"});
        copy<<<1, 32>>>(kNoWait, in.data, out.data);
        expect_some({"..@copy"});
    });
    partial_copies<<<1, 1>>>(in.data, out.data);
    EXPECT_EQ(out.host()[0], 3);
    EXPECT_EQ(out.host()[1], 0);
    EXPECT_EQ(out.host()[2], 3);
}

// ---- Warps --------------------------------------------------------------------------------------

__global__ void warp(unsigned* out) {
    const unsigned t = threadIdx.x;
    unsigned x[8];
    asm volatile("shfl.sync.up.b32 %0, %1, 1, 0, -1;" : "=r"(x[0]) : "r"(t));
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(x[1]) : "r"(t), "n"(4));
    asm volatile(
        "{.reg .pred p; shfl.sync.down.b32 %0|p, %1, 1, 0x1f, -1;\n"
        " @!p mov.u32 %0, 99;}"
        : "=r"(x[2])
        : "r"(t));
    asm volatile("{.reg .pred p; setp.lt.u32 p, %1, 3; vote.sync.ballot.b32 %0, p, -1;}"
                 : "=r"(x[3])
                 : "r"(t));
    asm volatile("match.any.sync.b32 %0, %1, -1;" : "=r"(x[4]) : "r"(t / 16));
    asm volatile("redux.sync.add.s32 %0, %1, 0xffffffff;" : "=r"(x[5]) : "r"(t));
    asm volatile("{.reg .pred p; elect.sync _|p, %1; selp.u32 %0, 1, 0, p;}"
                 : "=r"(x[6])
                 : "r"(-1));
    asm volatile("shfl.sync.idx.b32 %0, %1, 2, 0x181f, -1;" : "=r"(x[7]) : "r"(t));  // of 8 lanes
    for (int i = 0; i < 8; ++i) out[8 * t + i] = x[i];
}
TEST_F(InlinePtx, WarpOperations) {
    in_every_order([&] {
        const Words all = words(warp, 256, 32);
        EXPECT_EQ(Words(&all[0], &all[8]), (Words{0, 4, 1, 7, 0xffff, 496, 1, 2}));
        EXPECT_EQ(Words(&all[31 * 8], &all[31 * 8 + 8]),
                  (Words{30, 27, 99, 7, 0xffff0000, 496, 0, 26}));
        expect_silence();
    });
}

// D = A * B of 16 x 16 by 16 x 8, through ldmatrix, mma and stmatrix.
#define LDMATRIX_X4(R0, R1, R2, R3, address)                                          \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n" \
                 : "=r"(R0), "=r"(R1), "=r"(R2), "=r"(R3)                             \
                 : "r"(address))
template <bool in_half>
__global__ void tensor(const half* a, const half* b, float* d) {
    __shared__ alignas(16) half s[16][16], t[16][8], result[16][8];
    const int lane = threadIdx.x;
    for (int i = lane; i < 256; i += 32) s[i / 16][i % 16] = a[i];
    for (int i = lane; i < 128; i += 32) t[i / 8][i % 8] = b[i];
    __syncthreads();
    unsigned ra[4], rb0, rb1, sums[2] = {0, 0};
    LDMATRIX_X4(ra[0], ra[1], ra[2], ra[3], shared(&s[lane % 16][lane / 16 * 8]));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(rb0), "=r"(rb1)
                 : "r"(lane < 16 ? shared(t[lane]) : 0xfffffff0));  // the others pass no row
    if (in_half) {
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 "
            "{%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
            : "+r"(sums[0]), "+r"(sums[1])
            : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb0), "r"(rb1));
    } else {
        float f[4] = {};
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])
            : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb0), "r"(rb1));
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(sums[0]) : "f"(f[1]), "f"(f[0]));
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(sums[1]) : "f"(f[3]), "f"(f[2]));
    }
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};"  // @stmatrix
                 ::"r"(shared(result[lane % 16])),
                 "r"(sums[0]), "r"(sums[1])
                 : "memory");
    __syncwarp();
    for (int i = lane; i < 128; i += 32) d[i] = __half2float(result[i / 8][i % 8]);
}
// The same shape in other types: each lane's registers by PTX's formulas, in which A[m][k] is
// 3 m + k and B[k][n] is k - 2 n, modulo 7.
__host__ __device__ int a_at(int m, int k) { return (3 * m + k) % 7; }
__host__ __device__ int b_at(int k, int n) { return (k + 14 - 2 * n) % 7; }
__global__ void bytes_and_tf32(int* of_bytes, float* of_tf32) {
    const int lane = threadIdx.x, group = lane / 4, in_group = lane % 4;
    unsigned a[4] = {}, b[2] = {};
    for (int i = 0; i < 16; ++i)
        a[i / 4] |= unsigned(a_at(group + (i / 4 % 2) * 8, in_group * 4 + i % 4 + i / 8 * 16))
                    << i % 4 * 8;
    for (int i = 0; i < 8; ++i)
        b[i / 4] |= unsigned(b_at(in_group * 4 + i % 4 + i / 4 * 16, group)) << i % 4 * 8;
    int d[4] = {1, 1, 1, 1};
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    float f[4] = {}, fa[4], fb[2];
    for (int i = 0; i < 4; ++i) fa[i] = float(a_at(group + i % 2 * 8, in_group + i / 2 * 4));
    for (int i = 0; i < 2; ++i) fb[i] = float(b_at(in_group + i * 4, group));
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])
        : "r"(__float_as_uint(fa[0])), "r"(__float_as_uint(fa[1])), "r"(__float_as_uint(fa[2])),
          "r"(__float_as_uint(fa[3])), "r"(__float_as_uint(fb[0])), "r"(__float_as_uint(fb[1])));
    for (int i = 0; i < 4; ++i) {
        const int at = (group + i / 2 * 8) * 8 + in_group * 2 + i % 2;
        of_bytes[at] = d[i];
        of_tf32[at] = f[i];
    }
}

// Every element of D is the sum of x * x, three products that are 0, and C's -x * x, which is rounded.
__global__ void doubles(double x, double* d) {
    const double a = threadIdx.x % 4 == 0 ? x : 0;  // the lane has k = threadIdx.x % 4
    double sums[2] = {-(x * x), -(x * x)};
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(sums[0]), "+d"(sums[1])
                 : "d"(a), "d"(x));
    for (int i = 0; i < 2; ++i) d[2 * threadIdx.x + i] = sums[i];
}

TEST_F(InlinePtx, MatrixInstructions) {
    std::vector<half> a(256), b(128);
    for (int i = 0; i < 256; ++i) a[i] = half(i % 7 - 3);
    for (int i = 0; i < 128; ++i) b[i] = half(i % 5 - 2);
    std::vector<float> expected(128, 0), of_tf32(128, 0);
    std::vector<int> of_bytes(128, 1);
    for (int i = 0; i < 128; ++i) {
        for (int k = 0; k < 16; ++k)
            expected[i] += float(a[i / 8 * 16 + k]) * float(b[k * 8 + i % 8]);
        for (int k = 0; k < 32; ++k) of_bytes[i] += a_at(i / 8, k) * b_at(k, i % 8);
        for (int k = 0; k < 8; ++k) of_tf32[i] += float(a_at(i / 8, k) * b_at(k, i % 8));
    }
    Device<half> device_a(a), device_b(b);
    Device<float> d(128, 0.f), tf32(128, 0.f);
    Device<int> bytes(128, 0);
    in_every_order([&] {
        tensor<true><<<1, 32>>>(device_a.data, device_b.data, d.data);
        EXPECT_EQ(d.host(), expected);
        EXPECT_EQ(shared_stores()[0], 13);  // 8 and 4 of single halves; stmatrix
        tensor<false><<<1, 32>>>(device_a.data, device_b.data, d.data);
        EXPECT_EQ(d.host(), expected);
        bytes_and_tf32<<<1, 32>>>(bytes.data, tf32.data);
        EXPECT_EQ(bytes.host(), of_bytes);
        EXPECT_EQ(tf32.host(), of_tf32);
        expect_silence();
    });
}

TEST_F(InlinePtx, ProductsOfDoublesAreFused) {
    const double x = 1 + 0x1p-30;  // x * x takes 61 bits, of which a double keeps 53
    Device<double> d(64);
    doubles<<<1, 32>>>(x, d.data);
    EXPECT_EQ(d.host(), std::vector<double>(64, 0x1p-60));
    expect_silence();
}

__global__ void barriers(bool complete, int* out) {
    __shared__ int s[64];
    const int t = threadIdx.x;
    s[t] = t;  // @set
    if (t >= 64) return;
    if (t >= 32 && complete) asm volatile("bar.arrive 1, 64;" ::: "memory");
    if (t < 32) {
        if (complete) asm volatile("bar.sync %0, 64;" ::"r"(1) : "memory");
        out[t] = s[63 - t];  // @get
    }
    asm volatile("barrier.sync 0;");
}
TEST_F(InlinePtx, Barriers) {
    in_every_order([&] {
        barriers<<<1, 64>>>(true, ints.data);
        expect_silence();
        barriers<<<1, 64>>>(false, ints.data);
        expect_some(race("shared", "@set writes", "@get reads"));
    });
}

__global__ void unset_sums(bool in_half, float* out) {
    unsigned h[2];
    float f[4];
    if (in_half)
        asm volatile(  // @half
            "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %2}, {%2}, {%0, %1};"
            : "+r"(h[0]), "+r"(h[1])
            : "r"(0));
    else
        asm volatile(  // @float
            "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %4}, {%4}, "
            "{%0, %1, %2, %3};"
            : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])
            : "r"(0));
    out[threadIdx.x] = in_half ? float(h[0]) : f[0];
}
TEST_F(InlinePtx, AccumulatorsThatWereNeverSet) {
    Device<float> out(32, 0.f);
    unset_sums<<<1, 32>>>(true, out.data);
    expect_some({"at @half adds to accumulators that were never set"});
    unset_sums<<<1, 32>>>(false, out.data);
    expect_some({"at @float adds to accumulators that were never set"});
}

// Operands that stand in a macro, or among a macro's arguments.
#define OF_ALL(instruction, ...) asm(instruction " %0, %1, %2;" : "=r"(*out++) : __VA_ARGS__)
#define PAIR(a) "r"((a)[0]), "r"((a)[1])
__global__ void operands_of_macros(unsigned* out) {
    const unsigned a[] = {5, 3};
    OF_ALL("add.u32", "r"(a[0]), "r"(a[1]));
    OF_ALL("sub.u32", PAIR(a));
    asm("mul.lo.u32 %0, %1, %2;" : "=r"(*out++) : PAIR(a));
    OF_ALL("shl.b32", "r"(a[0]), "n"(2));
}
TEST_F(InlinePtx, OperandsOfMacros) {
    EXPECT_EQ(words(operands_of_macros, 4), (Words{8, 2, 15, 20}));
    expect_silence();
}

// ---- What is refused ----------------------------------------------------------------------------

#ifdef CUDA_EMULATOR  // ptxas refuses them, too
#define NO_INSTRUCTION "tcgen05.fence::before_thread_sync;"
__global__ void refused(int which) {
    unsigned x = 0;
    if (which == 0) asm volatile(NO_INSTRUCTION);  // @none
    if (which == 1) asm volatile("ld.global.foo.u32 %0, [%1];" : "=r"(x) : "l"(&x));  // @modifier
    if (which == 2) asm volatile("add.u32 %0, %1, y;" : "=r"(x) : "r"(x));  // @name
    if (which == 3) asm volatile("add.u32 %0, %1;" : "=r"(x) : "r"(x));  // @few
    if (which == 4) asm volatile("@%0 bra NOWHERE;" ::"r"(x));  // @label
    if (which == 5) asm volatile("trap;");  // @trap
    if (which == 7) asm volatile("add.u32 %0, %%laneid, 1;" : "=r"(x));  // @special
    if (which == 6)
        asm volatile("mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 {%0}, {%0}, {%0}, {%0};"
                     : "+r"(x));  // @mma
    if (which == 8) asm volatile("add.rz.f32 %0, %0, %0;" : "+r"(x));  // @rounding
    if (which == 9) asm volatile("fma.rn.s32 %0, %0, %0, %0;" : "+r"(x));  // @integers
    if (which == 10) asm volatile("and.f32 %0, %0, %0;" : "+r"(x));  // @bits
    if (which == 11) asm volatile("rcp.approx %0, %0;" : "+r"(x));  // @type
    if (which == 12) asm volatile("add.sat.u32 %0, %0, %0;" : "+r"(x));  // @saturates
    if (which == 13) asm volatile("cvt.rn.f16x2.f32 %0, %0;" : "+r"(x));  // @pair
    if (which == 14) asm volatile("cvt.rn.f16.f32 %0, %0, %0;" : "+r"(x));  // @single
    if (which == 15) asm volatile("{.reg .pred p; setp.lo.f32 p, %0, %0;}" : "+r"(x));  // @operator
}
TEST_F(InlinePtx, RefusesWhatItLacks) {
    const Said said[] = {
        {"inline PTX: tcgen05.fence::before_thread_sync is none that the emulator has at @none"},
        {"inline PTX: ld.global.foo.u32 is none that the emulator has: .foo at @modifier"},
        {"inline PTX: add.u32 knows no 'y' at @name"},
        {"inline PTX: add.u32 does not take 2 operands at @few"},
        {"inline PTX: bra knows no 'NOWHERE' at @label"},
        {"trap: this thread has executed it at @trap"},
        {"mma.sync: the emulator has no mma.sync.aligned.m16n8k16.row.row"},
        {"inline PTX: add.u32 knows no '%laneid': only mov reads special registers at @special"},
        {"inline PTX: add.rz.f32 is none that the emulator has: .rz at @rounding"},
        {"inline PTX: fma.rn.s32 is none that the emulator has: .s32 at @integers"},
        {"inline PTX: and.f32 is none that the emulator has: .f32 at @bits"},
        {"inline PTX: rcp.approx lacks a type at @type"},
        {"add: these integers have no .sat at @saturates"},
        {"cvt: takes 3 operands with these types at @pair"},
        {"cvt: takes 2 operands with these types at @single"},
        {"setp: this type has no .lo at @operator"},
    };
    for (int which = 0; which < 16; ++which) {
        refused<<<1, 32>>>(which);
        expect_failure(said[which]);
    }
}
#endif

}  // namespace

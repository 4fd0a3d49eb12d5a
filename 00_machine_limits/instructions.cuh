// The instructions whose latency is measured. Each has a step of its chain, for the GPU and for the
// host.
#pragma once

#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>

// Below, step number i sets x to what the next step needs, so that none can start before the one
// before has finished. A step is one instruction on sm_75, sm_80 and sm_90, as the machine code of
// nvcc 13.0 shows (four for mul.lo.u64). The operands x, y and z are such that no two consecutive
// steps give the same x. kVolta and kPascal are the cycles that the Volta report gives, or "-"
// where it gives none.
struct Ffma {
    using T = float;
    static constexpr const char *kName = "FFMA", *kVolta = "4", *kPascal = "6";
    static constexpr int kOperands = 3;  // of x, y and z
    static constexpr double kX = 1.7, kY = -0.9995, kZ = 0.37;
    __host__ __device__ static void step(T& x, T& y, T z, int) { x = fmaf(x, y, z); }
};

struct Fadd {
    using T = float;
    static constexpr const char *kName = "FADD", *kVolta = "4", *kPascal = "6";
    static constexpr int kOperands = 2;
    static constexpr double kX = 1.7, kY = 0.37, kZ = 0;
    __host__ __device__ static void step(T& x, T& y, T, int) { x += y; }
};

// The chain computes Fibonacci numbers, plus z. A compiler would turn x + y + y + ... into x + n *
// y, but here every sum is used twice and stays as it is. With two operands ptxas makes every other
// addition an IMAD. The copies cost no instructions once the loop is unrolled.
struct Iadd {
    using T = uint32_t;
    static constexpr const char *kName = "IADD3", *kVolta = "4", *kPascal = "6";
    static constexpr int kOperands = 3;
    static constexpr double kX = 1234567891, kY = 987654321, kZ = 12345;
    __host__ __device__ static void step(T& x, T& y, T z, int) {
        const T sum = x + y + z;
        y = x;
        x = sum;
    }
};

struct Imad {
    using T = uint32_t;
    static constexpr const char *kName = "IMAD", *kVolta = "-", *kPascal = "86";
    static constexpr int kOperands = 3;
    static constexpr double kX = 1234567891, kY = 987654321, kZ = 12345;
    __host__ __device__ static void step(T& x, T& y, T z, int) { x = x * y + z; }
};

// PTX's instruction for the low 64 bits of a product of two 64-bit integers. sm_75, sm_80 and sm_90
// have none: ptxas emits an IMAD.WIDE.U32, two IMADs and an IADD3. Products of odd numbers never
// become 0.
struct MulLo64 {
    using T = uint64_t;
    static constexpr const char *kName = "mul.lo.u64", *kVolta = "-", *kPascal = "-";
    static constexpr int kOperands = 2;
    static constexpr double kX = 1234567890123457, kY = 987654321098765, kZ = 0;
    __host__ __device__ static void step(T& x, T& y, T, int) {
        const T product = x * y;
        y = x;
        x = product;
    }
};

struct Dfma {
    using T = double;
    static constexpr const char *kName = "DFMA", *kVolta = "-", *kPascal = "-";
    static constexpr int kOperands = 3;
    static constexpr double kX = 1.7, kY = -0.9995, kZ = 0.37;
    __host__ __device__ static void step(T& x, T& y, T z, int) { x = fma(x, y, z); }
};

// Both halves are multiplied by y's lower half. Otherwise ptxas alternates HFMA2 and HFMA2.MMA,
// which run on two different pipelines of sm_80 and sm_90.
struct Hfma2 {
    using T = half2;
    static constexpr const char *kName = "HFMA2", *kVolta = "-", *kPascal = "-";
    static constexpr int kOperands = 3;
    static constexpr double kX = 1.7, kY = -0.99951171875, kZ = 0.37;
    __host__ __device__ static void step(T& x, T& y, T z, int) {
#ifdef __CUDA_ARCH__
        x = __hfma2(x, __low2half2(y), z);
#else
        // A double holds the product and the sum of such halves exactly: it is rounded once, as the
        // instruction does.
        const double factor = __low2float(y);
        x = __halves2half2(__double2half(__low2float(x) * factor + __low2float(z)),
                           __double2half(__high2float(x) * factor + __high2float(z)));
#endif
    }
};

// The instruction of the special function unit (SFU). The steps alternate between MUFU.EX2, 2^x, and
// MUFU.LG2, which gives x again. (A chain of reciprocals would not do: ptxas removes 1 / (1 / x).)
struct Mufu {
    using T = float;
    static constexpr const char *kName = "MUFU", *kVolta = "-", *kPascal = "-";
    static constexpr int kOperands = 1;
    static constexpr double kX = 0.7, kY = 0, kZ = 0;
    // The error of x for each step: half of the bound for a pair of steps, rounded up. Source: PTX
    // ISA: ex2.approx.ftz.f32 has a relative error of up to 2^-22, which lg2 makes an absolute one
    // of 2^-22 / ln 2. lg2.approx.ftz.f32 adds an absolute one of up to 2^-22 between 0.5 and 2. A
    // pair has both: (1 / ln 2 + 1) 2^-22 = 2.44 x 2^-22.
    static constexpr double kError = 1.25 / (1 << 22);
    __host__ __device__ static void step(T& x, T&, T, int i) {
#ifdef __CUDA_ARCH__
        if (i % 2 == 0) asm("ex2.approx.ftz.f32 %0, %0;" : "+f"(x));
        else asm("lg2.approx.ftz.f32 %0, %0;" : "+f"(x));
#else
        x = i % 2 == 0 ? std::exp2(x) : std::log2(x);
#endif
    }
};

// The facts about a stage that the harness needs to verify it and to predict its speed.
#pragma once

#include <array>
#include <string>
#include <vector>

// The limits of a GPU. 0: it has no such unit, or the figure is unknown.
struct Limits {
    double bandwidth_gbs;  // device memory, GB/s (10^9 bytes)
    double shared_gbs;  // shared memory, all SMs together
    // GFLOP/s, a multiply-add counted as 2 flop.
    double fp32_gflops;
    double half2_gflops;  // FP16 pairs (half2) on CUDA cores
    double tensor_gflops;  // FP16 with FP32 accumulation on tensor cores, by mma_sync
    double wgmma_gflops = 0;  // the same by wgmma
    double l2_gbs = 0;  // L2's bandwidth, where no two blocks load the same sector
};

using Limit = double Limits::*;  // which of them

// The unit that a stage computes with, and what its accumulator can hold.
struct Arithmetic {
    const char* name;
    Limit peak;
    double exact_limit;  // the accumulator holds every integer up to this
    double unit_roundoff;  // of one multiply-add
    // The bandwidth from which loads of global memory are predicted. Blocks that use tensor cores
    // load more than device memory could deliver; most of their loads hit L2.
    Limit memory = &Limits::bandwidth_gbs;

    // The products of so many terms of k are added at once, at this relative error besides that of
    // each multiply-add.
    int terms_at_once = 1;
    double roundoff_at_once = 0;

    // Of stages that compute products of floats from halves; verify.h derives the error bound.
    int products = 1;  // of halves, for each product a b of floats
    // The sum of these differs from a b by at most this fraction of |a b|, and the sum of their
    // magnitudes is at most so many |a b|.
    double representation = 0, magnitude = 1;
    // After so many terms of k, at least and at most, the unit's sums are promoted: an FP32 addition
    // adds them to a total outside it. Those of products with low halves may have an accumulator of
    // their own that is not. 0: all stay in accumulators to the end.
    int least_promoted = 0, most_promoted = 0;
    // Every integer up to this is exact as a half or the sum of two. The exact test then takes wide
    // integers, whose high halves have all their bits and whose low halves are not 0.
    double operand_limit = 0;
    // Rows of A and columns of B may lie anywhere in FP32's range, because the stage scales each of
    // them. The test on reals then multiplies each by a power of two.
    bool any_range = false;
};

constexpr Arithmetic kFp32 = {"FP32", &Limits::fp32_gflops, 16777216.0, 0x1p-24};
constexpr Arithmetic kHalf2 = {"FP16 pairs", &Limits::half2_gflops, 2048.0, 0x1p-11};
// A tensor core adds t products and C at once. It truncates each of them below the 23rd bit of the
// largest (later ones below the 24th or 25th), which costs all but the largest up to 2^-23 of it,
// and the sum again: t + 1 times 2^-23 at most, where the bound has t times 2^-22. Subnormal factors
// may lose more. Source: emulator/include/tensor_core.h.
constexpr Arithmetic kTensor = {"tensor cores", &Limits::tensor_gflops, 16777216.0, 0x1p-22,
                                &Limits::l2_gbs};
constexpr Arithmetic kWgmma = {"wgmma", &Limits::wgmma_gflops, 16777216.0, 0x1p-22,
                               &Limits::l2_gbs};

// wgmma that computes products of floats from halves. An H100 adds 16 products to an accumulator at
// once. It truncates all addends but the one with the largest exponent, by less than 2^-25 of that
// one, and then the sum to 24 bits. Source: emulator/include/tensor_core.h.
constexpr Arithmetic wgmma_of_floats(const char* name, int products, double operand_limit,
                                     double representation, double magnitude) {
    Arithmetic arithmetic = kWgmma;
    arithmetic.name = name;
    arithmetic.unit_roundoff = 0x1p-25;
    arithmetic.terms_at_once = 16;
    arithmetic.roundoff_at_once = 0x1p-23;
    arithmetic.products = products;
    arithmetic.operand_limit = operand_limit;
    arithmetic.representation = representation;
    arithmetic.magnitude = magnitude;
    return arithmetic;
}

// Floats that are rounded to halves, hi. A half has 11 significant bits: |hi - a| <= 2^-11 |a|.
constexpr Arithmetic kRoundedToHalves =
    wgmma_of_floats("wgmma on rounded floats", 1, 2048, 0x1p-10 + 0x1p-22, 1 + 0x1p-10 + 0x1p-22);

// Floats that are split into two halves each, hi = a rounded to nearest and lo = a - hi rounded to
// nearest, and multiplied as hi hi + lo hi + hi lo. Neither hi nor lo may overflow or be subnormal,
// for which they can be scaled by powers of two.
//   - If 2^e <= |a| < 2^(e+1), then a - hi is a multiple of 2^(e-23), which lo holds up to 2^(e-12),
//     and at most 2^(e-11). So |lo| <= 2^-11 |a|, and hi + lo = a + d with |d| <= 2^-23 |a|.
//   - (hi + lo)(hi' + lo') - lo lo' differs from a b by at most 2 * 2^-23 + 2^-46 for the d of a and
//     b, and 2^-22 for lo lo'.
//   - Up to 32768 no hi overflows, and hi + lo is the integer, which has at most 22 bits.
//   - |hi hi'| + |lo hi'| + |hi lo'| <= ((1 + 2^-11)^2 + 2 * 2^-11 (1 + 2^-11)) |a b|.
// The sums are promoted after each k-tile, which has so many terms; where configurations differ, at
// least `tile` and at most `longest`. 0: never.
constexpr Arithmetic split_arithmetic(int tile = 0, int longest = 0) {
    Arithmetic arithmetic = wgmma_of_floats("wgmma on split floats", 3, 32768, 0x1p-21 + 0x1p-46,
                                            1 + 0x1p-9 + 3 * 0x1p-22);
    arithmetic.least_promoted = tile;
    arithmetic.most_promoted = longest > tile ? longest : tile;
    return arithmetic;
}
// The same with a scale for each row of A and each column of B, so that no hi overflows. Then every
// integer up to 2^23 is hi + lo: its half is at most 2^11 away, and a half holds every integer up to
// 2^11.
constexpr Arithmetic scaled_split_arithmetic(int tile) {
    Arithmetic arithmetic = split_arithmetic(tile);
    arithmetic.any_range = true;
    arithmetic.operand_limit = 0x1p23;
    return arithmetic;
}

// C = A * B on device memory: A (M x K), B (K x N), C (M x N), row-major, packed, 256-byte aligned.
template <class In, class Out>
using Launcher = void (*)(int M, int N, int K, const In* A, const In* B, Out* C);

// One of the configurations of a kernel among which a launcher chooses.
struct ConfigFacts {
    std::string name;
    int m, n;  // rows and columns of C that one block, or one cluster of blocks, computes
    int k;  // the extent of a k-tile along k, times the number of split-K slices
    bool few_tiles = false;  // it takes only shapes of so few tiles that several blocks share one
};

// Facts about a stage that do not depend on the type of its operands.
struct Facts {
    // What a launch loads from global memory, in elements of A and B; a float beside halves counts
    // as two. The emulator counts the bytes and fails the stage if they differ. nullptr: nothing is
    // stated, and the table shows the count.
    double (*loaded_elements)(double M, double N, double K) = nullptr;
    // How many bytes a launch loads from shared memory, checked likewise. nullptr: none.
    double (*shared_loaded_bytes)(double M, double N, double K) = nullptr;
    Arithmetic arithmetic = kFp32;
    // What a launch stores, not counting atomicAdd: M * N for the elements of C, whatever their
    // type, and all else in floats. nullptr: each element of C once.
    double (*stored_elements)(double M, double N, double K) = nullptr;
    // The configurations among which the launcher chooses (see fastest()), and the name of the one
    // that it chooses for a shape.
    std::vector<ConfigFacts> configs = {};
    std::string (*chosen)(int M, int N, int K) = nullptr;
    // The launcher for bfloat16 (--bf16), which has the same traffic.
    Launcher<struct __nv_bfloat16, float> bf16 = nullptr;
    // The launcher takes only multiples of these as M, N and K.
    std::array<int, 3> multiples = {1, 1, 1};
};

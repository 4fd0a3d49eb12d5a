// What a stage brings to the harness: its launcher, what it claims to move, and the arithmetic that
// it computes with. All that a stage is compiled against: so nothing is included here.
#pragma once

// What a GPU can do at most; 0: it has no such unit, or there is no figure for it here.
struct Limits {
    double bandwidth_gbs;  // device memory, GB/s (10^9 bytes)
    double shared_gbs;  // shared memory, all multiprocessors together
    // GFLOP/s, a multiply-add counted as 2 flop.
    double fp32_gflops;
    double half2_gflops;  // FP16 pairs on the ordinary lanes
    double tensor_gflops;  // tensor cores: FP16 in, FP32 accumulate; by mma_sync
    double wgmma_gflops = 0;  // the same by wgmma
};

using Limit = double Limits::*;  // which of them

// The unit that a stage computes with, and what its accumulator can hold.
struct Arithmetic {
    const char* name;
    Limit peak;
    double exact_limit;  // up to here the accumulator has every integer
    double unit_roundoff;  // of one multiply-add
};

constexpr Arithmetic kFp32 = {"FP32", &Limits::fp32_gflops, 16777216.0, 0x1p-24};
constexpr Arithmetic kHalf2 = {"FP16 pairs", &Limits::half2_gflops, 2048.0, 0x1p-11};
// A tensor core truncates where a lane rounds (2^-23), and it shifts the addends of a block to the
// largest one's exponent before it adds them: at most as much again. Source: M. Fasi, N. Higham, M.
// Mikaitis, S. Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ Computer Science 7,
// 2021.
constexpr Arithmetic kTensor = {"FP16 tensor cores", &Limits::tensor_gflops, 16777216.0, 0x1p-22};
constexpr Arithmetic kWgmma = {"FP16 by wgmma", &Limits::wgmma_gflops, 16777216.0, 0x1p-22};

template <class In, class Out>
struct StageOf {
    // C = A * B on device memory; row-major A (M x K), B (K x N), C (M x N), each packed and
    // 256-byte aligned.
    void (*launch)(int M, int N, int K, const In* A, const In* B, Out* C);
    // How many elements of A and B all threads together load from global memory: counted by the
    // emulator, which must agree.
    double (*loaded_elements)(double M, double N, double K);
    // How many bytes all threads together load from shared memory: counted likewise. nullptr: none.
    double (*shared_loaded_bytes)(double M, double N, double K) = nullptr;
    Arithmetic arithmetic = kFp32;
    // Where a block takes more than the 48 KiB of shared memory that every GPU gives it: how many
    // bytes, and the step that takes less.
    int shared_bytes = 0;
    const char* smaller_step = "";
    // How many elements of C's size all threads together store; nullptr: each of C once. What is
    // added to C by atomicAdd is not counted.
    double (*stored_elements)(double M, double N, double K) = nullptr;
    const char* name = "";  // run_stage() takes it from the stage's source
};

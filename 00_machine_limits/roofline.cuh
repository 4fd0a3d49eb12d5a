// The kernels of roofline.cu. Each but sweep() saturates one part of the GPU: device memory, L2,
// shared memory, the FP32 or FP16 units, or the tensor cores. sweep() loads device memory and the
// FP32 units together. fma_chains, half2_chains and mma_chains also measure the SM clock at which
// they run: each block stores the cycles and the nanoseconds of its loop.
#pragma once

#include <cuda_fp16.h>
#include <mma.h>

#include "00_machine_limits/sweep.h"
#include "common/clock.h"

using namespace nvcuda;

constexpr int kThreads = 256;  // per block, in every kernel but mma_chains
constexpr int kSweepVectors = 2;  // float4s per thread and chunk of the sweep
constexpr int kSweepChunks = 4;  // chunks that a block of the sweep processes
// Floats that a block of the sweep processes. The lengths of all arrays are multiples of this, so
// no kernel checks bounds.
constexpr int kSweepFloats = 4 * kSweepChunks * kSweepVectors * kThreads;
// Independent chains per thread. A scheduler issues one FMA of a warp per cycle, and an FMA that
// depends on it follows after 4 cycles (latency.cu), so even a single warp per scheduler keeps the
// FP32 units busy with 4 chains.
constexpr int kChains = 8;
constexpr int kUnroll = 64;  // unrolled steps of 8 chains: 512 FMAs of 16 bytes, 8 KiB of code
// As in 06, a warp multiplies 4 A fragments by 4 B fragments into 16 accumulator fragments.
constexpr int kFragment = 16, kFragmentElements = kFragment * kFragment, kWarpFragments = 4;
constexpr int kMmaUnroll = 4, kMmaThreads = 128;
constexpr int kL2Loads = 8;  // 16-byte loads that a thread has in flight, 32 KiB per block
constexpr int kSharedVectors = 2048;  // uint4s in shared memory, 32 KiB
// An iteration of read_shared has kLoads loads, kLoadStride uint4s apart. Each iteration starts at
// another base: 0, 37, 74, ... modulo 512. The stride is arbitrary, and the step is any odd number.
constexpr int kLoads = 16, kLoadStride = 80, kBases = 512, kBaseStep = 37;

static_assert(4 * kSweepVectors == kChains, "the sweep has as many chains as fma_chains");
static_assert(kUnroll % 2 == 0, "half2_chains adds its two addends equally often");
static_assert(kBases - 1 + kThreads - 1 + (kLoads - 1) * kLoadStride < kSharedVectors,
              "read_shared stays in its array");
static_assert(kSharedVectors % kThreads == 0, "all threads copy the same number of vectors");
static_assert((kBases & (kBases - 1)) == 0 && kBaseStep % 2 == 1,
              "the bases wrap by a mask, and all occur");

// Called after the timed loop. Because of the barrier `end` is the time at which the slowest warp
// of the block has finished; `begin` is thread 0's.
__device__ inline void report_elapsed(const Elapsed& begin, Elapsed* elapsed) {
    __syncthreads();
    const Elapsed end = clock_now();
    if (threadIdx.x == 0)
        elapsed[blockIdx.x] = {end.cycles - begin.cycles, end.nanoseconds - begin.nanoseconds};
}

// Each thread copies one float4. On an H200 four per thread, or persistent blocks, are slower: see
// notes.md.
__global__ void __launch_bounds__(kThreads) copy(const float4* a, float4* c) {
    const size_t i = size_t(blockIdx.x) * kThreads + threadIdx.x;
    c[i] = a[i];
}

__global__ void __launch_bounds__(kThreads) add(const float4* a, const float4* b, float4* c) {
    const size_t i = size_t(blockIdx.x) * kThreads + threadIdx.x;
    const float4 x = a[i], y = b[i];
    c[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}

// kCount dependent FMAs in each of a thread's chains. The factor is an immediate operand, so an FMA
// reads two registers, x[i] and the addend. A register bank conflict takes three operands in one of
// the two banks, so there is none.
template <int kCount>
__device__ __forceinline__ void steps(float (&x)[kChains], float addend) {
#pragma unroll kUnroll
    for (int s = 0; s < kCount; ++s)
#pragma unroll
        for (int i = 0; i < kChains; ++i) x[i] = fmaf(x[i], kFactor, addend);
}

// A block processes kSweepChunks consecutive chunks, one after the other. The first step moves the
// values from loaded[] to x[], so that the loads of the next chunk can be issued into loaded[] at
// once. They complete while the remaining FMAs execute, and no register has to be copied.
template <int kCount>
__global__ void __launch_bounds__(kThreads) sweep(float addend, const float4* a, float4* c) {
    size_t at = size_t(blockIdx.x) * kSweepChunks * kSweepVectors * kThreads + threadIdx.x;
    alignas(16) float x[kChains], loaded[kChains];
    const auto load = [&] {
#pragma unroll
        for (int q = 0; q < kSweepVectors; ++q)
            reinterpret_cast<float4*>(loaded)[q] = a[at + q * kThreads];
    };
    load();
#pragma unroll 1
    for (int chunk = 0; chunk < kSweepChunks; ++chunk) {
        float4* to = c + at;
#pragma unroll
        for (int i = 0; i < kChains; ++i) x[i] = fmaf(loaded[i], kFactor, addend);
        at += kSweepVectors * kThreads;
        if (chunk + 1 < kSweepChunks) load();
        __syncwarp();  // for the compiler: the loads do not sink below it, past the FMAs
        steps<kCount - 1>(x, addend);
#pragma unroll
        for (int q = 0; q < kSweepVectors; ++q) to[q * kThreads] = reinterpret_cast<float4*>(x)[q];
    }
}

__global__ void __launch_bounds__(kThreads)
    fma_chains(int iterations, float addend, const float* a, float* c, Elapsed* elapsed) {
    const size_t first = size_t(blockIdx.x) * kChains * kThreads + threadIdx.x;
    float x[kChains];
#pragma unroll
    for (int i = 0; i < kChains; ++i) x[i] = a[first + i * kThreads];
    const Elapsed begin = clock_now();
#pragma unroll 1
    for (int iteration = 0; iteration < iterations; ++iteration) steps<kUnroll>(x, addend);
    report_elapsed(begin, elapsed);
#pragma unroll
    for (int i = 0; i < kChains; ++i) c[first + i * kThreads] = x[i];
}

// With a factor of -1, two steps turn x into x + odd - even. Small integers therefore stay exact in
// half precision, and the result shows how many steps were executed.
__global__ void __launch_bounds__(kThreads)
    half2_chains(int iterations, half2 factor, half2 even, half2 odd, const half2* a, half2* c,
                 Elapsed* elapsed) {
    const size_t first = size_t(blockIdx.x) * kChains * kThreads + threadIdx.x;
    half2 x[kChains];
#pragma unroll
    for (int i = 0; i < kChains; ++i) x[i] = a[first + i * kThreads];
    const Elapsed begin = clock_now();
#pragma unroll 1
    for (int iteration = 0; iteration < iterations; ++iteration)
#pragma unroll
        for (int s = 0; s < kUnroll; ++s)
#pragma unroll
            for (int i = 0; i < kChains; ++i) x[i] = __hfma2(x[i], factor, s % 2 ? odd : even);
    report_elapsed(begin, elapsed);
#pragma unroll
    for (int i = 0; i < kChains; ++i) c[first + i * kThreads] = x[i];
}

// Each warp adds the products of its own fragments to its accumulators, again and again.
__global__ void __launch_bounds__(kMmaThreads)
    mma_chains(int iterations, const half* A, const half* B, float* C, Elapsed* elapsed) {
    const size_t warp = (size_t(blockIdx.x) * kMmaThreads + threadIdx.x) / 32;
    wmma::fragment<wmma::matrix_a, kFragment, kFragment, kFragment, half, wmma::row_major>
        a[kWarpFragments];
    wmma::fragment<wmma::matrix_b, kFragment, kFragment, kFragment, half, wmma::row_major>
        b[kWarpFragments];
    wmma::fragment<wmma::accumulator, kFragment, kFragment, kFragment, float> acc[kWarpFragments]
                                                                                 [kWarpFragments];
#pragma unroll
    for (int i = 0; i < kWarpFragments; ++i) {
        wmma::load_matrix_sync(a[i], A + (warp * kWarpFragments + i) * kFragmentElements,
                               kFragment);
        wmma::load_matrix_sync(b[i], B + (warp * kWarpFragments + i) * kFragmentElements,
                               kFragment);
#pragma unroll
        for (int j = 0; j < kWarpFragments; ++j) wmma::fill_fragment(acc[i][j], 0.0f);
    }
    const Elapsed begin = clock_now();
#pragma unroll 1
    for (int iteration = 0; iteration < iterations; ++iteration)
#pragma unroll
        for (int s = 0; s < kMmaUnroll; ++s)
#pragma unroll
            for (int ij = 0; ij < kWarpFragments * kWarpFragments; ++ij)
                wmma::mma_sync(acc[ij / kWarpFragments][ij % kWarpFragments],
                               a[ij / kWarpFragments], b[ij % kWarpFragments],
                               acc[ij / kWarpFragments][ij % kWarpFragments]);
    report_elapsed(begin, elapsed);
#pragma unroll
    for (int ij = 0; ij < kWarpFragments * kWarpFragments; ++ij)
        wmma::store_matrix_sync(
            C + (warp * kWarpFragments * kWarpFragments + ij) * kFragmentElements,
            acc[ij / kWarpFragments][ij % kWarpFragments], kFragment, wmma::mem_row_major);
}

// Each block reads its own `tiles` tiles of 32 KiB, again and again. All blocks together read less
// than L2 holds, so that every read after the first iteration hits in L2; __ldcg bypasses L1. The
// XOR makes the sum depend on the iteration, so that the compiler cannot reuse an earlier one.
__global__ void __launch_bounds__(kThreads)
    read_l2(int iterations, int tiles, const uint4* a, unsigned* c) {
    a += size_t(blockIdx.x) * tiles * kL2Loads * kThreads + threadIdx.x;
    unsigned sum = 0;
#pragma unroll 1
    for (int iteration = 0; iteration < iterations; ++iteration)
#pragma unroll 1
        for (int tile = 0; tile < tiles; ++tile) {
            uint4 v[kL2Loads];
#pragma unroll
            for (int i = 0; i < kL2Loads; ++i) v[i] = __ldcg(a + (tile * kL2Loads + i) * kThreads);
#pragma unroll
            for (int i = 0; i < kL2Loads; ++i)
                sum += (v[i].x + v[i].y + v[i].z + v[i].w) ^ unsigned(iteration);
        }
    c[blockIdx.x * kThreads + threadIdx.x] = sum;
}

// Each thread adds up what it reads, 16 bytes at a time. Such a load of a warp takes four
// wavefronts of eight lanes each. The eight lanes read 128 contiguous bytes, one word from each of
// the 32 banks, so there are no conflicts. The base changes at every iteration: otherwise the
// compiler would load once for all iterations.
__global__ void __launch_bounds__(kThreads)
    read_shared(int iterations, const uint4* a, unsigned* c) {
    __shared__ uint4 shared[kSharedVectors];
#pragma unroll
    for (int i = 0; i < kSharedVectors; i += kThreads) shared[i + threadIdx.x] = a[i + threadIdx.x];
    __syncthreads();
    unsigned sum = 0;
    int base = 0;
#pragma unroll 1
    for (int iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
        for (int i = 0; i < kLoads; ++i) {
            const uint4 v = shared[base + threadIdx.x + i * kLoadStride];
            sum += v.x + v.y + v.z + v.w;
        }
        base = (base + kBaseStep) & (kBases - 1);
    }
    c[blockIdx.x * kThreads + threadIdx.x] = sum;
}

// The kernels of roofline.cu. Each keeps one part of the GPU busy: device memory, L2, shared
// memory, the FP32 or FP16 units, or the tensor cores. sweep() uses device memory and FP32
// together. The chains also measure their own clock: each block stores how many cycles and how many
// nanoseconds it took.
#pragma once

#include <cuda_fp16.h>
#include <mma.h>

#include "00_machine_limits/sweep.h"
#include "common/clock.h"

using namespace nvcuda;

constexpr int kThreads = 256;  // per block, in every kernel but mma_chains
constexpr int kSweepVectors = 2;  // float4s per thread and chunk of the sweep
constexpr int kChunks = 4;  // of a block of the sweep
constexpr int kFloats = 4 * kChunks * kSweepVectors * kThreads;  // of a block: arrays are multiples
// Independent chains per thread: more than the 4 cycles that an FMA takes (latency.cu).
constexpr int kChains = 8;
constexpr int kUnroll = 64;  // steps in a row: 8 chains of them are 8 KiB of code
// A warp multiplies 4 matrices of A by 4 of B, as in 06: 16 accumulators.
constexpr int kEdge = 16, kMatrix = kEdge * kEdge, kMma = 4;
constexpr int kMmaUnroll = 4, kMmaThreads = 128;
constexpr int kL2Loads = 8;  // of a thread, in flight at the same time: 32 KiB of a block
constexpr int kSharedVectors = 2048;  // uint4s in shared memory, 32 KiB
// An iteration of read_shared has kLoads loads, kLoadStride uint4s apart. They begin at one of
// kBases bases, which the iterations go through in steps of kBaseStep.
constexpr int kLoads = 16, kLoadStride = 80, kBases = 512, kBaseStep = 37;

static_assert(4 * kSweepVectors == kChains, "the sweep has as many chains as fma_chains");
static_assert(kUnroll % 2 == 0, "half2_chains adds its two addends equally often");
static_assert(kBases - 1 + kThreads - 1 + (kLoads - 1) * kLoadStride < kSharedVectors,
              "read_shared stays in its array");
static_assert(kSharedVectors % kThreads == 0, "all threads copy the same number of vectors");
static_assert((kBases & (kBases - 1)) == 0 && kBaseStep % 2 == 1,
              "the bases wrap by a mask, and all occur");

// A kernel that reads its own clock ends with this, once all warps of the block are done.
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

// kCount dependent FMAs in each of a thread's chains. The factor is an immediate operand and all
// chains share the addend's register, so each FMA reads only one more register and no bank conflict
// arises.
template <int kCount>
__device__ __forceinline__ void steps(float (&x)[kChains], float addend) {
#pragma unroll kUnroll
    for (int s = 0; s < kCount; ++s)
#pragma unroll
        for (int i = 0; i < kChains; ++i) x[i] = fmaf(x[i], kFactor, addend);
}

// A block takes kChunks consecutive chunks, one after the other. A thread loads its elements of
// the next chunk once the first step has read those of this one. Memory then works while the FMAs
// do, and no register has to be copied.
template <int kCount>
__global__ void __launch_bounds__(kThreads) sweep(float addend, const float4* a, float4* c) {
    size_t at = size_t(blockIdx.x) * kChunks * kSweepVectors * kThreads + threadIdx.x;
    alignas(16) float x[kChains], loaded[kChains];
    const auto load = [&] {
#pragma unroll
        for (int q = 0; q < kSweepVectors; ++q)
            reinterpret_cast<float4*>(loaded)[q] = a[at + q * kThreads];
    };
    load();
#pragma unroll 1
    for (int chunk = 0; chunk < kChunks; ++chunk) {
        float4* to = c + at;
#pragma unroll
        for (int i = 0; i < kChains; ++i) x[i] = fmaf(loaded[i], kFactor, addend);
        at += kSweepVectors * kThreads;
        if (chunk + 1 < kChunks) load();
        __syncwarp();  // keeps the compiler from moving the loads after the FMAs
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

// Two addends alternate: with a factor of -1, two steps add their difference.
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

// Each warp adds the products of its own matrices to its accumulators, again and again.
__global__ void __launch_bounds__(kMmaThreads)
    mma_chains(int iterations, const half* A, const half* B, float* C, Elapsed* elapsed) {
    const size_t warp = (size_t(blockIdx.x) * kMmaThreads + threadIdx.x) / 32;
    wmma::fragment<wmma::matrix_a, kEdge, kEdge, kEdge, half, wmma::row_major> a[kMma];
    wmma::fragment<wmma::matrix_b, kEdge, kEdge, kEdge, half, wmma::row_major> b[kMma];
    wmma::fragment<wmma::accumulator, kEdge, kEdge, kEdge, float> acc[kMma][kMma];
#pragma unroll
    for (int i = 0; i < kMma; ++i) {
        wmma::load_matrix_sync(a[i], A + (warp * kMma + i) * kMatrix, kEdge);
        wmma::load_matrix_sync(b[i], B + (warp * kMma + i) * kMatrix, kEdge);
#pragma unroll
        for (int j = 0; j < kMma; ++j) wmma::fill_fragment(acc[i][j], 0.0f);
    }
    const Elapsed begin = clock_now();
#pragma unroll 1
    for (int iteration = 0; iteration < iterations; ++iteration)
#pragma unroll
        for (int s = 0; s < kMmaUnroll; ++s)
#pragma unroll
            for (int ij = 0; ij < kMma * kMma; ++ij)
                wmma::mma_sync(acc[ij / kMma][ij % kMma], a[ij / kMma], b[ij % kMma],
                               acc[ij / kMma][ij % kMma]);
    report_elapsed(begin, elapsed);
#pragma unroll
    for (int ij = 0; ij < kMma * kMma; ++ij)
        wmma::store_matrix_sync(C + (warp * kMma * kMma + ij) * kMatrix, acc[ij / kMma][ij % kMma],
                                kEdge, wmma::mem_row_major);
}

// Each block reads `chunks` of its own, again and again: all blocks together less than L2 holds.
// __ldcg bypasses L1, which would keep them.
__global__ void __launch_bounds__(kThreads)
    read_l2(int iterations, int chunks, const uint4* a, unsigned* c) {
    a += size_t(blockIdx.x) * chunks * kL2Loads * kThreads + threadIdx.x;
    unsigned sum = 0;
#pragma unroll 1
    for (int iteration = 0; iteration < iterations; ++iteration)
#pragma unroll 1
        for (int chunk = 0; chunk < chunks; ++chunk) {
            uint4 v[kL2Loads];
#pragma unroll
            for (int i = 0; i < kL2Loads; ++i) v[i] = __ldcg(a + (chunk * kL2Loads + i) * kThreads);
#pragma unroll
            for (int i = 0; i < kL2Loads; ++i)
                sum += (v[i].x + v[i].y + v[i].z + v[i].w) ^ unsigned(iteration);
        }
    c[blockIdx.x * kThreads + threadIdx.x] = sum;
}

// Each thread adds up what it reads, 16 bytes at a time. The eight lanes that are served together
// read 128 contiguous bytes, which are in 32 different banks wherever they start. The start
// changes at every iteration: otherwise the compiler would load once for all iterations.
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

// Chains of wgmma, Hopper's tensor-core instruction: four warps, a warpgroup, together multiply 64 x
// 16 by 16 x 256, both from shared memory. Only code for sm_90a has it: -gencode
// arch=compute_90a,code=sm_90a.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "00_machine_limits/roofline.cuh"
#include "common/clock.h"
#include "common/device.h"
#include "common/ptx/hopper.cuh"

// The tile of a warpgroup, which takes four instructions, and how many times they are issued before
// a wait.
constexpr int kWgM = 64, kWgN = 256, kWgK = 64, kWgUnroll = 4;
constexpr int kWgGroups = 2;  // warpgroups of a block: each has its own A, and they share B

#ifdef CUDA_EMULATOR
inline bool has_wgmma() { return false; }
inline void launch_wgmma_chains(int, int, const half*, const half*, float*, Elapsed*) {}
#else

// Copies `rows` rows of 128 bytes from device memory, swizzled as wgmma reads them.
__device__ inline void copy_tile(uint4* shared, const half* from, int rows, int thread,
                                 int threads) {
    for (int i = thread; i < rows * 8; i += threads)
        shared[i ^ (i / 8 % 8)] = reinterpret_cast<const uint4*>(from)[i];
}

// Each warpgroup adds the products of its A (64 x 64, row by row) and the block's B (64 x 256,
// column by column), again and again, to a C of its own (64 x 256, row by row).
static __global__ void __launch_bounds__(128 * kWgGroups, 1)
    wgmma_chains(int iterations, const half* A, const half* B, float* C, Elapsed* elapsed) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    __shared__ alignas(1024) uint4 As[kWgGroups][kWgM * 8], Bs[kWgN * 8];
    const int group = threadIdx.x / 128, thread = threadIdx.x % 128;
    const size_t to = size_t(blockIdx.x) * kWgGroups + group;
    copy_tile(As[group], A + to * kWgM * kWgK, kWgM, thread, 128);
    copy_tile(Bs, B + size_t(blockIdx.x) * kWgN * kWgK, kWgN, threadIdx.x, 128 * kWgGroups);
    // wgmma reads shared memory by the async proxy, and the stores above must come before its
    // reads.
    ptx::fence_proxy_async();
    __syncthreads();
    const uint64_t a = ptx::wgmma_descriptor(As[group], 128, 64);
    const uint64_t b = ptx::wgmma_descriptor(Bs, 128, 64);
    float d[128] = {};
    const Elapsed begin = clock_now();
#pragma unroll 1
    for (int iteration = 0; iteration < iterations; ++iteration) {
        ptx::wgmma_fence();
#pragma unroll
        for (int s = 0; s < kWgUnroll; ++s)
#pragma unroll
            for (int k = 0; k < kWgK / 16; ++k)
                ptx::wgmma_m64k16<half>(d, a + 2 * k, b + 2 * k);  // 32 bytes on, in units of 16
        ptx::wgmma_commit_group();
        ptx::wgmma_wait_group<0>();
    }
    report_elapsed(begin, elapsed);
    const int warp = thread / 32, lane = thread % 32;
#pragma unroll
    for (int i = 0; i < 128; ++i)
        C[to * kWgM * kWgN + (16 * warp + lane / 4 + i / 2 % 2 * 8) * kWgN + i / 4 * 8 +
          lane % 4 * 2 + i % 2] = d[i];
#endif
}

static __global__ void query_wgmma(int* answer) { *answer = ptx::kHasWgmma; }

// Whether this program has code for wgmma that runs on this GPU.
inline bool has_wgmma() {
    DeviceArray<int> device(1);
    int answer = 0;
    query_wgmma<<<1, 1>>>(device.data());
    check_cuda(cudaGetLastError(), "the query for wgmma");
    device.read(0, 1, &answer);
    return answer;
}

inline void launch_wgmma_chains(int blocks, int iterations, const half* A, const half* B, float* C,
                                Elapsed* elapsed) {
    wgmma_chains<<<blocks, 128 * kWgGroups>>>(iterations, A, B, C, elapsed);
}

#endif  // CUDA_EMULATOR

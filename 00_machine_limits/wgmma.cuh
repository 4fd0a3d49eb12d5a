// Chains of wgmma, Hopper's own tensor instruction: four warps, a warpgroup, together multiply 64 x
// 16 by 16 x 256, both from shared memory. Only code for sm_90a has it: -gencode
// arch=compute_90a,code=sm_90a.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "00_machine_limits/roofline.cuh"

// Of a warpgroup's tile, which four instructions multiply; and how often they do until they are
// waited for.
constexpr int kWgM = 64, kWgN = 256, kWgK = 64, kWgUnroll = 4;
constexpr int kWgGroups = 2;  // a block: each with an A of its own, B is common

#ifdef CUDA_EMULATOR
inline bool has_wgmma() { return false; }
inline void launch_wgmma_chains(int, int, const half*, const half*, float*, Elapsed*) {}
#else

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
constexpr bool kHasWgmma = true;

// D += A * B of this warpgroup: the 64 x 256 sums are 128 registers a thread. a, b: descriptors of
// the operands.
__device__ __forceinline__ void wgmma_m64n256k16(float (&d)[128], unsigned long long a,
                                                 unsigned long long b) {
#define R8(i)                                                                                   \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
        "+f"(d[i + 6]), "+f"(d[i + 7])
#define R64(i) \
    R8(i), R8(i + 8), R8(i + 16), R8(i + 24), R8(i + 32), R8(i + 40), R8(i + 48), R8(i + 56)
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, 1, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13,"
        "%14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27,"
        "%28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41,"
        "%42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55,"
        "%56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69,"
        "%70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83,"
        "%84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97,"
        "%98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111,"
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125,"
        "%126, %127},"
        "%128, %129, p, 1, 1, 0, 0; }"
        : R64(0), R64(64)
        : "l"(a), "l"(b));
#undef R64
#undef R8
}

// Describes a tile in shared memory: rows of 128 bytes along k, each eight of them 1024 bytes, the
// 16-byte pieces of a row exchanged by its number modulo 8 (128-byte swizzle). PTX ISA,
// "Asynchronous Warpgroup Level Matrix Shared Memory Layout".
__device__ inline unsigned long long wgmma_tile(const void* shared) {
    const unsigned long long at = __cvta_generic_to_shared(shared);
    return at >> 4 | 1ull << 16 | 1024ull >> 4 << 32 | 1ull << 62;
}

// `rows` of a tile from device memory, in that order.
__device__ inline void bring_tile(uint4* shared, const half* from, int rows, int thread,
                                  int threads) {
    for (int i = thread; i < rows * 8; i += threads)
        shared[i ^ (i / 8 % 8)] = reinterpret_cast<const uint4*>(from)[i];
}
#else
constexpr bool kHasWgmma = false;
#endif

// Each warpgroup adds the products of its A (64 x 64, row by row) and the block's B (64 x 256,
// column by column), again and again, to a C of its own (64 x 256, row by row).
static __global__ void __launch_bounds__(128 * kWgGroups, 1)
    wgmma_chains(int turns, const half* A, const half* B, float* C, Elapsed* own) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    __shared__ alignas(1024) uint4 As[kWgGroups][kWgM * 8], Bs[kWgN * 8];
    const int group = threadIdx.x / 128, thread = threadIdx.x % 128;
    const size_t to = size_t(blockIdx.x) * kWgGroups + group;
    bring_tile(As[group], A + to * kWgM * kWgK, kWgM, thread, 128);
    bring_tile(Bs, B + size_t(blockIdx.x) * kWgN * kWgK, kWgN, threadIdx.x, 128 * kWgGroups);
    // wgmma reads past the path that has just written.
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    const unsigned long long a = wgmma_tile(As[group]), b = wgmma_tile(Bs);
    float d[128] = {};
    const Elapsed begin = clock_now();
#pragma unroll 1
    for (int turn = 0; turn < turns; ++turn) {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int s = 0; s < kWgUnroll; ++s)
#pragma unroll
            for (int k = 0; k < kWgK / 16; ++k)
                wgmma_m64n256k16(d, a + 2 * k, b + 2 * k);  // 32 bytes on, in units of 16
        asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::
                         : "memory");
    }
    report_elapsed(begin, own);
    const int warp = thread / 32, lane = thread % 32;
#pragma unroll
    for (int i = 0; i < 128; ++i)
        C[to * kWgM * kWgN + (16 * warp + lane / 4 + i / 2 % 2 * 8) * kWgN + i / 4 * 8 +
          lane % 4 * 2 + i % 2] = d[i];
#endif
}

static __global__ void tell_wgmma(int* answer) { *answer = kHasWgmma; }

// Whether this program has code for wgmma that the GPU at hand runs.
inline bool has_wgmma() {
    DeviceArray<int> device(1);
    int answer = 0;
    tell_wgmma<<<1, 1>>>(device.data());
    check_cuda(cudaGetLastError(), "asking for wgmma");
    device.read(0, 1, &answer);
    return answer;
}

inline void launch_wgmma_chains(int blocks, int turns, const half* A, const half* B, float* C,
                                Elapsed* own) {
    wgmma_chains<<<blocks, 128 * kWgGroups>>>(turns, A, B, C, own);
}

#endif  // CUDA_EMULATOR

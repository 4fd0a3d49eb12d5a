// The emulator's versions of the instructions that only Hopper has, as in ptx.cuh.
#pragma once

#include "emulator/include/common/ptx/ptx.cuh"

// rewrite_launches.py inserts EMULATOR_CLUSTER into the kernel.
#define CLUSTER_DIMS(...)

namespace emulator {

void* mapa(void* pointer, int rank, const char* file, int line);
void cp_async_bulk_tensor(void* to, const CUtensorMap* map, int x, int y, uint64_t* barrier,
                          unsigned ranks, const char* file, int line);
void mbarrier_arrive_cluster(uint64_t* barrier, int rank, const char* file, int line);
void st_async(float4* to, float4 value, uint64_t* barrier, int rank, const char* file, int line);

struct WgmmaCall {  // of a lane
    float* d;
    int n;  // floats of d
    uint64_t a, b;  // descriptors
    bool is_half, transposed_a, transposed_b, accumulate;
    bool negated = false;  // one of A and B
    const uint32_t* registers = nullptr;  // 4 that hold A, in place of the descriptor a; or null
};
void wgmma(const WarpCall& call);
void wgmma_fence(const WarpCall& call);
void wgmma_commit_group(const WarpCall& call);
void wgmma_wait_for_warps(int pending, const char* file, int line);
void wgmma_wait_group(const WarpCall& call);  // its argument: `pending`
void set_max_registers(const WarpCall& call);  // its argument: the count, negative to deallocate
uint64_t wgmma_descriptor(const void* start, int swizzle, int stride, int leading, const char* file,
                          int line);

}  // namespace emulator

namespace ptx {

constexpr bool kHasWgmma = true;

__forceinline__ void cp_async_bulk_tensor(void* to, const CUtensorMap* map, int x, int y,
                                          uint64_t* barrier, unsigned ranks, EMULATOR_SITE) {
    emulator::cp_async_bulk_tensor(to, map, x, y, barrier, ranks, file, line);
}
using emulator::get_sreg_cluster_ctarank;
__forceinline__ void barrier_cluster_arrive(EMULATOR_SITE) {
    emulator::barrier_cluster_arrive(false, file, line);
}
__forceinline__ void barrier_cluster_arrive_relaxed(EMULATOR_SITE) {
    emulator::barrier_cluster_arrive(true, file, line);
}
__forceinline__ void barrier_cluster_wait(EMULATOR_SITE) {
    emulator::barrier_cluster_wait(file, line);
}
template <class T>
__forceinline__ T* mapa(T* pointer, int rank, EMULATOR_SITE) {
    return static_cast<T*>(emulator::mapa(pointer, rank, file, line));
}
__forceinline__ void mbarrier_arrive_cluster(uint64_t* barrier, int rank, EMULATOR_SITE) {
    emulator::mbarrier_arrive_cluster(barrier, rank, file, line);
}
__forceinline__ void st_async(float4* to, float4 value, uint64_t* barrier, int rank,
                              EMULATOR_SITE) {
    emulator::st_async(to, value, barrier, rank, file, line);
}

__forceinline__ uint64_t wgmma_descriptor(const void* start, int swizzle, int stride,
                                          int leading = 0, EMULATOR_SITE) {
    return emulator::wgmma_descriptor(start, swizzle, stride, leading, file, line);
}
__forceinline__ void wgmma_fence(EMULATOR_SITE) {
    emulator::collective(emulator::wgmma_fence, nullptr, file, line);
}
__forceinline__ void wgmma_commit_group(EMULATOR_SITE) {
    emulator::collective(emulator::wgmma_commit_group, nullptr, file, line);
}
template <int pending>
__forceinline__ void wgmma_wait_group(EMULATOR_SITE) {
    const int count = pending;
    emulator::wgmma_wait_for_warps(pending, file, line);
    emulator::collective(emulator::wgmma_wait_group, &count, file, line);
}
template <class Array>
void warpgroup_fence_operand(Array&) {}

template <class T, int transposed_a = 0, int transposed_b = 0, class Array>
__forceinline__ void wgmma_m64k16(Array& d, uint64_t a, uint64_t b, bool accumulate = true,
                                  EMULATOR_SITE) {
    constexpr int n = sizeof(d) / sizeof(float);
    static_assert(n % 8 == 0 && n <= 128, "N / 2 floats, N a multiple of 16 up to 256");
    const emulator::WgmmaCall call{reinterpret_cast<float*>(&d),
                                   n,
                                   a,
                                   b,
                                   std::is_same_v<T, half>,
                                   transposed_a != 0,
                                   transposed_b != 0,
                                   accumulate};
    emulator::collective(emulator::wgmma, &call, file, line);
}
template <class T, int transposed_b = 0, class Array>
__forceinline__ void wgmma_m64k16(Array& d, const Pair<T> (&a)[4], uint64_t b,
                                  bool accumulate = true, EMULATOR_SITE) {
    constexpr int n = sizeof(d) / sizeof(float);
    static_assert(n % 8 == 0 && n <= 128, "N / 2 floats, N a multiple of 16 up to 256");
    emulator::WgmmaCall call{reinterpret_cast<float*>(&d),
                             n,
                             0,
                             b,
                             std::is_same_v<T, half>,
                             false,
                             transposed_b != 0,
                             accumulate};
    call.registers = reinterpret_cast<const uint32_t*>(&a);
    emulator::collective(emulator::wgmma, &call, file, line);
}

template <int count>
__forceinline__ void warpgroup_reg_alloc(EMULATOR_SITE) {
    const int registers = count;
    emulator::collective(emulator::set_max_registers, &registers, file, line);
}
template <int count>
__forceinline__ void warpgroup_reg_dealloc(EMULATOR_SITE) {
    const int registers = -count;
    emulator::collective(emulator::set_max_registers, &registers, file, line);
}

}  // namespace ptx

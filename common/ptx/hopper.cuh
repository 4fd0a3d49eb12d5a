// Instructions that Hopper introduced, as functions like those of ptx.cuh: thread block clusters,
// wgmma and setmaxnreg. The last two need code=sm_90a, and so do all functions of this file.
// Compiled for any other architecture, even plain sm_90, they trap, which ends the launch with an
// error.
#pragma once

#include "ptx.cuh"

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900
#define CLUSTER_DIMS(...) __cluster_dims__(__VA_ARGS__)
#else
#define CLUSTER_DIMS(...)  // nvcc refuses the attribute for older architectures
#endif

namespace ptx {

// clang-format off
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
constexpr bool kHasWgmma = true;
#else
constexpr bool kHasWgmma = false;
#endif
#define PTX_SM_90A(...) \
    do { if constexpr (kHasWgmma) asm volatile(__VA_ARGS__); else __trap(); } while (false)

// ---- Clusters -----------------------------------------------------------------------------------
//
// A kernel declared with CLUSTER_DIMS(x, y, z) is launched in clusters of x * y * z blocks. The
// blocks of a cluster run at the same time and can access each other's shared memory (distributed
// shared memory), so a block must not return while others may still access its shared memory.

// PTX ISA: "Special Registers: %cluster_ctarank".
inline __device__ int get_sreg_cluster_ctarank() {
    int rank = 0;
    PTX_SM_90A("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
// The barrier of a cluster in two halves: every thread of the cluster arrives, and a wait returns
// when all of them have arrived. A thread that has waited sees what the others wrote before they
// arrived.
// PTX ISA: "barrier.cluster".
inline __device__ void barrier_cluster_arrive() {
    PTX_SM_90A("barrier.cluster.arrive.release;" ::: "memory");
}
// PTX ISA: "barrier.cluster".
inline __device__ void barrier_cluster_wait() {
    PTX_SM_90A("barrier.cluster.wait.acquire;" ::: "memory");
}
// The same without release: what the thread wrote before need not be visible after the wait. That
// is enough to publish mbarriers, which fence_mbarrier_init makes visible to the cluster.
// PTX ISA: "barrier.cluster".
inline __device__ void barrier_cluster_arrive_relaxed() {
    PTX_SM_90A("barrier.cluster.arrive.relaxed;" ::: "memory");
}
// The address of what `pointer` addresses in this block's shared memory, but in the block of that
// rank in the cluster.
// PTX ISA: "mapa".
template <class T>
__device__ T* mapa(T* pointer, int rank) {
    uint64_t there = 0;
    PTX_SM_90A("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(pointer), "r"(rank));
    return reinterpret_cast<T*>(there);
}
// Arrives on the mbarrier at the same offset in the shared memory of the block with that rank.
// PTX's default is .release.cta, which by its memory model orders nothing for a thread of another
// block. .release.cluster would, but it also waits for all earlier writes of the thread. The stages
// signal with the arrival only that they have read a buffer, and their reads have completed by then.
// PTX ISA: "mbarrier.arrive".
inline __device__ void mbarrier_arrive_cluster(uint64_t* barrier, int rank) {
    PTX_SM_90A("{.reg .b32 there;\n"
                  "mapa.shared::cluster.u32 there, %0, %1;\n"
                  "mbarrier.arrive.shared::cluster.b64 _, [there];}"
              :: "r"(shared_address(barrier)), "r"(rank) : "memory");
}
// Stores `value` in the shared memory of the block with that rank, at the offset that `to` has in
// this block's, and does not wait for the store. When the value has arrived, its 16 bytes count as
// transferred (complete_tx) on that block's `barrier`, and a thread that has waited there may read
// it. The store is one of the generic proxy, unlike TMA's, so ordinary reads and writes of the same
// bytes that come before it need no fence_proxy_async().
// PTX ISA: "st.async".
inline __device__ void st_async(float4* to, float4 value, uint64_t* barrier, int rank) {
    PTX_SM_90A("{.reg .b32 there, mbar;\n"
                  "mapa.shared::cluster.u32 there, %0, %6;\n"
                  "mapa.shared::cluster.u32 mbar, %1, %6;\n"
                  "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 "
                  "[there], {%2, %3, %4, %5}, [mbar];}"
              :: "r"(shared_address(to)), "r"(shared_address(barrier)), "f"(value.x), "f"(value.y),
                 "f"(value.z), "f"(value.w), "r"(rank) : "memory");
}
// Loads one box into every block of the cluster whose bit is set in `ranks`, at the offset of `to`
// in each block's shared memory. Its bytes count as transferred on the mbarrier that lies at the
// offset of `barrier` in each of these blocks.
// PTX ISA: "cp.async.bulk.tensor".
inline __device__ void cp_async_bulk_tensor(void* to, const CUtensorMap* map, int x, int y,
                                            uint64_t* barrier, unsigned ranks) {
    PTX_SM_90A("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
                  ".mbarrier::complete_tx::bytes.multicast::cluster "
                  "[%0], [%1, {%2, %3}], [%4], %5;"
              :: "r"(shared_address(to)), "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier)),
                 "h"(static_cast<unsigned short>(ranks)) : "memory");
}

// ---- wgmma: D = A * B + D, of 64x16 by 16xN, by the 128 threads of a warpgroup ------------------
//
// N is a multiple of 16 up to 256 (in PTX of 8). B lies in shared memory, and A in shared memory or
// in registers. A matrix descriptor of 64 bits describes an operand in shared memory. D lies in
// registers as floats; with g and t as in ptx.cuh, and w the number of the warp in its warpgroup,
//     d[i]: row 16w + g + 8 * (i / 2 % 2), column 8 * (i / 4) + 2t + i % 2
//     a[r]: row 16w + g + 8 * (r % 2), k = 2t + 8 * (r / 2) in the lower half, k + 1 in the upper
// The instruction is asynchronous: until wgmma_wait_group the registers of D must not be accessed,
// nor the operands written, be they in memory or in registers. wgmma_fence comes before the first
// wgmma, and again after any other instruction has accessed the registers of D or written those of
// A. Operands that ordinary stores wrote to shared memory need fence_proxy_async and a barrier
// first.
// Source: "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions", where each
// function names its section.

// The matrix descriptor of an operand that TMA loaded in rows of W = `swizzle` bytes: 128, 64 or
// 32. Its address and its byte offsets are in units of 16 bytes. So are `stride` and `leading`, and
// the descriptor of an operand that begins 32 bytes further on is larger by 2. The operand begins
// at `start`; the swizzle pattern, which repeats every 8 * W bytes, counts from the multiple of
// 8 * W at or below it. Eight rows are contiguous, and `stride` units lie between the beginnings of
// two such blocks. In bytes, with S = 16 * stride and L = 16 * leading:
//   K-major, a row for each m or n: row r is at r / 8 * S + r % 8 * W, its k along the row
//   MN-major (transposed: 1), a row for each k: row k is at k / 8 * S + k % 8 * W. It has
//      W / 2 elements of m or n; the next W / 2 lie L bytes further.
// Without a swizzle (0) the operand consists of core matrices, eight rows of 8 elements (16 bytes)
// in 128 contiguous bytes each.
//   K-major: r / 8 * S + k / 8 * L + r % 8 * 16; MN-major: ... + k % 8 * 16
inline __device__ uint64_t wgmma_descriptor(const void* start, int swizzle, int stride,
                                            int leading = 0) {
    const uint64_t mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
    return (shared_address(start) >> 4 & 0x3fff) | uint64_t(leading) << 16 |
           uint64_t(stride) << 32 | mode << 62;
}

// PTX ISA: "wgmma.fence".
inline __device__ void wgmma_fence() { PTX_SM_90A("wgmma.fence.sync.aligned;" ::: "memory"); }
// PTX ISA: "wgmma.commit_group".
inline __device__ void wgmma_commit_group() {
    PTX_SM_90A("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// Waits until all of the warpgroup's wgmma-groups except the latest `pending` are complete.
// PTX ISA: "wgmma.wait_group".
template <int pending>
__device__ void wgmma_wait_group() {
    PTX_SM_90A("wgmma.wait_group.sync.aligned %0;" :: "n"(pending) : "memory");
}
// Emits no instruction; the name is CUTLASS's. Placed after a wait, it keeps the compiler from
// reading these registers before the wait.
template <class Array>
__device__ void warpgroup_fence_operand(Array& d) {
    for (auto& x : reinterpret_cast<float(&)[sizeof(d) / 4]>(d))
        asm volatile("" : "+f"(x) :: "memory");
}

#define PTX_OUT8(i) "+f"(r[i]), "+f"(r[i + 1]), "+f"(r[i + 2]), "+f"(r[i + 3]), \
    "+f"(r[i + 4]), "+f"(r[i + 5]), "+f"(r[i + 6]), "+f"(r[i + 7])
// PTX_j(of) lists 8 * j floats: with PTX_NUMBERS as operand numbers in the instruction's text, with
// PTX_OPERANDS as operands of the asm statement.
#define PTX_NUMBERS(numbers, i) numbers
#define PTX_OPERANDS(numbers, i) , PTX_OUT8(i)
#define PTX_1(of) of("%3, %4, %5, %6, %7, %8, %9, %10", 0)
#define PTX_2(of) PTX_1(of) of(", %11, %12, %13, %14, %15, %16, %17, %18", 8)
#define PTX_3(of) PTX_2(of) of(", %19, %20, %21, %22, %23, %24, %25, %26", 16)
#define PTX_4(of) PTX_3(of) of(", %27, %28, %29, %30, %31, %32, %33, %34", 24)
#define PTX_5(of) PTX_4(of) of(", %35, %36, %37, %38, %39, %40, %41, %42", 32)
#define PTX_6(of) PTX_5(of) of(", %43, %44, %45, %46, %47, %48, %49, %50", 40)
#define PTX_7(of) PTX_6(of) of(", %51, %52, %53, %54, %55, %56, %57, %58", 48)
#define PTX_8(of) PTX_7(of) of(", %59, %60, %61, %62, %63, %64, %65, %66", 56)
#define PTX_9(of) PTX_8(of) of(", %67, %68, %69, %70, %71, %72, %73, %74", 64)
#define PTX_10(of) PTX_9(of) of(", %75, %76, %77, %78, %79, %80, %81, %82", 72)
#define PTX_11(of) PTX_10(of) of(", %83, %84, %85, %86, %87, %88, %89, %90", 80)
#define PTX_12(of) PTX_11(of) of(", %91, %92, %93, %94, %95, %96, %97, %98", 88)
#define PTX_13(of) PTX_12(of) of(", %99, %100, %101, %102, %103, %104, %105, %106", 96)
#define PTX_14(of) PTX_13(of) of(", %107, %108, %109, %110, %111, %112, %113, %114", 104)
#define PTX_15(of) PTX_14(of) of(", %115, %116, %117, %118, %119, %120, %121, %122", 112)
#define PTX_16(of) PTX_15(of) of(", %123, %124, %125, %126, %127, %128, %129, %130", 120)
// Operands 0 to 2 are the descriptors of A and B and the flag scale-d; D's registers follow. x0 and
// x1 are the numbers of the next two operands, which say whether A and B are transposed.
#define PTX_WGMMA(j, N, type, x0, x1, x2, x3)                                                    \
    if constexpr (n == 8 * j)                                                                    \
        PTX_SM_90A("{.reg .pred p; setp.ne.b32 p, %2, 0;\n"                                      \
                   "wgmma.mma_async.sync.aligned.m64n" N "k16.f32." type "." type " {"           \
                   PTX_##j(PTX_NUMBERS) "}, %0, %1, p, 1, 1, " x0 ", " x1 ";}"                   \
                   : "+l"(a), "+l"(b), "+r"(scale_d) PTX_##j(PTX_OPERANDS)                       \
                   : "n"(transposed_a), "n"(transposed_b) : "memory");
// With A in registers operand 0 is the first of them, and x0 to x2 are the others.
#define PTX_WGMMA_REGISTERS(j, N, type, x0, x1, x2, x3)                                          \
    if constexpr (n == 8 * j)                                                                    \
        PTX_SM_90A("{.reg .pred p; setp.ne.b32 p, %2, 0;\n"                                      \
                   "wgmma.mma_async.sync.aligned.m64n" N "k16.f32." type "." type " {"           \
                   PTX_##j(PTX_NUMBERS) "}, {%0, " x0 ", " x1 ", " x2 "}, %1, p, 1, 1, " x3 ";}" \
                   : "+r"(a0), "+l"(b), "+r"(scale_d) PTX_##j(PTX_OPERANDS)                      \
                   : "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "n"(transposed_b) : "memory");
#define PTX_WGMMA_ANY(wgmma, type) \
    wgmma(1, "16", type, "%11", "%12", "%13", "%14") \
    wgmma(2, "32", type, "%19", "%20", "%21", "%22") \
    wgmma(3, "48", type, "%27", "%28", "%29", "%30") \
    wgmma(4, "64", type, "%35", "%36", "%37", "%38") \
    wgmma(5, "80", type, "%43", "%44", "%45", "%46") \
    wgmma(6, "96", type, "%51", "%52", "%53", "%54") \
    wgmma(7, "112", type, "%59", "%60", "%61", "%62") \
    wgmma(8, "128", type, "%67", "%68", "%69", "%70") \
    wgmma(9, "144", type, "%75", "%76", "%77", "%78") \
    wgmma(10, "160", type, "%83", "%84", "%85", "%86") \
    wgmma(11, "176", type, "%91", "%92", "%93", "%94") \
    wgmma(12, "192", type, "%99", "%100", "%101", "%102") \
    wgmma(13, "208", type, "%107", "%108", "%109", "%110") \
    wgmma(14, "224", type, "%115", "%116", "%117", "%118") \
    wgmma(15, "240", type, "%123", "%124", "%125", "%126") \
    wgmma(16, "256", type, "%131", "%132", "%133", "%134")
// T: half or __nv_bfloat16. d: N / 2 floats, of any dimensions. accumulate: false for D = A * B.
// PTX ISA: "wgmma.mma_async".
template <class T, int transposed_a = 0, int transposed_b = 0, class Array>
__device__ void wgmma_m64k16(Array& d, uint64_t a, uint64_t b, bool accumulate = true) {
    constexpr int n = sizeof(d) / sizeof(float);
    static_assert(n % 8 == 0 && n <= 128, "N / 2 floats, N a multiple of 16 up to 256");
    int scale_d = accumulate;
    auto& r = reinterpret_cast<float(&)[n]>(d);
    if constexpr (std::is_same_v<T, half>) { PTX_WGMMA_ANY(PTX_WGMMA, "f16") }
    else { PTX_WGMMA_ANY(PTX_WGMMA, "bf16") }
}
// The same with A in registers, and K-major.
// PTX ISA: "wgmma.mma_async".
template <class T, int transposed_b = 0, class Array>
__device__ void wgmma_m64k16(Array& d, const Pair<T> (&a)[4], uint64_t b, bool accumulate = true) {
    constexpr int n = sizeof(d) / sizeof(float);
    static_assert(n % 8 == 0 && n <= 128, "N / 2 floats, N a multiple of 16 up to 256");
    int scale_d = accumulate;
    auto& r = reinterpret_cast<float(&)[n]>(d);
    auto& ra = registers<4>(a);
    unsigned a0 = ra[0];
    if constexpr (std::is_same_v<T, half>) { PTX_WGMMA_ANY(PTX_WGMMA_REGISTERS, "f16") }
    else { PTX_WGMMA_ANY(PTX_WGMMA_REGISTERS, "bf16") }
}

// ---- setmaxnreg ---------------------------------------------------------------------------------
//
// Every warp of a warpgroup executes the instruction, and each of its threads then has `count`
// registers: 24 to 256, a multiple of 8. The names are CUTLASS's: alloc (.inc) waits until other
// warps have released enough registers by dealloc (.dec). The kernel needs __launch_bounds__, so
// that its threads start with a known number of them.
// Source: "Miscellaneous Instructions: setmaxnreg".

template <int count>
__device__ void warpgroup_reg_alloc() {
    PTX_SM_90A("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(count));
}
template <int count>
__device__ void warpgroup_reg_dealloc() {
    PTX_SM_90A("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(count));
}
// clang-format on

}  // namespace ptx

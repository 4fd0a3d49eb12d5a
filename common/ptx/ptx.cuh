// PTX instructions as functions. Where libcu++'s cuda::ptx has the instruction, the function has
// its name there; the parameters are those that a stage needs. nvcc compiles it to inline PTX. On
// the emulator its own file of this name is found first (emulator/include/common/ptx/ptx.cuh).
//
// A half2 or __nv_bfloat162 is one 32-bit register of two elements, the lower one first; its type
// chooses the instruction. All 32 lanes of a warp call ldmatrix and mma together. In the layouts
// below g = lane / 4 and t = lane % 4. Each source is a section of the PTX ISA, by its heading.
// hopper.cuh has clusters and wgmma.
//
// All of it compiles for older architectures, too. There cp_async is an ordinary copy, red_add is
// four atomicAdds, and an instruction that the architecture lacks traps, which ends the launch with
// an error.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

namespace ptx {

// A register of two T: half2 or __nv_bfloat162.
template <class T>
using Pair = std::conditional_t<std::is_same_v<T, half>, half2, __nv_bfloat162>;

#ifdef __CUDA_ARCH__
constexpr int kCompiledFor = __CUDA_ARCH__ / 10;  // 80: sm_80
#else
constexpr int kCompiledFor = 0;  // host code, which executes none of these
#endif

// clang-format off
#define PTX_SINCE(sm, ...) \
    do { if constexpr (kCompiledFor >= sm) asm volatile(__VA_ARGS__); else __trap(); } while (false)
// clang-format on

// Views an array of any number of dimensions as the n 32-bit registers that an asm statement takes.
template <int n, class Array>
__device__ auto& registers(Array& array) {
    static_assert(sizeof(array) == n * sizeof(unsigned), "an array of n registers of 32 bits");
    using Register = std::conditional_t<std::is_const_v<std::remove_all_extents_t<Array>>,
                                        const unsigned, unsigned>;
    return reinterpret_cast<Register(&)[n]>(array);
}
inline __device__ unsigned shared_address(const void* pointer) {
    return unsigned(__cvta_generic_to_shared(pointer));
}

// ---- ldmatrix (sm_75): 8x8 matrices of 16-bit elements, from shared memory ----------------------
//
// x1 loads one matrix, x2 two, x4 four. Lane 8j + r passes the address of row r of matrix j: 16
// bytes, at a multiple of 16. Register j of each lane then holds two adjacent elements of a row
// of matrix j, [g][2t] and [g][2t + 1]; with trans of a column, [2t][g] and [2t + 1][g].
//
// Loads a row-major 16x16 A in the order in which mma_m16n8k16 takes it:
//     half2 a[4];
//     ptx::ldmatrix_x4(a, &A[lane % 16][lane / 16 * 8]);
// Loads a row-major 16x16 B as two operands of mma_m16n8k16, columns 0 to 7 and 8 to 15:
//     half2 b[2][2];
//     ptx::ldmatrix_x4_trans(b, &B[lane % 16][lane / 16 * 8]);
// Source: "Warp-level matrix load instruction: ldmatrix".

// clang-format off
#define PTX_LDMATRIX(name, n, form, registers_and_row, ...)                                      \
    template <class Array>                                                                       \
    __device__ void ldmatrix_##name(Array& to, const void* row) {                                \
        auto& r = registers<n>(to);                                                              \
        PTX_SINCE(75, "ldmatrix.sync.aligned.m8n8." form ".shared.b16 " registers_and_row ";"    \
                  : __VA_ARGS__ : "r"(shared_address(row)) : "memory");                          \
    }
PTX_LDMATRIX(x1, 1, "x1", "{%0}, [%1]", "=r"(r[0]))
PTX_LDMATRIX(x2, 2, "x2", "{%0, %1}, [%2]", "=r"(r[0]), "=r"(r[1]))
PTX_LDMATRIX(x4, 4, "x4", "{%0, %1, %2, %3}, [%4]",
             "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]))
PTX_LDMATRIX(x1_trans, 1, "x1.trans", "{%0}, [%1]", "=r"(r[0]))
PTX_LDMATRIX(x2_trans, 2, "x2.trans", "{%0, %1}, [%2]", "=r"(r[0]), "=r"(r[1]))
PTX_LDMATRIX(x4_trans, 4, "x4.trans", "{%0, %1, %2, %3}, [%4]",
             "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]))
#undef PTX_LDMATRIX

// ---- mma.m16n8k16 (sm_80): D = A * B + D, of 16x16 by 16x8 --------------------------------------
//
// Register r of each operand holds, as its low and its high element,
//     a[r]: row g + 8 * (r % 2), k = 2t + 8 * (r / 2) and the next k
//     b[r]: k = 2t + 8 * r and the next k, column g
//     d[r] of half2: row g + 8 * r, column 2t and the next
//     d[i] of float: row g + 8 * (i / 2), column 2t + i % 2
// Source: "Matrix Fragments for mma.m16n8k16 with floating point type".

#define PTX_MMA_M16N8K16(Pair, type)                                                             \
    inline __device__ void mma_m16n8k16(float (&d)[4], const Pair (&a)[4], const Pair (&b)[2]) { \
        auto& ra = registers<4>(a);                                                              \
        auto& rb = registers<2>(b);                                                              \
        PTX_SINCE(80, "mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 "             \
                      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"          \
                  : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                               \
                  : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));     \
    }
PTX_MMA_M16N8K16(half2, "f16")
PTX_MMA_M16N8K16(__nv_bfloat162, "bf16")
#undef PTX_MMA_M16N8K16
inline __device__ void mma_m16n8k16(half2 (&d)[2], const half2 (&a)[4], const half2 (&b)[2]) {
    auto& rd = registers<2>(d);
    auto& ra = registers<4>(a);
    auto& rb = registers<2>(b);
    PTX_SINCE(80, "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 "
                  "{%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
              : "+r"(rd[0]), "+r"(rd[1])
              : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
}

// ---- mma.m8n8k4 (sm_70): D = A * B + D, of 8x4 by 4x8, in each quad-pair ------------------------
//
// A quad-pair consists of lanes 4q to 4q + 3 and 4q + 16 to 4q + 19. Each of a warp's four
// quad-pairs multiplies operands of its own. A and B are column-major. With h = lane / 16, element
// i is
//     a: row 4h + i, k = t        b: k = i, column 4h + t
//     d of half: row 4h + t, column i
//     d of float: row 4h + t % 2 + (i & 2), column (i & 4) + (t & 2) + i % 2
// Source: "Matrix Fragments for mma.m8n8k4 with .f16 floating point type".

inline __device__ void mma_m8n8k4(half2 (&d)[4], const half2 (&a)[2], const half2 (&b)[2]) {
    auto& rd = registers<4>(d);
    auto& ra = registers<2>(a);
    auto& rb = registers<2>(b);
    PTX_SINCE(70, "mma.sync.aligned.m8n8k4.col.col.f16.f16.f16.f16 "
                  "{%0, %1, %2, %3}, {%4, %5}, {%6, %7}, {%0, %1, %2, %3};"
              : "+r"(rd[0]), "+r"(rd[1]), "+r"(rd[2]), "+r"(rd[3])
              : "r"(ra[0]), "r"(ra[1]), "r"(rb[0]), "r"(rb[1]));
}
inline __device__ void mma_m8n8k4(float (&d)[8], const half2 (&a)[2], const half2 (&b)[2]) {
    auto& ra = registers<2>(a);
    auto& rb = registers<2>(b);
    PTX_SINCE(70, "mma.sync.aligned.m8n8k4.col.col.f32.f16.f16.f32 "
                  "{%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9}, {%10, %11}, "
                  "{%0, %1, %2, %3, %4, %5, %6, %7};"
              : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]),
                "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
              : "r"(ra[0]), "r"(ra[1]), "r"(rb[0]), "r"(rb[1]));
}

// ---- cp.async (sm_80): an asynchronous copy from global to shared memory ------------------------
//
// Each thread copies 4, 8 or 16 bytes, at addresses that are multiples of that size. Only the first
// `valid` bytes are read; the rest of the destination is filled with zeros. Copies of 16 bytes
// bypass L1 (.cg), smaller ones go through it (.ca). The destination is undefined until the thread
// has waited for the copy, and other threads of the block may read it after that wait and a
// barrier.
// Source: "Data Movement and Conversion Instructions: cp.async".

template <int bytes>
__device__ void cp_async(void* to, const void* from, int valid = bytes) {
    static_assert(bytes == 4 || bytes == 8 || bytes == 16, "cp.async copies 4, 8 or 16 bytes");
    if constexpr (kCompiledFor < 80) {
        for (int i = 0; i < bytes; ++i)
            static_cast<char*>(to)[i] = i < valid ? static_cast<const char*>(from)[i] : char(0);
    } else if constexpr (bytes == 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     :: "r"(shared_address(to)), "l"(__cvta_generic_to_global(from)), "r"(valid)
                     : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                     :: "r"(shared_address(to)), "l"(__cvta_generic_to_global(from)), "n"(bytes),
                        "r"(valid) : "memory");
    }
}

// Commits the thread's copies since the last commit as a group.
// PTX ISA: "cp.async.commit_group".
inline __device__ void cp_async_commit_group() {
    if constexpr (kCompiledFor >= 80) asm volatile("cp.async.commit_group;" ::: "memory");
}
// Waits until all of the thread's groups except the latest `pending` are complete.
// PTX ISA: "cp.async.wait_group / cp.async.wait_all".
template <int pending>
__device__ void cp_async_wait_group() {
    if constexpr (kCompiledFor >= 80)
        asm volatile("cp.async.wait_group %0;" :: "n"(pending) : "memory");
}
// Waits for all of the thread's copies, in a group or not.
// PTX ISA: "cp.async.wait_group / cp.async.wait_all".
inline __device__ void cp_async_wait_all() {
    if constexpr (kCompiledFor >= 80) asm volatile("cp.async.wait_all;" ::: "memory");
}

// ---- red (sm_90): adds four floats to consecutive floats in global memory -----------------------
//
// Each float is added as by atomicAdd, and `to` is a multiple of 16 bytes. Before sm_90, and before
// CUDA 12.1, the function is four atomicAdds.
// Source: "Parallel Synchronization and Communication Instructions: red".

inline __device__ void red_add(float* to, float4 values) {
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1201
    constexpr bool kCompiles = kCompiledFor >= 90;
#else
    constexpr bool kCompiles = false;
#endif
    if constexpr (kCompiles) {
        asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};"
                     :: "l"(__cvta_generic_to_global(to)), "f"(values.x), "f"(values.y),
                        "f"(values.z), "f"(values.w) : "memory");
    } else {
        atomicAdd(to, values.x);
        atomicAdd(to + 1, values.y);
        atomicAdd(to + 2, values.z);
        atomicAdd(to + 3, values.w);
    }
}

// ---- elect.sync (sm_90): one thread of a warp ---------------------------------------------------
//
// All lanes of `mask` execute it together, and it returns true in one of them. Which one that is
// depends on the mask alone, but PTX does not say how.
// Source: "Parallel Synchronization and Communication Instructions: elect.sync".

inline __device__ bool elect_sync(unsigned mask = ~0u) {
    unsigned elected = 0;
    PTX_SINCE(90, "{\n.reg .pred p;\n"
                  "elect.sync _|p, %1;\n"
                  "selp.u32 %0, 1, 0, p;\n}"
              : "=r"(elected) : "r"(mask));
    return elected;
}

// ---- mbarrier (sm_90): a barrier in shared memory that counts arrivals and bytes ----------------
//
// An mbarrier goes through phases, numbered from 0. A phase completes when its arrivals have
// happened and the bytes expected in it have been transferred; then the next phase begins. A wait
// for parity p, 0 or 1, blocks while the number of the current phase modulo 2 is p, so that on a
// new barrier a wait for parity 1 returns at once. After a wait the thread sees the bytes that were
// transferred, and what other threads wrote before they arrived.
// Source: "Parallel Synchronization and Communication Instructions: mbarrier".

// PTX ISA: "mbarrier.init".
inline __device__ void mbarrier_init(uint64_t* barrier, int arrivals) {
    PTX_SINCE(90, "mbarrier.init.shared::cta.b64 [%0], %1;"
              :: "r"(shared_address(barrier)), "r"(arrivals) : "memory");
}
// Called by the thread that initialised the mbarriers, before a barrier of the block: it makes them
// visible to bulk copies, too.
// PTX ISA: "membar / fence".
inline __device__ void fence_mbarrier_init() {
    PTX_SINCE(90, "fence.mbarrier_init.release.cluster;" ::: "memory");
}
// PTX ISA: "mbarrier.arrive".
inline __device__ void mbarrier_arrive(uint64_t* barrier) {
    PTX_SINCE(90, "mbarrier.arrive.shared::cta.b64 _, [%0];"
              :: "r"(shared_address(barrier)) : "memory");
}
// Adds `bytes`, at most 2^20 - 1, to the bytes expected in this phase, then arrives.
// PTX ISA: "mbarrier.arrive".
inline __device__ void mbarrier_arrive_expect_tx(uint64_t* barrier, int bytes) {
    PTX_SINCE(90, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
              :: "r"(shared_address(barrier)), "r"(bytes) : "memory");
}
// cuda::ptx has mbarrier_try_wait_parity(), which may return before the phase is complete; this one
// repeats it until it is. PTX ISA: "mbarrier.test_wait / mbarrier.try_wait".
inline __device__ void mbarrier_wait_parity(uint64_t* barrier, int parity) {
    PTX_SINCE(90, "{\n.reg .pred complete;\n"
                  "WAIT:\n"
                  "mbarrier.try_wait.parity.shared::cta.b64 complete, [%0], %1;\n"
                  "@complete bra DONE;\n"
                  "bra WAIT;\n"
                  "DONE:\n}"
              :: "r"(shared_address(barrier)), "r"(parity) : "memory");
}

// ---- Bulk tensor copies (sm_90): TMA, a box of a matrix in global memory ------------------------
//
// One thread issues the copy of a whole box. The tensor map (tensor_map.h) holds the matrix's
// address and size, the box's size and the swizzle; it is passed as a parameter of the kernel,
// const __grid_constant__ CUtensorMap. The box begins at column x, a multiple of 16 bytes, and row
// y, both of which may lie outside the matrix. Elements outside are filled with zeros and count as
// bytes, so that the barrier always receives the bytes of a whole box. The rows of the box lie
// without gaps at `to`, a multiple of 128 bytes. A swizzle of 128 bytes moves the 16 bytes that
// belong at address a to a ^ (a >> 7 & 7) << 4 (64: & 3, 32: & 1), and `to` is then a multiple of
// 1024 (512, 256). If ordinary stores wrote to the destination before, fence_proxy_async() must
// come between. An H200 needs it also after reads that only an mbarrier orders before the copy, but
// has not been seen to need it after reads that __syncthreads() orders.
// Source: "Data Movement and Conversion Instructions: cp.async.bulk.tensor".

inline __device__ void cp_async_bulk_tensor(void* to, const CUtensorMap* map, int x, int y,
                                            uint64_t* barrier) {
    PTX_SINCE(90, "cp.async.bulk.tensor.2d.shared::cluster.global.tile"
                  ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
              :: "r"(shared_address(to)), "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier))
              : "memory");
}
// The copy in the other direction. Of each row, whole chunks of 16 bytes are written, up to the one
// with the matrix's last element; what lies outside these is not. First the threads that wrote the
// box execute fence_proxy_async(), and then a barrier. The copy belongs to the next group that this
// thread commits, and only this thread can wait for it. After cp_async_bulk_wait_group_read the box
// may be overwritten in shared memory, and after cp_async_bulk_wait_group the matrix has been
// written; both wait for all groups except the latest `pending`.
inline __device__ void cp_async_bulk_tensor(const CUtensorMap* map, int x, int y,
                                            const void* from) {
    PTX_SINCE(90, "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group "
                  "[%0, {%1, %2}], [%3];"
              :: "l"(map), "r"(x), "r"(y), "r"(shared_address(from)) : "memory");
}
// PTX ISA: "cp.async.bulk.commit_group".
inline __device__ void cp_async_bulk_commit_group() {
    PTX_SINCE(90, "cp.async.bulk.commit_group;" ::: "memory");
}
// PTX ISA: "cp.async.bulk.wait_group".
template <int pending>
__device__ void cp_async_bulk_wait_group() {
    PTX_SINCE(90, "cp.async.bulk.wait_group %0;" :: "n"(pending) : "memory");
}
// PTX ISA: "cp.async.bulk.wait_group".
template <int pending>
__device__ void cp_async_bulk_wait_group_read() {
    PTX_SINCE(90, "cp.async.bulk.wait_group.read %0;" :: "n"(pending) : "memory");
}
// Orders the thread's ordinary reads and writes of shared memory before what bulk copies and wgmma
// do after a barrier.
// PTX ISA: "membar / fence".
inline __device__ void fence_proxy_async() {
    PTX_SINCE(90, "fence.proxy.async.shared::cta;" ::: "memory");
}

// ---- Barriers of a part of a block --------------------------------------------------------------
//
// Synchronises `threads` threads, a multiple of 32, of whole warps. id: 0 to 15; __syncthreads()
// uses 0.
// Source: "Parallel Synchronization and Communication Instructions: bar / barrier".

inline __device__ void named_barrier_sync(int id, int threads) {
    asm volatile("bar.sync %0, %1;" :: "r"(id), "r"(threads) : "memory");
}
// Arrives and does not wait. `threads` counts those that arrive and those that wait.
inline __device__ void named_barrier_arrive(int id, int threads) {
    asm volatile("bar.arrive %0, %1;" :: "r"(id), "r"(threads) : "memory");
}
// clang-format on

#undef PTX_SINCE

}  // namespace ptx

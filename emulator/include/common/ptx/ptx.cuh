// The emulator's versions of PTX instructions. A program that nvcc compiles has its own file of
// this name, with inline PTX; on the emulator this one comes first on the include path.
// common/ptx/ptx.cuh of the repository describes each instruction.
#pragma once

#include "emulator/include/cuda.h"
#include "emulator/include/cuda_bf16.h"
#include "emulator/include/cuda_pipeline.h"
#include "emulator/include/fragments.h"
#include "emulator/include/hopper_calls.h"

namespace emulator {

// ---- ldmatrix -----------------------------------------------------------------------------------

struct LdmatrixCall {  // of a lane
    const void* row;
    void* registers;
};
// Checks the rows whose addresses the lanes pass, traces them, and returns them in `rows`.
void begin_ldmatrix(const WarpCall& call, int matrices, const void* (&rows)[32]);

// Not traced, because begin_ldmatrix() traces the reads.
template <int matrices, bool transposed>
EMULATOR_UNTRACED void ldmatrix(const WarpCall& call) {
    typedef uint16_t __attribute__((may_alias)) Bits;
    const void* rows[32];
    begin_ldmatrix(call, matrices, rows);
    for (int lane = 0; lane < 32; ++lane) {
        const auto& of_lane = *static_cast<const LdmatrixCall*>(call.arguments[lane]);
        for (int i = 0; i < 2 * matrices; ++i) {
            const int line = lane / 4, at = lane % 4 * 2 + i % 2;
            const int row = transposed ? at : line, col = transposed ? line : at;
            static_cast<Bits*>(of_lane.registers)[i] =
                static_cast<const Bits*>(rows[i / 2 * 8 + row])[col];
        }
    }
}

// ---- mma ----------------------------------------------------------------------------------------

struct MmaShape {
    const char* name;
    int since, m, n, k;
    int groups;  // products of a warp: one, or one of each quad-pair, lane / 4 % 4
    int element;  // bytes of one of A and B
    ElementMap a, b, d;
};
extern const MmaShape kM16n8k16, kM8n8k4_half, kM8n8k4_float;  // the latter two: the type of D
// Of inline PTX alone. k8 and k4 of tf32; k16 and k32 of bytes.
extern const MmaShape kM16n8k8, kM16n8k8_tf32, kM16n8k4_tf32, kM16n8k16_bytes, kM16n8k32_bytes,
    kM8n8k16_bytes, kM8n8k4_double;

// A lane's call, its registers unpacked. Number: of the accumulators, float for those of half, too,
// and uint32_t for integers, which wrap. type, half_accumulators: where Number is float.
template <class Number>
struct MmaCall {
    const MmaShape* shape;
    const void *registers_a, *registers_b;
    tensor_core::Type type;
    bool half_accumulators;
    Number a[16], b[8], d[8];
};
template <class Number>
void mma(const WarpCall& call);

template <class T, int n>
EMULATOR_UNTRACED void unpack(const T (&registers)[n], float* to) {
    for (int i = 0; i < n; ++i) {
        if constexpr (std::is_same_v<T, float>) {
            to[i] = registers[i];
        } else {
            to[2 * i] = registers[i].x;
            to[2 * i + 1] = registers[i].y;
        }
    }
}
template <class T, int n>
EMULATOR_UNTRACED void pack(const float* from, T (&registers)[n]) {
    for (int i = 0; i < n; ++i) {
        if constexpr (std::is_same_v<T, float>) {
            registers[i] = from[i];
        } else {
            registers[i].x = from[2 * i];
            registers[i].y = from[2 * i + 1];
        }
    }
}
template <class D, class A, class B>
EMULATOR_UNTRACED void mma(const MmaShape& shape, D& d, const A& a, const B& b, const char* file,
                           int line) {
    constexpr bool half_accumulators = !std::is_same_v<D, float[std::extent_v<D>]>;
    constexpr auto type = std::is_same_v<A, const half2[std::extent_v<A>]>
                              ? tensor_core::Type::f16
                              : tensor_core::Type::bf16;
    MmaCall<float> call{&shape, a, b, type, half_accumulators, {}, {}, {}};
    unpack(a, call.a);
    unpack(b, call.b);
    unpack(d, call.d);
    collective(mma<float>, &call, file, line);
    pack(call.d, d);
}

// ---- cp.async -----------------------------------------------------------------------------------

void check_cp_async(const void* to, const void* from, int bytes, int valid, const char* file,
                    int line);
void check_red(const void* to, const char* file, int line);

}  // namespace emulator

namespace ptx {

// A register of two T: half2 or __nv_bfloat162.
template <class T>
using Pair = std::conditional_t<std::is_same_v<T, half>, half2, __nv_bfloat162>;

constexpr int kCompiledFor = 1000;  // all of it: emulator::set_architecture() decides

#define EMULATOR_LDMATRIX(name, matrices, transposed)                                      \
    template <class Array>                                                                 \
    __forceinline__ void name(Array& to, const void* row, EMULATOR_SITE) {                 \
        static_assert(sizeof(to) == matrices * sizeof(unsigned),                           \
                      "an array of that many 32-bit registers");                           \
        const emulator::LdmatrixCall call{row, &to};                                       \
        emulator::collective(emulator::ldmatrix<matrices, transposed>, &call, file, line); \
    }
EMULATOR_LDMATRIX(ldmatrix_x1, 1, false)
EMULATOR_LDMATRIX(ldmatrix_x2, 2, false)
EMULATOR_LDMATRIX(ldmatrix_x4, 4, false)
EMULATOR_LDMATRIX(ldmatrix_x1_trans, 1, true)
EMULATOR_LDMATRIX(ldmatrix_x2_trans, 2, true)
EMULATOR_LDMATRIX(ldmatrix_x4_trans, 4, true)
#undef EMULATOR_LDMATRIX

#define EMULATOR_MMA(name, shape, D, d_registers, Pair, a_registers, b_registers)                  \
    inline void name(D(&d)[d_registers], const Pair(&a)[a_registers], const Pair(&b)[b_registers], \
                     EMULATOR_SITE) {                                                              \
        emulator::mma(emulator::shape, d, a, b, file, line);                                       \
    }
EMULATOR_MMA(mma_m16n8k16, kM16n8k16, float, 4, half2, 4, 2)
EMULATOR_MMA(mma_m16n8k16, kM16n8k16, half2, 2, half2, 4, 2)
EMULATOR_MMA(mma_m16n8k16, kM16n8k16, float, 4, __nv_bfloat162, 4, 2)
EMULATOR_MMA(mma_m8n8k4, kM8n8k4_half, half2, 4, half2, 2, 2)
EMULATOR_MMA(mma_m8n8k4, kM8n8k4_float, float, 8, half2, 2, 2)
#undef EMULATOR_MMA

template <int bytes>
__forceinline__ void cp_async(void* to, const void* from, int valid = bytes, EMULATOR_SITE) {
    static_assert(bytes == 4 || bytes == 8 || bytes == 16, "cp.async copies 4, 8 or 16 bytes");
    emulator::check_cp_async(to, from, bytes, valid, file, line);
    emulator::start_copy(to, from, bytes, bytes - valid, file, line);
}
__forceinline__ void cp_async_commit_group() { emulator::commit_copies(); }
template <int pending>
__forceinline__ void cp_async_wait_group(EMULATOR_SITE) {
    emulator::wait_for_copies(pending, file, line);
}
__forceinline__ void cp_async_wait_all(EMULATOR_SITE) {
    emulator::commit_copies();
    emulator::wait_for_copies(0, file, line);
}

inline void red_add(float* to, float4 values, EMULATOR_SITE) {
    emulator::check_red(to, file, line);
    const float each[] = {values.x, values.y, values.z, values.w};
    for (int i = 0; i < 4; ++i) atomicAdd(to + i, each[i]);
}

__forceinline__ bool elect_sync(unsigned mask = ~0u, EMULATOR_SITE) {
    return emulator::lane() == emulator::elected_lane(mask, file, line);
}

using emulator::fence_mbarrier_init;
using emulator::fence_proxy_async;
__forceinline__ void mbarrier_init(uint64_t* barrier, int arrivals, EMULATOR_SITE) {
    emulator::mbarrier_init(barrier, arrivals, file, line);
}
__forceinline__ void mbarrier_arrive(uint64_t* barrier, EMULATOR_SITE) {
    emulator::mbarrier_arrive(barrier, file, line);
}
__forceinline__ void mbarrier_arrive_expect_tx(uint64_t* barrier, int bytes, EMULATOR_SITE) {
    emulator::mbarrier_arrive_expect_tx(barrier, bytes, file, line);
}
__forceinline__ void mbarrier_wait_parity(uint64_t* barrier, int parity, EMULATOR_SITE) {
    emulator::mbarrier_wait_parity(barrier, parity, file, line);
}
__forceinline__ void cp_async_bulk_tensor(void* to, const CUtensorMap* map, int x, int y,
                                          uint64_t* barrier, EMULATOR_SITE) {
    emulator::cp_async_bulk_tensor(to, map, x, y, barrier, file, line);
}
__forceinline__ void named_barrier_sync(int id, int threads, EMULATOR_SITE) {
    emulator::named_barrier_sync(id, threads, file, line);
}
__forceinline__ void named_barrier_arrive(int id, int threads, EMULATOR_SITE) {
    emulator::named_barrier_arrive(id, threads, file, line);
}
using emulator::cp_async_bulk_commit_group;
__forceinline__ void cp_async_bulk_tensor(const CUtensorMap* map, int x, int y, const void* from,
                                          EMULATOR_SITE) {
    emulator::cp_async_bulk_tensor(map, x, y, from, file, line);
}
template <int pending>
__forceinline__ void cp_async_bulk_wait_group(EMULATOR_SITE) {
    emulator::cp_async_bulk_wait_group(pending, false, file, line);
}
template <int pending>
__forceinline__ void cp_async_bulk_wait_group_read(EMULATOR_SITE) {
    emulator::cp_async_bulk_wait_group(pending, true, file, line);
}

}  // namespace ptx

// Warp matrix functions (WMMA) of CUDA's mma.h, namespace nvcuda::wmma: the existing fragments, and
// the functions.
//
// A lane that calls a _sync function waits until all 32 lanes of its warp have called it; the last
// one executes it for all. As on a GPU, this orders no memory accesses among the lanes.
#pragma once

#include "wmma.h"

namespace nvcuda::wmma {

// ---- The fragments that CUDA has; all others are incomplete types ----

#define EMULATOR_FRAGMENT(Use, m, n, k, T, Layout) \
    template <>                                    \
    class fragment<Use, m, n, k, T, Layout>        \
        : public emulator::fragments::Fragment<Use, m, n, k, T, Layout> {};
#define EMULATOR_FACTORS(m, n, k, T)                   \
    EMULATOR_FRAGMENT(matrix_a, m, n, k, T, row_major) \
    EMULATOR_FRAGMENT(matrix_a, m, n, k, T, col_major) \
    EMULATOR_FRAGMENT(matrix_b, m, n, k, T, row_major) \
    EMULATOR_FRAGMENT(matrix_b, m, n, k, T, col_major)
#define EMULATOR_SUBBYTE(k, T)                                                  \
    EMULATOR_FRAGMENT(matrix_a, 8, 8, k, experimental::precision::T, row_major) \
    EMULATOR_FRAGMENT(matrix_b, 8, 8, k, experimental::precision::T, col_major)
#define EMULATOR_SHAPE(m, n, k)                           \
    EMULATOR_FACTORS(m, n, k, __half)                     \
    EMULATOR_FACTORS(m, n, k, __nv_bfloat16)              \
    EMULATOR_FACTORS(m, n, k, signed char)                \
    EMULATOR_FACTORS(m, n, k, unsigned char)              \
    EMULATOR_FRAGMENT(accumulator, m, n, k, __half, void) \
    EMULATOR_FRAGMENT(accumulator, m, n, k, float, void)  \
    EMULATOR_FRAGMENT(accumulator, m, n, k, int, void)
EMULATOR_SHAPE(16, 16, 16)
EMULATOR_SHAPE(32, 8, 16)
EMULATOR_SHAPE(8, 32, 16)
EMULATOR_FACTORS(16, 16, 8, precision::tf32)
EMULATOR_FACTORS(8, 8, 4, double)
EMULATOR_SUBBYTE(32, s4)
EMULATOR_SUBBYTE(32, u4)
EMULATOR_SUBBYTE(128, b1)
EMULATOR_FRAGMENT(accumulator, 16, 16, 8, float, void)
EMULATOR_FRAGMENT(accumulator, 8, 8, 4, double, void)
EMULATOR_FRAGMENT(accumulator, 8, 8, 32, int, void)
EMULATOR_FRAGMENT(accumulator, 8, 8, 128, int, void)
#undef EMULATOR_SHAPE
#undef EMULATOR_SUBBYTE
#undef EMULATOR_FACTORS
#undef EMULATOR_FRAGMENT

// ---- The functions ----

// Rounds to 10 bits of mantissa, ties away from zero, as the instruction does.
inline float __float_to_tf32(float x) {
    const uint32_t bits = __builtin_bit_cast(uint32_t, x);
    return std::isfinite(x) ? __builtin_bit_cast(float, (bits + 0x1000) & ~0x1fffu) : x;
}

template <class Use, int m, int n, int k, class T, class Layout>
void fill_fragment(fragment<Use, m, n, k, T, Layout>& f,
                   const typename emulator::fragments::Element<T>::Storage& value) {
    using Bits = emulator::fragments::Element<T>;
    auto stored = value;
    if constexpr (Bits::packed == 8) stored = (value & 0xf) * 0x11111111u;
    if constexpr (Bits::packed == 32) stored = value & 1 ? ~0u : 0;
    for (auto& x : f.x) x = stored;
}

template <class Use, int m, int n, int k, class T, class Layout,
          class = std::enable_if_t<!std::is_void_v<Layout>>>
__forceinline__ void load_matrix_sync(fragment<Use, m, n, k, T, Layout>& f,
                                      const emulator::fragments::InMemory<T>* matrix, unsigned ldm,
                                      EMULATOR_SITE) {
    using F = emulator::fragments::Fragment<Use, m, n, k, T, Layout>;
    const emulator::MemoryCall call{f.x, const_cast<void*>(static_cast<const void*>(matrix)), ldm,
                                    F::row_major};
    emulator::collective(emulator::fragments::move<F, false>, &call, file, line);
}
template <int m, int n, int k, class T>
__forceinline__ void load_matrix_sync(fragment<accumulator, m, n, k, T>& f,
                                      const emulator::fragments::InMemory<T>* matrix, unsigned ldm,
                                      layout_t layout, EMULATOR_SITE) {
    using F = emulator::fragments::Fragment<accumulator, m, n, k, T, void>;
    const emulator::MemoryCall call{f.x, const_cast<void*>(static_cast<const void*>(matrix)), ldm,
                                    layout == mem_row_major};
    emulator::collective(emulator::fragments::move<F, false>, &call, file, line);
}
template <int m, int n, int k, class T>
__forceinline__ void store_matrix_sync(emulator::fragments::InMemory<T>* matrix,
                                       const fragment<accumulator, m, n, k, T>& f, unsigned ldm,
                                       layout_t layout, EMULATOR_SITE) {
    using F = emulator::fragments::Fragment<accumulator, m, n, k, T, void>;
    auto* x = const_cast<typename F::storage_element_type*>(f.x);
    const emulator::MemoryCall call{x, matrix, ldm, layout == mem_row_major};
    emulator::collective(emulator::fragments::move<F, true>, &call, file, line);
}

template <int m, int n, int k, class T, class LayoutA, class LayoutB, class C, class D>
__forceinline__ emulator::fragments::IfReal<T, C, D> mma_sync(
    fragment<accumulator, m, n, k, D>& d, const fragment<matrix_a, m, n, k, T, LayoutA>& a,
    const fragment<matrix_b, m, n, k, T, LayoutB>& b, const fragment<accumulator, m, n, k, C>& c,
    EMULATOR_SITE) {
    emulator::fragments::product(d, a, b, c, false, experimental::bmmaBitOp(), file, line);
}
template <int m, int n, int k, class T, class LayoutA, class LayoutB>
__forceinline__ emulator::fragments::IfInteger<T> mma_sync(
    fragment<accumulator, m, n, k, int>& d, const fragment<matrix_a, m, n, k, T, LayoutA>& a,
    const fragment<matrix_b, m, n, k, T, LayoutB>& b, const fragment<accumulator, m, n, k, int>& c,
    bool satf = false, EMULATOR_SITE) {
    emulator::fragments::product(d, a, b, c, satf, experimental::bmmaBitOp(), file, line);
}
__forceinline__ void bmma_sync(
    fragment<accumulator, 8, 8, 128, int>& d,
    const fragment<matrix_a, 8, 8, 128, experimental::precision::b1, row_major>& a,
    const fragment<matrix_b, 8, 8, 128, experimental::precision::b1, col_major>& b,
    const fragment<accumulator, 8, 8, 128, int>& c,
    experimental::bmmaBitOp operation = experimental::bmmaBitOpXOR,
    experimental::bmmaAccumulateOp = experimental::bmmaAccumulateOpPOPC, EMULATOR_SITE) {
    emulator::fragments::product(d, a, b, c, false, operation, file, line);
}

}  // namespace nvcuda::wmma

// Warp matrix functions (WMMA) of CUDA's mma.h, namespace nvcuda::wmma: which lane holds which
// element, checks, and the products.
//
// A lane that calls a _sync function waits until all 32 lanes of its warp have called it; the last
// one carries it out for all. That orders no memory among the lanes, here as on the GPU. Where an
// element is held several times, a product takes it from the lowest lane and its lowest x[i]; a
// load and a product write all places. See emulator/README.md.
#pragma once

#include <algorithm>

#include "cuda_bf16.h"
#include "fragments.h"

namespace nvcuda::wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32;
}
namespace experimental {
namespace precision {
struct s4;
struct u4;
struct b1;
}  // namespace precision
enum bmmaBitOp { bmmaBitOpXOR = 1, bmmaBitOpAND = 2 };
enum bmmaAccumulateOp { bmmaAccumulateOpPOPC = 1 };
}  // namespace experimental

template <class Use, int m, int n, int k, class T, class Layout = void>
class fragment;

}  // namespace nvcuda::wmma

namespace emulator {
namespace fragments {

using namespace nvcuda::wmma;
using nvcuda::wmma::experimental::precision::b1;
using nvcuda::wmma::experimental::precision::s4;
using nvcuda::wmma::experimental::precision::u4;
using nvcuda::wmma::precision::tf32;

// What is known of an element type: how x[] stores it, so many in one; since when (sm_70, ...)
// matrices A and B may be of it; the type of their product's sums (half allows half sums, too).
template <class Storage_, int packed_, int since_, class Sum_>
struct Type {
    using Storage = Storage_;
    using Sum = Sum_;
    static constexpr int packed = packed_, since = since_;
};
// clang-format off
template <class T> struct Element : Type<T, 1, 75, int> { static constexpr auto name = std::is_signed_v<T> ? "s8" : "u8"; };
template <> struct Element<half> : Type<half, 1, 70, float> { static constexpr auto name = "half"; };
template <> struct Element<float> : Type<float, 1, 70, float> { static constexpr auto name = "float"; };
template <> struct Element<int> : Type<int, 1, 75, int> { static constexpr auto name = "int"; };
template <> struct Element<__nv_bfloat16> : Type<__nv_bfloat16, 1, 80, float> { static constexpr auto name = "bf16"; };
template <> struct Element<tf32> : Type<float, 1, 80, float> { static constexpr auto name = "tf32"; };
template <> struct Element<double> : Type<double, 1, 80, double> { static constexpr auto name = "double"; };
template <> struct Element<s4> : Type<int, 8, 75, int> { static constexpr auto name = "s4"; };
template <> struct Element<u4> : Type<unsigned, 8, 75, int> { static constexpr auto name = "u4"; };
template <> struct Element<b1> : Type<unsigned, 32, 75, int> { static constexpr auto name = "b1"; };
// clang-format on

// A fragment, whose rows and columns are counted in storage elements (a word of s4 or b1 is one).
template <class Use, int m, int n, int k, class T, class Layout>
struct __align__(8) Fragment {
    using element_type = T;
    using storage_element_type = typename Element<T>::Storage;

    static constexpr bool is_a = std::is_same_v<Use, matrix_a>;
    static constexpr bool is_b = std::is_same_v<Use, matrix_b>, is_accumulator = !is_a && !is_b;
    static constexpr bool row_major = std::is_same_v<Layout, nvcuda::wmma::row_major>;
    static constexpr int packed = Element<T>::packed;
    static constexpr int rows = is_b ? k / packed : m, cols = is_a ? k / packed : n;
    static constexpr int distinct = rows * cols / 32;  // elements of a lane on sm_75 and later
    static constexpr bool copies = !is_accumulator && std::is_same_v<T, half>;
    static constexpr int num_storage_elements = copies ? 16 : distinct;
    static constexpr int num_elements = num_storage_elements * packed;
    storage_element_type x[num_storage_elements];

    // On sm_75 and later: whether x[0], x[1], ... go down a column (C of 8x32x16, too), and how many
    // of them fill 4 bytes.
    static constexpr bool line_is_col = is_b || (is_accumulator && n > m);
    static constexpr int joint =
        is_accumulator ? 2 : std::max(1, 4 / int(sizeof(storage_element_type)));

    static inline FragmentKind kind = {
        is_a ? 'A' : is_b ? 'B' : 'C', Element<T>::name, Element<T>::since, m, n, k,
        row_major ? "row" : "col"};
};

// ---- Memory -------------------------------------------------------------------------------------

// CUDA C++ Programming Guide, "Warp Matrix Functions": the matrix begins at a multiple of 256 bits,
// its lines 16 bytes apart or a multiple of that.
constexpr int kMatrixAlignment = 32, kLeadingDimensionBytes = 16;

template <class T>  // what the functions take a pointer to
using InMemory = std::conditional_t<Element<T>::packed == 1, typename Element<T>::Storage, void>;

template <class F>  // a fragment, const for a store
struct MemoryCall {
    using Storage = typename F::storage_element_type;
    F* f;
    std::conditional_t<std::is_const_v<F>, Storage, const Storage>* matrix;
    unsigned ldm;  // in elements
    bool row_major;

    auto* address(Place p) const {
        const int line = row_major ? p.row : p.col, in_line = row_major ? p.col : p.row;
        return matrix + line * size_t(ldm / F::packed) + in_line;
    }
};

template <class F>
const MemoryCall<F>& of_lane(const WarpCall& call, int lane) {
    return *static_cast<const MemoryCall<F>*>(call.arguments[lane]);
}

template <class F>
void check_memory(const WarpCall& call) {
    const auto refuse = [&](const std::string& what) {
        misuse((std::is_const_v<F> ? "store_matrix_sync: " : "load_matrix_sync: ") + what,
               call.file, call.line);
    };
    const auto& first = of_lane<F>(call, 0);
    for (int lane = 1; lane < 32; ++lane) {
        const auto& other = of_lane<F>(call, lane);
        if (other.matrix == first.matrix && other.ldm == first.ldm &&
            other.row_major == first.row_major)
            continue;
        const char* what = other.matrix != first.matrix ? "pointers"
                           : other.ldm != first.ldm     ? "ldm"
                                                        : "layouts";
        refuse("lanes 0 and " + std::to_string(lane) + " of the warp give different " + what);
    }
    constexpr int least =
        kLeadingDimensionBytes * F::packed / int(sizeof(typename F::storage_element_type));
    if (reinterpret_cast<uintptr_t>(first.matrix) % kMatrixAlignment)
        refuse("the pointer is not aligned to " + std::to_string(kMatrixAlignment) + " bytes");
    if (first.ldm % least)
        refuse("ldm is " + std::to_string(first.ldm) + ", not a multiple of " +
               std::to_string(least));
}

// What the hardware accesses, as seen in what nvcc makes for sm_75, sm_80 and sm_90. Matrices A and
// B in shared memory are read by ldmatrix (LDSM): up to 4 blocks of 8 lines of 16 bytes, each line
// by one lane. Otherwise each lane accesses its own elements, those that lie side by side together.
// Blocks of 16-bit elements that lie in memory the other way are turned in registers.
template <class F>
void trace_memory(const WarpCall& call, bool store) {
    if (!tracing()) return;
    using Storage = typename F::storage_element_type;
    const auto& memory = of_lane<F>(call, 0);
    const auto& map = F::kind.map(call);
    const bool volta = architecture() == 70, by_lines = memory.row_major != F::line_is_col;
    const bool turned = !volta && sizeof(Storage) == 2 && !by_lines;
    const auto address = [&](int lane, int i) {
        return memory.address((turned ? map.turned : map.at)[lane][i]);
    };
    constexpr bool is_loaded_by_ldmatrix =
        !F::is_accumulator && !std::is_floating_point_v<Storage>;  // neither tf32 nor double
    if (is_loaded_by_ldmatrix && !volta && (by_lines || turned) &&
        traced_as_shared(memory.matrix)) {
        constexpr int blocks = F::distinct / F::joint;
        const int at_once = std::min(blocks, architecture() == 75 ? 2 : 4);
        const void* rows[32];
        for (int block = 0; block < blocks; block += at_once) {
            for (int lane = 0; lane < 8 * at_once; ++lane)
                rows[lane] = address(lane % 8 * 4, (block + lane / 8) * F::joint);
            trace_ldmatrix(rows, at_once, call.pc);
        }
        return;
    }
    const int elements = volta ? F::num_storage_elements : F::distinct;
    for (int lane = 0; lane < 32; ++lane) {
        for (int i = 0, end; i < elements; i = end) {
            for (end = i + 1; end < elements && end - i < 16 / int(sizeof(Storage)); ++end)
                if (address(lane, end) != address(lane, i) + (end - i)) break;
            trace_lane(lane, address(lane, i), (end - i) * sizeof(Storage), store, call.pc);
        }
    }
}

// Carries out a load, or a store where F is const.
template <class F>
EMULATOR_UNTRACED void move(const WarpCall& call) {
    const auto& map = F::kind.map(call);
    check_memory<F>(call);
    trace_memory<F>(call, std::is_const_v<F>);
    for (int lane = 0; lane < 32; ++lane) {
        for (int i = 0; i < F::num_storage_elements; ++i) {
            auto& x = of_lane<F>(call, lane).f->x[i];
            auto& element = *of_lane<F>(call, 0).address(map.at[lane][i]);
            if constexpr (std::is_const_v<F>) element = x;
            else x = element;
        }
    }
}

// ---- Products -----------------------------------------------------------------------------------

template <class D, class A, class B, class C>
struct ProductCall {
    D* d;
    const A* a;
    const B* b;
    const C* c;
    bool saturate;
    experimental::bmmaBitOp operation;
};

// An element as it is multiplied, and one more product.
template <class T, class Storage>
__forceinline__ auto operand(Storage x) {
    if constexpr (std::is_same_v<T, tf32>)
        return __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, x) & ~0x1fffu);
    else if constexpr (sizeof(Storage) == 2) return float(x);
    else return x;
}
template <class T, class Sum, class Operand>
__forceinline__ Sum add_product(Sum sum, Operand a, Operand b, experimental::bmmaBitOp operation) {
    if constexpr (std::is_same_v<T, b1>)
        return sum + __popc(operation == experimental::bmmaBitOpXOR ? a ^ b : a & b);
    else if constexpr (std::is_same_v<T, double>) return std::fma(a, b, sum);
    else if constexpr (Element<T>::packed == 1)
        return sum + a * b;  // exact: a float holds a product of half, bf16 or tf32
    else {
        // Each 4 bits go to the top and down again, which for an int keeps the sign.
        for (int up = 28; up >= 0; up -= 4)
            sum += (Operand(unsigned(a) << up) >> 28) * (Operand(unsigned(b) << up) >> 28);
        return sum;
    }
}
template <class T, class Sum>
__forceinline__ T result(Sum sum, bool saturate) {
    if constexpr (!std::is_same_v<T, int>) return T(sum);
    else return int(saturate ? std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX) : sum);  // or wraps
}

// The matrix that the lanes hold. Of an element's copies the lowest lane's lowest x[i] counts.
template <class F, class To>
EMULATOR_UNTRACED void gather(const ElementMap& map, const F* const (&of_lane)[32],
                              To (&matrix)[F::rows][F::cols]) {
    for (int lane = 31; lane >= 0; --lane) {
        for (int i = F::num_storage_elements - 1; i >= 0; --i) {
            const Place p = map.at[lane][i];
            matrix[p.row][p.col] = operand<typename F::element_type>(of_lane[lane]->x[i]);
        }
    }
}

template <class D, class A, class B, class C>
EMULATOR_UNTRACED void multiply(const WarpCall& call) {
    using T = typename A::element_type;
    using Operand = decltype(operand<T>(A().x[0]));
    using Sum = std::conditional_t<std::is_floating_point_v<Operand>, Operand, int64_t>;
    const auto &map_a = A::kind.map(call), &map_b = B::kind.map(call), &map_c = C::kind.map(call),
               &map_d = D::kind.map(call);
    const A* of_a[32];
    const B* of_b[32];
    const C* of_c[32];
    for (int lane = 0; lane < 32; ++lane) {
        const auto& brought = *static_cast<const ProductCall<D, A, B, C>*>(call.arguments[lane]);
        of_a[lane] = brought.a, of_b[lane] = brought.b, of_c[lane] = brought.c;
    }
    const auto& first = *static_cast<const ProductCall<D, A, B, C>*>(call.arguments[0]);
    if (std::is_same_v<T, b1> && first.operation == experimental::bmmaBitOpAND &&
        architecture() < 80)
        misuse("bmma_sync: there is no AND on sm_" + std::to_string(architecture()), call.file,
               call.line);

    Operand a[A::rows][A::cols], b[B::rows][B::cols];
    Sum sum[D::rows][D::cols];
    gather(map_a, of_a, a);
    gather(map_b, of_b, b);
    gather(map_c, of_c, sum);
    for (int row = 0; row < D::rows; ++row)
        for (int k = 0; k < B::rows; ++k)
            for (int col = 0; col < D::cols; ++col)
                sum[row][col] =
                    add_product<T>(sum[row][col], a[row][k], b[k][col], first.operation);

    for (int lane = 0; lane < 32; ++lane) {
        const auto& brought = *static_cast<const ProductCall<D, A, B, C>*>(call.arguments[lane]);
        for (int i = 0; i < D::num_storage_elements; ++i) {
            const Place p = map_d.at[lane][i];
            brought.d->x[i] = result<typename D::element_type>(sum[p.row][p.col], first.saturate);
        }
    }
}

template <class D, class A, class B, class C>
__forceinline__ void product(D& d, const A& a, const B& b, const C& c, bool saturate,
                             experimental::bmmaBitOp operation, const char* file, int line) {
    const ProductCall<D, A, B, C> call{&d, &a, &b, &c, saturate, operation};
    collective(multiply<D, A, B, C>, &call, file, line);
}

// Whether mma_sync() can multiply T, add to C and give D: reals, and integers, whose sums may
// saturate.
template <class T, class S>
constexpr bool sums_in = std::is_same_v<S, typename Element<T>::Sum> ||
                         (std::is_same_v<T, half> && std::is_same_v<S, half>);
template <class T, class C, class D>
using IfReal = std::enable_if_t<!std::is_same_v<typename Element<T>::Sum, int> && sums_in<T, C> &&
                                sums_in<T, D>>;
template <class T>
using IfInteger =
    std::enable_if_t<std::is_same_v<typename Element<T>::Sum, int> && !std::is_same_v<T, b1>>;

}  // namespace fragments
}  // namespace emulator

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

// Rounded to 10 bits of mantissa, ties away from zero, as the instruction does it.
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
    const auto* elements = static_cast<const typename F::storage_element_type*>(matrix);
    const emulator::fragments::MemoryCall<F> call{&f, elements, ldm, F::row_major};
    emulator::collective(emulator::fragments::move<F>, &call, file, line);
}
template <int m, int n, int k, class T>
__forceinline__ void load_matrix_sync(fragment<accumulator, m, n, k, T>& f,
                                      const emulator::fragments::InMemory<T>* matrix, unsigned ldm,
                                      layout_t layout, EMULATOR_SITE) {
    using F = emulator::fragments::Fragment<accumulator, m, n, k, T, void>;
    const emulator::fragments::MemoryCall<F> call{&f, matrix, ldm, layout == mem_row_major};
    emulator::collective(emulator::fragments::move<F>, &call, file, line);
}
template <int m, int n, int k, class T>
__forceinline__ void store_matrix_sync(emulator::fragments::InMemory<T>* matrix,
                                       const fragment<accumulator, m, n, k, T>& f, unsigned ldm,
                                       layout_t layout, EMULATOR_SITE) {
    using F = emulator::fragments::Fragment<accumulator, m, n, k, T, void>;
    const emulator::fragments::MemoryCall<const F> call{&f, matrix, ldm, layout == mem_row_major};
    emulator::collective(emulator::fragments::move<const F>, &call, file, line);
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

// The implementation of mma.h: how fragments are stored, loaded and multiplied.
//
// If an element is held several times, a product reads it from the lowest lane and its lowest x[i],
// and a load or a product writes all copies. See emulator/REFERENCE.md.
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

// Facts of an element type: how x[] stores it, and how many elements one x[i] holds; the first
// architecture (sm_70, ...) on which A and B may have it; the type in which products are
// accumulated (for half also half).
template <class T>
struct Element;
#define EMULATOR_ELEMENT(T, name_, Storage_, packed_, since_, Sum_) \
    template <>                                                     \
    struct Element<T> {                                             \
        using Storage = Storage_;                                   \
        using Sum = Sum_;                                           \
        static constexpr auto name = name_;                         \
        static constexpr int packed = packed_, since = since_;      \
    };
EMULATOR_ELEMENT(half, "half", half, 1, 70, float)
EMULATOR_ELEMENT(float, "float", float, 1, 70, float)
EMULATOR_ELEMENT(int, "int", int, 1, 75, int)
EMULATOR_ELEMENT(signed char, "s8", signed char, 1, 75, int)
EMULATOR_ELEMENT(unsigned char, "u8", unsigned char, 1, 75, int)
EMULATOR_ELEMENT(__nv_bfloat16, "bf16", __nv_bfloat16, 1, 80, float)
EMULATOR_ELEMENT(tf32, "tf32", float, 1, 80, float)
EMULATOR_ELEMENT(double, "double", double, 1, 80, double)
EMULATOR_ELEMENT(s4, "s4", int, 8, 75, int)
EMULATOR_ELEMENT(u4, "u4", unsigned, 8, 75, int)
EMULATOR_ELEMENT(b1, "b1", unsigned, 32, 75, int)
#undef EMULATOR_ELEMENT

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

    static inline FragmentKind kind = {is_a   ? 'A'
                                       : is_b ? 'B'
                                              : 'C',
                                       Element<T>::name,
                                       Element<T>::since,
                                       m,
                                       n,
                                       k,
                                       row_major ? "row" : "col",
                                       packed,
                                       int(sizeof(storage_element_type)),
                                       num_storage_elements,
                                       distinct,
                                       std::is_floating_point_v<storage_element_type>};
};

// ---- Memory -------------------------------------------------------------------------------------

template <class T>  // what the functions take a pointer to
using InMemory = std::conditional_t<Element<T>::packed == 1, typename Element<T>::Storage, void>;

// Not traced, because begin_move() traces the accesses.
template <class Storage, bool store>
EMULATOR_UNTRACED void move(const WarpCall& call, FragmentKind& kind) {
    const ElementMap& map = begin_move(call, kind, store);
    for (int lane = 0; lane < 32; ++lane) {
        const auto& memory = *static_cast<const MemoryCall*>(call.arguments[lane]);
        for (int i = 0; i < kind.elements; ++i) {
            Storage* x = static_cast<Storage*>(memory.x) + i;
            Storage* element = static_cast<Storage*>(memory.address(kind, map.at[lane][i]));
            *(store ? element : x) = *(store ? x : element);
        }
    }
}
template <class F, bool store>
void move(const WarpCall& call) {
    move<typename F::storage_element_type, store>(call, F::kind);
}

// ---- Products -----------------------------------------------------------------------------------

struct ProductCall {  // of a lane: each operand's x[]
    void* d;
    const void *a, *b, *c;
    bool saturate;
    experimental::bmmaBitOp operation;
};

// The value with which an element is multiplied; and a sum with one more product.
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
    else if constexpr (Element<T>::packed == 1) return multiply_add(a, b, sum);
    else {
        // Shifts each 4 bits to the top and down again, which keeps the sign of an int.
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

// Gathers the matrix that the lanes hold. If an element has copies, the lowest lane's lowest x[i]
// counts.
template <class T, int rows, int cols, class To>
EMULATOR_UNTRACED void gather(const WarpCall& call, FragmentKind& kind, const void* ProductCall::*x,
                              To (&matrix)[rows][cols]) {
    const ElementMap& map = kind.map(call);
    for (int lane = 31; lane >= 0; --lane) {
        const auto& lane_call = *static_cast<const ProductCall*>(call.arguments[lane]);
        const auto* from = static_cast<const typename Element<T>::Storage*>(lane_call.*x);
        for (int i = kind.elements - 1; i >= 0; --i) {
            const Position p = map.at[lane][i];
            matrix[p.row][p.col] = operand<T>(from[i]);
        }
    }
}

template <class T>
constexpr auto kTensorCoreType = std::is_same_v<T, half>   ? tensor_core::Type::f16
                                 : std::is_same_v<T, tf32> ? tensor_core::Type::tf32
                                                           : tensor_core::Type::bf16;

template <class T, class C, class D, int m, int n, int k>  // k in words
EMULATOR_UNTRACED void multiply(const WarpCall& call, FragmentKind& kind_a, FragmentKind& kind_b,
                                FragmentKind& kind_c, FragmentKind& kind_d) {
    using Operand = decltype(operand<T>(typename Element<T>::Storage()));
    using Sum = std::conditional_t<std::is_floating_point_v<Operand>, Operand, int64_t>;
    const auto& first = *static_cast<const ProductCall*>(call.arguments[0]);
    Operand a[m][k], b[k][n];
    Sum sum[m][n];
    gather<T>(call, kind_a, &ProductCall::a, a);
    gather<T>(call, kind_b, &ProductCall::b, b);
    gather<C>(call, kind_c, &ProductCall::c, sum);
    check_accumulators("mma_sync", first.c, kind_c.elements * kind_c.bytes, call);
    note_product(first.a, kind_a.distinct * kind_a.bytes, first.b, kind_b.distinct * kind_b.bytes);
    if (std::is_same_v<T, b1> && first.operation == experimental::bmmaBitOpAND &&
        architecture() < 80)
        misuse("bmma_sync: there is no AND on sm_" + std::to_string(architecture()), call.file,
               call.line);
    if constexpr (std::is_same_v<Sum, float>) {
        // nvcc 13.0 splits a product of tf32 into instructions of k = 4, for sm_80 and for sm_90.
        constexpr int step = std::is_same_v<T, tf32> ? 4 : k;
        for (int first = 0; first < k; first += step)
            tensor_core_multiply(
                kTensorCoreType<T>,
                std::is_same_v<C, half> && std::is_same_v<D, half> ? &call : nullptr, m, n, step,
                a[0] + first, k, 1, b[first], n, sum[0], n);
    } else
        for (int row = 0; row < m; ++row)
            for (int i = 0; i < k; ++i)
                for (int col = 0; col < n; ++col)
                    sum[row][col] =
                        add_product<T>(sum[row][col], a[row][i], b[i][col], first.operation);

    const ElementMap& map = kind_d.map(call);
    for (int lane = 0; lane < 32; ++lane) {
        const auto& lane_call = *static_cast<const ProductCall*>(call.arguments[lane]);
        for (int i = 0; i < kind_d.elements; ++i) {
            const Position p = map.at[lane][i];
            static_cast<D*>(lane_call.d)[i] = result<D>(sum[p.row][p.col], first.saturate);
        }
    }
}
template <class D, class A, class B, class C>
void multiply(const WarpCall& call) {
    multiply<typename A::element_type, typename C::element_type, typename D::element_type, D::rows,
             D::cols, B::rows>(call, A::kind, B::kind, C::kind, D::kind);
}

template <class D, class A, class B, class C>
__forceinline__ void product(D& d, const A& a, const B& b, const C& c, bool saturate,
                             experimental::bmmaBitOp operation, const char* file, int line) {
    const ProductCall call{d.x, a.x, b.x, c.x, saturate, operation};
    collective(multiply<D, A, B, C>, &call, file, line);
}

// Whether mma_sync() can multiply T, add to C and return D: reals, and integers, whose sums may
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

// What types.cu tests: the element types of the WMMA API, the products that it has of them, and the
// kernel that computes one.
#pragma once

#include <mma.h>

#include <cstring>
#include <vector>

using namespace nvcuda;

// nvcc compiles kernels for one architecture after the other, without what that one lacks: a kernel
// then says so and does nothing. The host's code, and the emulator, have it all.
#ifdef __CUDA_ARCH__
constexpr int kCompiledFor = __CUDA_ARCH__ / 10;
#else
constexpr int kCompiledFor = 1000;
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
namespace nvcuda::wmma::precision {
struct tf32;
}  // namespace nvcuda::wmma::precision
__device__ float to_tf32(float x) { return x; }  // never called
#else
__device__ float to_tf32(float x) { return wmma::__float_to_tf32(x); }
#endif
using wmma::col_major, wmma::row_major, wmma::precision::tf32;
using wmma::experimental::precision::b1, wmma::experimental::precision::s4,
    wmma::experimental::precision::u4;

constexpr int kWarp = 32;
constexpr uint8_t kUntouched =
    0xa5;  // no result has these bits: a half of -0.02, a float of -3e-16, an int of -1.5e9

// An element type: how it lies in memory, the test's integers, the first architecture that has it,
// and the first that no longer has an instruction for it but calls a routine of several (as seen in
// the machine code that nvcc 13.0 makes).
template <class StoredAs, int bits, int low, int high, int since, int emulated_since = 9999>
struct Type {
    using Stored = StoredAs;
    static constexpr int kBits = bits, kLow = low, kHigh = high, kSince = since,
                         kEmulatedSince = emulated_since;
};
// clang-format off
template <class T> struct Element;
template <> struct Element<half> : Type<half, 16, -512, 512, 70> { static constexpr auto kName = "half"; };
template <> struct Element<float> : Type<float, 32, 0, 0, 70> { static constexpr auto kName = "float"; };
template <> struct Element<__nv_bfloat16> : Type<__nv_bfloat16, 16, -128, 128, 80> { static constexpr auto kName = "bf16"; };
template <> struct Element<tf32> : Type<float, 32, 0, 0, 80> { static constexpr auto kName = "tf32"; };
template <> struct Element<double> : Type<double, 64, -(1 << 20), 1 << 20, 80> { static constexpr auto kName = "double"; };
template <> struct Element<int> : Type<int, 32, 0, 0, 72> { static constexpr auto kName = "int"; };
template <> struct Element<signed char> : Type<signed char, 8, -128, 127, 72> { static constexpr auto kName = "s8"; };
template <> struct Element<unsigned char> : Type<unsigned char, 8, 0, 255, 72> { static constexpr auto kName = "u8"; };
template <> struct Element<s4> : Type<uint8_t, 4, -8, 7, 75, 90> { static constexpr auto kName = "s4"; };
template <> struct Element<u4> : Type<uint8_t, 4, 0, 15, 75, 90> { static constexpr auto kName = "u4"; };
template <> struct Element<b1> : Type<uint8_t, 1, 0, 1, 75, 90> { static constexpr auto kName = "b1"; };
// clang-format on

// What is done with the elements. Ints that would leave their range wrap round; with satf they stay
// at its end.
enum Operation { kMultiply, kXor, kAnd, kWrap, kSatf };
constexpr const char* kOperationNames[] = {"mul", "xor popc", "and popc", "mul wraps", "mul satf"};
static_assert(kXor == 1 && kAnd == 2,
              "bmmaBitOpXOR and bmmaBitOpAND, which has no name before sm_80");

// A line of the table. C and D: element types of the accumulators.
template <class In_, class C_, class D_, int M_, int N_, int K_, Operation operation = kMultiply>
struct Product {
    using In = In_;
    using C = C_;
    using D = D_;
    static constexpr int M = M_, N = N_, K = K_;
    static constexpr Operation kOperation = operation;
    static constexpr bool kTf32 = std::is_same_v<In, tf32>, kHalfSums = std::is_same_v<D, half>;
    static constexpr int kSince = operation == kAnd ? 80 : Element<In>::kSince;
    static constexpr int kEmulatedSince = operation == kAnd ? 100 : Element<In>::kEmulatedSince;
};

// What the kernel finds out on the device: x[] of the fragments of A, B and D.
struct Found {
    int compiled_for, elements[3], storage_elements[3];
};
// A matrix on the device. ldm: in elements.
struct Operand {
    void* data;
    unsigned ldm;
    wmma::layout_t layout;
};
struct Arguments {
    Operand A, B, C, D;
    int again;
    Found* found;
};

template <class P, class A, class B, class C, class D>
__device__ void multiply_add(D& d, const A& a, const B& b, const C& c) {
    if constexpr (P::kOperation == kXor || P::kOperation == kAnd)
        wmma::bmma_sync(d, a, b, c, wmma::experimental::bmmaBitOp(P::kOperation),
                        wmma::experimental::bmmaAccumulateOpPOPC);
    else if constexpr (std::is_same_v<typename P::D, int>)
        wmma::mma_sync(d, a, b, c, P::kOperation == kSatf);
    else wmma::mma_sync(d, a, b, c);  // only integers: satf for halves and floats ended with CUDA 9
}

// D = A * B + C; for timing, D = A * B + D is done `again` times more.
template <class P, class LayoutA, class LayoutB>
__global__ void multiply(Arguments to) {
    if (threadIdx.x == 0) to.found->compiled_for = kCompiledFor;
    if constexpr (kCompiledFor >= P::kSince) {
        using Stored = typename Element<typename P::In>::Stored;
        wmma::fragment<wmma::matrix_a, P::M, P::N, P::K, typename P::In, LayoutA> a;
        wmma::fragment<wmma::matrix_b, P::M, P::N, P::K, typename P::In, LayoutB> b;
        wmma::fragment<wmma::accumulator, P::M, P::N, P::K, typename P::C> c;
        wmma::fragment<wmma::accumulator, P::M, P::N, P::K, typename P::D> d;
        wmma::load_matrix_sync(a, static_cast<const Stored*>(to.A.data), to.A.ldm);
        wmma::load_matrix_sync(b, static_cast<const Stored*>(to.B.data), to.B.ldm);
        wmma::load_matrix_sync(c, static_cast<const typename P::C*>(to.C.data), to.C.ldm,
                               to.C.layout);
        if constexpr (P::kTf32) {  // the load does not round: the program has to, all of x[]
            for (int i = 0; i < a.num_elements; ++i) a.x[i] = to_tf32(a.x[i]);
            for (int i = 0; i < b.num_elements; ++i) b.x[i] = to_tf32(b.x[i]);
        }
        multiply_add<P>(d, a, b, c);
        if constexpr (std::is_same_v<typename P::C, typename P::D>)
            for (int i = 0; i < to.again; ++i) multiply_add<P>(d, a, b, d);
        wmma::store_matrix_sync(static_cast<typename P::D*>(to.D.data), d, to.D.ldm, to.D.layout);
        if (threadIdx.x == 0)
            *to.found = {kCompiledFor,
                         {a.num_elements, b.num_elements, d.num_elements},
                         {a.num_storage_elements, b.num_storage_elements, d.num_storage_elements}};
    }
}

// A kernel, and the layouts in which it expects A and B.
struct Layout {
    void (*kernel)(Arguments);
    bool a_by_rows, b_by_rows;
};
template <class P>
std::vector<Layout> layouts() {
    std::vector<Layout> all = {{multiply<P, row_major, col_major>, true, false}};
    // Sub-byte elements that are adjacent along k must be adjacent in memory.
    if constexpr (Element<typename P::In>::kBits >= 8)
        all.insert(all.end(), {{multiply<P, row_major, row_major>, true, true},
                               {multiply<P, col_major, col_major>, false, false},
                               {multiply<P, col_major, row_major>, false, true}});
    return all;
}

// The emulator's mma.h, traced.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include <random>
#include <stdexcept>

#include "device.h"

using namespace nvcuda::wmma;
using experimental::precision::b1;
using experimental::precision::s4;
using experimental::precision::u4;
using precision::tf32;

namespace {

class Wmma : public Base {};
class Trace : public Base {};

// ---- Which fragments and products there are -----------------------------------------------------

template <class T, class = void>
constexpr bool exists = false;
template <class T>
constexpr bool exists<T, std::void_t<decltype(sizeof(T))>> = true;
template <class... T>
constexpr bool all_exist = (exists<T> && ...);
template <class... T>
constexpr bool none_exist = !(exists<T> || ...);
template <class Call, class... Arguments>
constexpr bool compiles = std::is_invocable_v<Call, Arguments...>;

struct Mma {
    template <class... A>
    auto operator()(A&&... a) -> decltype(mma_sync(std::forward<A>(a)...)) {}
};
struct Load {
    template <class... A>
    auto operator()(A&&... a) -> decltype(load_matrix_sync(std::forward<A>(a)...)) {}
};
template <class T, int m = 16, int n = 16, int k = 16>
using A = fragment<matrix_a, m, n, k, T, row_major>;
template <class T, int m = 16, int n = 16, int k = 16>
using B = fragment<matrix_b, m, n, k, T, col_major>;
template <class T, int m = 16, int n = 16, int k = 16>
using ACol = fragment<matrix_a, m, n, k, T, col_major>;
template <class T, int m = 16, int n = 16, int k = 16>
using BRow = fragment<matrix_b, m, n, k, T, row_major>;
template <class T, int m = 16, int n = 16, int k = 16>
using C = fragment<accumulator, m, n, k, T>;
template <class D, class T, class S, class... More>
constexpr bool multiplies = compiles<Mma, C<D>&, A<T>&, B<T>&, C<S>&, More...>;

static_assert(
    all_exist<A<half>, A<half, 32, 8>, A<half, 8, 32>, A<double, 8, 8, 4>, A<s4, 8, 8, 32>,
              A<tf32, 16, 16, 8>, B<b1, 8, 8, 128>, C<float, 16, 16, 8>>);
static_assert(none_exist<A<half, 16, 16, 8>, A<half, 8, 8>, A<float>, A<double>, A<tf32>,
                         A<b1, 8, 8, 32>, C<__nv_bfloat16>, C<double>, C<half, 16, 16, 8>>);
static_assert(
    none_exist<ACol<s4, 8, 8, 32>, BRow<b1, 8, 8, 128>, fragment<matrix_a, 16, 16, 16, half>,
               fragment<accumulator, 16, 16, 16, float, row_major>>);
static_assert(multiplies<float, half, float> && multiplies<half, half, half> &&
              multiplies<float, half, half> && multiplies<half, half, float>);
static_assert(multiplies<float, __nv_bfloat16, float> && !multiplies<half, __nv_bfloat16, float> &&
              !multiplies<float, __nv_bfloat16, half>);
static_assert(multiplies<int, signed char, int> && multiplies<int, signed char, int, bool> &&
              !multiplies<float, half, float, bool>);
static_assert(!multiplies<float, signed char, float> && !multiplies<int, half, int> &&
              !compiles<Mma, C<float>&, A<half>&, A<half>&, C<float>&>);
static_assert(!compiles<Mma, C<float>&, A<half>&, B<__nv_bfloat16>&, C<float>&>);
static_assert(
    !compiles<Mma, C<int, 8, 8, 128>&, A<b1, 8, 8, 128>&, B<b1, 8, 8, 128>&, C<int, 8, 8, 128>&>);
static_assert(compiles<Load, A<half>&, half*, int> && !compiles<Load, A<half>&, float*, int> &&
              !compiles<Load, C<half>&, half*, int>);
static_assert(!compiles<Load, A<half>&, half*, int, layout_t> &&
              compiles<Load, C<half>&, half*, int, layout_t>);
static_assert(compiles<Load, A<s4, 8, 8, 32>&, const void*, int>);

template <class F, int elements, int words = elements>
constexpr bool holds = F::num_elements == elements&& F::num_storage_elements == words;
static_assert(holds<A<half>, 16> && holds<A<half, 8, 32>, 16> && holds<C<half>, 8> &&
              holds<C<float>, 8> && holds<A<signed char>, 8> && holds<A<signed char, 32, 8>, 16> &&
              holds<B<signed char, 32, 8>, 4> && holds<A<__nv_bfloat16>, 8> &&
              holds<A<__nv_bfloat16, 8, 32>, 4> && holds<A<tf32, 16, 16, 8>, 4> &&
              holds<A<double, 8, 8, 4>, 1> && holds<C<double, 8, 8, 4>, 2> &&
              holds<C<int, 8, 8, 32>, 2> && holds<A<s4, 8, 8, 32>, 8, 1> &&
              holds<A<b1, 8, 8, 128>, 32, 1>);
static_assert(std::is_same_v<A<tf32, 16, 16, 8>::element_type, tf32> &&
              std::is_same_v<A<tf32, 16, 16, 8>::storage_element_type, float>);
static_assert(sizeof(A<half>) == 32 && sizeof(C<float>) == 32 && alignof(A<half>) == 8);

// ---- Products, exact ----------------------------------------------------------------------------

// The storage of an element type: `packed` elements in a word of `size` bytes, set and read as
// numbers.
struct Element {
    int packed, size;
    void (*set)(void* words, size_t word, int value);
    double (*get)(const void* words, size_t word);
};
template <class T>
using Word = typename emulator::fragments::Element<T>::Storage;
template <class T>
const Element kElement = {
    emulator::fragments::Element<T>::packed, sizeof(Word<T>),
    [](void* words, size_t i, int value) { static_cast<Word<T>*>(words)[i] = Word<T>(value); },
    [](const void* words, size_t i) { return double(static_cast<const Word<T>*>(words)[i]); }};

template <class D, class T, int m, int n, int k, class LayoutA, class LayoutB, class S>
__global__ void product(const void* a, int lda, const void* b, int ldb, const void* c, void* d,
                        int ldc, layout_t layout, int option) {
    fragment<matrix_a, m, n, k, T, LayoutA> fa;
    fragment<matrix_b, m, n, k, T, LayoutB> fb;
    fragment<accumulator, m, n, k, S> fc;
    fragment<accumulator, m, n, k, D> fd;
    load_matrix_sync(fa, static_cast<const Word<T>*>(a), lda);
    load_matrix_sync(fb, static_cast<const Word<T>*>(b), ldb);
    load_matrix_sync(fc, static_cast<const S*>(c), ldc, layout);
    if constexpr (std::is_same_v<T, b1>)
        bmma_sync(fd, fa, fb, fc, option ? experimental::bmmaBitOpAND : experimental::bmmaBitOpXOR);
    else if constexpr (std::is_same_v<D, int>) mma_sync(fd, fa, fb, fc, option);
    else mma_sync(fd, fa, fb, fc);
    store_matrix_sync(static_cast<D*>(d), fd, ldc, layout);
}

struct Product {
    void (*kernel)(const void*, int, const void*, int, const void*, void*, int, layout_t, int);
    Element factor, c, d;
    int m, n, k;
    bool a_by_rows, b_by_rows;
    int lowest, highest, option = 0;
    bool bits = factor.packed == 32;
};
template <class D, class T, int m, int n, int k, class LayoutA = row_major,
          class LayoutB = col_major, class S = D>
Product multiply(int lowest, int highest, int option = 0) {
    constexpr bool a_by_rows = std::is_same_v<LayoutA, row_major>;
    constexpr bool b_by_rows = std::is_same_v<LayoutB, row_major>;
    const auto kernel = product<D, T, m, n, k, LayoutA, LayoutB, S>;
    return {kernel, kElement<T>, kElement<S>, kElement<D>, m,       n,
            k,      a_by_rows,   b_by_rows,   lowest,      highest, option};
}

// A matrix of small integers in memory by rows or columns, with some room between them.
struct Matrix {
    Element element;
    int cols, lines, ld;
    bool by_rows;
    std::vector<int> values;
    std::vector<char> memory;
    Matrix(Element element, int rows, int cols, bool by_rows, int bytes_a_line)
        : element(element), cols(cols), lines(by_rows ? rows : cols),
          ld(bytes_a_line / element.size * element.packed), by_rows(by_rows), values(rows * cols),
          memory(lines * bytes_a_line) {}
    size_t index(int i) const {
        return by_rows ? i / cols * size_t(ld) + i % cols : i % cols * size_t(ld) + i / cols;
    }
    void fill(std::mt19937& random, int low, int high) {
        std::vector<unsigned> words(memory.size() / element.size);
        for (int i = 0; i < int(values.size()); ++i) {
            values[i] = low + int(random() % (high - low + 1));
            const unsigned bits = 32 / element.packed, mask = bits < 32 ? (1u << bits) - 1 : ~0u;
            words[index(i) / element.packed] |= (values[i] & mask)
                                                << index(i) % element.packed * bits;
        }
        for (size_t word = 0; word < words.size(); ++word)
            element.set(memory.data(), word, int(words[word]));
    }
};

void check(const Product& p) {
    for (const bool by_rows : {true, false}) {
        std::mt19937 random(p.m + p.n);
        Matrix a(p.factor, p.m, p.k, p.a_by_rows, 272), b(p.factor, p.k, p.n, p.b_by_rows, 272);
        Matrix c(p.c, p.m, p.n, by_rows, 40 * p.c.size), d(p.d, p.m, p.n, by_rows, 40 * p.d.size);
        for (Matrix* factor : {&a, &b}) factor->fill(random, p.lowest, p.highest);
        c.fill(random, -50, 50);
        for (int i = 0; i < d.lines * d.ld; ++i) p.d.set(d.memory.data(), i, -1);
        Device<char> device_a(a.memory), device_b(b.memory), device_c(c.memory), device_d(d.memory);
        const auto kernel = p.kernel;
        kernel<<<1, 32>>>(device_a.data, a.ld, device_b.data, b.ld, device_c.data, device_d.data,
                          d.ld, by_rows ? mem_row_major : mem_col_major, p.option);
        ASSERT_EQ(cudaPeekAtLastError(), cudaSuccess);
        const auto host = device_d.host();
        for (int at = 0; at < p.m * p.n; ++at) {
            int sum = c.values[at];
            for (int i = 0; i < p.k; ++i) {
                const int x = a.values[at / p.n * p.k + i], y = b.values[i * p.n + at % p.n];
                sum += !p.bits ? x * y : p.option ? x & y : x ^ y;
            }
            ASSERT_EQ(p.d.get(host.data(), d.index(at)), sum) << at / p.n << "," << at % p.n;
        }
        int untouched = 0;
        for (int i = 0; i < d.lines * d.ld; ++i) untouched += p.d.get(host.data(), i) == -1;
        ASSERT_GE(untouched, d.lines * d.ld - p.m * p.n) << "only the matrix is written";
    }
}

// Of each factor; the other one's makes no difference to it.
template <class D, class T, int m, int n, int k>
void check_layouts(int lowest, int highest) {
    check(multiply<D, T, m, n, k>(lowest, highest));
    check(multiply<D, T, m, n, k, col_major, row_major>(lowest, highest));
}

template <int m, int n>
void check_shape() {
    check_layouts<float, half, m, n, 16>(-9, 9);
    check_layouts<float, __nv_bfloat16, m, n, 16>(-9, 9);
    check_layouts<int, signed char, m, n, 16>(-128, 127);
    check_layouts<int, unsigned char, m, n, 16>(0, 255);
    check(multiply<half, half, m, n, 16>(-9, 9));
    check(multiply<half, half, m, n, 16, row_major, col_major, float>(-9, 9));
    check(multiply<float, half, m, n, 16, row_major, col_major, half>(-9, 9));
}

TEST_F(Wmma, ProductsAreExactInEveryTypeShapeAndLayout) {
    in_every_order([] {
        check_shape<16, 16>();
        check_shape<32, 8>();
        check_shape<8, 32>();
        check_layouts<float, tf32, 16, 16, 8>(-9, 9);
        check_layouts<double, double, 8, 8, 4>(-1000, 1000);
        check(multiply<int, s4, 8, 8, 32>(-8, 7));
        check(multiply<int, u4, 8, 8, 32>(0, 15));
        for (int option : {0, 1}) check(multiply<int, b1, 8, 8, 128>(0, 1, option));
        expect_problem("");
    });
}

TEST_F(Wmma, ProductsAreExactOnOlderArchitectures) {
    emulator::set_architecture(70);
    check_layouts<float, half, 16, 16, 16>(-9, 9);
    check_layouts<half, half, 16, 16, 16>(-9, 9);
    check(multiply<half, half, 16, 16, 16, row_major, col_major, float>(-9, 9));
    check(multiply<float, half, 16, 16, 16, col_major, row_major, half>(-9, 9));
    emulator::set_architecture(75);
    check_layouts<float, half, 32, 8, 16>(-9, 9);
    check_layouts<int, signed char, 16, 16, 16>(-128, 127);
    check(multiply<int, b1, 8, 8, 128>(0, 1, 0));
}

// One product with the same value everywhere.
template <class D, class T, int m, int n, int k>
D product_of(Word<T> a, Word<T> b, D c, int option = 0) {
    Device<Word<T>> da(32 * 64, a), db(32 * 64, b);
    Device<D> dc(32 * 64, c), dd(32 * 64);
    const int ld = std::max(64, 4 * kElement<T>.packed);
    const auto kernel = multiply<D, T, m, n, k>(0, 0).kernel;
    kernel<<<1, 32>>>(da.data, ld, db.data, ld, dc.data, dd.data, 64, mem_row_major, option);
    return dd.host()[0];
}

TEST_F(Wmma, IntegersWrapOrSaturate) {
    EXPECT_EQ((product_of<int, signed char, 16, 16, 16>(127, 127, INT32_MAX)),
              int(uint32_t(INT32_MAX) + 16u * 127 * 127));
    EXPECT_EQ((product_of<int, signed char, 16, 16, 16>(127, 127, INT32_MAX, 1)), INT32_MAX);
    EXPECT_EQ((product_of<int, signed char, 16, 16, 16>(127, -128, INT32_MIN, 1)), INT32_MIN);
    EXPECT_EQ((product_of<int, u4, 8, 8, 32>(~0u, ~0u, INT32_MAX, 1)), INT32_MAX);
}

TEST_F(Wmma, RealsAreRoundedAsDescribed) {
    EXPECT_EQ((product_of<float, half, 16, 16, 16>(half(1 + 0x1p-10f), half(1 + 0x1p-10f), 0)),
              16 * (1 + 0x1p-10f) * (1 + 0x1p-10f));
    // Sums of halves are rounded once, at the end: each 2^-11 alone would be lost beside 1.
    EXPECT_EQ(float(product_of<half, half, 16, 16, 16>(half(0x1p-11f), half(1), half(1))),
              1 + 16 * 0x1p-11f);
    EXPECT_EQ(float(product_of<half, half, 16, 16, 16>(half(256), half(256), half(0))), INFINITY);
    EXPECT_EQ((product_of<float, half, 16, 16, 16>(half(INFINITY), half(1), 0)), INFINITY);
    EXPECT_TRUE(std::isnan(product_of<float, half, 16, 16, 16>(half(INFINITY), half(0), 0)));
    EXPECT_TRUE(std::isnan(product_of<float, half, 16, 16, 16>(half(1), half(1), NAN)));
    EXPECT_TRUE(std::isnan(float(product_of<half, half, 16, 16, 16>(half(NAN), half(1), half(1)))));
    EXPECT_EQ((product_of<float, tf32, 16, 16, 8>(1 + 0x1p-10f + 0x1.8p-11f, 1, 0)),
              8 * (1 + 0x1p-10f))
        << "truncated, not rounded";
    EXPECT_EQ((product_of<double, double, 8, 8, 4>(1 + 0x1p-52, 1 + 0x1p-52, -1 - 0x1p-51)),
              std::fma(1 + 0x1p-52, 1 + 0x1p-52, -1 - 0x1p-51) + 3 * (1 + 0x1p-51));
    EXPECT_EQ(__float_to_tf32(1 + 0x1p-11f), 1 + 0x1p-10f) << "a tie goes away from zero";
    EXPECT_EQ(__float_to_tf32(-1 - 0x1p-11f), -1 - 0x1p-10f);
    EXPECT_EQ(__float_to_tf32(1 + 0x1.fp-12f), 1);
    EXPECT_EQ(__float_to_tf32(INFINITY), INFINITY);
    EXPECT_TRUE(std::isnan(__float_to_tf32(NAN)));
}

template <class F, class T>
__global__ void filled(T value, typename F::storage_element_type* out) {
    F f;
    fill_fragment(f, value);
    for (int i = 0; i < f.num_storage_elements; ++i) out[i] = f.x[i];
}

TEST_F(Wmma, FillsEveryElement) {
    Device<half> halves(16);
    filled<A<half>><<<1, 32>>>(2.5f, halves.data);
    for (half h : halves.host()) EXPECT_EQ(float(h), 2.5f);
    Device<int> s4s(1);
    filled<A<s4, 8, 8, 32>><<<1, 32>>>(-3, s4s.data);
    EXPECT_EQ(uint32_t(s4s.host()[0]), 0xddddddddu);
    Device<unsigned> b1s(1);
    filled<A<b1, 8, 8, 128>><<<1, 32>>>(3, b1s.data);
    EXPECT_EQ(b1s.host()[0], ~0u);
}

// ---- Which lane holds what ----------------------------------------------------------------------

// Loads from global memory, or from shared memory of zeros where that is null; x: where not null,
// gets every lane's x[].
template <class F>
__global__ void load(const void* from, int ldm, bool by_rows, void* x) {
    extern __shared__ __align__(128) float zeros[];
    using T = typename F::storage_element_type;
    if (!from) {
        for (int i = threadIdx.x; i < 8192; i += 32) zeros[i] = 0;
        __syncthreads();
    }
    const T* const matrix = static_cast<const T*>(from ? from : zeros);
    F f;
    if constexpr (F::is_accumulator)
        load_matrix_sync(f, matrix, ldm, by_rows ? mem_row_major : mem_col_major);
    else load_matrix_sync(f, matrix, ldm);  // @load
    for (int i = 0; x && i < f.num_storage_elements; ++i)
        static_cast<T*>(x)[threadIdx.x * f.num_storage_elements + i] = f.x[i];
}

struct Map {  // a fragment type's
    void (*load)(const void* from, int ldm, bool by_rows, void* x);
    Element word;
    int words, packed;
    bool is_accumulator, row_major;
};
template <class F>
Map map_of() {
    return {load<F>,
            kElement<typename F::element_type>,
            F::num_storage_elements,
            F::packed,
            F::is_accumulator,
            F::row_major};
}

// The row (or column) of lane l's x[i], at [l * words + i]; of words where elements are packed.
std::vector<int> held(const Map& f, bool by_rows, bool rows) {
    constexpr int kLd = 64;
    std::vector<char> matrix(kLd * kLd * f.word.size);
    for (int i = 0; i < 32 * 32; ++i)
        f.word.set(matrix.data(), i / 32 * kLd + i % 32, rows == by_rows ? i / 32 : i % 32);
    Device<char> device(matrix), x(32 * f.words * f.word.size);
    const auto load = f.load;
    load<<<1, 32>>>(device.data, kLd * f.packed, by_rows, x.data);
    std::vector<int> result;
    for (int at = 0; at < 32 * f.words; ++at)
        result.push_back(int(f.word.get(x.host().data(), at)));
    return result;
}

// What an H200 (driver 580.159, CUDA 13.0) gave for lanes 1, 2, 4, 8, 16 and elements 1, 2, 4, 8;
// all others are sums of these.
struct Seen {
    int row, col;
};
using Seens = std::vector<Seen>;
void expect_map(const Map& f, const Seens& lanes, const Seens& elements) {
    for (const bool by_rows : {true, false}) {
        if (!f.is_accumulator && by_rows != f.row_major) continue;
        const auto rows = held(f, by_rows, true), cols = held(f, by_rows, false);
        for (int at = 0; at < 32 * f.words; ++at) {
            const int lane = at / f.words, i = at % f.words;
            Seen sum{0, 0};
            const auto add = [&](int number, const Seens& seen) {
                for (size_t bit = 0; bit < seen.size(); ++bit)
                    if (number >> bit & 1) sum = {sum.row + seen[bit].row, sum.col + seen[bit].col};
            };
            add(lane, lanes), add(i, elements);
            ASSERT_TRUE(rows[at] == sum.row && cols[at] == sum.col)
                << "lane " << lane << " x[" << i << "]";
        }
    }
}
template <class T, int m, int n, int k>
void expect_maps(const Seens& lanes_a, const Seens& a, const Seens& lanes_b, const Seens& b) {
    expect_map(map_of<A<T, m, n, k>>(), lanes_a, a);
    expect_map(map_of<B<T, m, n, k>>(), lanes_b, b);
    if constexpr (emulator::fragments::Element<T>::packed == 1) {
        expect_map(map_of<ACol<T, m, n, k>>(), lanes_a, a);
        expect_map(map_of<BRow<T, m, n, k>>(), lanes_b, b);
    }
}

TEST_F(Wmma, FragmentsAreThoseOfAnH200) {
    const Seens a16 = {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}},
                b16 = {{2, 0}, {4, 0}, {0, 1}, {0, 2}, {0, 4}};
    const Seens a8 = {{0, 4}, {0, 8}, {1, 0}, {2, 0}, {4, 0}},
                b8 = {{4, 0}, {8, 0}, {0, 1}, {0, 2}, {0, 4}};
    const Seens a32 = {{0, 1}, {0, 2}, {1, 0}, {2, 0}, {4, 0}},
                b32 = {{1, 0}, {2, 0}, {0, 1}, {0, 2}, {0, 4}};
    expect_maps<half, 16, 16, 16>(a16, {{0, 1}, {8, 0}, {0, 8}, {0, 0}}, b16,
                                  {{1, 0}, {8, 0}, {0, 8}, {0, 0}});
    expect_maps<half, 32, 8, 16>(a16, {{0, 1}, {8, 0}, {0, 8}, {16, 0}}, b16,
                                 {{1, 0}, {8, 0}, {0, 0}, {0, 0}});
    expect_maps<half, 8, 32, 16>(a16, {{0, 1}, {0, 8}, {0, 0}, {0, 0}}, b16,
                                 {{1, 0}, {0, 8}, {8, 0}, {0, 16}});
    expect_maps<__nv_bfloat16, 16, 16, 16>(a16, {{0, 1}, {8, 0}, {0, 8}}, b16,
                                           {{1, 0}, {8, 0}, {0, 8}});
    expect_maps<__nv_bfloat16, 32, 8, 16>(a16, {{0, 1}, {8, 0}, {0, 8}, {16, 0}}, b16,
                                          {{1, 0}, {8, 0}});
    expect_maps<__nv_bfloat16, 8, 32, 16>(a16, {{0, 1}, {0, 8}}, b16,
                                          {{1, 0}, {0, 8}, {8, 0}, {0, 16}});
    expect_maps<signed char, 16, 16, 16>(a8, {{0, 1}, {0, 2}, {8, 0}}, b8,
                                         {{1, 0}, {2, 0}, {0, 8}});
    expect_maps<unsigned char, 32, 8, 16>(a8, {{0, 1}, {0, 2}, {8, 0}, {16, 0}}, b8,
                                          {{1, 0}, {2, 0}});
    expect_maps<signed char, 8, 32, 16>(a8, {{0, 1}, {0, 2}}, b8,
                                        {{1, 0}, {2, 0}, {0, 8}, {0, 16}});
    expect_maps<tf32, 16, 16, 8>(a32, {{8, 0}, {0, 4}}, b32, {{4, 0}, {0, 8}});
    expect_maps<double, 8, 8, 4>(a32, {}, b32, {});
    expect_maps<s4, 8, 8, 32>(a32, {}, b32, {});
    expect_maps<b1, 8, 8, 128>(a32, {}, b32, {});
    expect_map(map_of<C<float>>(), a16, {{0, 1}, {8, 0}, {0, 8}});
    expect_map(map_of<C<half>>(), a16, {{0, 1}, {8, 0}, {0, 8}});
    expect_map(map_of<C<int>>(), a16, {{0, 1}, {8, 0}, {0, 8}});
    expect_map(map_of<C<float, 32, 8>>(), a16, {{0, 1}, {8, 0}, {16, 0}});
    expect_map(map_of<C<half, 8, 32>>(), b16, {{1, 0}, {0, 8}, {0, 16}});
    expect_map(map_of<C<float, 16, 16, 8>>(), a16, {{0, 1}, {8, 0}, {0, 8}});
    expect_map(map_of<C<double, 8, 8, 4>>(), a16, {{0, 1}});
    expect_map(map_of<C<int, 8, 8, 32>>(), a16, {{0, 1}});
}

TEST_F(Wmma, FragmentsOfAV100) {
    emulator::set_architecture(70);
    expect_map(map_of<A<half>>(), {{1, 0}, {2, 0}, {8, 0}, {0, 0}, {4, 0}},
               {{0, 1}, {0, 2}, {0, 4}, {0, 8}});
    expect_map(map_of<ACol<half>>(), {{0, 1}, {0, 2}, {8, 0}, {0, 0}, {4, 0}},
               {{1, 0}, {2, 0}, {0, 4}, {0, 8}});
    expect_map(map_of<B<half>>(), {{0, 1}, {0, 2}, {0, 0}, {0, 8}, {0, 4}},
               {{1, 0}, {2, 0}, {4, 0}, {8, 0}});
    expect_map(map_of<BRow<half>>(), {{1, 0}, {2, 0}, {0, 0}, {0, 8}, {0, 4}},
               {{0, 1}, {0, 2}, {4, 0}, {8, 0}});
    expect_map(map_of<C<half>>(), {{1, 0}, {2, 0}, {8, 0}, {0, 8}, {4, 0}},
               {{0, 1}, {0, 2}, {0, 4}});
    expect_map(map_of<C<float>>(), {{1, 0}, {0, 2}, {8, 0}, {0, 8}, {4, 0}},
               {{0, 1}, {2, 0}, {0, 4}});
}

TEST_F(Wmma, ArchitecturesLackFragments) {
    Device<char> zeros(65536, 0);
    const struct {
        int sm;
        void (*load)(const void*, int, bool, void*);
        std::string fragment;
    } unknown[] = {
        {70, load<A<half, 32, 8>>, "half 32x8x16"},
        {70, load<C<float, 32, 8>>, "float 32x8x16"},
        {70, load<A<signed char>>, "s8 16x16x16"},
        {70, load<C<int>>, "int 16x16x16"},
        {75, load<A<__nv_bfloat16>>, "bf16 16x16x16"},
        {75, load<A<tf32, 16, 16, 8>>, "tf32 16x16x8"},
        {75, load<C<float, 16, 16, 8>>, "float 16x16x8"},
        {75, load<C<double, 8, 8, 4>>, "double 8x8x4"},
    };
    for (const auto& u : unknown) {
        const auto kernel = u.load;
        emulator::set_architecture(u.sm);
        kernel<<<1, 32>>>(zeros.data, 128, true, nullptr);
        expect_failure("fragments of " + u.fragment + " are not known on sm_" +
                       std::to_string(u.sm) + " at ...");
    }
    const auto kernel = multiply<int, b1, 8, 8, 128>(0, 1).kernel;
    kernel<<<1, 32>>>(zeros.data, 128, zeros.data, 128, zeros.data, zeros.data, 8, mem_row_major,
                      1);
    expect_failure("bmma_sync: there is no AND on sm_75 at ...");
    emulator::set_architecture(120);
    EXPECT_EQ((product_of<float, __nv_bfloat16, 16, 16, 16>(1, 1, 0)), 16);
    EXPECT_THROW(emulator::set_architecture(60), std::invalid_argument);
}

__global__ void edited(const half* ones, float* out, int first, int last, unsigned lanes) {
    A<half> a;
    B<half> b;
    C<float> c;
    load_matrix_sync(a, ones, 16);
    load_matrix_sync(b, ones, 16);
    fill_fragment(c, 0.0f);
    for (int i = first; i < last; ++i)
        if (lanes >> threadIdx.x & 1) a.x[i] = a.x[i] * half(3);
    mma_sync(c, a, b, c);
    for (int i = 0; i < c.num_elements; ++i) c.x[i] *= 10;
    store_matrix_sync(out, c, 16, mem_row_major);
}

TEST_F(Wmma, ElementsMayBeEdited) {
    Device<half> ones(256, half(1));
    Device<float> out(256);
    const auto edit = [&](int first, unsigned lanes) {
        edited<<<1, 32>>>(ones.data, out.data, first, 16, lanes);
        return out.host();
    };
    EXPECT_EQ(edit(0, ~0u), std::vector<float>(256, 480));
    EXPECT_EQ(edit(8, ~0u), std::vector<float>(256, 160));  // the second copy of each element
    emulator::set_architecture(70);
    EXPECT_EQ(edit(0, 0xff00ff00),
              std::vector<float>(256, 160));  // lanes 8 to 15 hold what 0 to 7 hold
    EXPECT_EQ(edit(0, 0x00ff00ff), std::vector<float>(256, 480));
}

// ---- Wrong uses ---------------------------------------------------------------------------------

__global__ void divergent(int kind, const half* in) {
    A<half> a;
    B<half> b;
    const int lane = threadIdx.x;
    if (kind == 0 && lane == 7) return;
    if (kind == 1 && lane == 7) __syncwarp();
    if (kind == 2 && lane == 7) load_matrix_sync(b, in, 16);
    if (kind != 3 || lane != 7) load_matrix_sync(a, in, 16);  // @warp_call
    if (kind == 3 && lane == 7) load_matrix_sync(a, in, 16);
    if (kind == 4)
        lane == 7 ? load_matrix_sync(b, in, 16) : load_matrix_sync(a, in, 16);  // @two_calls
}

TEST_F(Wmma, AllLanesMustComeToTheSameCall) {
    Device<half> in(256, half(1));
    in_every_order([&] {
        for (int kind : {0, 1, 2, 3, 4}) {
            divergent<<<1, 32>>>(kind, in.data);
            expect_lonely(kind == 4 ? "@two_calls" : "@warp_call");
        }
        divergent<<<1, 48>>>(5, in.data);  // the second warp has 16 lanes
        expect_lonely("@warp_call", "32");
    });
    divergent<<<1, 64>>>(5, in.data);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    expect_problem("");
}

__global__ void load_and_store(float* in, unsigned ldm, unsigned ldm_of_lane_5,
                               layout_t layout_of_lane_5, int shift) {
    const bool five = threadIdx.x == 5;
    C<float> c;
    if (five) in += shift, ldm = ldm_of_lane_5;
    load_matrix_sync(c, in, ldm, five ? layout_of_lane_5 : mem_row_major);  // @lane_5
    store_matrix_sync(in, c, ldm, mem_row_major);  // @stored_back
}
__global__ void store_only(float* out) {
    C<float> c;
    fill_fragment(c, 1.0f);
    store_matrix_sync(out, c, 16, mem_row_major);
}

TEST_F(Wmma, PointerAndLeadingDimensionAreChecked) {
    Device<float> c(1024, 0);
    const auto expect = [&](const std::string& text, int offset, unsigned ldm, unsigned lane_5,
                            layout_t layout, int shift) {
        load_and_store<<<1, 32>>>(c.data + offset, ldm, lane_5, layout, shift);
        if (text.empty()) expect_problem("");
        else expect_failure("load_matrix_sync: " + text + " at @lane_5 (block 0, thread 31)");
    };
    expect("", 0, 20, 20, mem_row_major, 0);
    expect("the pointer is not aligned to 32 bytes", 4, 20, 20, mem_row_major, 0);
    expect("ldm is 18, not a multiple of 4", 0, 18, 18, mem_row_major, 0);
    expect("lanes 0 and 5 of the warp give different ldm", 0, 20, 24, mem_row_major, 0);
    expect("lanes 0 and 5 of the warp give different layouts", 0, 20, 20, mem_col_major, 0);
    expect("lanes 0 and 5 of the warp give different pointers", 0, 20, 20, mem_row_major, 8);

    const auto refuses = [](const Map& f, unsigned ldm, unsigned least) {
        Device<char> in(4096 * f.word.size);
        const auto load = f.load;
        load<<<1, 32>>>(in.data, ldm, true, nullptr);
        expect_failure("load_matrix_sync: ldm is " + std::to_string(ldm) + ", not a multiple of " +
                       std::to_string(least) + " at @load (block 0, thread 31)");
        load<<<1, 32>>>(in.data, 2 * least, true, nullptr);
        expect_problem("");
    };
    refuses(map_of<A<half>>(), 20, 8);
    refuses(map_of<A<signed char>>(), 24, 16);
    refuses(map_of<A<tf32, 16, 16, 8>>(), 10, 4);
    refuses(map_of<A<double, 8, 8, 4>>(), 5, 2);
    refuses(map_of<A<s4, 8, 8, 32>>(), 48, 32);
    refuses(map_of<A<b1, 8, 8, 128>>(), 192, 128);
}

TEST_F(Wmma, StoresAreCheckedToo) {
    Device<float> out(512, 0);
    store_only<<<1, 32>>>(out.data + 4);
    expect_failure("store_matrix_sync: the pointer is not aligned to 32 bytes at ...");
    EXPECT_EQ(out.host(), std::vector<float>(512, 0));
}

// ---- Traffic and races --------------------------------------------------------------------------

__global__ void through_shared(float* out, bool sync) {
    __shared__ __align__(32) float s[16 * 16];
    C<float> c;
    fill_fragment(c, 2.0f);
    store_matrix_sync(s, c, 16, mem_row_major);  // @stored
    if (sync) __syncwarp();
    for (int i = threadIdx.x; i < 256; i += 32) out[i] = s[255 - i];  // @read_back
}

TEST_F(Trace, WmmaOrdersNoMemory) {
    in_every_order([] {
        Device<float> out(256);
        through_shared<<<1, 32>>>(out.data, true);
        expect_problem("");
        EXPECT_EQ(out.host(), std::vector<float>(256, 2));
        through_shared<<<1, 32>>>(out.data, false);
        expect_problem(
            "race in shared memory: @stored writes what ~read_back reads (block 0, threads ...");
    });
}

__global__ void fill_and_load(bool fill, bool sync) {
    __shared__ __align__(32) half s[16 * 16];
    for (int i = threadIdx.x; fill && i < 256; i += 32) s[i] = half(1);  // @filled
    A<half> a;
    if (sync) __syncwarp();
    load_matrix_sync(a, s, 16);  // @matrix_read
    __syncthreads();
}

TEST_F(Trace, LoadsOfMatricesRaceWithStores) {
    fill_and_load<<<1, 32>>>(true, true);
    expect_problem("");
    fill_and_load<<<1, 32>>>(true, false);
    expect_problem("race in shared memory: @filled writes what ~matrix_read reads...");
    fill_and_load<<<1, 32>>>(false, true);
    expect_problem(
        "uninitialised shared memory: @matrix_read reads what no thread of the block has written "
        "(block 0, thread 0)");
}

template <class F>
Traffic shared_load(int ldm) {
    emulator::reset_counts();
    load<F><<<1, 32, 32768>>>(nullptr, ldm, true, nullptr);
    EXPECT_EQ(problem(), "");
    return shared_loads();
}
template <class F>
Traffic global_load(int ldm) {
    emulator::reset_counts();
    Device<double> in(8192);
    load<F><<<1, 32>>>(in.data, ldm, true, nullptr);
    EXPECT_EQ(problem(), "");
    return global_loads();
}

TEST_F(Trace, SharedMatricesAreReadByLdmatrix) {
    // x4: 4 blocks of 8 lines of 16 bytes, a wavefront each if their lines lie in different banks
    EXPECT_EQ(shared_load<A<half>>(24), (Traffic{1, 4, 4, 512}));  // rows padded by 16 bytes
    EXPECT_EQ(shared_load<ACol<half>>(24),
              (Traffic{1, 4, 4, 512}));  // the other way round, turned in registers
    EXPECT_EQ(shared_load<B<half>>(72), (Traffic{1, 4, 4, 512}));
    EXPECT_EQ(shared_load<A<half>>(64),
              (Traffic{1, 32, 4, 512}));  // rows of 128 bytes: 8 of them in the same banks
    EXPECT_EQ(shared_load<ACol<half>>(64), (Traffic{1, 32, 4, 512}));
    EXPECT_EQ(shared_load<A<half>>(16), (Traffic{1, 8, 4, 512}));  // two by two
    EXPECT_EQ((shared_load<A<half, 32, 8>>(24)), (Traffic{2, 8, 8, 1024}));
    EXPECT_EQ((shared_load<A<half, 8, 32>>(24)), (Traffic{1, 2, 2, 256}));  // x2
    EXPECT_EQ(shared_load<A<__nv_bfloat16>>(24), (Traffic{1, 4, 4, 512}));
    EXPECT_EQ(shared_load<A<signed char>>(16), (Traffic{1, 2, 2, 256}));
    EXPECT_EQ((shared_load<A<b1, 8, 8, 128>>(128)), (Traffic{1, 1, 1, 128}));
    EXPECT_EQ(shared_load<ACol<signed char>>(16)[0], 8u);  // bytes, one by one
    EXPECT_EQ((shared_load<A<tf32, 16, 16, 8>>(8)), (Traffic{4, 8, 4, 512}));  // words, no ldmatrix
    EXPECT_EQ((shared_load<A<tf32, 16, 16, 8>>(12)), (Traffic{4, 4, 4, 512}));
    emulator::set_architecture(75);
    EXPECT_EQ(shared_load<A<half>>(24), (Traffic{2, 4, 4, 512}));  // x2 twice
    emulator::set_architecture(70);
    EXPECT_EQ(shared_load<A<half>>(24)[3], 1024u);  // each element by two lanes
}

TEST_F(Trace, GlobalMatricesAreReadInWords) {
    EXPECT_EQ(global_load<A<half>>(64),
              (Traffic{4, 32, 0, 512}));  // each request: 8 lines, 16 bytes of each
    EXPECT_EQ(global_load<ACol<half>>(64), (Traffic{4, 32, 0, 512}));
    EXPECT_EQ(global_load<A<half>>(16), (Traffic{4, 32, 0, 512}));
    EXPECT_EQ(global_load<A<signed char>>(64), (Traffic{2, 16, 0, 256}));
    EXPECT_EQ(global_load<ACol<signed char>>(64)[0], 8u);
    EXPECT_EQ((global_load<A<s4, 8, 8, 32>>(32)), (Traffic{1, 4, 0, 128}));
    EXPECT_EQ(global_load<C<float>>(64), (Traffic{4, 32, 0, 1024}));  // 8 bytes a lane
    EXPECT_EQ(global_load<C<half>>(64), (Traffic{4, 32, 0, 512}));
    EXPECT_EQ((global_load<C<float, 8, 32>>(64)),
              (Traffic{8, 32, 0, 1024}));  // neighbours are in a column here: 4 bytes
    EXPECT_EQ((global_load<C<half, 8, 32>>(64)), (Traffic{4, 32, 0, 512}));  // turned in registers
    EXPECT_EQ((global_load<C<double, 8, 8, 4>>(64)), (Traffic{1, 16, 0, 512}));
}

TEST_F(Trace, MatricesBelongToTheLineThatMovesThem) {
    Device<float> c(1024, 0);
    load_and_store<<<1, 32>>>(c.data, 16, 16, mem_row_major, 0);
    const auto& lines = emulator::counts().lines;
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(lines[0].where, located("@lane_5", __FILE__));
    EXPECT_EQ(lines[1].where, located("@stored_back", __FILE__));
    EXPECT_TRUE(!lines[0].store && lines[1].store && lines[0].global && lines[1].width == 8);
    EXPECT_EQ(lines[1].requests, 4u);
}

}  // namespace

// The emulator's cuda_fp16.h, cuda_bf16.h, mma.h and cuda_pipeline.h. Built twice: plain, and traced (the suite Trace runs in the
// traced build only).
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

#include <random>
#include <stdexcept>

#include "emulator_test_device.h"

using namespace nvcuda::wmma;
using experimental::precision::b1;
using experimental::precision::s4;
using experimental::precision::u4;
using precision::tf32;

namespace {

class Half : public Base {};
class Wmma : public Base {};
class Pipeline : public Base {};
class Trace : public Base {};

std::string at(int line) { return "tests/emulator_test_wmma.cu:" + std::to_string(line); }
std::string short_at(int line) { return "emulator_test_wmma.cu:" + std::to_string(line); }
float from_bits(uint32_t bits) { return __builtin_bit_cast(float, bits); }
uint32_t bits_of(float x) { return __builtin_bit_cast(uint32_t, x); }

// ---- half and bfloat16 ------------------------------------------------------------------------------------------------------

static_assert(sizeof(half) == 2 && std::is_trivially_copyable_v<half> && std::is_trivially_default_constructible_v<half>);
static_assert(sizeof(__nv_bfloat16) == 2 && std::is_trivially_copyable_v<__nv_bfloat16>);
static_assert(std::is_trivially_default_constructible_v<__nv_bfloat16>);
static_assert(sizeof(half2) == 4 && alignof(half2) == 4 && std::is_trivially_default_constructible_v<half2>);

// x rounded to nearest even, to `digits` bits of significand (11: half, 8: bfloat16) and no less than the given power of two.
double rounded(double x, int digits, int smallest_exponent, double overflow) {
    if (x == 0 || !std::isfinite(x)) return x;
    const double unit = std::ldexp(1, std::max(std::ilogb(x), smallest_exponent) - (digits - 1));
    const double result = std::nearbyint(x / unit) * unit;
    return std::fabs(result) >= overflow ? std::copysign(INFINITY, x) : result;
}
double as_half(double x) { return rounded(x, 11, -14, 65536); }
double as_bfloat16(double x) { return rounded(x, 8, -126, 0x1p128); }

bool same(double a, double b) { return (a != a && b != b) || (a == b && std::signbit(a) == std::signbit(b)); }

TEST_F(Half, EveryOneComesBackFromAFloat) {
    for (unsigned bits = 0; bits < 65536; ++bits) {
        const half h = __ushort_as_half(bits);
        ASSERT_EQ(__half_as_ushort(__float2half(__half2float(h))), bits);
        const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
        const double size = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
        const double value = exponent < 31 ? size : mantissa ? NAN : INFINITY;
        ASSERT_TRUE(same(float(h), bits & 0x8000 ? -value : value)) << bits;
        const __nv_bfloat16 b = __ushort_as_bfloat16(bits);
        ASSERT_EQ(bits_of(float(b)), bits << 16);
        ASSERT_EQ(__bfloat16_as_ushort(__float2bfloat16(float(b))), bits);
    }
}

TEST_F(Half, FloatsAreRoundedToNearestEven) {
    const auto check = [](float x) {
        ASSERT_TRUE(same(float(half(x)), as_half(x))) << x;
        ASSERT_TRUE(same(float(__nv_bfloat16(x)), as_bfloat16(x))) << x;
    };
    for (uint64_t bits = 0; bits < uint64_t(1) << 32; bits += 997) check(from_bits(bits));
    for (unsigned bits = 0; bits < 0x7c00; ++bits) {  // around each half, and around the middle between it and the next
        const uint32_t here = bits_of(half(__ushort_as_half(bits)));
        const double next = bits == 0x7bff ? 65536 : float(__ushort_as_half(bits + 1));
        const uint32_t middle = bits_of(float((double(from_bits(here)) + next) / 2));
        for (int off : {-1, 0, 1}) {
            if (here) check(from_bits(here + off)), check(-from_bits(here + off));
            check(from_bits(middle + off)), check(-from_bits(middle + off));
        }
    }
    EXPECT_EQ(__half_as_ushort(from_bits(0x7f800001)), 0x7e00) << "NaN whose payload is lost stays NaN";
    EXPECT_EQ(__bfloat16_as_ushort(from_bits(0x7f800001)), 0x7fc0);
    EXPECT_EQ(__half_as_ushort(from_bits(0xffa00000)), 0xfd00);
}

TEST_F(Half, DoublesAndIntsAreRoundedOnce) {
    EXPECT_EQ(float(half(2049.0)), 2048);
    EXPECT_EQ(float(half(2049 + 1e-12)), 2050) << "a float would have become 2049 first";
    EXPECT_EQ(float(half(-2051 + 1e-12)), -2050);
    EXPECT_EQ(float(half(65519.999999)), 65504);
    EXPECT_EQ(float(half(1e300)), INFINITY);
    EXPECT_EQ(float(half(1e-300)), 0);
    EXPECT_EQ(float(half(0x1p-25 + 0x1p-70)), 0x1p-24f);
    EXPECT_EQ(float(half(-INFINITY)), -INFINITY);
    EXPECT_EQ(float(half(2049)), 2048);
    EXPECT_EQ(float(half(-2051ll)), -2052);
    EXPECT_EQ(float(__nv_bfloat16((1u << 30) + (1u << 22) + 1)), 1073741824.0f + (1 << 23));
}

// round(N * 2^-48), of an exact integer.
double round_exactly(__int128 n) {
    const bool negative = n < 0;
    unsigned __int128 size = negative ? -n : n;
    int shift = 24;  // a half's last bit is worth 2^-24 at least
    while (size >> shift >= 2048) ++shift;
    const unsigned __int128 unit = (unsigned __int128)(1) << shift, rest = size % unit;
    size /= unit;
    if (rest > unit / 2 || (rest == unit / 2 && size % 2)) ++size;
    const double value = std::ldexp(double(size), shift - 48);
    return (negative ? -1 : 1) * (value >= 65536 ? INFINITY : value);
}

TEST_F(Half, FmaIsRoundedOnce) {
    std::mt19937 random(1);
    const auto integer = [](half h) { return __int128(std::ldexp(float(h), 24)); };
    for (int i = 0; i < 300000; ++i) {
        const half a = __ushort_as_half(random() % 65536), b = __ushort_as_half(random() % 65536),
                   c = __ushort_as_half(random() % 65536);
        if (!std::isfinite(float(a) * float(b) + float(c))) continue;
        const double expected = round_exactly(integer(a) * integer(b) + (integer(c) << 24));
        ASSERT_EQ(float(__hfma(a, b, c)), expected) << float(a) << " * " << float(b) << " + " << float(c);
    }
    const half big = 2049 / 2048.0 * 1024, one_more = 1 + 0x1p-10;  // a product in the middle of two halves, and a little more
    EXPECT_EQ(float(__hfma(half(1025), one_more, half(0x1p-24f))), as_half(1025 * (1 + 0x1p-10) + 0x1p-24));
    EXPECT_EQ(float(__hfma(big, half(2), half(0))), float(big) * 2);
    // 385 * 3 * 2^-n has 11 bits; bfloat16 keeps 8. What decides the tie is 2^-100 of the sum, beyond a double.
    const __nv_bfloat16 x = 129, y = 1.5f, tiny = 0x1p-100f;  // 193.5, between 193 and 194
    EXPECT_EQ(float(__hfma(x, y, tiny)), 194);
    EXPECT_EQ(float(__hfma(x, y, __hneg(tiny))), 193);
}

TEST_F(Half, Arithmetic) {
    const half a = 1.5f, b = -2.25f, nan = NAN;
    EXPECT_EQ(float(a + b), -0.75f);
    EXPECT_EQ(float(a - b), 3.75f);
    EXPECT_EQ(float(a * b), -3.375f);
    EXPECT_EQ(float(a / b), as_half(1.5 / -2.25));
    EXPECT_EQ(float(__hadd(a, b)) + float(__hsub(a, b)) + float(__hmul(a, b)) + float(__hneg(a)), -0.75f + 3.75f - 3.375f - 1.5f);
    half c = a;
    c += b, c *= b, c -= a, c /= a;
    EXPECT_EQ(float(c), as_half((-0.75 * -2.25 - 1.5) / 1.5));
    EXPECT_TRUE(b < a && a > b && a == a && a != b && a >= a && b <= a && __hlt(b, a) && __hgt(a, b) && __heq(a, a) && __hne(a, b));
    EXPECT_FALSE(nan == nan || nan < a || nan > a || nan <= a || nan >= a || __hne(nan, nan));
    EXPECT_TRUE(nan != nan);
    EXPECT_TRUE(__half_as_ushort(-half(0)) == 0x8000 && half(0) == -half(0));
    EXPECT_EQ(float(half(1024) + half(0.5f)), 1024) << "rounded to even";
    EXPECT_EQ(float(half(60000) + half(60000)), INFINITY);
    const __nv_bfloat16 d = 3, e = 0.5f;
    EXPECT_EQ(float(d * e + d / e - d), 1.5f + 6 - 3);
    EXPECT_TRUE(e < d);
}

TEST_F(Half, Pairs) {
    const half2 a = __floats2half2_rn(1, 2), b = __halves2half2(half(3), half(5));
    const auto is = [](half2 v, float low, float high) { return __low2float(v) == low && __high2float(v) == high; };
    EXPECT_TRUE(is(a, 1, 2) && is(b, 3, 5) && is(__float2half2_rn(7), 7, 7) && is(__half2half2(half(4)), 4, 4));
    EXPECT_TRUE(is(a + b, 4, 7) && is(b - a, 2, 3) && is(a * b, 3, 10) && is(b / a, 3, 2.5f) && is(-a, -1, -2));
    EXPECT_TRUE(is(__hadd2(a, b), 4, 7) && is(__hmul2(a, b), 3, 10) && is(__hfma2(a, b, a), 4, 12) && is(__hsub2(a, b), -2, -3));
    EXPECT_TRUE(is(__low2half2(a), 1, 1) && is(__high2half2(a), 2, 2) && is(__lows2half2(a, b), 1, 3) &&
                is(__highs2half2(a, b), 2, 5));
    EXPECT_TRUE(float(__low2half(b)) == 3 && float(__high2half(b)) == 5 && a == a && a != b);
    const float2 f = __half22float2(b);
    EXPECT_TRUE(f.x == 3 && f.y == 5 && is(__float22half2_rn(f), 3, 5));
    half2 c = a;
    c += b, c *= a;
    EXPECT_TRUE(is(c, 4, 14));
}

__global__ void move_pairs(const half* in, half* out) {
    __shared__ __align__(16) half s[64];
    const int t = threadIdx.x;
    reinterpret_cast<half2*>(s)[t] = reinterpret_cast<const half2*>(in)[t];
    __syncwarp();
    reinterpret_cast<half2*>(out)[31 - t] = reinterpret_cast<half2*>(s)[t];
}

TEST_F(Trace, PairIsOneAccess) {
    Device<half> in(64, half(3)), out(64);
    move_pairs<<<1, 32>>>(in.data, out.data);
    for (half h : out.host()) ASSERT_EQ(float(h), 3);
    const auto& c = emulator::counts();
    EXPECT_EQ(c.global_load_requests + c.global_store_requests + c.shared_load_requests + c.shared_store_requests, 4u);
    EXPECT_EQ(c.global_load_bytes + c.global_store_bytes + c.shared_load_bytes + c.shared_store_bytes, 4u * 128);
    EXPECT_EQ(c.global_load_sectors, 4u);
    for (const auto& line : c.lines) EXPECT_TRUE(starts_with(line.where, "tests/emulator_test_wmma.cu:")) << line.where;
    EXPECT_EQ(problem(), "");
}

// ---- Which fragments and products there are ---------------------------------------------------------------------------------

template <class T, class = void>
constexpr bool exists = false;
template <class T>
constexpr bool exists<T, std::void_t<decltype(sizeof(T))>> = true;
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
using C = fragment<accumulator, m, n, k, T>;
template <class D, class T, class S, class... More>
constexpr bool multiplies = compiles<Mma, C<D>&, A<T>&, B<T>&, C<S>&, More...>;

static_assert(exists<A<half>> && exists<A<half, 32, 8>> && exists<A<half, 8, 32>> && !exists<A<half, 16, 16, 8>> &&
              !exists<A<half, 8, 8>>);
static_assert(!exists<A<float>> && !exists<C<__nv_bfloat16>> && !exists<C<double>> && !exists<A<double>> &&
              exists<A<double, 8, 8, 4>>);
static_assert(exists<A<tf32, 16, 16, 8>> && !exists<A<tf32>> && exists<C<float, 16, 16, 8>> && !exists<C<half, 16, 16, 8>>);
static_assert(exists<A<s4, 8, 8, 32>> && exists<B<b1, 8, 8, 128>> && !exists<A<b1, 8, 8, 32>>);
static_assert(!exists<fragment<matrix_a, 8, 8, 32, s4, col_major>> && !exists<fragment<matrix_b, 8, 8, 128, b1, row_major>>);
static_assert(!exists<fragment<matrix_a, 16, 16, 16, half>> && !exists<fragment<accumulator, 16, 16, 16, float, row_major>>);
static_assert(multiplies<float, half, float> && multiplies<half, half, half> && multiplies<float, half, half> &&
              multiplies<half, half, float>);
static_assert(multiplies<float, __nv_bfloat16, float> && !multiplies<half, __nv_bfloat16, float> &&
              !multiplies<float, __nv_bfloat16, half>);
static_assert(multiplies<int, signed char, int> && multiplies<int, signed char, int, bool> &&
              !multiplies<float, half, float, bool>);
static_assert(!multiplies<float, signed char, float> && !multiplies<int, half, int> &&
              !compiles<Mma, C<float>&, A<half>&, A<half>&, C<float>&>);
static_assert(!compiles<Mma, C<float>&, A<half>&, B<__nv_bfloat16>&, C<float>&>);
static_assert(!compiles<Mma, C<int, 8, 8, 128>&, A<b1, 8, 8, 128>&, B<b1, 8, 8, 128>&, C<int, 8, 8, 128>&>);
static_assert(compiles<Load, A<half>&, half*, int> && !compiles<Load, A<half>&, float*, int> &&
              !compiles<Load, C<half>&, half*, int>);
static_assert(!compiles<Load, A<half>&, half*, int, layout_t> && compiles<Load, C<half>&, half*, int, layout_t>);
static_assert(compiles<Load, A<s4, 8, 8, 32>&, const void*, int>);

static_assert(A<half>::num_elements == 16 && A<half, 8, 32>::num_elements == 16 && C<half>::num_elements == 8 &&
              C<float>::num_elements == 8);
static_assert(A<signed char>::num_elements == 8 && A<signed char, 32, 8>::num_elements == 16 &&
              B<signed char, 32, 8>::num_elements == 4);
static_assert(A<__nv_bfloat16>::num_elements == 8 && A<__nv_bfloat16, 8, 32>::num_elements == 4 &&
              A<tf32, 16, 16, 8>::num_elements == 4);
static_assert(A<double, 8, 8, 4>::num_elements == 1 && C<double, 8, 8, 4>::num_elements == 2 &&
              C<int, 8, 8, 32>::num_elements == 2);
static_assert(A<s4, 8, 8, 32>::num_elements == 8 && A<s4, 8, 8, 32>::num_storage_elements == 1 &&
              A<b1, 8, 8, 128>::num_elements == 32);
static_assert(std::is_same_v<A<tf32, 16, 16, 8>::element_type, tf32> &&
              std::is_same_v<A<tf32, 16, 16, 8>::storage_element_type, float>);
static_assert(sizeof(A<half>) == 32 && sizeof(C<float>) == 32 && alignof(A<half>) == 8);

// ---- Products, exact --------------------------------------------------------------------------------------------------------

template <class T>
using Stored = typename emulator::fragments::Element<T>::Storage;
template <class T>
constexpr int kPacked = emulator::fragments::Element<T>::packed;

template <class D, class T, int m, int n, int k, class LayoutA, class LayoutB, class S>
__global__ void product(const Stored<T>* a, int lda, const Stored<T>* b, int ldb, const S* c, D* d, int ldc, layout_t layout,
                        int option) {
    fragment<matrix_a, m, n, k, T, LayoutA> fa;
    fragment<matrix_b, m, n, k, T, LayoutB> fb;
    fragment<accumulator, m, n, k, S> fc;
    fragment<accumulator, m, n, k, D> fd;
    load_matrix_sync(fa, a, lda);
    load_matrix_sync(fb, b, ldb);
    load_matrix_sync(fc, c, ldc, layout);
    if constexpr (std::is_same_v<T, b1>)
        bmma_sync(fd, fa, fb, fc, option ? experimental::bmmaBitOpAND : experimental::bmmaBitOpXOR);
    else if constexpr (std::is_same_v<D, int>) mma_sync(fd, fa, fb, fc, option);
    else mma_sync(fd, fa, fb, fc);
    store_matrix_sync(d, fd, ldc, layout);
}

// A matrix of elements of T, in memory by rows or columns with some room between them. s4, u4 and b1 are packed.
template <class T>
struct Matrix {
    int rows, cols, lines, ld;
    bool row_major;
    std::vector<Stored<T>> data;
    Matrix(int rows, int cols, bool row_major) : rows(rows), cols(cols), lines(row_major ? rows : cols), row_major(row_major) {
        const int step = 16 * kPacked<T> / int(sizeof(Stored<T>));  // 16 bytes
        ld = ((row_major ? cols : rows) + step - 1) / step * step + step;
        data.resize(lines * ld / kPacked<T>);
    }
    size_t index(int row, int col) const { return (row_major ? row : col) * size_t(ld) + (row_major ? col : row); }
    void set(int row, int col, int value) {
        auto& stored = data[index(row, col) / kPacked<T>];
        constexpr unsigned bits = 32 / kPacked<T>;
        if constexpr (kPacked<T> == 1) stored = Stored<T>(value);
        else stored |= (value & ((1u << bits) - 1)) << index(row, col) % kPacked<T> * bits;
    }
};

template <class D, class T, int m, int n, int k, class LayoutA, class LayoutB, class S = D>
void check_product(int lowest, int highest, int option = 0) {
    for (bool by_rows : {true, false}) {
        std::mt19937 random(m + n);
        Matrix<T> a(m, k, std::is_same_v<LayoutA, row_major>), b(k, n, std::is_same_v<LayoutB, row_major>);
        Matrix<S> c(m, n, by_rows);
        Matrix<D> d(m, n, by_rows);
        c.ld = d.ld = std::max(c.ld, d.ld);
        c.data.resize(c.lines * c.ld), d.data.assign(d.lines * d.ld, D(-1));
        std::vector<int> va(m * k), vb(k * n), vc(m * n);
        const auto fill = [&](auto& matrix, std::vector<int>& values, int low, int high) {
            for (int i = 0; i < int(values.size()); ++i)
                matrix.set(i / matrix.cols, i % matrix.cols, values[i] = low + int(random() % (high - low + 1)));
        };
        fill(a, va, lowest, highest), fill(b, vb, lowest, highest), fill(c, vc, -50, 50);
        Device<Stored<T>> device_a(a.data.size()), device_b(b.data.size());
        Device<S> device_c(c.data.size());
        Device<D> device_d(d.data.size());
        device_a.upload(a.data), device_b.upload(b.data), device_c.upload(c.data), device_d.upload(d.data);
        product<D, T, m, n, k, LayoutA, LayoutB, S><<<1, 32>>>(device_a.data, a.ld, device_b.data, b.ld, device_c.data,
                                                               device_d.data, c.ld, by_rows ? mem_row_major : mem_col_major,
                                                               option);
        ASSERT_EQ(cudaPeekAtLastError(), cudaSuccess);
        const auto host = device_d.host();
        for (int row = 0; row < m; ++row)
            for (int col = 0; col < n; ++col) {
                int sum = vc[row * n + col];
                for (int i = 0; i < k; ++i) {
                    const int x = va[row * k + i], y = vb[i * n + col];
                    sum += std::is_same_v<T, b1> ? (option ? x & y : x ^ y) : x * y;
                }
                ASSERT_EQ(double(host[d.index(row, col)]), sum) << row << "," << col << " of " << __PRETTY_FUNCTION__;
            }
        int untouched = 0;
        for (D x : host) untouched += double(x) == -1;
        ASSERT_GE(untouched, d.lines * d.ld - m * n) << "only the matrix is written";
    }
}

template <class D, class T, int m, int n, int k>
void check_layouts(int lowest, int highest) {  // of each factor; the other one's makes no difference to it
    check_product<D, T, m, n, k, row_major, col_major>(lowest, highest);
    check_product<D, T, m, n, k, col_major, row_major>(lowest, highest);
}

template <int m, int n>
void check_shape() {
    check_layouts<float, half, m, n, 16>(-9, 9);
    check_layouts<float, __nv_bfloat16, m, n, 16>(-9, 9);
    check_layouts<int, signed char, m, n, 16>(-128, 127);
    check_layouts<int, unsigned char, m, n, 16>(0, 255);
    check_product<half, half, m, n, 16, row_major, col_major>(-9, 9);
    check_product<half, half, m, n, 16, row_major, col_major, float>(-9, 9);
    check_product<float, half, m, n, 16, row_major, col_major, half>(-9, 9);
}

TEST_F(Wmma, ProductsAreExactInEveryTypeShapeAndLayout) {
    for (Order order : kOrders) {
        emulator::set_order(order);
        check_shape<16, 16>();
        check_shape<32, 8>();
        check_shape<8, 32>();
        check_layouts<float, tf32, 16, 16, 8>(-9, 9);
        check_layouts<double, double, 8, 8, 4>(-1000, 1000);
        check_product<int, s4, 8, 8, 32, row_major, col_major>(-8, 7);
        check_product<int, u4, 8, 8, 32, row_major, col_major>(0, 15);
        check_product<int, b1, 8, 8, 128, row_major, col_major>(0, 1, 0);
        check_product<int, b1, 8, 8, 128, row_major, col_major>(0, 1, 1);
    }
    EXPECT_EQ(problem(), "");
}

TEST_F(Wmma, ProductsAreExactOnOlderArchitectures) {
    emulator::set_architecture(70);
    check_layouts<float, half, 16, 16, 16>(-9, 9);
    check_layouts<half, half, 16, 16, 16>(-9, 9);
    check_product<half, half, 16, 16, 16, row_major, col_major, float>(-9, 9);
    check_product<float, half, 16, 16, 16, col_major, row_major, half>(-9, 9);
    emulator::set_architecture(75);
    check_layouts<float, half, 32, 8, 16>(-9, 9);
    check_layouts<int, signed char, 16, 16, 16>(-128, 127);
    check_product<int, b1, 8, 8, 128, row_major, col_major>(0, 1, 0);
}

// One product with the same value everywhere.
template <class D, class T, int m, int n, int k>
D product_of(Stored<T> a, Stored<T> b, D c, int option = 0) {
    Device<Stored<T>> da(32 * 64, a), db(32 * 64, b);
    Device<D> dc(32 * 64, c), dd(32 * 64);
    const int ld = std::max(64, 4 * kPacked<T>);
    product<D, T, m, n, k, row_major, col_major, D>
        <<<1, 32>>>(da.data, ld, db.data, ld, dc.data, dd.data, 64, mem_row_major, option);
    return dd.host()[0];
}

TEST_F(Wmma, IntegersWrapOrSaturate) {
    EXPECT_EQ((product_of<int, signed char, 16, 16, 16>(127, 127, INT32_MAX)), int(uint32_t(INT32_MAX) + 16u * 127 * 127));
    EXPECT_EQ((product_of<int, signed char, 16, 16, 16>(127, 127, INT32_MAX, 1)), INT32_MAX);
    EXPECT_EQ((product_of<int, signed char, 16, 16, 16>(127, -128, INT32_MIN, 1)), INT32_MIN);
    EXPECT_EQ((product_of<int, u4, 8, 8, 32>(~0u, ~0u, INT32_MAX, 1)), INT32_MAX);
}

TEST_F(Wmma, RealsAreRoundedAsDescribed) {
    EXPECT_EQ((product_of<float, half, 16, 16, 16>(half(1 + 0x1p-10f), half(1 + 0x1p-10f), 0)),
              16 * (1 + 0x1p-10f) * (1 + 0x1p-10f));
    // Sums of halves are rounded once, at the end: each 2^-11 alone would be lost beside 1.
    EXPECT_EQ(float(product_of<half, half, 16, 16, 16>(half(0x1p-11f), half(1), half(1))), 1 + 16 * 0x1p-11f);
    EXPECT_EQ(float(product_of<half, half, 16, 16, 16>(half(256), half(256), half(0))), INFINITY);
    EXPECT_EQ((product_of<float, half, 16, 16, 16>(half(INFINITY), half(1), 0)), INFINITY);
    EXPECT_TRUE(std::isnan(product_of<float, half, 16, 16, 16>(half(INFINITY), half(0), 0)));
    EXPECT_TRUE(std::isnan(product_of<float, half, 16, 16, 16>(half(1), half(1), NAN)));
    EXPECT_TRUE(std::isnan(float(product_of<half, half, 16, 16, 16>(half(NAN), half(1), half(1)))));
    EXPECT_EQ((product_of<float, tf32, 16, 16, 8>(1 + 0x1p-10f + 0x1.8p-11f, 1, 0)), 8 * (1 + 0x1p-10f))
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

// ---- Which lane holds what --------------------------------------------------------------------------------------------------

template <class F>
__global__ void show(const typename F::storage_element_type* matrix, int ldm, bool by_rows, typename F::storage_element_type* x) {
    F f;
    if constexpr (F::is_accumulator) load_matrix_sync(f, matrix, ldm, by_rows ? mem_row_major : mem_col_major);
    else load_matrix_sync(f, matrix, ldm);
    for (int i = 0; i < f.num_storage_elements; ++i) x[threadIdx.x * f.num_storage_elements + i] = f.x[i];
}

// The row (or column) of lane l's x[i], at [l * num_storage_elements + i]; of words where elements are packed.
template <class F>
std::vector<int> held(bool by_rows, bool rows) {
    using T = typename F::storage_element_type;
    constexpr int kLd = 64;
    std::vector<T> matrix(kLd * kLd);
    for (int line = 0; line < 32; ++line)
        for (int i = 0; i < 32; ++i) matrix[line * kLd + i] = T(rows == by_rows ? line : i);
    Device<T> device(matrix.size()), x(32 * F::num_storage_elements);
    device.upload(matrix);
    show<F><<<1, 32>>>(device.data, kLd * (F::num_elements / F::num_storage_elements), by_rows, x.data);
    std::vector<int> result;
    for (T value : x.host()) result.push_back(int(float(value)));
    return result;
}

template <class F>
void show_zeros() {
    Device<typename F::storage_element_type> zeros(4096, 0), x(512);
    show<F><<<1, 32>>>(zeros.data, 128, true, x.data);
}

// What an H200 (driver 580.159, CUDA 13.0) gave for lanes 1, 2, 4, 8, 16 and elements 1, 2, 4, 8; all others are sums of these.
struct Seen {
    int row, col;
};
template <class F>
void expect_map(const std::vector<Seen>& lanes, const std::vector<Seen>& elements) {
    for (bool by_rows : {true, false}) {
        if (!F::is_accumulator && by_rows != F::row_major) continue;
        const auto rows = held<F>(by_rows, true), cols = held<F>(by_rows, false);
        for (int at = 0; at < 32 * F::num_storage_elements; ++at) {
            const int lane = at / F::num_storage_elements, i = at % F::num_storage_elements;
            Seen sum{0, 0};
            for (size_t bit = 0; bit < lanes.size(); ++bit)
                if (lane >> bit & 1) sum = {sum.row + lanes[bit].row, sum.col + lanes[bit].col};
            for (size_t bit = 0; bit < elements.size(); ++bit)
                if (i >> bit & 1) sum = {sum.row + elements[bit].row, sum.col + elements[bit].col};
            ASSERT_EQ(rows[at], sum.row) << "lane " << lane << " x[" << i << "]";
            ASSERT_EQ(cols[at], sum.col) << "lane " << lane << " x[" << i << "]";
        }
    }
}
template <class T, int m, int n, int k>
void expect_maps(const std::vector<Seen>& lanes_a, const std::vector<Seen>& a, const std::vector<Seen>& lanes_b,
                 const std::vector<Seen>& b) {
    expect_map<fragment<matrix_a, m, n, k, T, row_major>>(lanes_a, a);
    expect_map<fragment<matrix_b, m, n, k, T, col_major>>(lanes_b, b);
    if constexpr (kPacked<T> == 1) expect_map<fragment<matrix_a, m, n, k, T, col_major>>(lanes_a, a);
    if constexpr (kPacked<T> == 1) expect_map<fragment<matrix_b, m, n, k, T, row_major>>(lanes_b, b);
}

TEST_F(Wmma, FragmentsAreThoseOfAnH200) {
    const std::vector<Seen> a16 = {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}, b16 = {{2, 0}, {4, 0}, {0, 1}, {0, 2}, {0, 4}};
    const std::vector<Seen> a8 = {{0, 4}, {0, 8}, {1, 0}, {2, 0}, {4, 0}}, b8 = {{4, 0}, {8, 0}, {0, 1}, {0, 2}, {0, 4}};
    const std::vector<Seen> a32 = {{0, 1}, {0, 2}, {1, 0}, {2, 0}, {4, 0}}, b32 = {{1, 0}, {2, 0}, {0, 1}, {0, 2}, {0, 4}};
    expect_maps<half, 16, 16, 16>(a16, {{0, 1}, {8, 0}, {0, 8}, {0, 0}}, b16, {{1, 0}, {8, 0}, {0, 8}, {0, 0}});
    expect_maps<half, 32, 8, 16>(a16, {{0, 1}, {8, 0}, {0, 8}, {16, 0}}, b16, {{1, 0}, {8, 0}, {0, 0}, {0, 0}});
    expect_maps<half, 8, 32, 16>(a16, {{0, 1}, {0, 8}, {0, 0}, {0, 0}}, b16, {{1, 0}, {0, 8}, {8, 0}, {0, 16}});
    expect_maps<__nv_bfloat16, 16, 16, 16>(a16, {{0, 1}, {8, 0}, {0, 8}}, b16, {{1, 0}, {8, 0}, {0, 8}});
    expect_maps<__nv_bfloat16, 32, 8, 16>(a16, {{0, 1}, {8, 0}, {0, 8}, {16, 0}}, b16, {{1, 0}, {8, 0}});
    expect_maps<__nv_bfloat16, 8, 32, 16>(a16, {{0, 1}, {0, 8}}, b16, {{1, 0}, {0, 8}, {8, 0}, {0, 16}});
    expect_maps<signed char, 16, 16, 16>(a8, {{0, 1}, {0, 2}, {8, 0}}, b8, {{1, 0}, {2, 0}, {0, 8}});
    expect_maps<unsigned char, 32, 8, 16>(a8, {{0, 1}, {0, 2}, {8, 0}, {16, 0}}, b8, {{1, 0}, {2, 0}});
    expect_maps<signed char, 8, 32, 16>(a8, {{0, 1}, {0, 2}}, b8, {{1, 0}, {2, 0}, {0, 8}, {0, 16}});
    expect_maps<tf32, 16, 16, 8>(a32, {{8, 0}, {0, 4}}, b32, {{4, 0}, {0, 8}});
    expect_maps<double, 8, 8, 4>(a32, {}, b32, {});
    expect_maps<s4, 8, 8, 32>(a32, {}, b32, {});
    expect_maps<b1, 8, 8, 128>(a32, {}, b32, {});
    expect_map<C<float>>(a16, {{0, 1}, {8, 0}, {0, 8}});
    expect_map<C<half>>(a16, {{0, 1}, {8, 0}, {0, 8}});
    expect_map<C<int>>(a16, {{0, 1}, {8, 0}, {0, 8}});
    expect_map<C<float, 32, 8>>(a16, {{0, 1}, {8, 0}, {16, 0}});
    expect_map<C<half, 8, 32>>(b16, {{1, 0}, {0, 8}, {0, 16}});
    expect_map<C<float, 16, 16, 8>>(a16, {{0, 1}, {8, 0}, {0, 8}});
    expect_map<C<double, 8, 8, 4>>(a16, {{0, 1}});
    expect_map<C<int, 8, 8, 32>>(a16, {{0, 1}});
}

TEST_F(Wmma, FragmentsOfAV100) {
    emulator::set_architecture(70);
    expect_map<A<half>>({{1, 0}, {2, 0}, {8, 0}, {0, 0}, {4, 0}}, {{0, 1}, {0, 2}, {0, 4}, {0, 8}});
    expect_map<fragment<matrix_a, 16, 16, 16, half, col_major>>({{0, 1}, {0, 2}, {8, 0}, {0, 0}, {4, 0}},
                                                                {{1, 0}, {2, 0}, {0, 4}, {0, 8}});
    expect_map<B<half>>({{0, 1}, {0, 2}, {0, 0}, {0, 8}, {0, 4}}, {{1, 0}, {2, 0}, {4, 0}, {8, 0}});
    expect_map<fragment<matrix_b, 16, 16, 16, half, row_major>>({{1, 0}, {2, 0}, {0, 0}, {0, 8}, {0, 4}},
                                                                {{0, 1}, {0, 2}, {4, 0}, {8, 0}});
    expect_map<C<half>>({{1, 0}, {2, 0}, {8, 0}, {0, 8}, {4, 0}}, {{0, 1}, {0, 2}, {0, 4}});
    expect_map<C<float>>({{1, 0}, {0, 2}, {8, 0}, {0, 8}, {4, 0}}, {{0, 1}, {2, 0}, {0, 4}});
}

TEST_F(Wmma, ArchitecturesLackFragments) {
    const auto refused = [](int sm, void (*run)()) {  // the problem, less its place
        emulator::set_architecture(sm);
        emulator::reset_counts();
        run();
        EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
        const std::string text = problem();
        return text.substr(0, text.find(" at "));
    };
    EXPECT_EQ(refused(70, [] { show_zeros<A<half, 32, 8>>(); }), "fragments of half 32x8x16 are not known on sm_70");
    EXPECT_EQ(refused(70, [] { show_zeros<C<float, 32, 8>>(); }), "fragments of float 32x8x16 are not known on sm_70");
    EXPECT_EQ(refused(70, [] { show_zeros<A<signed char>>(); }), "fragments of s8 16x16x16 are not known on sm_70");
    EXPECT_EQ(refused(70, [] { show_zeros<C<int>>(); }), "fragments of int 16x16x16 are not known on sm_70");
    EXPECT_EQ(refused(75, [] { show_zeros<A<__nv_bfloat16>>(); }), "fragments of bf16 16x16x16 are not known on sm_75");
    EXPECT_EQ(refused(75, [] { show_zeros<A<tf32, 16, 16, 8>>(); }), "fragments of tf32 16x16x8 are not known on sm_75");
    EXPECT_EQ(refused(75, [] { show_zeros<C<float, 16, 16, 8>>(); }), "fragments of float 16x16x8 are not known on sm_75");
    EXPECT_EQ(refused(75, [] { show_zeros<C<double, 8, 8, 4>>(); }), "fragments of double 8x8x4 are not known on sm_75");
    EXPECT_EQ(refused(75,
                      [] {
                          Device<unsigned> ab(64, 0);
                          Device<int> c(64, 0);
                          product<int, b1, 8, 8, 128, row_major, col_major, int>
                              <<<1, 32>>>(ab.data, 128, ab.data, 128, c.data, c.data, 8, mem_row_major, 1);
                      }),
              "bmma_sync: there is no AND on sm_75");
    emulator::set_architecture(120);
    emulator::reset_counts();
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
    edited<<<1, 32>>>(ones.data, out.data, 0, 16, ~0u);
    EXPECT_EQ(out.host(), std::vector<float>(256, 480));
    edited<<<1, 32>>>(ones.data, out.data, 8, 16, ~0u);  // the second copy of each element
    EXPECT_EQ(out.host(), std::vector<float>(256, 160));
    emulator::set_architecture(70);
    edited<<<1, 32>>>(ones.data, out.data, 0, 16, 0xff00ff00);  // lanes 8 to 15 hold what 0 to 7 hold
    EXPECT_EQ(out.host(), std::vector<float>(256, 160));
    edited<<<1, 32>>>(ones.data, out.data, 0, 16, 0x00ff00ff);
    EXPECT_EQ(out.host(), std::vector<float>(256, 480));
}

// ---- Wrong uses -------------------------------------------------------------------------------------------------------------

constexpr int kWarpCall = __LINE__ + 8;
__global__ void divergent(int kind, const half* in) {
    A<half> a;
    B<half> b;
    const int lane = threadIdx.x;
    if (kind == 0 && lane == 7) return;
    if (kind == 1 && lane == 7) __syncwarp();
    if (kind == 2 && lane == 7) load_matrix_sync(b, in, 16);
    if (kind != 3 || lane != 7) load_matrix_sync(a, in, 16);
    if (kind == 3 && lane == 7) load_matrix_sync(a, in, 16);
    if (kind == 4) lane == 7 ? load_matrix_sync(b, in, 16) : load_matrix_sync(a, in, 16);
}

TEST_F(Wmma, AllLanesMustComeToTheSameCall) {
    Device<half> in(256, half(1));
    for (Order order : kOrders) {
        emulator::set_order(order);
        for (int kind : {0, 1, 2, 3, 4}) {
            emulator::reset_counts();
            divergent<<<1, 32>>>(kind, in.data);
            EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure) << kind;
            const int line = kind == 4 ? kWarpCall + 2 : kWarpCall;
            EXPECT_EQ(problem(),
                      "warp divergence: thread 0 of block 0 waits at " + at(line) + " for lanes of its warp that never come there");
        }
        emulator::reset_counts();
        divergent<<<1, 48>>>(5, in.data);  // the second warp has 16 lanes
        EXPECT_EQ(problem(), "warp divergence: thread 32 of block 0 waits at " + at(kWarpCall) +
                                 " for lanes of its warp that never come there");
        cudaGetLastError();
    }
    emulator::reset_counts();
    divergent<<<1, 64>>>(5, in.data);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    EXPECT_EQ(problem(), "");
}

constexpr int kLoad = __LINE__ + 5, kStore = kLoad + 2;
template <class F>
__global__ void load_and_store(typename F::element_type* in, unsigned ldm, unsigned ldm_of_lane_5, layout_t layout_of_lane_5,
                               int shift) {
    F f;
    load_matrix_sync(f, in + (threadIdx.x == 5 ? shift : 0), threadIdx.x == 5 ? ldm_of_lane_5 : ldm,
                     threadIdx.x == 5 ? layout_of_lane_5 : mem_row_major);
    store_matrix_sync(in + shift, f, ldm, mem_row_major);
}
template <class F>
__global__ void load_factor(const typename F::storage_element_type* in, unsigned ldm) {
    F f;
    load_matrix_sync(f, in, ldm);
}

TEST_F(Wmma, PointerAndLeadingDimensionAreChecked) {
    Device<float> c(1024, 0);
    const auto first_problem = [](int line, const std::string& name) {
        EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
        std::string text = problem();
        emulator::reset_counts();
        const std::string end = " at " + at(line) + " (block 0, thread 31)";
        EXPECT_EQ(text.substr(text.size() < end.size() ? 0 : text.size() - end.size()), end) << text;
        return starts_with(text, name + "_matrix_sync: ")
                   ? text.substr(name.size() + 14, text.size() - name.size() - 14 - end.size())
                   : text;
    };
    load_and_store<C<float>><<<1, 32>>>(c.data, 20, 20, mem_row_major, 0);
    EXPECT_EQ(problem(), "");
    load_and_store<C<float>><<<1, 32>>>(c.data + 4, 20, 20, mem_row_major, 0);
    EXPECT_EQ(first_problem(kLoad, "load"), "the pointer is not aligned to 32 bytes");
    load_and_store<C<float>><<<1, 32>>>(c.data, 18, 18, mem_row_major, 0);
    EXPECT_EQ(first_problem(kLoad, "load"), "ldm is 18, not a multiple of 4");
    load_and_store<C<float>><<<1, 32>>>(c.data, 20, 24, mem_row_major, 0);
    EXPECT_EQ(first_problem(kLoad, "load"), "lanes 0 and 5 of the warp give different ldm");
    load_and_store<C<float>><<<1, 32>>>(c.data, 20, 20, mem_col_major, 0);
    EXPECT_EQ(first_problem(kLoad, "load"), "lanes 0 and 5 of the warp give different layouts");
    load_and_store<C<float>><<<1, 32>>>(c.data, 20, 20, mem_row_major, 8);
    EXPECT_EQ(first_problem(kLoad, "load"), "lanes 0 and 5 of the warp give different pointers");
    const auto refuses = [&](auto fragment, unsigned ldm, unsigned least) {
        using F = decltype(fragment);
        Device<typename F::storage_element_type> in(4096);
        load_factor<F><<<1, 32>>>(in.data, ldm);
        EXPECT_EQ(first_problem(kStore + 5, "load"),
                  "ldm is " + std::to_string(ldm) + ", not a multiple of " + std::to_string(least));
        load_factor<F><<<1, 32>>>(in.data, 2 * least);
        EXPECT_EQ(problem(), "");
    };
    refuses(A<half>(), 20, 8);
    refuses(A<signed char>(), 24, 16);
    refuses(A<tf32, 16, 16, 8>(), 10, 4);
    refuses(A<double, 8, 8, 4>(), 5, 2);
    refuses(A<s4, 8, 8, 32>(), 48, 32);
    refuses(A<b1, 8, 8, 128>(), 192, 128);
}

__global__ void store_only(float* out) {
    C<float> c;
    fill_fragment(c, 1.0f);
    store_matrix_sync(out, c, 16, mem_row_major);
}

TEST_F(Wmma, StoresAreCheckedToo) {
    Device<float> out(512, 0);
    store_only<<<1, 32>>>(out.data + 4);
    EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
    EXPECT_TRUE(starts_with(problem(), "store_matrix_sync: the pointer is not aligned to 32 bytes at ")) << problem();
    EXPECT_EQ(out.host(), std::vector<float>(512, 0));
}

// ---- Traffic and races ------------------------------------------------------------------------------------------------------

constexpr int kStored = __LINE__ + 5, kReadBack = kStored + 2;
__global__ void through_shared(float* out, bool sync) {
    __shared__ __align__(32) float s[16 * 16];
    C<float> c;
    fill_fragment(c, 2.0f);
    store_matrix_sync(s, c, 16, mem_row_major);
    if (sync) __syncwarp();
    for (int i = threadIdx.x; i < 256; i += 32) out[i] = s[255 - i];
}

TEST_F(Trace, WmmaOrdersNoMemory) {
    for (Order order : kOrders) {
        emulator::set_order(order);
        emulator::reset_counts();
        Device<float> out(256);
        through_shared<<<1, 32>>>(out.data, true);
        EXPECT_EQ(problem(), "");
        EXPECT_EQ(out.host(), std::vector<float>(256, 2));
        through_shared<<<1, 32>>>(out.data, false);
        EXPECT_TRUE(starts_with(problem(), "race in shared memory: " + at(kStored) + " writes what " + short_at(kReadBack) +
                                               " reads (block 0, threads "))
            << problem();
    }
}

constexpr int kFilled = __LINE__ + 3, kMatrixRead = kFilled + 3;
__global__ void fill_and_load(bool sync) {
    __shared__ __align__(32) half s[16 * 16];
    for (int i = threadIdx.x; i < 256; i += 32) s[i] = half(1);
    A<half> a;
    if (sync) __syncwarp();
    load_matrix_sync(a, s, 16);
    __syncthreads();
}

TEST_F(Trace, LoadsOfMatricesRaceWithStores) {
    fill_and_load<<<1, 32>>>(true);
    EXPECT_EQ(problem(), "");
    fill_and_load<<<1, 32>>>(false);
    EXPECT_TRUE(
        starts_with(problem(), "race in shared memory: " + at(kFilled) + " writes what " + short_at(kMatrixRead) + " reads"))
        << problem();
}

template <class F>
__global__ void load_shared(int ldm) {
    extern __shared__ __align__(128) float memory[];
    for (int i = threadIdx.x; i < 8192; i += 32) memory[i] = 0;
    __syncthreads();
    F f;
    load_matrix_sync(f, reinterpret_cast<typename F::storage_element_type*>(memory), ldm);
}

struct Traffic {
    uint64_t requests, cost, ideal, bytes;
    bool operator==(const Traffic& o) const {
        return requests == o.requests && cost == o.cost && ideal == o.ideal && bytes == o.bytes;
    }
};
std::ostream& operator<<(std::ostream& out, const Traffic& t) {
    return out << t.requests << " requests, " << t.cost << " sectors or wavefronts, ideal " << t.ideal << ", " << t.bytes
               << " bytes";
}
template <class F>
Traffic shared_load(int ldm) {
    emulator::reset_counts();
    load_shared<F><<<1, 32, 32768>>>(ldm);
    EXPECT_EQ(problem(), "");
    const auto& c = emulator::counts();
    return {c.shared_load_requests, c.shared_load_wavefronts, c.shared_load_ideal, c.shared_load_bytes};
}
template <class F>
Traffic global_load(int ldm) {
    emulator::reset_counts();
    Device<typename F::storage_element_type> in(8192);
    if constexpr (F::is_accumulator) load_and_store<F><<<1, 32>>>(in.data, ldm, ldm, mem_row_major, 0);
    else load_factor<F><<<1, 32>>>(in.data, ldm);
    EXPECT_EQ(problem(), "");
    const auto& c = emulator::counts();
    return {c.global_load_requests, c.global_load_sectors, 0, c.global_load_bytes};
}
template <class T, int m = 16, int n = 16, int k = 16>
using ACol = fragment<matrix_a, m, n, k, T, col_major>;

TEST_F(Trace, SharedMatricesAreReadByLdmatrix) {
    // x4: 4 blocks of 8 lines of 16 bytes, a wavefront each if their lines lie in different banks
    EXPECT_EQ(shared_load<A<half>>(24), (Traffic{1, 4, 4, 512}));  // rows padded by 16 bytes
    EXPECT_EQ(shared_load<ACol<half>>(24), (Traffic{1, 4, 4, 512}));  // the other way round, turned in registers
    EXPECT_EQ(shared_load<B<half>>(72), (Traffic{1, 4, 4, 512}));
    EXPECT_EQ(shared_load<A<half>>(64), (Traffic{1, 32, 4, 512}));  // rows of 128 bytes: 8 of them in the same banks
    EXPECT_EQ(shared_load<ACol<half>>(64), (Traffic{1, 32, 4, 512}));
    EXPECT_EQ(shared_load<A<half>>(16), (Traffic{1, 8, 4, 512}));  // two by two
    EXPECT_EQ((shared_load<A<half, 32, 8>>(24)), (Traffic{2, 8, 8, 1024}));
    EXPECT_EQ((shared_load<A<half, 8, 32>>(24)), (Traffic{1, 2, 2, 256}));  // x2
    EXPECT_EQ(shared_load<A<__nv_bfloat16>>(24), (Traffic{1, 4, 4, 512}));
    EXPECT_EQ(shared_load<A<signed char>>(16), (Traffic{1, 2, 2, 256}));
    EXPECT_EQ((shared_load<A<b1, 8, 8, 128>>(128)), (Traffic{1, 1, 1, 128}));
    EXPECT_EQ(shared_load<ACol<signed char>>(16).requests, 8u);  // bytes, one by one
    EXPECT_EQ((shared_load<A<tf32, 16, 16, 8>>(8)), (Traffic{4, 8, 4, 512}));  // words, no ldmatrix
    EXPECT_EQ((shared_load<A<tf32, 16, 16, 8>>(12)), (Traffic{4, 4, 4, 512}));
    emulator::set_architecture(75);
    EXPECT_EQ(shared_load<A<half>>(24), (Traffic{2, 4, 4, 512}));  // x2 twice
    emulator::set_architecture(70);
    EXPECT_EQ(shared_load<A<half>>(24).bytes, 1024u);  // each element by two lanes
}

TEST_F(Trace, GlobalMatricesAreReadInWords) {
    EXPECT_EQ(global_load<A<half>>(64), (Traffic{4, 32, 0, 512}));  // each request: 8 lines, 16 bytes of each
    EXPECT_EQ(global_load<ACol<half>>(64), (Traffic{4, 32, 0, 512}));
    EXPECT_EQ(global_load<A<half>>(16), (Traffic{4, 32, 0, 512}));
    EXPECT_EQ(global_load<A<signed char>>(64), (Traffic{2, 16, 0, 256}));
    EXPECT_EQ(global_load<ACol<signed char>>(64).requests, 8u);
    EXPECT_EQ((global_load<A<s4, 8, 8, 32>>(32)), (Traffic{1, 4, 0, 128}));
    EXPECT_EQ(global_load<C<float>>(64), (Traffic{4, 32, 0, 1024}));  // 8 bytes a lane
    EXPECT_EQ(global_load<C<half>>(64), (Traffic{4, 32, 0, 512}));
    EXPECT_EQ((global_load<C<float, 8, 32>>(64)), (Traffic{8, 32, 0, 1024}));  // neighbours are in a column here: 4 bytes
    EXPECT_EQ((global_load<C<half, 8, 32>>(64)), (Traffic{4, 32, 0, 512}));  // turned in registers
    EXPECT_EQ((global_load<C<double, 8, 8, 4>>(64)), (Traffic{1, 16, 0, 512}));
}

TEST_F(Trace, MatricesBelongToTheLineThatMovesThem) {
    Device<float> c(1024, 0);
    load_and_store<C<float>><<<1, 32>>>(c.data, 16, 16, mem_row_major, 0);
    const auto& lines = emulator::counts().lines;
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(lines[0].where, at(kLoad));
    EXPECT_EQ(lines[1].where, at(kStore));
    EXPECT_TRUE(!lines[0].store && lines[1].store && lines[0].global && lines[1].width == 8);
    EXPECT_EQ(lines[1].requests, 4u);
}

constexpr int kUnwritten = __LINE__ + 4;
__global__ void load_unwritten() {
    __shared__ __align__(32) half s[16 * 16];
    A<half> a;
    load_matrix_sync(a, s, 16);
}

TEST_F(Trace, UnwrittenSharedMatrixIsReported) {
    load_unwritten<<<1, 32>>>();
    EXPECT_EQ(problem(), "uninitialised shared memory: " + at(kUnwritten) +
                             " reads what no thread of the block has written (block 0, thread 0)");
}

// ---- Asynchronous copies ----------------------------------------------------------------------------------------------------

enum Fault { kNone, kNoWait, kNoCommit, kWaitTooLittle, kTooEarly };
constexpr int kCopies = __LINE__ + 8;
// The sum of n tiles of 128 floats, each element by the thread after the one that copies it; two tiles on their way.
template <int bytes>
__global__ void sum_tiles(const float* in, float* out, int n, Fault fault) {
    __shared__ __align__(128) float s[2][128];
    constexpr int kFloats = bytes / 4;
    const auto start = [&](int tile) {
        for (int i = threadIdx.x * kFloats; i < 128; i += 32 * kFloats)
            __pipeline_memcpy_async(&s[tile % 2][i], &in[tile * 128 + i], bytes);
        if (fault != kNoCommit) __pipeline_commit();
    };
    start(0);
    float sums[4] = {};
    for (int tile = 0; tile < n; ++tile) {
        if (tile + 1 < n && fault != kTooEarly) start(tile + 1);
        if (fault != kNoWait) __pipeline_wait_prior(tile + 1 < n ? fault == kWaitTooLittle ? 2 : 1 : 0);
        __syncthreads();
        if (tile + 1 < n && fault == kTooEarly) start(tile);
        for (int i = 0; i < 4; ++i) sums[i] += s[tile % 2][(threadIdx.x * 4 + i + 16) % 128];
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = sums[i];
}

template <int bytes>
bool sums_are_right(Fault fault) {
    const int n = 5;
    std::vector<float> in(n * 128);
    for (int i = 0; i < n * 128; ++i) in[i] = i % 101;
    Device<float> device(in.size()), out(128);
    device.upload(in);
    sum_tiles<bytes><<<1, 32>>>(device.data, out.data, n, fault);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    const auto host = out.host();
    bool right = true;
    for (int i = 0; i < 128; ++i) {
        float sum = 0;
        for (int tile = 0; tile < n; ++tile) sum += in[tile * 128 + (i + 16) % 128];
        right &= host[i] == sum;
    }
    return right;
}

TEST_F(Pipeline, TwoTilesOnTheirWay) {
    for (Order order : kOrders) {
        emulator::set_order(order);
        EXPECT_TRUE(sums_are_right<4>(kNone));
        EXPECT_TRUE(sums_are_right<8>(kNone));
        EXPECT_TRUE(sums_are_right<16>(kNone));
        EXPECT_EQ(problem(), "");
    }
}

TEST_F(Pipeline, MistakesGiveWrongSumsInEveryOrder) {
    for (Order order : kOrders) {
        emulator::set_order(order);
        for (Fault fault : {kNoWait, kNoCommit, kWaitTooLittle, kTooEarly}) EXPECT_FALSE(sums_are_right<16>(fault)) << fault;
    }
}

template <int bytes>
__global__ void copy_some(const float* in, float* out, int zfill) {
    __shared__ __align__(16) float s[4];
    for (float& x : s) x = 7;
    __pipeline_memcpy_async(s, in, bytes, zfill);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    for (int i = 0; i < 4; ++i) out[i] = s[i];
}

TEST_F(Pipeline, TheLastBytesMayBeZero) {
    Device<float> in(4), out(4);
    in.upload({1, 2, 3, 4});
    const auto copied = [&](auto kernel, int zfill) {
        kernel(in.data, out.data, zfill);
        EXPECT_EQ(problem(), "");
        return out.host();
    };
    const auto copy16 = [](auto... a) { copy_some<16><<<1, 1>>>(a...); };
    EXPECT_EQ(copied(copy16, 0), (std::vector<float>{1, 2, 3, 4}));
    EXPECT_EQ(copied(copy16, 4), (std::vector<float>{1, 2, 3, 0}));
    EXPECT_EQ(copied(copy16, 12), (std::vector<float>{1, 0, 0, 0}));
    EXPECT_EQ(copied(copy16, 16), (std::vector<float>{0, 0, 0, 0}));
    EXPECT_EQ(copied([](auto... a) { copy_some<8><<<1, 1>>>(a...); }, 4), (std::vector<float>{1, 0, 7, 7}));
    EXPECT_EQ(copied([](auto... a) { copy_some<4><<<1, 1>>>(a...); }, 0), (std::vector<float>{1, 7, 7, 7}));
}

__global__ void never_waits(const float* in, float* out) {
    __shared__ __align__(16) float s[64];
    __pipeline_memcpy_async(&s[threadIdx.x], &in[threadIdx.x], 4);
    if (threadIdx.x < 32) return;  // its copies are done then
    __syncwarp();
    out[threadIdx.x] = s[threadIdx.x - 32];  // ordered by nothing, but done with threads in forward order
    out[threadIdx.x - 32] = s[threadIdx.x];
}

TEST_F(Pipeline, CopiesEndWithTheirThread) {
    Device<float> in(64, 3), out(64);
    never_waits<<<1, 64>>>(in.data, out.data);
    const auto host = out.host();
    for (int t = 0; t < 32; ++t) {
        EXPECT_EQ(host[t + 32], 3);
        EXPECT_TRUE(std::isnan(host[t]));
    }
}

__global__ void three_batches(const float* in, float* out) {
    __shared__ float s[4];
    for (int i = 0; i < 4; ++i) {
        __pipeline_memcpy_async(&s[i], &in[i], 4);
        if (i < 3) __pipeline_commit();
    }
    __pipeline_wait_prior(1);
    for (int i = 0; i < 4; ++i) out[i] = s[i];
    __pipeline_wait_prior(5);
    __pipeline_wait_prior(0);
    for (int i = 0; i < 4; ++i) out[4 + i] = s[i];
}

TEST_F(Pipeline, BatchesAreEachThreadsOwnAndDoneInOrder) {
    Device<float> in(4), out(8);
    in.upload({1, 2, 3, 4});
    three_batches<<<1, 1>>>(in.data, out.data);
    const auto host = out.host();
    EXPECT_TRUE(host[0] == 1 && host[1] == 2 && std::isnan(host[2]) && std::isnan(host[3]));
    EXPECT_TRUE(host[4] == 1 && host[5] == 2 && host[6] == 3 && std::isnan(host[7])) << "the last was not committed";
}

constexpr int kMisused = __LINE__ + 3;
__global__ void misuse_copy(const char* in, int to, int from, int bytes, int zfill) {
    __shared__ __align__(16) char s[32];
    __pipeline_memcpy_async(s + to, in + from, bytes, zfill);
}

TEST_F(Pipeline, SizesAndAddressesAreChecked) {
    Device<char> in(64, 0);
    const auto fault = [&](int to, int from, int bytes, int zfill) {
        emulator::reset_counts();
        misuse_copy<<<1, 1>>>(in.data, to, from, bytes, zfill);
        EXPECT_EQ(cudaGetLastError() == cudaSuccess, problem().empty());
        const std::string text = problem(), end = " at " + at(kMisused) + " (block 0, thread 0)";
        return text.substr(0, text.find(end));
    };
    EXPECT_EQ(fault(8, 8, 8, 0), "");
    EXPECT_EQ(fault(4, 8, 4, 4), "");
    EXPECT_EQ(fault(4, 8, 8, 0), "__pipeline_memcpy_async: an address is not aligned to the 8 bytes");
    EXPECT_EQ(fault(16, 8, 16, 0), "__pipeline_memcpy_async: an address is not aligned to the 16 bytes");
    EXPECT_EQ(fault(0, 0, 2, 0), "__pipeline_memcpy_async copies 4, 8 or 16 bytes, not 2 less 0");
    EXPECT_EQ(fault(0, 0, 8, 9), "__pipeline_memcpy_async copies 4, 8 or 16 bytes, not 8 less 9");
}

TEST_F(Trace, CopiesAreCountedOnce) {
    EXPECT_TRUE(sums_are_right<16>(kNone));
    EXPECT_EQ(problem(), "");
    const auto& c = emulator::counts();
    EXPECT_EQ(c.global_load_bytes, 5u * 512);
    EXPECT_EQ(c.global_load_requests, 5u);
    EXPECT_EQ(c.global_load_sectors, 5u * 16);
    EXPECT_EQ(c.shared_store_requests, 0u);
    EXPECT_EQ(c.lines[0].where, at(kCopies));
    emulator::reset_counts();
    Device<float> in(4, 1), out(4);
    copy_some<16><<<1, 1>>>(in.data, out.data, 4);
    EXPECT_EQ(emulator::counts().global_load_bytes, 12u);
    emulator::reset_counts();
    copy_some<16><<<1, 1>>>(in.data, out.data, 16);
    EXPECT_EQ(emulator::counts().global_load_bytes, 0u);
}

// Lanes in rows, 512 bytes apart in global memory, to_stride bytes in shared memory.
template <int bytes>
__global__ void copy_rows(const char* in, int lanes_a_row, int to_stride) {
    __shared__ __align__(128) char s[8192];
    const int row = threadIdx.x / lanes_a_row, at = threadIdx.x % lanes_a_row * bytes;
    __pipeline_memcpy_async(&s[row * to_stride + at], &in[row * 512 + at], bytes);
}

TEST_F(Trace, SectorsOfCopiesAreThoseOfAnH200) {
    Device<char> in(16 * 1024, 0);
    const auto sectors = [&](auto kernel, int lanes_a_row, int to_stride) {
        emulator::reset_counts();
        kernel(in.data, lanes_a_row, to_stride);
        return emulator::counts().global_load_sectors;
    };
    // Past L1: measured with ncu (driver 580.159.04, CUDA 13.0).
    const auto copy16 = [](auto... a) { copy_rows<16><<<1, 32>>>(a...); };
    for (const int stride : {64, 128, 256}) EXPECT_EQ(sectors(copy16, 4, stride), 16u) << stride;
    EXPECT_EQ(sectors(copy16, 4, 80), 20u);  // every other row lies across three sectors of shared memory instead of two
    EXPECT_EQ(sectors(copy16, 32, 512), 16u);
    // Through L1, as any load.
    EXPECT_EQ(sectors([](auto... a) { copy_rows<8><<<1, 32>>>(a...); }, 4, 40), 8u);
}

constexpr int kRacingCopy = __LINE__ + 5, kRacingRead = kRacingCopy + 6;
__global__ void racing_copy(const float* in, float* out, bool before, bool after) {
    __shared__ __align__(16) float s[32];
    s[threadIdx.x] = 1;
    if (!before) __syncthreads();
    __pipeline_memcpy_async(&s[(threadIdx.x + 1) % 32], &in[threadIdx.x], 4);
    __pipeline_commit();
    __syncthreads();
    // Ordered with the copy's start by a barrier, but the copy ends only here:
    __pipeline_wait_prior(0);
    if (!after) __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}

TEST_F(Trace, CopiesRaceFromTheirStartToTheirWait) {
    Device<float> in(32, 1), out(32);
    for (Order order : kOrders) {
        emulator::set_order(order);
        emulator::reset_counts();
        racing_copy<<<1, 32>>>(in.data, out.data, false, false);
        EXPECT_EQ(problem(), "");
        racing_copy<<<1, 32>>>(in.data, out.data, true, false);
        EXPECT_NE(problem().find(at(kRacingCopy)), std::string::npos) << problem();
        EXPECT_TRUE(starts_with(problem(), "race in shared memory: ")) << problem();
        emulator::reset_counts();
        racing_copy<<<1, 32>>>(in.data, out.data, false, true);
        EXPECT_NE(problem().find(at(kRacingCopy)), std::string::npos) << problem();
        EXPECT_NE(problem().find(short_at(kRacingRead)), std::string::npos) << problem();
    }
}

}  // namespace

// The emulator's mma.h, traced: exact products, and wrong uses.
#include <random>

#include "mma_names.h"

namespace {

class Wmma : public Base {};

// ---- Products, exact ----------------------------------------------------------------------------

template <class T>
using Word = typename emulator::fragments::Element<T>::Storage;
template <class T>
constexpr int kPacked = emulator::fragments::Element<T>::packed;  // elements in a word

template <class T>
int element(const std::vector<Word<T>>& words, int i) {
    constexpr int kBits = 32 / kPacked<T>;
    if constexpr (kPacked<T> == 1) {
        return int(words[i]);
    } else {
        const Word<T> up = unsigned(words[i / kPacked<T>])
                           << (kPacked<T> - 1 - i % kPacked<T>)*kBits;
        return up >> (32 - kBits);  // the shift keeps the sign of an int
    }
}
template <class T>
std::vector<Word<T>> random_words(std::mt19937& random, int low, int high) {
    std::vector<Word<T>> words(32 * 64);
    for (auto& word : words)
        word = kPacked<T> == 1 ? Word<T>(low + int(random() % (high - low + 1)))
                               : Word<T>(int(random()));
    return words;
}

template <class D, class T, int m, int n, int k, class LayoutA, class LayoutB, class S>
__global__ void product(const Word<T>* a, const Word<T>* b, int ld, const S* c, D* d, int ldc,
                        layout_t layout, int option) {
    fragment<matrix_a, m, n, k, T, LayoutA> fa;
    fragment<matrix_b, m, n, k, T, LayoutB> fb;
    fragment<accumulator, m, n, k, S> fc;
    fragment<accumulator, m, n, k, D> fd;
    load_matrix_sync(fa, a, ld);
    load_matrix_sync(fb, b, ld);
    load_matrix_sync(fc, c, ldc, layout);
    if constexpr (std::is_same_v<T, b1>)
        bmma_sync(fd, fa, fb, fc, option ? experimental::bmmaBitOpAND : experimental::bmmaBitOpXOR);
    else if constexpr (std::is_same_v<D, int>) mma_sync(fd, fa, fb, fc, option);
    else mma_sync(fd, fa, fb, fc);
    store_matrix_sync(d, fd, ldc, layout);
}

// Products of ones with 1/16, added to what the accumulators begin with, if they are set.
template <class Sum>
__global__ void add_ones(int products, bool set, float begin, Sum* d) {
    fragment<matrix_a, 16, 16, 16, half, row_major> a;
    fragment<matrix_b, 16, 16, 16, half, row_major> b;
    fragment<accumulator, 16, 16, 16, Sum> sum;
    fill_fragment(a, 1.0f);
    fill_fragment(b, 0.0625f);
    if (set) fill_fragment(sum, begin);
    for (int i = 0; i < products; ++i) mma_sync(sum, a, b, sum);  // @add
    store_matrix_sync(d, sum, 16, mem_row_major);
}

template <class Sum>
void expect_never_set() {
    Device<Sum> d(256);
    add_ones<<<1, 32>>>(1, true, 0, d.data);
    expect_silence();
    add_ones<<<1, 32>>>(1, false, 0, d.data);
    expect_some({"mma_sync at @add adds to accumulators that were never set"});
}
TEST_F(Wmma, AccumulatorsThatWereNeverSet) {
    expect_never_set<float>();
    expect_never_set<half>();
}

template <class Sum>
size_t notes_of_ones(float begin) {
    emulator::reset_counts();
    Device<Sum> d(256);
    add_ones<<<1, 32>>>(64, true, begin, d.data);
    const size_t notes = emulator::counts().notes.size();
    expect_silence();
    return notes;
}
TEST_F(Wmma, SumsThatStandStillAreNoted) {
    EXPECT_EQ(notes_of_ones<half>(2048), 1u);  // 2048 + 1 is 2048
    EXPECT_EQ(notes_of_ones<half>(1024), 0u);
    EXPECT_EQ(notes_of_ones<float>(2048), 0u);
}

// Integers from low to high; packed elements: any.
template <class D, class T, int m, int n, int k, class LayoutA = row_major,
          class LayoutB = col_major, class S = D>
void check(int low, int high, int option = 0) {
    constexpr int kLd = 48 * kPacked<T>, kLdC = 40;
    for (const bool by_rows : {true, false}) {
        std::mt19937 random(m + n);
        const auto a = random_words<T>(random, low, high), b = random_words<T>(random, low, high);
        const auto c = random_words<S>(random, -50, 50);
        Device<Word<T>> device_a(a), device_b(b);
        Device<S> device_c(c);
        Device<D> d(32 * 64, D(-1));
        product<D, T, m, n, k, LayoutA, LayoutB, S>
            <<<1, 32>>>(device_a.data, device_b.data, kLd, device_c.data, d.data, kLdC,
                        by_rows ? mem_row_major : mem_col_major, option);
        ASSERT_EQ(cudaPeekAtLastError(), cudaSuccess);
        std::vector<D> expected(32 * 64, D(-1));  // only the matrix is written
        const auto at = [](bool by_rows, int ld, int row, int col) {
            return by_rows ? row * ld + col : col * ld + row;
        };
        for (int row = 0; row < m; ++row)
            for (int col = 0; col < n; ++col) {
                int sum = int(c[at(by_rows, kLdC, row, col)]);
                for (int i = 0; i < k; ++i) {
                    const int x =
                        element<T>(a, at(std::is_same_v<LayoutA, row_major>, kLd, row, i));
                    const int y =
                        element<T>(b, at(std::is_same_v<LayoutB, row_major>, kLd, i, col));
                    sum += kPacked<T> < 32 ? x * y : option ? x & y : x ^ y;
                }
                expected[at(by_rows, kLdC, row, col)] = D(sum);
            }
        EXPECT_TRUE(d.host() == expected) << m << "x" << n << "x" << k << " " << by_rows;
    }
}

// Each layout of each factor; the layout of the other one makes no difference.
template <class D, class T, int m, int n, int k>
void check_layouts(int low, int high) {
    check<D, T, m, n, k>(low, high);
    check<D, T, m, n, k, col_major, row_major>(low, high);
}

template <int m, int n>
void check_shape() {
    check_layouts<float, half, m, n, 16>(-9, 9);
    check_layouts<float, __nv_bfloat16, m, n, 16>(-9, 9);
    check_layouts<int, signed char, m, n, 16>(-128, 127);
    check_layouts<int, unsigned char, m, n, 16>(0, 255);
    check<half, half, m, n, 16, row_major, col_major, float>(-9, 9);
    check<float, half, m, n, 16, row_major, col_major, half>(-9, 9);
}

TEST_F(Wmma, ProductsAreExactInEveryTypeShapeAndLayout) {
    in_every_order([] {
        check_shape<16, 16>();
        check_shape<32, 8>();
        check_shape<8, 32>();
        check_layouts<float, tf32, 16, 16, 8>(-9, 9);
        check_layouts<double, double, 8, 8, 4>(-1000, 1000);
        check<int, s4, 8, 8, 32>(0, 0);
        check<int, u4, 8, 8, 32>(0, 0);
        for (int option : {0, 1}) check<int, b1, 8, 8, 128>(0, 0, option);
        expect_silence();
    });
    emulator::set_architecture(70);
    check_layouts<float, half, 16, 16, 16>(-9, 9);
    check_layouts<half, half, 16, 16, 16>(-9, 9);
    emulator::set_architecture(75);
    check_layouts<float, half, 32, 8, 16>(-9, 9);
    check<int, b1, 8, 8, 128>(0, 0);
    expect_silence();
    Device<unsigned> words(2048, 0);
    Device<int> c(2048, 0);
    product<int, b1, 8, 8, 128, row_major, col_major, int>
        <<<1, 32>>>(words.data, words.data, 128, c.data, c.data, 8, mem_row_major, 1);
    expect_failure({"bmma_sync: there is no AND on sm_75"});
}

// One product with the same value everywhere.
template <class D, class T, int m, int n, int k>
D product_of(Word<T> a, Word<T> b, D c, int option = 0) {
    Device<Word<T>> da(32 * 64, a), db(32 * 64, b);
    Device<D> dc(32 * 64, c);
    product<D, T, m, n, k, row_major, col_major, D>
        <<<1, 32>>>(da.data, db.data, 48 * kPacked<T>, dc.data, dc.data, 64, mem_row_major, option);
    return dc.host()[0];
}

TEST_F(Wmma, IntegersWrapOrSaturate) {
    EXPECT_EQ((product_of<int, signed char, 16, 16, 16>(127, 127, INT32_MAX)),
              int(uint32_t(INT32_MAX) + 16u * 127 * 127));
    EXPECT_EQ((product_of<int, signed char, 16, 16, 16>(127, 127, INT32_MAX, 1)), INT32_MAX);
    EXPECT_EQ((product_of<int, signed char, 16, 16, 16>(127, -128, INT32_MIN, 1)), INT32_MIN);
    EXPECT_EQ((product_of<int, u4, 8, 8, 32>(~0u, ~0u, INT32_MAX, 1)), INT32_MAX);
}

TEST_F(Wmma, RealsAreRoundedAsDescribed) {
    const auto halves = [](float a, float b, float c) {
        return float(product_of<half, half, 16, 16, 16>(half(a), half(b), half(c)));
    };
    const auto floats = [](float a, float b, float c) {
        return product_of<float, half, 16, 16, 16>(half(a), half(b), c);
    };
    const float more = 1 + 0x1p-10f;
    EXPECT_EQ(floats(more, more, 0), 16 * more * more);
    EXPECT_EQ(floats(INFINITY, 1, 0), INFINITY);
    EXPECT_TRUE(std::isnan(floats(INFINITY, 0, 0)) && std::isnan(floats(1, 1, NAN)));
    // Sums of halves are rounded once, at the end: each 2^-11 alone would be lost when added to 1.
    EXPECT_EQ(halves(0x1p-11f, 1, 1), 1 + 16 * 0x1p-11f);
    EXPECT_EQ(halves(256, 256, 0), INFINITY);
    EXPECT_TRUE(std::isnan(halves(NAN, 1, 1)));
    EXPECT_EQ((product_of<float, tf32, 16, 16, 8>(more + 0x1.8p-11f, 1, 0)), 8 * more)
        << "truncated, not rounded";
    EXPECT_EQ((product_of<double, double, 8, 8, 4>(1 + 0x1p-52, 1 + 0x1p-52, -1 - 0x1p-51)),
              std::fma(1 + 0x1p-52, 1 + 0x1p-52, -1 - 0x1p-51) + 3 * (1 + 0x1p-51));
    EXPECT_EQ(__float_to_tf32(1 + 0x1p-11f), more) << "a tie goes away from zero";
    EXPECT_EQ(__float_to_tf32(-1 - 0x1p-11f), -more);
    EXPECT_EQ(__float_to_tf32(1 + 0x1.fp-12f), 1);
    EXPECT_EQ(__float_to_tf32(INFINITY), INFINITY);
    EXPECT_TRUE(std::isnan(__float_to_tf32(NAN)));
}

// C plus products a[k] * b[k].
template <class D, class T, int depth = 16>
D sum_of(const std::vector<float>& a, const std::vector<float>& b, float c) {
    using Stored = Word<T>;
    const std::vector<Stored> zeros(16 * 16, Stored(0));
    std::vector<Stored> factors[2] = {zeros, zeros};
    for (size_t k = 0; k < a.size(); ++k) {
        factors[0][k] = a[k];
        factors[1][k] = k < b.size() ? b[k] : b.back();
    }
    Device<Stored> da(factors[0]), db(factors[1]);
    Device<D> dc(16 * 16, D(c));
    product<D, T, 16, 16, depth, row_major, col_major, D>
        <<<1, 32>>>(da.data, db.data, 16, dc.data, dc.data, 16, mem_row_major, 0);
    return dc.host()[0];
}

// Each row shows one rule of tensor_core.h.
TEST_F(Wmma, TensorCoresAddAsOnEachArchitecture) {
    const float tiny = 0x1p-12f;
    const std::vector<float> sixteen(16, tiny);
    struct {
        const char* rule;
        int sm;
        std::vector<float> a, b;
        float c, sum;
    } const all[] = {
        // 1 + 16 * 2^-24, 2^-25 and 2^-26
        {"no extra bits", 70, sixteen, {tiny}, 1, 1},
        {"no extra bits", 75, sixteen, {tiny}, 1, 1},
        {"one extra bit", 80, sixteen, {tiny}, 1, 1 + 0x1p-20f},
        {"one extra bit", 80, sixteen, {tiny / 2}, 1, 1},
        {"two extra bits", 90, sixteen, {tiny / 2}, 1, 1 + 0x1p-21f},
        {"two extra bits", 90, sixteen, {tiny / 4}, 1, 1},
        {"truncated", 90, sixteen, {tiny * 0.875f}, 1, 1 + 0x1p-21f},
        {"toward zero", 90, sixteen, {-tiny * 0.875f}, 1, 1 - 0x1p-21f},
        {"toward zero", 90, sixteen, {-tiny / 4}, 1, 1},
        {"the sum is truncated", 90, {3 * tiny / 2}, {tiny}, 1, 1},
        {"the sum is truncated", 90, {3 * tiny / 2}, {-tiny}, -1, -1},
        // One product aside, the second group would be lost, or the first one would be kept.
        {"groups of 16", 90, {tiny, tiny / 2, 0, 0, 0, 0, 0, 0, tiny / 2}, {tiny}, 1, 1 + 0x1p-23f},
        {"groups of 8", 80, {tiny, 0, 0, 0, 0, 0, 0, tiny}, {tiny}, 1, 1 + 0x1p-23f},
        {"groups of 8", 80, {tiny, 0, 0, 0, 0, 0, 0, 0, tiny}, {tiny}, 1, 1},
        {"groups of 4", 70, {tiny, tiny, 0, 0, 1}, {tiny, tiny, 0, 0, 1}, 0, 1 + 0x1p-23f},
        {"groups of 4", 70, {tiny, tiny, 0, 1}, {tiny, tiny, 0, 1}, 0, 1},
        {"not normalised", 90, {1.5f, 1.5f}, {1.5f, -1.5f}, 0x1p-25f, 0x1p-25f},
        {"not normalised", 90, {0x1p-24f, 0x1p-24f}, {1, -1}, 0x1p-40f, 0},
        {"subnormal factors", 90, {0x1p-24f}, {0x1p-24f}, 0, 0x1p-48f},
        {"infinite", 90, {INFINITY, 1}, {-1, 1}, 1, -INFINITY},
        {"overflow", 90, {32768}, {32768}, 0x1.fffffep127f, 0x1.fffffep127f},
    };
    for (const auto& row : all) {
        emulator::set_architecture(row.sm);
        EXPECT_EQ((sum_of<float, half>(row.a, row.b, row.c)), row.sum) << row.rule << row.sm;
    }
    const auto bits = [](auto... operands) {
        return __builtin_bit_cast(uint32_t, sum_of<float, __nv_bfloat16>(operands...));
    };
    using Some = std::vector<float>;
    EXPECT_EQ(bits(Some{INFINITY, INFINITY}, Some{1, -1}, 1.0f), 0x7fffffffu);
    EXPECT_EQ(bits(Some{-INFINITY}, Some{0}, 1.0f), 0x7fffffffu);
    EXPECT_EQ(bits(Some{-0.0f}, Some{1}, 0.0f), 0u) << "+0, because C is";
    EXPECT_EQ(bits(Some{-0x1p-100f}, Some{0x1p-100f}, 0.0f), 0u) << "+0 for a negative sum";
    EXPECT_EQ(bits(Some(16, -0.0f), Some{1}, -0.0f), 0u) << "+0, even if all addends are -0";
    EXPECT_EQ(bits(Some{0x1p-70f}, Some{0x1.8p-70f}, 0.0f), 0x300u) << "a subnormal sum";
    EXPECT_EQ(bits(Some{0x1p100f, 0x1p100f}, Some{0x1p100f, -0x1p100f}, 1.0f), 0u)
        << "1 is lost, and the products do not overflow";
    EXPECT_EQ(bits(Some{0x1p64f}, Some{0x1p64f}, 1.0f), 0x7f800000u);
    // A product of tf32 is two of 4 k: the 1 is lost in the first, and not in the second.
    const Some up = {0x1p15f, 0x1p15f, 0, 1, 0}, down = {0x1p15f, -0x1p15f, 0, 1, 0};
    EXPECT_EQ((sum_of<float, tf32, 8>(up, down, 0)), 0);
    const Some later = {0x1p15f, 0x1p15f, 0, 0, 1}, negated = {0x1p15f, -0x1p15f, 0, 0, 1};
    EXPECT_EQ((sum_of<float, tf32, 8>(later, negated, 0)), 1);
    // And it is shifted to 2^-133 at least, so that the smaller product is not lost.
    const Some small = {0x1.5p-69f, 0x1.284p-77f, 0}, factors = {-0x1.e18p-64f, 0x1.f3p-82f, 0};
    const float sum = sum_of<float, tf32, 8>(small, factors, 0);
    EXPECT_EQ(__builtin_bit_cast(uint32_t, sum), 0x800277f7u) << "as on an H100";
    // Halves are rounded once, to nearest even.
    const auto halves = [](const Some& a, float c) { return float(sum_of<half, half>(a, {1}, c)); };
    EXPECT_EQ(halves({0x1p-11f}, 1), 1);
    EXPECT_EQ(halves({0x1p-11f, 0x1p-24f}, 1), 1 + 0x1p-10f);
    EXPECT_EQ(halves({0x1p-11f}, 1 + 0x1p-10f), 1 + 0x1p-9f);
    expect_silence();
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

// What only lane 7 does.
enum Alone { kNothing, kReturn, kSync, kOtherLoad, kElsewhere, kSameLine, kLeave, kOtherProduct };
__global__ void divergent(Alone alone, const half* in) {
    A<half> a;
    B<half> b;
    C<float> c;
    C<half> d;
    fill_fragment(b, half(1));
    fill_fragment(c, 0.0f);
    fill_fragment(d, half(0));
    if (threadIdx.x != 7) alone = kNothing;
    if (alone == kReturn) return;
    if (alone == kSync) __syncwarp();
    if (alone == kOtherLoad) load_matrix_sync(b, in, 16);
    if (alone == kElsewhere) load_matrix_sync(a, in, 16);
    else alone == kSameLine ? load_matrix_sync(b, in, 16) : load_matrix_sync(a, in, 16);  // @load
    if (alone == kLeave) return;
    alone == kOtherProduct ? mma_sync(d, a, b, d) : mma_sync(c, a, b, c);  // @product
}

// The other lanes wait at that place for lane 7, whatever lane 7 does alone.
void expect_waiting(const char* place, std::initializer_list<Alone> all) {
    Device<half> in(256, half(1));
    in_every_order([&] {
        for (Alone alone : all) {
            divergent<<<1, 32>>>(alone, in.data);
            expect_missing_lanes(place);
        }
    });
    divergent<<<1, 64>>>(kNothing, in.data);
    expect_silence();
}

TEST_F(Wmma, AllLanesMustComeToTheSameCall) {
    expect_waiting("@load", {kReturn, kSync, kOtherLoad, kElsewhere, kSameLine});
    Device<half> in(256, half(1));
    in_every_order([&] {
        divergent<<<1, 48>>>(kNothing, in.data);  // the second warp has 16 lanes
        expect_missing_lanes("@load", "32");
    });
}

TEST_F(Wmma, AllLanesMustComeToTheSameProduct) {
    expect_waiting("@product", {kLeave, kOtherProduct});
}

__global__ void load_or_store(bool store, float* at, unsigned ldm, unsigned ldm_of_lane_5,
                              layout_t layout_of_lane_5, int shift_of_lane_5) {
    const bool five = threadIdx.x == 5;
    const layout_t layout = five ? layout_of_lane_5 : mem_row_major;
    C<float> c;
    fill_fragment(c, 1.0f);
    if (five) {
        at += shift_of_lane_5;
        ldm = ldm_of_lane_5;
    }
    if (store) store_matrix_sync(at, c, ldm, layout);  // @access
    else load_matrix_sync(c, at, ldm, layout);  // @access
}
template <class F>
__global__ void load_only(const typename F::storage_element_type* in, int ldm) {
    F f;
    load_matrix_sync(f, in, ldm);
}
template <class F>
void refuses(int ldm, int least) {
    Device<typename F::storage_element_type> in(4096);
    cudaMemset(in.data, 0, 4096 * sizeof *in.data);
    load_only<F><<<1, 32>>>(in.data, ldm);
    expect_failure({"ldm is " + std::to_string(ldm) + ".." + std::to_string(least)});
    load_only<F><<<1, 32>>>(in.data, 2 * least);
    expect_silence();
}

void expect_refused(bool store) {
    const struct {
        const char* said;
        int offset;
        unsigned ldm, lane_5;
        layout_t layout;
        int shift;
    } all[] = {
        {"pointer is not aligned to 32 bytes", 4, 20, 20, mem_row_major, 0},
        {"ldm is 18, not a multiple of 4", 0, 18, 18, mem_row_major, 0},
        {"lanes 0 and 5 of the warp give different ldm", 0, 20, 24, mem_row_major, 0},
        {"lanes 0 and 5 of the warp give different layouts", 0, 20, 20, mem_col_major, 0},
        {"lanes 0 and 5 of the warp give different pointers", 0, 20, 20, mem_row_major, 8},
    };
    Device<float> c(1024, 0);
    for (const auto& row : all) {
        load_or_store<<<1, 32>>>(store, c.data + row.offset, row.ldm, row.lane_5, row.layout,
                                 row.shift);
        expect_failure({(store ? "store_matrix_sync: .." : "load_matrix_sync: ..") +
                        std::string(row.said) + "..at @access"});
    }
    EXPECT_EQ(c.host(), std::vector<float>(1024, 0));
    load_or_store<<<1, 32>>>(store, c.data, 20, 20, mem_row_major, 0);
    expect_silence();
}

TEST_F(Wmma, PointerAndLeadingDimensionAreChecked) {
    expect_refused(false);
    refuses<A<half>>(20, 8);
    refuses<A<signed char>>(24, 16);
    refuses<A<tf32, 16, 16, 8>>(10, 4);
    refuses<A<double, 8, 8, 4>>(5, 2);
    refuses<A<s4, 8, 8, 32>>(48, 32);
    refuses<A<b1, 8, 8, 128>>(192, 128);
}

TEST_F(Wmma, StoresAreCheckedToo) { expect_refused(true); }

}  // namespace

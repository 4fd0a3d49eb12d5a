// Which fragments exist, which lane holds which element, and what loads and stores access, traced.
#include <stdexcept>

#include "mma_names.h"

namespace {

class Fragments : public Base {};

// ---- Which fragments and products exist ---------------------------------------------------------

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
template <class D, class T, class S, class... More>
constexpr bool multiplies = compiles<Mma, C<D>&, A<T>&, B<T>&, C<S>&, More...>;
template <class F, class... More>
constexpr bool loads = compiles<Load, F&, More...>;
template <class F, int elements, int words = elements>
constexpr bool holds = F::num_elements == elements&& F::num_storage_elements == words;
using bf16 = __nv_bfloat16;

// clang-format off
static_assert(all_exist<A<half>, A<half, 32, 8>, A<half, 8, 32>, A<double, 8, 8, 4>, A<s4, 8, 8, 32>, A<tf32, 16, 16, 8>,
                        B<b1, 8, 8, 128>, C<float, 16, 16, 8>>);
static_assert(none_exist<A<half, 16, 16, 8>, A<half, 8, 8>, A<float>, A<double>, A<tf32>, A<b1, 8, 8, 32>, C<bf16>, C<double>,
                         C<half, 16, 16, 8>, ACol<s4, 8, 8, 32>, BRow<b1, 8, 8, 128>, fragment<matrix_a, 16, 16, 16, half>,
                         fragment<accumulator, 16, 16, 16, float, row_major>>);
static_assert(multiplies<float, half, float> && multiplies<half, half, half> && multiplies<float, half, half> &&
              multiplies<half, half, float> && multiplies<float, bf16, float> && multiplies<int, signed char, int> &&
              multiplies<int, signed char, int, bool>);
static_assert(!multiplies<half, bf16, float> && !multiplies<float, bf16, half> && !multiplies<float, half, float, bool> &&
              !multiplies<float, signed char, float> && !multiplies<int, half, int>);
static_assert(!compiles<Mma, C<float>&, A<half>&, A<half>&, C<float>&> &&
              !compiles<Mma, C<float>&, A<half>&, B<bf16>&, C<float>&> &&
              !compiles<Mma, C<int, 8, 8, 128>&, A<b1, 8, 8, 128>&, B<b1, 8, 8, 128>&, C<int, 8, 8, 128>&>);
static_assert(loads<A<half>, half*, int> && loads<C<half>, half*, int, layout_t> && loads<A<s4, 8, 8, 32>, const void*, int>);
static_assert(!loads<A<half>, float*, int> && !loads<C<half>, half*, int> && !loads<A<half>, half*, int, layout_t>);
static_assert(holds<A<half>, 16> && holds<A<half, 8, 32>, 16> && holds<C<half>, 8> && holds<C<float>, 8> &&
              holds<A<signed char>, 8> && holds<A<signed char, 32, 8>, 16> && holds<B<signed char, 32, 8>, 4> &&
              holds<A<bf16>, 8> && holds<A<bf16, 8, 32>, 4> && holds<A<tf32, 16, 16, 8>, 4> && holds<A<double, 8, 8, 4>, 1> &&
              holds<C<double, 8, 8, 4>, 2> && holds<C<int, 8, 8, 32>, 2> && holds<A<s4, 8, 8, 32>, 8, 1> &&
              holds<A<b1, 8, 8, 128>, 32, 1>);
static_assert(std::is_same_v<A<tf32, 16, 16, 8>::element_type, tf32> && sizeof(A<half>) == 32 && alignof(A<half>) == 8);
// clang-format on

// ---- Which lane holds which element -------------------------------------------------------------

// Loads from global memory or, if that is null, from shared memory of zeros. x: if not null,
// receives every lane's x[].
template <class F>
__global__ void load(const typename F::storage_element_type* from, int ldm, bool by_rows,
                     typename F::storage_element_type* x) {
    extern __shared__ __align__(128) float zeros[];
    for (int i = threadIdx.x; !from && i < 8192; i += 32) zeros[i] = 0;
    __syncthreads();
    const auto* const matrix = from ? from : reinterpret_cast<decltype(from)>(zeros);
    F f;
    if constexpr (F::is_accumulator)
        load_matrix_sync(f, matrix, ldm, by_rows ? mem_row_major : mem_col_major);
    else load_matrix_sync(f, matrix, ldm);  // @load
    for (int i = 0; x && i < f.num_storage_elements; ++i)
        x[threadIdx.x * f.num_storage_elements + i] = f.x[i];
}

// The elements that an H200 (driver 580.159, CUDA 13.0) assigned to lanes 1, 2, 4, 8, 16 and x[1],
// x[2], x[4], x[8]; all others are sums of these. Packed elements are counted in words.
struct Seen {
    int row, col;
};
using Seens = std::vector<Seen>;
template <class F>
void expect_map(const Seens& lanes, const Seens& elements) {
    using T = typename F::storage_element_type;
    constexpr int kLd = 64, kWords = F::num_storage_elements;
    for (const bool by_rows : {true, false}) {
        if (!F::is_accumulator && by_rows != F::row_major) continue;
        // The value of each element is its row, or its column.
        for (const bool rows : {true, false}) {
            std::vector<T> matrix(kLd * kLd);
            for (int i = 0; i < 32 * 32; ++i)
                matrix[i / 32 * kLd + i % 32] = T(rows == by_rows ? i / 32 : i % 32);
            Device<T> device(matrix), x(32 * kWords);
            load<F><<<1, 32>>>(device.data, kLd * F::packed, by_rows, x.data);
            const auto held = x.host();
            for (int at = 0; at < 32 * kWords; ++at) {
                int sum = 0;
                const auto add = [&](int number, const Seens& seen) {
                    for (size_t bit = 0; bit < seen.size(); ++bit)
                        if (number >> bit & 1) sum += rows ? seen[bit].row : seen[bit].col;
                };
                add(at / kWords, lanes);
                add(at % kWords, elements);
                ASSERT_EQ(int(held[at]), sum)
                    << "lane " << at / kWords << " x[" << at % kWords << "]";
            }
        }
    }
}
template <class T, int m, int n, int k>
void expect_maps(const Seens& lanes_a, const Seens& a, const Seens& lanes_b, const Seens& b) {
    expect_map<A<T, m, n, k>>(lanes_a, a);
    expect_map<B<T, m, n, k>>(lanes_b, b);
    if constexpr (A<T, m, n, k>::packed == 1) {
        expect_map<ACol<T, m, n, k>>(lanes_a, a);
        expect_map<BRow<T, m, n, k>>(lanes_b, b);
    }
}

// clang-format off
const Seen o{0, 0}, r1{1, 0}, r2{2, 0}, r4{4, 0}, r8{8, 0}, r16{16, 0}, c1{0, 1}, c2{0, 2}, c4{0, 4}, c8{0, 8}, c16{0, 16};

TEST_F(Fragments, AreThoseOfAnH200) {
    const Seens a16 = {c2, c4, r1, r2, r4}, b16 = {r2, r4, c1, c2, c4};
    const Seens a8 = {c4, c8, r1, r2, r4}, b8 = {r4, r8, c1, c2, c4};
    const Seens a32 = {c1, c2, r1, r2, r4}, b32 = {r1, r2, c1, c2, c4};
    expect_maps<half, 16, 16, 16>(a16, {c1, r8, c8, o}, b16, {r1, r8, c8, o});
    expect_maps<half, 32, 8, 16>(a16, {c1, r8, c8, r16}, b16, {r1, r8, o, o});
    expect_maps<half, 8, 32, 16>(a16, {c1, c8, o, o}, b16, {r1, c8, r8, c16});
    expect_maps<__nv_bfloat16, 16, 16, 16>(a16, {c1, r8, c8}, b16, {r1, r8, c8});
    expect_maps<__nv_bfloat16, 32, 8, 16>(a16, {c1, r8, c8, r16}, b16, {r1, r8});
    expect_maps<__nv_bfloat16, 8, 32, 16>(a16, {c1, c8}, b16, {r1, c8, r8, c16});
    expect_maps<signed char, 16, 16, 16>(a8, {c1, c2, r8}, b8, {r1, r2, c8});
    expect_maps<unsigned char, 32, 8, 16>(a8, {c1, c2, r8, r16}, b8, {r1, r2});
    expect_maps<signed char, 8, 32, 16>(a8, {c1, c2}, b8, {r1, r2, c8, c16});
    expect_maps<tf32, 16, 16, 8>(a32, {r8, c4}, b32, {r4, c8});
    expect_maps<double, 8, 8, 4>(a32, {}, b32, {});
    expect_maps<s4, 8, 8, 32>(a32, {}, b32, {});
    expect_maps<b1, 8, 8, 128>(a32, {}, b32, {});
    expect_map<C<float>>(a16, {c1, r8, c8});
    expect_map<C<half>>(a16, {c1, r8, c8});
    expect_map<C<int>>(a16, {c1, r8, c8});
    expect_map<C<float, 32, 8>>(a16, {c1, r8, r16});
    expect_map<C<half, 8, 32>>(b16, {r1, c8, c16});
    expect_map<C<float, 16, 16, 8>>(a16, {c1, r8, c8});
    expect_map<C<double, 8, 8, 4>>(a16, {c1});
    expect_map<C<int, 8, 8, 32>>(a16, {c1});
}

TEST_F(Fragments, OfAV100) {
    emulator::set_architecture(70);
    expect_map<A<half>>({r1, r2, r8, o, r4}, {c1, c2, c4, c8});
    expect_map<ACol<half>>({c1, c2, r8, o, r4}, {r1, r2, c4, c8});
    expect_map<B<half>>({c1, c2, o, c8, c4}, {r1, r2, r4, r8});
    expect_map<BRow<half>>({r1, r2, o, c8, c4}, {c1, c2, r4, r8});
    expect_map<C<half>>({r1, r2, r8, c8, r4}, {c1, c2, c4});
    expect_map<C<float>>({r1, c2, r8, c8, r4}, {c1, r2, c4});
}
// clang-format on

TEST_F(Fragments, ArchitecturesLackSome) {
    const auto lacks = [](auto fragment, int sm, const char* said) {
        using F = decltype(fragment);
        Device<typename F::storage_element_type> in(8192);
        cudaMemset(in.data, 0, 8192 * sizeof *in.data);
        emulator::set_architecture(sm);
        load<F><<<1, 32>>>(in.data, 128, true, nullptr);
        if (*said) expect_failure({std::string(said) + "..sm_" + std::to_string(sm)});
        else expect_silence();
    };
    lacks(A<half, 32, 8>(), 70, "half 32x8x16");
    lacks(C<float, 32, 8>(), 70, "float 32x8x16");
    lacks(A<signed char>(), 70, "s8 16x16x16");
    lacks(A<__nv_bfloat16>(), 75, "bf16 16x16x16");
    lacks(A<tf32, 16, 16, 8>(), 75, "tf32 16x16x8");
    lacks(C<float, 16, 16, 8>(), 75, "float 16x16x8");
    lacks(C<double, 8, 8, 4>(), 75, "double 8x8x4");
    lacks(A<__nv_bfloat16>(), 120, "");  // like sm_80
    EXPECT_THROW(emulator::set_architecture(60), std::invalid_argument);
}

// ---- Traffic and races --------------------------------------------------------------------------

__global__ void through_shared(float* out, bool written, bool sync, bool sync_after) {
    __shared__ __align__(32) float s[16 * 16];
    C<float> c;
    for (int i = threadIdx.x; written && i < 256; i += 32) s[i] = 2;  // @filled
    if (sync) __syncwarp();
    load_matrix_sync(c, s, 16, mem_row_major);  // @loaded
    if (sync) __syncwarp();
    store_matrix_sync(s, c, 16, mem_row_major);  // @stored
    if (sync_after) __syncwarp();
    for (int i = threadIdx.x; i < 256; i += 32) out[i] = s[255 - i];  // @read_back
}

TEST_F(Fragments, LoadsAndStoresOrderNoMemory) {
    Device<float> out(256);
    in_every_order([&] {
        through_shared<<<1, 32>>>(out.data, true, true, true);
        expect_silence();
        EXPECT_EQ(out.host(), std::vector<float>(256, 2));
        through_shared<<<1, 32>>>(out.data, true, true, false);
        expect_problem({"race in shared memory: @stored writes what @read_back reads"});
        through_shared<<<1, 32>>>(out.data, true, false, true);
        expect_some({"race in shared memory: @filled writes what @loaded reads"});
        through_shared<<<1, 32>>>(out.data, false, true, true);
        expect_problem({"uninitialised shared memory: @loaded reads"});
    });
}

template <class F>
Traffic traffic(int ldm, bool shared) {
    Device<typename F::storage_element_type> in(8192);
    cudaMemset(in.data, 0, 8192 * sizeof *in.data);
    emulator::reset_counts();
    load<F><<<1, 32, 32768>>>(shared ? nullptr : in.data, ldm, true, nullptr);
    EXPECT_EQ(problem(), "");
    return shared ? shared_loads() : global_loads();
}

// clang-format off
TEST_F(Fragments, SharedMatricesAreReadByLdmatrix) {
    // x4: 4 blocks of 8 lines of 16 bytes, a wavefront each if their lines lie in different banks
    EXPECT_EQ(traffic<A<half>>(24, true), (Traffic{1, 4, 4, 512}));  // rows padded by 16 bytes
    // The other layout, transposed in registers.
    EXPECT_EQ(traffic<ACol<half>>(24, true), (Traffic{1, 4, 4, 512}));
    EXPECT_EQ(traffic<B<half>>(72, true), (Traffic{1, 4, 4, 512}));
    // Rows of 128 bytes: 8 of them in the same banks.
    EXPECT_EQ(traffic<A<half>>(64, true), (Traffic{1, 32, 4, 512}));
    EXPECT_EQ(traffic<ACol<half>>(64, true), (Traffic{1, 32, 4, 512}));
    EXPECT_EQ(traffic<A<half>>(16, true), (Traffic{1, 8, 4, 512}));  // two rows in the same banks
    EXPECT_EQ((traffic<A<half, 32, 8>>(24, true)), (Traffic{2, 8, 8, 1024}));
    EXPECT_EQ((traffic<A<half, 8, 32>>(24, true)), (Traffic{1, 2, 2, 256}));  // x2
    EXPECT_EQ(traffic<A<__nv_bfloat16>>(24, true), (Traffic{1, 4, 4, 512}));
    EXPECT_EQ(traffic<A<signed char>>(16, true), (Traffic{1, 2, 2, 256}));
    EXPECT_EQ((traffic<A<b1, 8, 8, 128>>(128, true)), (Traffic{1, 1, 1, 128}));
    EXPECT_EQ(traffic<ACol<signed char>>(16, true)[0], 8u);  // bytes, one by one
    // Words, no ldmatrix.
    EXPECT_EQ((traffic<A<tf32, 16, 16, 8>>(8, true)), (Traffic{4, 8, 4, 512}));
    EXPECT_EQ((traffic<A<tf32, 16, 16, 8>>(12, true)), (Traffic{4, 4, 4, 512}));
    emulator::set_architecture(75);
    EXPECT_EQ(traffic<A<half>>(24, true), (Traffic{2, 4, 4, 512}));  // x2 twice
    emulator::set_architecture(70);
    EXPECT_EQ(traffic<A<half>>(24, true)[3], 1024u);  // each element by two lanes
}

TEST_F(Fragments, GlobalMatricesAreReadInWords) {
    // Each request: 8 lines, 16 bytes of each.
    EXPECT_EQ(traffic<A<half>>(64, false), (Traffic{4, 32, 0, 512}));
    EXPECT_EQ(traffic<ACol<half>>(64, false), (Traffic{4, 32, 0, 512}));
    EXPECT_EQ(traffic<A<half>>(16, false), (Traffic{4, 32, 0, 512}));
    EXPECT_EQ(traffic<A<signed char>>(64, false), (Traffic{2, 16, 0, 256}));
    EXPECT_EQ(traffic<ACol<signed char>>(64, false)[0], 8u);
    EXPECT_EQ((traffic<A<s4, 8, 8, 32>>(32, false)), (Traffic{1, 4, 0, 128}));
    EXPECT_EQ(traffic<C<float>>(64, false), (Traffic{4, 32, 0, 1024}));  // 8 bytes per lane
    EXPECT_EQ(traffic<C<half>>(64, false), (Traffic{4, 32, 0, 512}));
    // Here neighbours are in a column: 4 bytes.
    EXPECT_EQ((traffic<C<float, 8, 32>>(64, false)), (Traffic{8, 32, 0, 1024}));
    // Transposed in registers.
    EXPECT_EQ((traffic<C<half, 8, 32>>(64, false)), (Traffic{4, 32, 0, 512}));
    EXPECT_EQ((traffic<C<double, 8, 8, 4>>(64, false)), (Traffic{1, 16, 0, 512}));
}
// clang-format on

}  // namespace

// Does each instruction of common/ptx do what its formula says, in every lane and register? On a GPU
// this checks the formulas, on the CPU the emulator. all_checks() is the table of what is checked.
//
// Source of the formulas: PTX ISA, the sections that common/ptx/ptx.cuh names.
#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <type_traits>

#include "07_fragment_probe/chip.h"
#include "07_fragment_probe/tests/boxes.h"
#include "07_fragment_probe/tests/products.h"
#include "common/build.h"
#include "common/checked_launch.h"
#include "common/device.h"
#include "common/errors.h"
#include "common/options.h"
#include "common/ptx/hopper.cuh"
#include "common/tensor_map.h"

using Words = std::vector<unsigned>;  // registers: those of lane 0, then those of lane 1, ...

// A register of elements of type T: two of them, or a float.
template <class T>
using Register =
    std::conditional_t<std::is_same_v<T, half>, half2,
                       std::conditional_t<std::is_same_v<T, __nv_bfloat16>, __nv_bfloat162, float>>;
template <class T>
const char* const kName = std::is_same_v<T, half> ? "half"
                          : sizeof(T) == 2        ? "bf16"
                                                  : "float";

// The architecture that this was compiled for. PTX for an older one runs on later chips, too.
constexpr int kSm90a = 91;
__global__ void compiled_for(int* sm) { *sm = ptx::kHasWgmma ? kSm90a : ptx::kCompiledFor; }

// ---- ldmatrix -----------------------------------------------------------------------------------

// Lane 8j + r stores row r of matrix j, its four words of `in`, at a permuted place, so that
// ldmatrix must use the address that each lane passes.
template <int matrices, bool trans>
__global__ void load(const void* in, void* out) {
    __shared__ alignas(16) unsigned rows[32][12];
    unsigned* const row = rows[(threadIdx.x * 5 + 3) % 32];
    for (int i = 0; i < 4; ++i) row[i] = static_cast<const unsigned*>(in)[threadIdx.x * 4 + i];
    __syncwarp();
    unsigned to[matrices];
    if constexpr (matrices == 1 && !trans) ptx::ldmatrix_x1(to, row);
    if constexpr (matrices == 2 && !trans) ptx::ldmatrix_x2(to, row);
    if constexpr (matrices == 4 && !trans) ptx::ldmatrix_x4(to, row);
    if constexpr (matrices == 1 && trans) ptx::ldmatrix_x1_trans(to, row);
    if constexpr (matrices == 2 && trans) ptx::ldmatrix_x2_trans(to, row);
    if constexpr (matrices == 4 && trans) ptx::ldmatrix_x4_trans(to, row);
    for (int j = 0; j < matrices; ++j)
        static_cast<unsigned*>(out)[threadIdx.x * matrices + j] = to[j];
}

Words loaded(int matrices, bool trans) {
    Words words;
    const auto element = [](int j, int row, int col) { return unsigned(j * 64 + row * 8 + col); };
    for (int lane = 0; lane < 32; ++lane) {
        const int g = lane / 4, t = lane % 4;
        for (int j = 0; j < matrices; ++j)
            words.push_back(trans ? element(j, 2 * t, g) | element(j, 2 * t + 1, g) << 16
                                  : element(j, g, 2 * t) | element(j, g, 2 * t + 1) << 16);
    }
    return words;
}

// ---- mma ----------------------------------------------------------------------------------------

// in: each lane's registers of A, of B and of C. out: those of D.
template <class D, int d_count, class Pair, int a_count, int b_count>
__global__ void multiply(const void* in, void* out) {
    const void* const mine =
        static_cast<const unsigned*>(in) + threadIdx.x * (a_count + b_count + d_count);
    Pair a[a_count], b[b_count];
    D d[d_count];
    for (int r = 0; r < a_count; ++r) a[r] = static_cast<const Pair*>(mine)[r];
    for (int r = 0; r < b_count; ++r) b[r] = static_cast<const Pair*>(mine)[a_count + r];
    for (int r = 0; r < d_count; ++r) d[r] = static_cast<const D*>(mine)[a_count + b_count + r];
    if constexpr (a_count == 4) ptx::mma_m16n8k16(d, a, b);
    else ptx::mma_m8n8k4(d, a, b);
    for (int r = 0; r < d_count; ++r) static_cast<D*>(out)[threadIdx.x * d_count + r] = d[r];
}

// Where element i of a lane's operand belongs.
struct Position {
    int row, col;
};
using Formula = Position (*)(int lane, int i);
struct MmaShape {
    int since, m, n, k, groups;  // products of a warp: one, or one of each quad-pair, lane / 4 % 4
    Formula a, b, d;
    constexpr int lanes() const { return 32 / groups; }
};
Position a_16816(int lane, int i) {
    return {lane / 4 + i / 2 % 2 * 8, lane % 4 * 2 + i % 2 + i / 4 * 8};
}
Position b_16816(int lane, int i) { return {lane % 4 * 2 + i % 2 + i / 2 * 8, lane / 4}; }
Position d_16816(int lane, int i) { return {lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2}; }
Position a_884(int lane, int i) { return {lane / 16 * 4 + i, lane % 4}; }
Position b_884(int lane, int i) { return {i, lane / 16 * 4 + lane % 4}; }
Position d_884_half(int lane, int i) { return {lane / 16 * 4 + lane % 4, i}; }
Position d_884_float(int lane, int i) {
    return {lane / 16 * 4 + lane % 2 + i / 2 % 2 * 2, i / 4 * 4 + lane / 2 % 2 * 2 + i % 2};
}
constexpr MmaShape k16816 = {80, 16, 8, 16, 1, a_16816, b_16816, d_16816};
constexpr MmaShape k884_half = {70, 8, 8, 4, 4, a_884, b_884, d_884_half};
constexpr MmaShape k884_float = {70, 8, 8, 4, 4, a_884, b_884, d_884_float};

// ---- cp.async -----------------------------------------------------------------------------------

// Each lane makes three copies: a full one, one of lane % (bytes + 1) bytes, and a full one.
template <int bytes>
__global__ void copy(const void* in, void* out) {
    __shared__ alignas(16) unsigned to[3][32][bytes / 4];
    const int lane = threadIdx.x;
    const unsigned* const from = static_cast<const unsigned*>(in) + (lane ^ 5) * 4;
    unsigned* next = static_cast<unsigned*>(out) + lane * 3 * bytes / 4;
    const auto write = [&](int part) {
        for (int i = 0; i < bytes / 4; ++i) *next++ = to[part][lane][i];
    };
    ptx::cp_async<bytes>(to[0][lane], from);
    ptx::cp_async_commit_group();
    ptx::cp_async<bytes>(to[1][lane], from, lane % (bytes + 1));
    ptx::cp_async_commit_group();
    ptx::cp_async_wait_group<1>();
    write(0);
    ptx::cp_async_wait_group<0>();
    write(1);
    ptx::cp_async<bytes>(to[2][lane], from);
    ptx::cp_async_wait_all();
    write(2);
}

Words copied(const Words& in, int bytes) {
    Words words;
    for (int lane = 0; lane < 32; ++lane)
        for (int part = 0; part < 3; ++part)
            for (int byte = 0; byte < bytes; byte += 4) {
                const int valid = (part == 1 ? lane % (bytes + 1) : bytes) - byte;
                const unsigned mask = valid <= 0 ? 0 : valid >= 4 ? ~0u : (1u << 8 * valid) - 1;
                words.push_back(in[(lane ^ 5) * 4 + byte / 4] & mask);
            }
    return words;
}

// ---- elect_sync ---------------------------------------------------------------------------------

// out: 1 in every lane of the mask if elect_sync() has returned true in one lane of the mask alone,
// and in the same one at a second call. 0 in the other lanes.
constexpr int kElections = 3;
__host__ __device__ unsigned election_mask(int i) {
    return i == 0 ? ~0u : i == 1 ? 0xfff0 : 1u << 31;
}
__global__ void elect(const void*, void* out) {
    for (int i = 0; i < kElections; ++i) {
        const unsigned mask = election_mask(i);
        unsigned right = 0;
        if (mask >> threadIdx.x & 1) {
            const unsigned elected = __ballot_sync(mask, ptx::elect_sync(mask));
            const unsigned again = __ballot_sync(mask, ptx::elect_sync(mask));
            right = __popc(elected) == 1 && again == elected;
        }
        static_cast<unsigned*>(out)[threadIdx.x * kElections + i] = right;
    }
}

// ---- named_barrier_arrive -----------------------------------------------------------------------

// Each of two warps writes what the other outputs, arrives at a barrier of its own, and then waits at
// the other's. If arriving waited, neither would go on.
__global__ void hand_over(const void* in, void* out) {
    __shared__ unsigned words[2][32];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    words[warp][lane ^ 5] = static_cast<const unsigned*>(in)[threadIdx.x];
    ptx::named_barrier_arrive(1 + warp, 64);
    ptx::named_barrier_sync(2 - warp, 64);
    static_cast<unsigned*>(out)[threadIdx.x] = words[1 - warp][lane];
}

// ---- cp_async_bulk_tensor, loads ----------------------------------------------------------------

// Loads boxes, one after the other, and writes each as it lies in shared memory. Every other copy
// is issued before the mbarrier expects its bytes, so that they may arrive earlier.
__global__ void fetch(const __grid_constant__ CUtensorMap map, const Boxes::Start* starts,
                      int bytes, int copied, unsigned* out) {
    extern __shared__ __align__(1024) unsigned box[];
    __shared__ uint64_t full;
    for (int word = threadIdx.x; word < bytes / 4; word += 32) box[word] = 0;
    ptx::fence_proxy_async();
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&full, 1);
        ptx::fence_mbarrier_init();
    }
    __syncthreads();
    ptx::mbarrier_wait_parity(&full, 1);  // for the phase before the first
    for (int i = 0; i < Boxes::kCount; ++i) {
        if (threadIdx.x == 0) {
            if (i % 2 == 0) ptx::mbarrier_arrive_expect_tx(&full, copied);
            ptx::cp_async_bulk_tensor(box, &map, starts[i].x, starts[i].y, &full);
            if (i % 2 == 1) ptx::mbarrier_arrive_expect_tx(&full, copied);
        }
        ptx::mbarrier_wait_parity(&full, i % 2);
        for (int word = threadIdx.x; word < bytes / 4; word += 32)
            out[i * bytes / 4 + word] = box[word];
        __syncthreads();
    }
}

// ---- cp_async_bulk_tensor, stores ---------------------------------------------------------------

// Stores the boxes of `in`, as they lie in shared memory, one after the other.
__global__ void store(const __grid_constant__ CUtensorMap map, const Boxes::Start* starts,
                      int bytes, const unsigned* in) {
    extern __shared__ __align__(1024) unsigned box[];
    for (int i = 0; i < Boxes::kCount; ++i) {
        for (int word = threadIdx.x; word < bytes / 4; word += 32)
            box[word] = in[i * bytes / 4 + word];
        ptx::fence_proxy_async();
        __syncthreads();
        if (threadIdx.x == 0) {
            ptx::cp_async_bulk_tensor(&map, starts[i].x, starts[i].y, box);
            ptx::cp_async_bulk_commit_group();
            if (i % 2 == 0) ptx::cp_async_bulk_wait_group_read<0>();
            ptx::cp_async_bulk_wait_group<0>();
        }
        __syncthreads();
    }
}

// ---- Clusters -----------------------------------------------------------------------------------

// Each of two blocks multicasts a box to both. It outputs both boxes, then the first as it lies in
// the other block, once that block has signalled that it is there, and at last the 32 float4 that
// the other block has sent.
template <int bytes>
__global__ void CLUSTER_DIMS(2, 1, 1)
    share(const __grid_constant__ CUtensorMap map, const Boxes::Start* starts, unsigned* out) {
    extern __shared__ __align__(1024) unsigned shared[];
    float4* const reduction_buffer = reinterpret_cast<float4*>(shared + 2 * bytes / 4);
    uint64_t* const full = reinterpret_cast<uint64_t*>(reduction_buffer + 32);
    uint64_t *const others = full + 1, *const sent = full + 2;
    const int rank = ptx::get_sreg_cluster_ctarank();
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(full, 1);
        ptx::mbarrier_init(others, 1);
        ptx::mbarrier_init(sent, 1);
        ptx::fence_mbarrier_init();
    }
    ptx::barrier_cluster_arrive_relaxed();
    ptx::barrier_cluster_wait();
    if (threadIdx.x == 0) {
        ptx::mbarrier_arrive_expect_tx(sent, 32 * 16);
        ptx::mbarrier_arrive_expect_tx(full, 2 * bytes);
        ptx::cp_async_bulk_tensor(shared + rank * bytes / 4, &map, starts[rank].x, starts[rank].y,
                                  full, 3);
    }
    ptx::st_async(reduction_buffer + threadIdx.x, make_float4(rank, threadIdx.x, 0.5f, -1), sent,
                  1 - rank);
    ptx::mbarrier_wait_parity(full, 0);
    __syncwarp();
    if (threadIdx.x == 0) ptx::mbarrier_arrive_cluster(others, 1 - rank);
    ptx::mbarrier_wait_parity(others, 0);
    const unsigned* const there = ptx::mapa(shared, 1 - rank);
    unsigned* const to = out + rank * (3 * bytes / 4 + 32 * 4);
    for (int word = threadIdx.x; word < 2 * bytes / 4; word += 32) to[word] = shared[word];
    for (int word = threadIdx.x; word < bytes / 4; word += 32)
        to[2 * bytes / 4 + word] = there[word];
    ptx::mbarrier_wait_parity(sent, 0);
    reinterpret_cast<float4*>(to + 3 * bytes / 4)[threadIdx.x] = reduction_buffer[threadIdx.x];
    ptx::barrier_cluster_arrive();  // the other block may still read here
    ptx::barrier_cluster_wait();
}

// ---- wgmma --------------------------------------------------------------------------------------

// in: the shared memory, A's registers, C's registers. A is multiplied from where in_registers says.
template <class T, int n, int transposed_a, int transposed_b, bool in_registers>
__global__ void __launch_bounds__(128)
    multiply_wide(DescribedOperand a, DescribedOperand b, const unsigned* in, float* out) {
    __shared__ alignas(1024) unsigned memory[Products::kBytes / 4];
    constexpr int words = Products::kBytes / 4;
    for (int i = threadIdx.x; i < words; i += 128) memory[i] = in[i];
    ptx::fence_proxy_async();
    __syncthreads();
    const char* const bytes = reinterpret_cast<const char*>(memory);
    const uint64_t a_memory =
        ptx::wgmma_descriptor(bytes + a.start, a.swizzle, a.stride / 16, a.leading / 16);
    const uint64_t b_memory =
        ptx::wgmma_descriptor(bytes + b.start, b.swizzle, b.stride / 16, b.leading / 16);
    float d[n / 16][8];
    ptx::Pair<T> a_registers[4];
    for (int r = 0; r < 4; ++r)
        a_registers[r] = reinterpret_cast<const ptx::Pair<T>*>(in + words)[threadIdx.x * 4 + r];
    const float* const c =
        reinterpret_cast<const float*>(in + words + 128 * 4) + threadIdx.x * (n / 2);
    for (int i = 0; i < n / 2; ++i) d[i / 8][i % 8] = c[i];
    ptx::wgmma_fence();
    if constexpr (in_registers) ptx::wgmma_m64k16<T, transposed_b>(d, a_registers, b_memory);
    else ptx::wgmma_m64k16<T, transposed_a, transposed_b>(d, a_memory, b_memory);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>();
    ptx::warpgroup_fence_operand(d);
    for (int i = 0; i < n / 2; ++i) out[threadIdx.x * (n / 2) + i] = d[i / 8][i % 8];
}

// ---- The checks ---------------------------------------------------------------------------------

struct Check {
    std::string name;
    int since;
    std::function<void(const void* in, void* out)> launch;
    Words in = {}, expected = {};
};
auto launched(void (*kernel)(const void*, void*)) {
    return [kernel](const void* in, void* out) { kernel<<<1, 32>>>(in, out); };
}

template <int matrices, bool trans>
Check check_ldmatrix() {
    Words in;
    for (unsigned i = 0; i < 32 * 8; i += 2) in.push_back(i | (i + 1) << 16);
    return {format("ldmatrix_x%d%s", matrices, trans ? "_trans" : ""), 75,
            launched(load<matrices, trans>), in, loaded(matrices, trans)};
}

template <int bytes>
Check check_cp_async() {
    Words in;
    for (unsigned i = 0; i < 32 * 4; ++i) in.push_back(0x12345678 + i * 0x01010101);
    return {format("cp_async<%d>", bytes), 80, launched(copy<bytes>), in, copied(in, bytes)};
}

Check check_arrive() {
    const auto launch = [](const void* in, void* out) { hand_over<<<1, 64>>>(in, out); };
    Check check{"named_barrier_arrive", 75, launch};
    for (unsigned i = 0; i < 64; ++i) {
        check.in.push_back(i);
        check.expected.push_back(i ^ 32 ^ 5);
    }
    return check;
}

Check check_elect() {
    Check check{"elect_sync", 90, launched(elect), {0}};
    for (int lane = 0; lane < 32; ++lane)
        for (int i = 0; i < kElections; ++i) check.expected.push_back(election_mask(i) >> lane & 1);
    return check;
}

// Puts elements into registers, as type T.
template <class T>
void append(Words& words, const std::vector<float>& elements) {
    const std::vector<T> values(elements.begin(), elements.end());
    const size_t before = words.size(), bytes = values.size() * sizeof(T);
    words.resize(before + bytes / sizeof(unsigned));
    std::memcpy(&words[before], values.data(), bytes);
}

// Accumulators of type D, and operands of type T.
template <class D, class T, const MmaShape& s>
Check check_mma() {
    std::mt19937 random;
    const auto matrix = [&](int rows, int cols) {  // integers whose sums are exact in any type
        std::vector<int> numbers(s.groups * rows * cols);
        for (int& x : numbers) x = int(random() % 17) - 8;
        return numbers;
    };
    const auto A = matrix(s.m, s.k), B = matrix(s.k, s.n), C = matrix(s.m, s.n);
    constexpr int a_count = s.m * s.k / s.lanes(), b_count = s.k * s.n / s.lanes();
    constexpr int d_count = s.m * s.n / s.lanes(), in_register = sizeof(Register<D>) / sizeof(D);
    Check check{
        format("mma_m%dn%dk%d, %s, sums %s", s.m, s.n, s.k, kName<T>, kName<D>), s.since,
        launched(
            multiply<Register<D>, d_count / in_register, Register<T>, a_count / 2, b_count / 2>)};
    for (int lane = 0; lane < 32; ++lane) {
        const int group = lane / 4 % s.groups;
        std::vector<float> a, b, c, d;
        for (int i = 0; i < a_count; ++i)
            a.push_back(A[(group * s.m + s.a(lane, i).row) * s.k + s.a(lane, i).col]);
        for (int i = 0; i < b_count; ++i)
            b.push_back(B[(group * s.k + s.b(lane, i).row) * s.n + s.b(lane, i).col]);
        for (int i = 0; i < d_count; ++i) {
            const auto [row, col] = s.d(lane, i);
            int sum = C[(group * s.m + row) * s.n + col];
            c.push_back(sum);
            for (int k = 0; k < s.k; ++k)
                sum += A[(group * s.m + row) * s.k + k] * B[(group * s.k + k) * s.n + col];
            d.push_back(sum);
        }
        append<T>(check.in, a);
        append<T>(check.in, b);
        append<D>(check.in, c);
        append<D>(check.expected, d);
    }
    return check;
}

// Boxes that are loaded from the matrix, or the matrix after boxes were stored to it, one by one.
template <class T>
Check check_boxes(bool stores, int rows, int columns, int swizzle) {
    const Boxes boxes(stores, rows, columns, sizeof(T), swizzle);
    const auto launch = [=, bytes = boxes.bytes()](const void* in, void* out) {
        DeviceArray<Boxes::Start> starts(boxes.starts.size());
        starts.upload(boxes.starts);
        const CUtensorMap map =
            tensor_map(static_cast<const T*>(stores ? out : in), Boxes::kMatrixRows,
                       Boxes::kMatrixColumns, rows, columns, swizzle, Boxes::kLeadingDimension);
        if (stores)
            store<<<1, 32, bytes>>>(map, starts.data(), bytes, static_cast<const unsigned*>(in));
        else
            fetch<<<1, 32, bytes>>>(map, starts.data(), bytes, rows * columns * int(sizeof(T)),
                                    static_cast<unsigned*>(out));
    };
    const Words in = stores ? boxes.some_boxes() : boxes.matrix;
    return {format("%s %d x %d %s, swizzle %d", stores ? "store" : "load", rows, columns, kName<T>,
                   swizzle),
            90, launch, in, stores ? boxes.stored(in) : boxes.loaded()};
}

Check check_cluster() {
    constexpr int rows = 64, columns = 64, bytes = rows * columns * 2;
    const Boxes boxes(false, rows, columns, sizeof(half), 128);
    const auto launch = [=](const void* in, void* out) {
        DeviceArray<Boxes::Start> starts(boxes.starts.size());
        starts.upload(boxes.starts);
        const CUtensorMap map =
            tensor_map(static_cast<const half*>(in), Boxes::kMatrixRows, Boxes::kMatrixColumns,
                       rows, columns, 128, Boxes::kLeadingDimension);
        share<bytes>
            <<<2, 32, 2 * bytes + 32 * 16 + 24>>>(map, starts.data(), static_cast<unsigned*>(out));
    };
    Words loaded = boxes.loaded(), expected;
    for (int rank = 0; rank < 2; ++rank) {
        for (const int words : {2 * bytes / 4, bytes / 4})
            expected.insert(expected.end(), loaded.begin(), loaded.begin() + words);
        for (int lane = 0; lane < 32; ++lane)
            append<float>(expected, {float(1 - rank), float(lane), 0.5f, -1});
    }
    return {"cluster, multicast, mapa, st.async", kSm90a, launch, boxes.matrix, expected};
}

template <class T, int n, bool transposed_a, bool transposed_b, bool in_registers = false>
Check check_wgmma(DescribedOperand a, DescribedOperand b) {
    a.transposed = transposed_a;
    b.transposed = transposed_b;
    const auto launch = [=](const void* in, void* out) {
        multiply_wide<T, n, transposed_a, transposed_b, in_registers>
            <<<1, 128>>>(a, b, static_cast<const unsigned*>(in), static_cast<float*>(out));
    };
    const auto major = [](bool transposed) { return transposed ? "MN-major" : "K-major"; };
    Check check{
        format("wgmma %d %s, A %s, B %s, swizzle %d", n, kName<T>,
               in_registers ? "in registers" : major(transposed_a), major(transposed_b), b.swizzle),
        kSm90a, launch};
    const Products products(n, a, b);
    append<T>(check.in, {products.shared.begin(), products.shared.end()});
    append<T>(check.in, products.a_fragments());
    append<float>(check.in, products.sums(false));
    append<float>(check.expected, products.sums(true));
    return check;
}

std::vector<Check> all_checks() {
    constexpr bool kLoad = false, kStore = true;
    return {check_ldmatrix<1, false>(), check_ldmatrix<2, false>(), check_ldmatrix<4, false>(),
            check_ldmatrix<1, true>(), check_ldmatrix<2, true>(), check_ldmatrix<4, true>(),
            check_mma<float, half, k16816>(), check_mma<half, half, k16816>(),
            check_mma<float, __nv_bfloat16, k16816>(), check_mma<float, half, k884_float>(),
            check_mma<half, half, k884_half>(), check_cp_async<4>(), check_cp_async<8>(),
            check_cp_async<16>(), check_arrive(), check_elect(),
            // Rows, columns, swizzle. Boxes of 16 x 24 and 40 x 8 are narrower than the swizzle.
            check_boxes<half>(kLoad, 64, 64, 128), check_boxes<half>(kLoad, 16, 32, 64),
            check_boxes<half>(kLoad, 24, 16, 32), check_boxes<half>(kLoad, 24, 64, 0),
            check_boxes<half>(kLoad, 16, 24, 128), check_boxes<half>(kLoad, 40, 8, 64),
            check_boxes<__nv_bfloat16>(kLoad, 8, 8, 32),
            check_boxes<__nv_bfloat16>(kLoad, 40, 64, 128), check_boxes<float>(kLoad, 32, 32, 128),
            check_boxes<float>(kLoad, 7, 12, 0), check_boxes<half>(kStore, 64, 64, 128),
            check_boxes<half>(kStore, 16, 32, 64), check_boxes<half>(kStore, 24, 16, 32),
            check_boxes<float>(kStore, 32, 32, 128), check_boxes<float>(kStore, 7, 12, 0),
            check_boxes<half>(kStore, 16, 24, 128), check_boxes<half>(kStore, 40, 8, 64),
            check_cluster(),
            // Columns, A MN-major, B MN-major; of A, then of B: start, swizzle, stride, leading.
            check_wgmma<half, 64, 0, 0>({0, 128, 1024, 0}, {8192, 128, 1024, 0}),
            check_wgmma<half, 256, 0, 1>({32, 128, 1024, 0}, {8192, 128, 1024, 2048}),
            check_wgmma<half, 128, 1, 1>({4096, 128, 1024, 0}, {8192, 128, 2048, 8192}),
            check_wgmma<half, 96, 0, 0>({512, 64, 512, 0}, {8192 + 32, 64, 1024, 0}),
            check_wgmma<half, 32, 0, 0>({256, 32, 768, 0}, {8192, 32, 256, 0}),
            check_wgmma<half, 160, 0, 0>({16, 0, 256, 128}, {8192, 0, 128, 4096}),
            check_wgmma<half, 64, 1, 1>({0, 0, 128, 1024}, {8192, 0, 256, 128}),
            check_wgmma<half, 192, 1, 1>({0, 64, 1024, 512}, {8192, 64, 512, 1024}),
            check_wgmma<half, 224, 1, 1>({0, 32, 256, 512}, {8192, 32, 4096, 256}),
            check_wgmma<half, 80, 1, 0>({0, 128, 1024, 0}, {8192, 128, 1024, 0}),
            check_wgmma<__nv_bfloat16, 256, 0, 1>({96, 128, 2048, 0}, {16384, 128, 1024, 4096}),
            check_wgmma<half, 64, 0, 0, true>({0, 128, 1024, 0}, {8192, 128, 1024, 0}),
            check_wgmma<half, 256, 0, 1, true>({32, 128, 1024, 0}, {8192, 128, 1024, 2048}),
            check_wgmma<__nv_bfloat16, 96, 0, 0, true>({512, 64, 512, 0}, {8192, 64, 512, 0})};
}

int main(int argc, char** argv) {
    Chip chip;
    const auto run = [&] {
        select_chip(chip);
        DeviceArray<int> sm_device(1);
        std::vector<int> sm;
        run_checked("the query of the compiled architecture", {},
                    [&] { compiled_for<<<1, 1>>>(sm_device.data()); });
        sm_device.download(sm);
        const int has = sm[0] == kSm90a && chip.sm == 90 ? kSm90a : std::min(sm[0], chip.sm);
        bool wrong = false;
        for (const Check& check : all_checks()) {
            std::printf("  %-52s", check.name.c_str());
            if (has < check.since) {
                std::printf("not run: needs sm_%s, and this is sm_%d\n",
                            check.since == kSm90a ? "90a" : std::to_string(check.since).c_str(),
                            has);
                continue;
            }
            DeviceArray<unsigned> in(check.in.size()), out(check.expected.size());
            in.upload(check.in);
            Words words(check.expected.size(), ~0u);
            out.upload(words);
            run_checked(check.name, {}, [&] { check.launch(in.data(), out.data()); });
            out.download(words);
            const auto [got, by_formula] =
                std::mismatch(words.begin(), words.end(), check.expected.begin());
            const int at = int(got - words.begin()), registers = int(words.size()) / 32;
            if (got == words.end()) std::printf("%5zu words match the formula\n", words.size());
            else
                std::printf("WRONG: register %d of lane %d is %08x, by the formula %08x\n",
                            at % registers, at / registers, *got, *by_formula);
            wrong |= got != words.end();
        }
        if (wrong) throw Failure(kWrongResult, "an instruction differs from its formula");
    };
    const Program program = {
        "ptx_check",
        "compares the PTX instructions of common/ptx/ptx.cuh with their formulas",
        chip_options(chip),
        "Example:\n  ptx_check",
        "probe",
        kBuild};
    return run_program(program, argc, argv, run);
}

// Requests, which the lanes of a warp make together, traced: their number, sectors, wavefronts, and
// source lines.
#include <cuda_fp16.h>
#include <sys/resource.h>

#include "device.h"

namespace {

class Requests : public Base {};

// ---- The rule for shared memory -----------------------------------------------------------------

int wavefronts(int width, int (*address)(int lane), bool store = false, uint32_t active = ~0u,
               int* ideal = nullptr) {
    uint64_t addresses[32];
    for (int lane = 0; lane < 32; ++lane) addresses[lane] = 0x1000 + address(lane);
    return emulator::shared_wavefronts(addresses, active, width, store, ideal);
}
#define AT(bytes) [](int l) { return l * 0 + (bytes); }  // of lane l

TEST_F(Requests, WavefrontsAreThoseOfTheHardware) {
    constexpr int kAny = -1;
    // Where `store` is given, ncu counted both on an NVIDIA H200 (driver 580.159, CUDA 13.0):
    // l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld and _st of one request.
    const struct {
        int width;
        int (*address)(int lane);
        int load, store = kAny, ideal = kAny;
        uint32_t active = ~0u;
    } patterns[] = {
        // clang-format off
        // One word a lane: neighbours, reversed, the same for all, pairs; strides of 2, 3, 32 and, padded, 33 words; two rows of one
        // bank; eight lanes only, and none; the transposing store of 04_unroll with its padding and without; halves and bytes.
        {4, AT(l * 4), 1, 1, 1}, {4, AT((31 - l) * 4), 1, kAny, 1}, {4, AT(20), 1, kAny, 1}, {4, AT(l / 2 * 4), 1, kAny, 1},
        {4, AT(l * 8), 2, 2, 1}, {4, AT(l * 12), 1, kAny, 1}, {4, AT(l * 128), 32, 32, 1}, {4, AT(l * 132), 1, 1, 1},
        {4, AT(l % 2 * 128), 2, kAny, 1}, {4, AT(l * 128), 8, kAny, 1, 0xff}, {4, AT(l * 128), 0, kAny, 0, 0},
        {4, AT(l % 16 * 32), 4, 4}, {4, AT(l % 2 * 2112 + l / 2 * 4), 1, 1}, {4, AT(l % 2 * 2048 + l / 2 * 4), 2, 2},
        {2, AT(l * 2), 1, kAny, 1}, {1, AT(l), 1, kAny, 1},
        // Two words per lane are served one half-warp after the other or, if pairs of lanes agree, both halves at once.
        {8, AT(l * 8), 2, 2, 2}, {8, AT(l * 16), 4, 4, 2}, {8, AT(l % 16 * 8), 2, 2, 2},
        {8, AT(0), 1, 2, 1}, {8, AT(l / 2 * 8), 1, 2, 1}, {8, AT((l / 4 * 2 + l % 2) * 8), 1, 2},
        // Four words per lane are served one quarter-warp after the other: no pairs agree; one quarter only; rows padded by 16 bytes.
        {16, AT(l * 16), 4, 4, 4}, {16, AT(l * 16), 1, kAny, 1, 0xff}, {16, AT(l * 32), 8, 8, 4}, {16, AT(l * 128), 32, 32, 4},
        {16, AT(l * 144), 4, kAny, 4}, {16, AT(l % 8 * 16), 4, 4, 4}, {16, AT(l % 16 * 16), 4, 4}, {16, AT(l % 16 * 32), 8, 8},
        {16, AT((l / 8 * 4 + l % 4) * 16), 4, 4}, {16, AT((l < 16 ? l / 2 : l / 4 * 2 + l % 2) * 16), 4, 4},
        {16, AT(l < 16 ? 0 : l * 16), 4, 4}, {16, AT(l / 2 * 128), 16, 16},
        // Lanes i and i^1 agree, or i and i^2: half by half. The last two are the tiles of A and B in 04_unroll.
        {16, AT(0), 2, 4, 2}, {16, AT(l / 2 * 16), 2, 4, 2}, {16, AT((l / 4 * 2 + l % 2) * 16), 2, 4, 2},
        {16, AT(l / 4 % 2 * 16), 2, kAny, 2}, {16, AT(l / 4 * 16), 2, 4}, {16, AT(l / 8 * 16), 2, 4}, {16, AT(l / 16 * 16), 2, 4},
        {16, AT(l / 2 % 4 * 16), 2, 4}, {16, AT((l / 8 * 2 + l % 2) * 16), 2, 4},
        // clang-format on
    };
    for (const auto& p : patterns) {
        SCOPED_TRACE(&p - patterns);
        int ideal;
        EXPECT_EQ(wavefronts(p.width, p.address, false, p.active, &ideal), p.load);
        EXPECT_TRUE(p.ideal == kAny || p.ideal == ideal);
        EXPECT_TRUE(p.store == kAny || p.store == wavefronts(p.width, p.address, true));
    }
}

// ---- Kernels with known traffic -----------------------------------------------------------------

constexpr int kTile = 16;
__global__ void tiled(int n, const float* A, const float* B, float* C) {
    __shared__ float As[kTile][kTile], Bs[kTile][kTile];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * kTile + ty, col = blockIdx.x * kTile + tx;
    float acc = 0;
    for (int k = 0; k < n; k += kTile) {
        As[ty][tx] = A[row * n + k + tx];
        Bs[ty][tx] = B[(k + ty) * n + col];
        __syncthreads();
        for (int i = 0; i < kTile; ++i) acc += As[ty][i] * Bs[i][tx];
        __syncthreads();
    }
    C[row * n + col] = acc;
}

TEST_F(Requests, OfATiledProduct) {
    constexpr uint64_t n = 64, n3 = n * n * n;
    Device<float> A(n * n, 1), B(n * n, 2), C(n * n);
    in_every_order([&] {
        tiled<<<dim3(n / kTile, n / kTile), dim3(kTile, kTile)>>>(n, A.data, B.data, C.data);
        EXPECT_EQ(C.host(), std::vector<float>(n * n, 2 * n));
        const uint64_t bytes = 2 * n3 / kTile * 4;
        EXPECT_EQ(global_loads(), (Traffic{bytes / 128, bytes / 32, 0, bytes}));
        EXPECT_EQ(global_stores(), (Traffic{n * n / 32, n * n / 8, 0, n * n * 4}));
        EXPECT_EQ(shared_stores(), (Traffic{bytes / 128, bytes / 128, bytes / 128, bytes}));
        EXPECT_EQ(shared_loads(), (Traffic{n3 / 16, n3 / 16, n3 / 16, n3 * 8}));
        EXPECT_EQ(emulator::counts().barriers, 2 * n / kTile * (n / kTile) * (n / kTile));
        expect_silence();
    });
}

template <class T>
__global__ void copy(const T* from, T* to, int stride) {
    to[threadIdx.x * stride] = from[threadIdx.x * stride];  // @copy
}

TEST_F(Requests, SectorsFollowTheStrideAndTheAlignment) {
    const auto expect = [](auto type, int stride, int threads, int shift, uint64_t requests,
                           uint64_t sectors) {
        using T = decltype(type);
        Device<T> from(threads * stride + shift), to(threads * stride + shift);
        emulator::reset_counts();
        copy<<<1, threads>>>(from.data + shift, to.data + shift, stride);
        const Traffic traffic{requests, sectors, 0, threads * sizeof(T)};
        EXPECT_TRUE(global_loads() == traffic && global_stores() == traffic)
            << sizeof(T) << " " << stride;
        const auto lines = emulator::lines();
        ASSERT_EQ(lines.size(), 2u);
        EXPECT_TRUE(lines[0].width == sizeof(T) && lines[0].global && lines[1].global &&
                    lines[0].store != lines[1].store)
            << sizeof(T) << " " << stride;
        EXPECT_EQ(named(lines[0].where + lines[1].where), "@copy@copy");
    };
    expect(float(), 1, 32, 0, 1, 4);
    expect(float(), 1, 32, 1, 1, 5);  // not aligned
    expect(float(), 2, 32, 0, 1, 8);
    expect(float(), 8, 32, 0, 1, 32);
    expect(float(), 100, 32, 0, 1, 32);
    expect(float(), 1, 40, 0, 2, 5);  // the second warp has 8 lanes
    expect(double(), 1, 32, 0, 1, 8);
    expect(char(), 1, 32, 0, 1, 1);
    expect(half(), 1, 32, 0, 1, 2);
    expect(int2(), 1, 32, 0, 1, 8);
    expect(float4(), 1, 32, 0, 1, 16);
}

__global__ void one_for_all(const float* in, float* out) { out[threadIdx.x] = in[7]; }
__global__ void strided(float* out, int stride) {
    __shared__ float s[32 * 33];
    const int i = threadIdx.x * stride;
    s[i] = i;  // @store
    __syncwarp();
    out[threadIdx.x] = s[i];  // @load
}

TEST_F(Requests, BankConflictsFollowTheStride) {
    for (const auto& [stride, wavefronts] :
         {std::pair(1, 1u), {2, 2u}, {4, 4u}, {33, 1u}, {32, 32u}}) {  // 33: padded
        emulator::reset_counts();
        strided<<<1, 32>>>(floats.data, stride);
        EXPECT_EQ(shared_loads(), (Traffic{1, wavefronts, 1, 128}));
        EXPECT_EQ(shared_stores(), (Traffic{1, wavefronts, 1, 128}));
    }
    const auto lines = emulator::lines();
    ASSERT_EQ(lines.size(), 3u);
    EXPECT_TRUE(named(lines[0].where) == "@store" && lines[0].store && !lines[0].global);
    EXPECT_EQ(named(lines[1].where), "@load");
    EXPECT_TRUE(lines[1].requests == 1 && lines[1].sectors_or_wavefronts == 32 &&
                lines[1].ideal == 1);
    emulator::reset_counts();
    one_for_all<<<1, 32>>>(floats.data, floats.data + 32);
    EXPECT_EQ(global_loads(), (Traffic{1, 1, 0, 128}));
}

// The ways in which kernels copy four floats or two halves at once: from const float*, through a
// variable, and by element.
__global__ void vectors(const float* from, float* to, float* spread) {
    __shared__ __align__(16) float s[128];
    const int t = threadIdx.x;
    *reinterpret_cast<float4*>(&s[t * 4]) = reinterpret_cast<const float4*>(from)[t];
    __syncwarp();  // or the compiler would not read back what it has just written
    const float4 v = *reinterpret_cast<const float4*>(&s[t * 4]);
    reinterpret_cast<float4*>(to)[t] = make_float4(v.w, v.z, v.y, v.x);
    spread[t] = v.x;
    spread[t + 32] = v.y;
}
__global__ void move_pairs(const half* in, half* out) {
    __shared__ __align__(16) half s[64];
    const int t = threadIdx.x;
    reinterpret_cast<half2*>(s)[t] = reinterpret_cast<const half2*>(in)[t];
    __syncwarp();
    reinterpret_cast<half2*>(out)[31 - t] = reinterpret_cast<half2*>(s)[t];
}

TEST_F(Requests, AVectorIsOneAccessInEveryForm) {
    Device<float> from(128, 1), to(128), spread(64);
    vectors<<<1, 32>>>(from.data, to.data, spread.data);
    EXPECT_EQ(global_loads(), (Traffic{1, 16, 0, 512}));
    EXPECT_EQ(shared_stores(), (Traffic{1, 4, 4, 512}));
    EXPECT_EQ(shared_loads(), (Traffic{1, 4, 4, 512}));
    EXPECT_EQ(global_stores(), (Traffic{1 + 2, 16 + 2 * 4, 0, 512 + 2 * 128}));
    expect_silence();
    Device<half> in(64, half(3)), out(64);
    move_pairs<<<1, 32>>>(in.data, out.data);
    for (half h : out.host()) ASSERT_EQ(float(h), 3);
    for (const Traffic& t : {global_loads(), global_stores()})
        EXPECT_EQ(t, (Traffic{1, 4, 0, 128}));
    for (const Traffic& t : {shared_loads(), shared_stores()})
        EXPECT_EQ(t, (Traffic{1, 1, 1, 128}));
    for (const auto& line : emulator::lines())
        EXPECT_EQ(line.where.find("tests/requests_test.cu:"), 0u) << line.where;
    expect_silence();
}

// Each lane adds up `turns` of 32 numbers, odd lanes `less` fewer. A traced thread yields from time
// to time.
__global__ void long_loop(const int* in, int* out, int turns, int less) {
    int sum = 0;
    for (int i = 0; i < turns - int(threadIdx.x % 2) * less; ++i) sum += in[(i + threadIdx.x) % 32];
    out[threadIdx.x] = sum;
}

TEST_F(Requests, LongLoopsAreCountedInFullAndTakeLittleMemory) {
    Device<int> in(32, 1), out(96);
    in_every_order([&] {
        long_loop<<<1, 96>>>(in.data, out.data, 3000, 1100);
        EXPECT_EQ(global_loads(), (Traffic{3u * 3000, 3u * 3000 * 4, 0, 3u * 16 * 4900 * 4}));
        for (int t = 0; t < 96; ++t) ASSERT_EQ(out.host()[t], t % 2 ? 1900 : 3000);
        expect_silence();
    });
    const auto peak_kib = [] {
        rusage usage{};
        getrusage(RUSAGE_SELF, &usage);
        return usage.ru_maxrss;
    };
    const long before = peak_kib();
    long_loop<<<1, 32>>>(in.data, out.data, 200000, 0);
    EXPECT_EQ(global_loads()[0], 200000u);
    EXPECT_LT(peak_kib() - before, 20000);
}

}  // namespace

// 00_machine_limits/roofline: measures what bounds the stages: device and shared memory, FP32, FP16 and tensor arithmetic. Then
// a kernel of adjustable arithmetic intensity shows that the roof made of two of them holds, on both sides of its ridge and at it.
//
// Alone:    nvcc -O3 -std=c++17 -arch=native -I. 00_machine_limits/roofline.cu -o 00_machine_limits/roofline -lcublas
// Articles: the slides, 24 (such a sweep, on four CPUs) and 38 (bandwidth of the Fury X: 512 GB/s nominal, 392 measured, read:write
//           2:1). The model: Williams, Waterman, Patterson, "Roofline", Communications of the ACM 52 (4), 2009
#include <cuda_fp16.h>
#include <mma.h>

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "00_machine_limits/sweep.h"
#include "common/device.h"
#include "common/options.h"
#ifdef CUDA_EMULATOR
#include "emulator/emulator.h"
#else
#include "common/timing.h"
#endif

using namespace nvcuda;

constexpr int kThreads = 256;  // per block, in every kernel here
constexpr int kSweepQuads = 2;  // float4s per thread and piece of the sweep: 8 independent chains
constexpr int kPieces = 4;  // of a block of the sweep
constexpr int kChains =
    8;  // per thread, independent: more than the 4 cycles that an FMA takes (latency.cu)
constexpr int kUnroll = 64;  // steps in a row: 8 chains of them are 8 KiB of code
constexpr int kEdge = 16, kMatrix = kEdge * kEdge,
              kMma = 2;  // a warp multiplies 2 matrices of A by 2 of B: 4 accumulators
constexpr int kMmaUnroll = 16;
constexpr int kSharedQuads = 2048;  // uint4s in shared memory, 32 KiB
constexpr int kLoads = 16, kLoadStride = 80, kBases = 512,
              kBaseStep = 37;  // of a turn of read_shared; in uint4s
constexpr int kFmaBlocks = 4, kMmaBlocks = 2, kSharedBlocks = 4;  // per multiprocessor
constexpr int kFloats =
    4 * kPieces * kSweepQuads * kThreads;  // that a block of the sweep takes: arrays are multiples

static_assert(4 * kSweepQuads == kChains,
              "the sweep has as many chains as the kernel that measures the peak");
static_assert(kUnroll % 2 == 0, "half2_chains adds its two addends equally often");
static_assert(kBases - 1 + kThreads - 1 + (kLoads - 1) * kLoadStride < kSharedQuads,
              "read_shared stays in its array");
static_assert(kSharedQuads % kThreads == 0, "each thread brings as many");
static_assert((kBases & (kBases - 1)) == 0 && kBaseStep % 2 == 1,
              "the bases wrap by a mask, and all occur");

// One float4 a thread. On an H200 four of them, or blocks that stay, are slower: see README.md.
__global__ void __launch_bounds__(kThreads) copy(const float4* a, float4* c) {
    const size_t i = size_t(blockIdx.x) * kThreads + threadIdx.x;
    c[i] = a[i];
}

__global__ void __launch_bounds__(kThreads) add(const float4* a, const float4* b, float4* c) {
    const size_t i = size_t(blockIdx.x) * kThreads + threadIdx.x;
    const float4 x = a[i], y = b[i];
    c[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}

// kCount dependent FMAs in each of a thread's chains. The factor is an immediate, the addend a register that all share: only one
// more register is read, and no two of a bank get in each other's way.
template <int kCount>
__device__ __forceinline__ void steps(float (&x)[kChains], float addend) {
#pragma unroll kUnroll
    for (int s = 0; s < kCount; ++s)
#pragma unroll
        for (int i = 0; i < kChains; ++i) x[i] = fmaf(x[i], kFactor, addend);
}

// A block takes kPieces neighbouring pieces, one after the other. A thread loads its elements of the next one once the first step
// has read these: so memory works while the FMAs do, and no register has to be copied.
template <int kCount>
__global__ void __launch_bounds__(kThreads) sweep(float addend, const float4* a, float4* c) {
    size_t at = size_t(blockIdx.x) * kPieces * kSweepQuads * kThreads + threadIdx.x;
    alignas(16) float x[kChains], loaded[kChains];
    const auto load = [&] {
#pragma unroll
        for (int q = 0; q < kSweepQuads; ++q)
            reinterpret_cast<float4*>(loaded)[q] = a[at + q * kThreads];
    };
    load();
#pragma unroll 1
    for (int piece = 0; piece < kPieces; ++piece) {
        float4* to = c + at;
#pragma unroll
        for (int i = 0; i < kChains; ++i) x[i] = fmaf(loaded[i], kFactor, addend);
        at += kSweepQuads * kThreads;
        if (piece + 1 < kPieces) load();
        __syncwarp();  // keeps the loads here: the compiler would put them behind the FMAs
        steps<kCount - 1>(x, addend);
#pragma unroll
        for (int q = 0; q < kSweepQuads; ++q) to[q * kThreads] = reinterpret_cast<float4*>(x)[q];
    }
}

__global__ void __launch_bounds__(kThreads)
    fma_chains(int turns, float addend, const float* a, float* c) {
    const size_t first = size_t(blockIdx.x) * kChains * kThreads + threadIdx.x;
    float x[kChains];
#pragma unroll
    for (int i = 0; i < kChains; ++i) x[i] = a[first + i * kThreads];
#pragma unroll 1
    for (int turn = 0; turn < turns; ++turn) steps<kUnroll>(x, addend);
#pragma unroll
    for (int i = 0; i < kChains; ++i) c[first + i * kThreads] = x[i];
}

// Two addends in turns: with a factor of -1, two steps add their difference.
__global__ void __launch_bounds__(kThreads)
    half2_chains(int turns, half2 factor, half2 even, half2 odd, const half2* a, half2* c) {
    const size_t first = size_t(blockIdx.x) * kChains * kThreads + threadIdx.x;
    half2 x[kChains];
#pragma unroll
    for (int i = 0; i < kChains; ++i) x[i] = a[first + i * kThreads];
#pragma unroll 1
    for (int turn = 0; turn < turns; ++turn)
#pragma unroll
        for (int s = 0; s < kUnroll; ++s)
#pragma unroll
            for (int i = 0; i < kChains; ++i) x[i] = __hfma2(x[i], factor, s % 2 ? odd : even);
#pragma unroll
    for (int i = 0; i < kChains; ++i) c[first + i * kThreads] = x[i];
}

// Each warp adds the products of its own matrices to its accumulators, again and again.
__global__ void __launch_bounds__(kThreads)
    mma_chains(int turns, const half* A, const half* B, float* C) {
    const size_t warp = (size_t(blockIdx.x) * kThreads + threadIdx.x) / 32;
    wmma::fragment<wmma::matrix_a, kEdge, kEdge, kEdge, half, wmma::row_major> a[kMma];
    wmma::fragment<wmma::matrix_b, kEdge, kEdge, kEdge, half, wmma::row_major> b[kMma];
    wmma::fragment<wmma::accumulator, kEdge, kEdge, kEdge, float> acc[kMma][kMma];
#pragma unroll
    for (int i = 0; i < kMma; ++i) {
        wmma::load_matrix_sync(a[i], A + (warp * kMma + i) * kMatrix, kEdge);
        wmma::load_matrix_sync(b[i], B + (warp * kMma + i) * kMatrix, kEdge);
#pragma unroll
        for (int j = 0; j < kMma; ++j) wmma::fill_fragment(acc[i][j], 0.0f);
    }
#pragma unroll 1
    for (int turn = 0; turn < turns; ++turn)
#pragma unroll
        for (int s = 0; s < kMmaUnroll; ++s)
#pragma unroll
            for (int ij = 0; ij < kMma * kMma; ++ij)
                wmma::mma_sync(acc[ij / kMma][ij % kMma], a[ij / kMma], b[ij % kMma],
                               acc[ij / kMma][ij % kMma]);
#pragma unroll
    for (int ij = 0; ij < kMma * kMma; ++ij)
        wmma::store_matrix_sync(C + (warp * kMma * kMma + ij) * kMatrix, acc[ij / kMma][ij % kMma],
                                kEdge, wmma::mem_row_major);
}

// Each thread adds up what it reads, 16 bytes at a time. The eight lanes that are served together read 128 neighbouring bytes,
// which are in 32 different banks wherever they start. The start changes at every turn: else one load would do for all turns.
__global__ void __launch_bounds__(kThreads) read_shared(int turns, const uint4* a, unsigned* c) {
    __shared__ uint4 shared[kSharedQuads];
#pragma unroll
    for (int i = 0; i < kSharedQuads; i += kThreads) shared[i + threadIdx.x] = a[i + threadIdx.x];
    __syncthreads();
    unsigned sum = 0;
    int base = 0;
#pragma unroll 1
    for (int turn = 0; turn < turns; ++turn) {
#pragma unroll
        for (int i = 0; i < kLoads; ++i) {
            const uint4 v = shared[base + threadIdx.x + i * kLoadStride];
            sum += v.x + v.y + v.z + v.w;
        }
        base = (base + kBaseStep) & (kBases - 1);
    }
    c[blockIdx.x * kThreads + threadIdx.x] = sum;
}

// A launch, and what its threads do: bytes that they load from and store to device memory, and load from shared memory; flop.
struct Work {
    std::string what;
    double loaded, stored, shared, flop;
    std::function<void()> launch;
};

// Launches it and waits for it. On the CPU nothing may race, and in the traced build the bytes must be those stated.
void run(const Work& work) {
#ifdef CUDA_EMULATOR
    emulator::reset_counts();
#endif
    work.launch();
    check_cuda(cudaGetLastError(), "launching " + work.what);
    check_cuda(cudaDeviceSynchronize(), "running " + work.what);
#ifdef CUDA_EMULATOR
    const emulator::Counts& c = emulator::counts();
    if (!c.problems.empty()) throw Failure(kWrongResult, work.what + ": " + c.problems[0]);
    if (!emulator::tracing()) return;
    for (const auto& [name, counted, stated] :
         {std::tuple("loaded from device memory", c.global_load_bytes, work.loaded),
          {"stored to device memory", c.global_store_bytes, work.stored},
          {"loaded from shared memory", c.shared_load_bytes, work.shared}})
        if (double(counted) != stated)
            throw Failure(kWrongResult, work.what + format(": %.0f bytes %s, stated are %.0f",
                                                           double(counted), name, stated));
    if (c.shared_load_wavefronts != c.shared_load_ideal)
        throw Failure(kWrongResult, work.what + ": loads from shared memory have bank conflicts");
#endif
}

// The device arrays a, b and c, of the same length, and the kernels that go through them. a and b hold random data that repeats
// itself: floats, or halves for half2_chains and mma_chains.
class Bench {
public:
    // floats: the length of each array. sms: how many multiprocessors to fill.
    Bench(size_t floats, int sms)
        : floats_(floats), sms_(sms), floats_a_(random_period(1)), floats_b_(random_period(2)),
          halves_a_(2 * kPeriod), halves_b_(2 * kPeriod), a_(floats), b_(floats), c_(floats) {
        std::mt19937 random(3);
        for (std::vector<half>* halves : {&halves_a_, &halves_b_})
            for (half& each : *halves)
                each = half(float(random() % 128) - 64);  // verify()'s sums of these are exact
    }

    void put_floats() {
        put(a_, floats_a_);
        put(b_, floats_b_);
    }
    void put_halves() {
        put(a_, halves_a_);
        put(b_, halves_b_);
    }

    Work copy_work() {
        const auto launch = [=] {
            copy<<<floats_ / 4 / kThreads, kThreads>>>(as<float4>(a_), as<float4>(c_));
        };
        return {"copy", bytes(), bytes(), 0, 0, launch};
    }
    Work add_work() {
        const auto launch = [=] {
            add<<<floats_ / 4 / kThreads, kThreads>>>(as<float4>(a_), as<float4>(b_),
                                                      as<float4>(c_));
        };
        return {"read_2_write_1", 2 * bytes(), bytes(), 0, double(floats_), launch};
    }
    Work shared_work(int turns) {
        const double blocks = kSharedBlocks * sms_, threads = blocks * kThreads;
        const auto launch = [=] {
            read_shared<<<kSharedBlocks * sms_, kThreads>>>(turns, as<uint4>(a_), as<unsigned>(c_));
        };
        return {"shared_memory",
                blocks * kSharedQuads * sizeof(uint4),
                threads * sizeof(unsigned),
                threads * kLoads * turns * sizeof(uint4),
                0,
                launch};
    }
    Work fma_work(int turns) {
        const double bytes = chains() * sizeof(float);
        const auto launch = [=] {
            fma_chains<<<kFmaBlocks * sms_, kThreads>>>(turns, kAddend, a_.data(), c_.data());
        };
        return {"fp32_fma", bytes, bytes, 0, 2.0 * chains() * kUnroll * turns, launch};
    }
    Work half2_work(int turns, half2 even, half2 odd) {
        const double bytes = chains() * sizeof(half2);
        const half2 factor = __floats2half2_rn(-1, -1);
        const auto launch = [=] {
            half2_chains<<<kFmaBlocks * sms_, kThreads>>>(turns, factor, even, odd, as<half2>(a_),
                                                          as<half2>(c_));
        };
        return {"fp16_pairs", bytes, bytes, 0, 4.0 * chains() * kUnroll * turns, launch};
    }
    Work mma_work(int turns) {
        const double loaded = 2.0 * mma_warps() * kMma * kMatrix * sizeof(half),
                     stored = 1.0 * mma_results() * sizeof(float);
        const auto launch = [=] {
            mma_chains<<<kMmaBlocks * sms_, kThreads>>>(turns, as<half>(a_), as<half>(b_),
                                                        c_.data());
        };
        return {"tensor_mma_sync",
                loaded,
                stored,
                0,
                2.0 * mma_results() * kEdge * kMmaUnroll * turns,
                launch};
    }
    // In the order of kSteps.
    std::vector<Work> sweep_works() {
        return sweep_works(std::make_index_sequence<std::size(kSteps)>());
    }

    // Throws Failure(kWrongResult) where a kernel's result is not what the host computes, bit by bit.
    void verify() {
        put_floats();
        verify(copy_work(), floats_, floats_a_);
        std::vector<float> sum = floats_a_;
        for (size_t i = 0; i < sum.size(); ++i) sum[i] += floats_b_[i];
        verify(add_work(), floats_, sum);
        std::vector<float> x = floats_a_;
        const std::vector<Work> works = sweep_works();
        for (size_t i = 0; i < works.size(); ++i) {
            advance<true>(x, kSteps[i] - (i ? kSteps[i - 1] : 0));
            verify(works[i], floats_, x);
        }
        for (const int turns : {1, 2, 5}) {
            x = floats_a_;
            advance<true>(x, turns * kUnroll);
            verify(fma_work(turns), chains(), x);
            verify(shared_work(turns), shared_threads(), shared_sums(turns));
        }
        put_halves();
        for (const int turns : {1, 2, 5}) {
            // x becomes even - x, and that odd - even + x: 2 more in the lower half of each pair, 3 less in the upper.
            std::vector<half> y = halves_a_;
            for (size_t i = 0; i < y.size(); ++i)
                y[i] = half(float(y[i]) + float(i % 2 ? -3 : 2) * kUnroll / 2 * turns);
            verify(half2_work(turns, __floats2half2_rn(0, 1), __floats2half2_rn(2, -2)),
                   2 * chains(), y);
            verify(mma_work(turns), mma_results(), mma_sums(turns));
        }
    }

private:
    template <class T>
    static T* as(DeviceArray<float>& array) {
        return reinterpret_cast<T*>(array.data());
    }

    double bytes() const { return double(floats_) * sizeof(float); }
    size_t chains() const { return size_t(kFmaBlocks) * sms_ * kThreads * kChains; }
    size_t shared_threads() const { return size_t(kSharedBlocks) * sms_ * kThreads; }
    size_t mma_warps() const { return size_t(kMmaBlocks) * sms_ * kThreads / 32; }
    size_t mma_results() const { return mma_warps() * kMma * kMma * kMatrix; }

    template <size_t... i>
    std::vector<Work> sweep_works(std::index_sequence<i...>) {
        return {sweep_work<kSteps[i]>()...};
    }
    template <int kCount>
    Work sweep_work() {
        const auto launch = [=] {
            sweep<kCount><<<floats_ / kFloats, kThreads>>>(kAddend, as<float4>(a_), as<float4>(c_));
        };
        return {
            format("sweep, %d steps", kCount), bytes(), bytes(), 0, 2.0 * kCount * floats_, launch};
    }

    // Fills the array with `period`.
    template <class T>
    void put(DeviceArray<float>& array, const std::vector<T>& period) {
        char* to = as<char>(array);
        const size_t all = floats_ * sizeof(float);
        size_t done = std::min(all, period.size() * sizeof(T));
        check_cuda(cudaMemcpy(to, period.data(), done, cudaMemcpyHostToDevice),
                   "cudaMemcpy to the device");
        for (size_t more; done < all; done += more) {
            more = std::min(done, all - done);
            check_cuda(cudaMemcpy(to + done, to, more, cudaMemcpyDeviceToDevice),
                       "cudaMemcpy on the device");
        }
    }

    // Runs `work`: c must start with `count` elements that are `period` over and over. What is not written stays NaN.
    template <class T>
    void verify(const Work& work, size_t count, const std::vector<T>& period) {
        progress(work.what + ": verifying");
        check_cuda(cudaMemset(c_.data(), 0xff, floats_ * sizeof(float)), "cudaMemset");
        run(work);
        std::vector<T> part(std::min<size_t>(count, 1 << 24));
        for (size_t first = 0; first < count; first += part.size()) {
            const size_t length = std::min(part.size(), count - first);
            check_cuda(cudaMemcpy(part.data(), as<T>(c_) + first, length * sizeof(T),
                                  cudaMemcpyDeviceToHost),
                       "cudaMemcpy from the device");
            check_periodic(work.what, part.data(), first, length, period);
        }
    }

    // What the threads of a block add up.
    std::vector<unsigned> shared_sums(int turns) const {
        std::vector<unsigned> words(4 * kSharedQuads), sums(kThreads);
        std::memcpy(words.data(), floats_a_.data(), words.size() * sizeof(unsigned));
        for (int t = 0; t < kThreads; ++t)
            for (int turn = 0; turn < turns; ++turn)
                for (int i = 0; i < kLoads; ++i)
                    for (int word = 0; word < 4; ++word)
                        sums[t] +=
                            words[4 * (turn * kBaseStep % kBases + t + i * kLoadStride) + word];
        return sums;
    }
    // The accumulators of all warps.
    std::vector<float> mma_sums(int turns) const {
        const std::vector<float> A(halves_a_.begin(), halves_a_.end()),
            B(halves_b_.begin(), halves_b_.end());
        std::vector<float> sums(mma_results());
        for (size_t to = 0; to < sums.size(); ++to) {
            const size_t accumulator = to / kMatrix, warp = accumulator / (kMma * kMma);
            const size_t row =
                (warp * kMma + accumulator / kMma % kMma) * kMatrix + to % kMatrix / kEdge * kEdge;
            const size_t col = (warp * kMma + accumulator % kMma) * kMatrix + to % kEdge;
            for (int k = 0; k < kEdge; ++k)
                sums[to] += A[(row + k) % A.size()] * B[(col + k * kEdge) % B.size()];
            sums[to] *= float(kMmaUnroll * turns);
        }
        return sums;
    }

    size_t floats_;
    int sms_;
    std::vector<float> floats_a_, floats_b_;
    std::vector<half> halves_a_, halves_b_;
    DeviceArray<float> a_, b_, c_;
};

#ifdef CUDA_EMULATOR
void measure(int, int, bool, Report&) {
    // Two blocks of the sweep, and at least as much as mma_chains writes.
    constexpr int kResults = kMmaBlocks * kThreads / 32 * kMma * kMma * kMatrix;
    Bench bench((std::max(kResults, 2 * kFloats) + kFloats - 1) / kFloats * kFloats, 1);
    using emulator::Order;
    for (const auto& [name, order] : {std::pair("forward", Order::forward),
                                      {"reverse", Order::reverse},
                                      {"random", Order::random}}) {
        emulator::set_order(order, 1);
        try {
            bench.verify();
        } catch (const Failure& failure) {
            throw Failure(failure.code,
                          std::string("threads in ") + name + " order: " + failure.what());
        }
    }
    std::printf(
        "Copy, sum, sweep, chains of FP32, FP16 and tensor arithmetic, loads from shared memory: right in three orders of\n"
        "threads%s.\nNothing was timed: the GPU build times.\n",
        emulator::tracing() ? ", and load and store the bytes stated" : "");
}
#else
constexpr size_t kMaxBytes = size_t(1) << 30;  // of each array
constexpr int kTurns =
    5000;  // of a timed launch: some milliseconds, so that its start and end don't count

// Times launches and reports them, a row each. limit: in the unit of what is measured, 0 if unknown.
class Timing {
public:
    Timing(int device, int repeat, const Gpu& gpu, Report& report)
        : timer_(device), repeat_(repeat), gpu_(gpu), nvml_(bus_id(device)), report_(report) {}

    // Returns GB/s: of shared memory where the work is there.
    double bandwidth(const Work& work, double limit) {
        const Times times = time(work);
        const double gbs =
            (work.shared > 0 ? work.shared : work.loaded + work.stored) / times.median * 1e-6;
        add(work.what, "-", format("%.1f", gbs), "-", gbs, limit, times);
        return gbs;
    }
    // Returns GFLOP/s.
    double arithmetic(const Work& work, double limit) {
        const Times times = time(work);
        const double gflops = work.flop / times.median * 1e-6;
        add(work.what, "-", "-", format("%.1f", gflops), gflops, limit, times);
        return gflops;
    }
    // A point of the sweep. roof: GFLOP/s; returns how much of it was reached.
    double point(const Work& work, int steps, double roof) {
        const Times times = time(work);
        const double gflops = work.flop / times.median * 1e-6,
                     gbs = (work.loaded + work.stored) / times.median * 1e-6;
        add("sweep", format("%g", flop_per_byte(steps)), format("%.1f", gbs),
            format("%.1f", gflops), gflops, roof, times);
        return gflops / roof;
    }

private:
    Times time(const Work& work) {
        progress(work.what + ": timing");
        const Times times = timer_.run({work.launch}, repeat_, [&] {
            sm_mhz_ = nvml_.sm_clock();
            memory_mhz_ = nvml_.memory_clock();
        })[0];
        check_cuda(cudaGetLastError(), "launching " + work.what);
        progress("");
        return times;
    }
    void add(const std::string& what, const std::string& intensity, const std::string& gbs,
             const std::string& gflops, double value, double limit, const Times& times) {
        Row row = {{"what", "what", what},
                   {"flop/byte", "flop_per_byte", intensity},
                   {"   GB/s", "gbs", gbs},
                   {" GFLOP/s", "gflops", gflops},
                   {"   limit", "limit", limit > 0 ? format("%.1f", limit) : "-"},
                   {"% of limit", "percent_of_limit",
                    limit > 0 ? format("%.1f", 100 * value / limit) : "-"},
                   {"median ms", "median_ms", format("%.4f", times.median)},
                   {"min ms", "min_ms", format("%.4f", times.least)},
                   {"max ms", "max_ms", format("%.4f", times.most)},
                   {"", "repeats", std::to_string(repeat_)},
                   {"SM MHz", "sm_mhz", std::to_string(sm_mhz_)},
                   {"", "memory_mhz", std::to_string(memory_mhz_)}};
        for (const Cell& cell : where_measured(gpu_, nvml_)) row.push_back(cell);
        report_.add(row);
    }

    Timer timer_;
    int repeat_;
    Gpu gpu_;
    Nvml nvml_;
    Report& report_;
    unsigned sm_mhz_ = 0, memory_mhz_ = 0;
};

void measure(int wanted_device, int repeat, bool verify_only, Report& report) {
    const int device = select_device(wanted_device);
    size_t free = 0, total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    const size_t bytes = std::min(kMaxBytes, free / 4),
                 l2 = size_t(attribute(cudaDevAttrL2CacheSize, device));
    if (bytes < 4 * l2)
        throw Failure(
            kDeviceFailed,
            format(
                "%zu MiB of device memory are free, too few for three arrays that are each four times "
                "as large as the L2 cache, %zu MiB",
                free >> 20, l2 >> 20));
    Bench bench(bytes / sizeof(float) / kFloats * kFloats,
                attribute(cudaDevAttrMultiProcessorCount, device));
    bench.verify();
    progress("");
    const Gpu gpu = gpu_at_hand(device);
    std::printf("%s: each element of each kernel's result is right. Arrays of %zu MiB.\n",
                gpu.full_name.c_str(), bytes >> 20);
    if (verify_only) return;

    std::printf(
        "limit: GB/s or GFLOP/s by the vendor's figures; of the sweep, min(fp32_fma, copy x flop/byte) as measured here\n");
    Timing timing(device, repeat, gpu, report);
    bench.put_floats();
    const double copied = timing.bandwidth(bench.copy_work(), gpu.peak.bandwidth_gbs);
    timing.bandwidth(bench.add_work(), gpu.peak.bandwidth_gbs);
    timing.bandwidth(bench.shared_work(kTurns), gpu.peak.shared_gbs);
    const double fma = timing.arithmetic(bench.fma_work(kTurns), gpu.peak.fp32_gflops);
    bench.put_halves();
    const half2 one = __floats2half2_rn(1, 1);  // 1 - x and x in turns
    timing.arithmetic(bench.half2_work(kTurns, one, one), gpu.peak.half2_gflops);
    timing.arithmetic(bench.mma_work(kTurns), gpu.peak.tensor_gflops);
    bench.put_floats();
    const std::vector<Work> works = bench.sweep_works();
    std::vector<double> shares;
    for (size_t i = 0; i < works.size(); ++i)
        shares.push_back(timing.point(works[i], kSteps[i], roof(fma, copied, kSteps[i])));
    print_shares(shares, fma, copied);
    report.save();
}
#endif

int main(int argc, char** argv) {
    using Text = const std::string&;
    int repeat = 10, device = 0;
    bool verify_only = false;
    std::string csv;
    const auto gpu_only = [](const char* option) {
#ifdef CUDA_EMULATOR
        throw Failure(
            kBadCommandLine,
            std::string(option) + ": only the GPU build takes it; the CPU build times nothing");
#else
        (void)option;
#endif
    };
    const std::vector<Option> options = {
        {"csv", "FILE", "GPU build: also write the rows to FILE",
         [&](Text value) {
             gpu_only("--csv");
             csv = parse_csv(value);
         }},
        {"repeat", "R", "GPU build: timed launches of each kernel (default 10)",
         [&](Text value) {
             gpu_only("--repeat");
             repeat = int(parse_number("--repeat", value, 1, 1000));
         }},
        {"device", "D", "GPU build: use CUDA device D (default 0)",
         [&](Text value) {
             gpu_only("--device");
             device = int(parse_number("--device", value, 0, 1023));
         }},
        {"verify-only", "", "check the kernels' results and stop",
         [&](Text) { verify_only = true; }},
    };
    const std::string about =
        "measures the bandwidths and arithmetic peaks of a GPU, and a sweep under the roof that they make";
    return run_program(
        "roofline", about, options, "Example:\n  roofline --csv limits.csv", argc, argv, [&] {
            if (verify_only && !csv.empty())
                throw Failure(kBadCommandLine, "--csv: there are no times with --verify-only");
            Report report(csv);
            measure(device, repeat, verify_only, report);
        });
}

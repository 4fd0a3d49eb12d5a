// The data of roofline.cu: three device arrays, their contents, and the results that kernels must
// give.
#pragma once

#include <algorithm>
#include <random>

#include "00_machine_limits/roofline.cuh"
#include "00_machine_limits/wgmma.cuh"
#include "common/checked_launch.h"
#include "common/clock.h"
#include "common/device.h"
#include "common/errors.h"
#include "common/facts.h"
#include "common/roofline.h"

// A launch, and what its threads do. It measures `limit`: GB/s of what moves, or GFLOP/s.
struct Workload {
    std::string what;
    Limit limit;
    Traffic moved;
    double flop;
    std::function<void()> launch;
    // Of a kernel that reads its own clock: its blocks, and the instructions that each of an SM's
    // four schedulers issues (for wgmma those of the SM).
    int blocks = 0;
    double instructions = 0;

    bool of_memory() const {
        return limit == &Limits::bandwidth_gbs || limit == &Limits::l2_gbs ||
               limit == &Limits::shared_gbs;
    }
    double bytes() const { return moved.shared > 0 ? moved.shared : moved.loaded + moved.stored; }
};

// a, b and c have the same length. a and b hold random data that repeats itself: floats, or halves
// for half2_chains and the tensor cores.
class Arrays {
public:
    Arrays(size_t floats, int most_blocks)
        : floats(floats), a(floats), b(floats), c(floats), elapsed(most_blocks) {
        std::mt19937 random(3);
        for (std::vector<half>* halves : {&halves_a, &halves_b})
            for (half& each : *halves) each = half(float(random() % 128) - 64);
    }
    double bytes() const { return double(floats) * sizeof(float); }

    void put_floats() {
        put(a, floats_a);
        put(b, floats_b);
    }
    void put_halves() {
        put(a, halves_a);
        put(b, halves_b);
    }

    // Reals in [-1, 1), for timing tensor cores. Integers as small as those above have many zero
    // bits and would draw less power.
    void put_real_halves() {
        std::mt19937 random(4);
        std::vector<half> reals(halves_a.size());
        for (DeviceArray<float>* array : {&a, &b}) {
            for (half& each : reals) each = half(float(random() >> 8) * 0x1p-23f - 1);
            put(*array, reals);
        }
    }

    // Of the last launch of a kernel that reads its own clock: the mean clock of its blocks, which
    // differ by up to 1%, and the cycles of one that was slower than 95% of them. Schedulers may
    // prefer the warps of one block.
    struct BlockClock {
        double mhz, cycles;
    };
    BlockClock block_clock(int blocks) {
        std::vector<Elapsed> all(blocks);
        elapsed.read(0, blocks, all.data());
        Elapsed sum = {0, 0};
        for (const Elapsed& each : all) {
            sum.cycles += each.cycles;
            sum.nanoseconds += each.nanoseconds;
        }
        const auto less = [](const Elapsed& x, const Elapsed& y) { return x.cycles < y.cycles; };
        const auto slow = all.begin() + blocks * 95 / 100;
        std::nth_element(all.begin(), slow, all.end(), less);
        return {mhz_of(sum), double(slow->cycles)};
    }

    // Runs `workload`: c must then start with `count` elements that are `period` over and over, bit
    // by bit. What is not written stays NaN. Throws Failure.
    template <class T>
    void verify(const Workload& workload, size_t count, const std::vector<T>& period) {
        progress(workload.what + ": verifying");
        check_cuda(cudaMemset(c.data(), 0xff, floats * sizeof(float)), "cudaMemset");
        run_checked(workload.what, workload.moved, workload.launch);
        std::vector<T> part(std::min<size_t>(count, 1 << 24));
        for (size_t first = 0; first < count; first += part.size()) {
            const size_t length = std::min(part.size(), count - first);
            const T* from = reinterpret_cast<const T*>(c.data()) + first;
            check_cuda(cudaMemcpy(part.data(), from, length * sizeof(T), cudaMemcpyDeviceToHost),
                       "cudaMemcpy from the device");
            check_periodic(workload.what, part.data(), first, length, period);
        }
    }

    // What the threads of a block of read_shared add up.
    std::vector<unsigned> shared_sums(int iterations) const {
        std::vector<unsigned> words(4 * kSharedVectors), sums(kThreads);
        std::memcpy(words.data(), floats_a.data(), words.size() * sizeof(unsigned));
        for (int t = 0; t < kThreads; ++t)
            for (int iteration = 0; iteration < iterations; ++iteration)
                for (int i = 0; i < kLoads; ++i)
                    for (int word = 0; word < 4; ++word) {
                        const int quad = iteration * kBaseStep % kBases + t + i * kLoadStride;
                        sums[t] += words[4 * quad + word];
                    }
        return sums;
    }
    // What the threads of `blocks` blocks of read_l2 add up.
    std::vector<unsigned> l2_sums(int blocks, int tiles, int iterations) const {
        std::vector<unsigned> words(floats_a.size()), sums(size_t(blocks) * kThreads);
        std::memcpy(words.data(), floats_a.data(), words.size() * sizeof(unsigned));
        for (size_t to = 0; to < sums.size(); ++to)
            for (int iteration = 0; iteration < iterations; ++iteration)
                for (int i = 0; i < tiles * kL2Loads; ++i) {
                    const size_t block = to / kThreads * tiles * kL2Loads;
                    const size_t quad = (block + i) * kThreads + to % kThreads;
                    unsigned four = 0;
                    for (int word = 0; word < 4; ++word)
                        four += words[(4 * quad + word) % words.size()];
                    sums[to] += four ^ unsigned(iteration);
                }
        return sums;
    }
    // `count` elements of the accumulators of mma_chains, warp by warp. The sums are exact.
    std::vector<float> mma_sums(size_t count, int iterations) const {
        const std::vector<float> A(halves_a.begin(), halves_a.end());
        const std::vector<float> B(halves_b.begin(), halves_b.end());
        std::vector<float> sums(count);
        for (size_t to = 0; to < count; ++to) {
            const size_t acc = to / kFragmentElements,
                         warp = acc / (kWarpFragments * kWarpFragments),
                         at = to % kFragmentElements;
            const size_t row = (warp * kWarpFragments + acc / kWarpFragments % kWarpFragments) *
                                   kFragmentElements +
                               at / kFragment * kFragment;
            const size_t col =
                (warp * kWarpFragments + acc % kWarpFragments) * kFragmentElements + at % kFragment;
            for (int k = 0; k < kFragment; ++k)
                sums[to] += A[(row + k) % A.size()] * B[(col + k * kFragment) % B.size()];
            sums[to] *= float(kMmaUnroll * iterations);
        }
        return sums;
    }

    // The same for wgmma_chains. A row of its A, or a column of its B, is kWgK consecutive
    // elements.
    std::vector<float> warpgroup_sums(int blocks, int iterations) const {
        std::vector<float> A(halves_a.begin(), halves_a.end()), B(halves_b.begin(), halves_b.end());
        const size_t period = A.size();
        for (std::vector<float>* each : {&A, &B})
            each->insert(each->end(), each->begin(), each->begin() + kWgK);
        std::vector<float> sums(size_t(blocks) * kWgGroups * kWgM * kWgN);
        for (size_t to = 0; to < sums.size(); ++to) {
            const size_t row = to / kWgN, block = row / (kWgM * kWgGroups);
            const float* a = &A[row * kWgK % period];
            const float* b = &B[(block * kWgN + to % kWgN) * kWgK % period];
            for (int k = 0; k < kWgK; ++k) sums[to] += a[k] * b[k];
            sums[to] *= float(kWgUnroll * iterations);
        }
        return sums;
    }

    const size_t floats;
    const std::vector<float> floats_a = random_period(1), floats_b = random_period(2);
    std::vector<half> halves_a = std::vector<half>(2 * kPeriod), halves_b = halves_a;
    DeviceArray<float> a, b, c;
    DeviceArray<Elapsed> elapsed;

private:
    // Fills the array with `period`.
    template <class T>
    void put(DeviceArray<float>& array, const std::vector<T>& period) {
        char* to = reinterpret_cast<char*>(array.data());
        const size_t all = floats * sizeof(float);
        size_t done = std::min(all, period.size() * sizeof(T));
        check_cuda(cudaMemcpy(to, period.data(), done, cudaMemcpyHostToDevice),
                   "cudaMemcpy to the device");
        for (size_t more; done < all; done += more) {
            more = std::min(done, all - done);
            check_cuda(cudaMemcpy(to + done, to, more, cudaMemcpyDeviceToDevice),
                       "cudaMemcpy on the device");
        }
    }
};

// mbarriers and bulk tensor copies, traced: what they do, what they report and count. That they
// compute by their formulas, 07_fragment_probe/ptx_check.cu shows.
#include "common/ptx.cuh"
#include "common/tensor_map.h"
#include "device.h"

namespace {

class Async : public Base {};

// ---- A ring of boxes ----------------------------------------------------------------------------

// Thread 0 fetches boxes of 8 x 32 floats into a ring of two; all 64 threads add them up. Each mistake
// is one line that is missing or wrong.
enum Mistake {
    kNone,
    kNoInit,
    kNoInitFence,
    kNoBarrierAfterInit,
    kNoExpect,
    kExpectTooLittle,
    kExpectTooMuch,
    kNoWait,
    kNoToggle,
    kNoRelease,
    kReleaseTooEarly,
    kNoWaitForRelease,
    kTooManyArrivals,
    kNobodyWaits,
    kWrongBarrier,
};
constexpr int kRows = 8, kColumns = 32, kBoxBytes = kRows * kColumns * 4;

__global__ void __launch_bounds__(64)
    sum(const __grid_constant__ CUtensorMap map, int boxes, Mistake mistake, float* out) {
    __shared__ alignas(128) float ring[2][kRows * kColumns];
    __shared__ uint64_t full[2], empty[2];
    const int thread = threadIdx.x;
    if (thread == 0) {
        ptx::prefetch_tensormap(&map);
        for (int s = 0; s < 2; ++s) {
            if (mistake != kNoInit) ptx::mbarrier_init(&full[s], 1);  // @init_full
            ptx::mbarrier_init(&empty[s], mistake == kTooManyArrivals ? 63 : 64);  // @init_empty
        }
        if (mistake != kNoInitFence) ptx::fence_mbarrier_init();
    }
    if (mistake != kNoBarrierAfterInit) __syncthreads();
    const auto fetch = [&](int box) {
        const int s = box % 2;
        if (box >= 2 && mistake != kNoWaitForRelease)
            ptx::mbarrier_wait(&empty[s], (box / 2 - 1) % 2);  // @wait_empty
        const int bytes = mistake == kExpectTooLittle  ? kBoxBytes / 2
                          : mistake == kExpectTooMuch ? kBoxBytes + 16
                                                      : kBoxBytes;
        if (mistake == kNoExpect) ptx::mbarrier_arrive(&full[s]);
        else ptx::mbarrier_arrive_expect_tx(&full[s], bytes);  // @expect
        ptx::bulk_tensor_load(ring[s], &map, 0, box * kRows,
                              &full[mistake == kWrongBarrier ? 0 : s]);  // @load
    };
    if (thread == 0)
        for (int box = 0; box < 2 && box < boxes; ++box) fetch(box);
    float total = 0;
    for (int box = 0; box < boxes; ++box) {
        const int s = box % 2, parity = mistake == kNoToggle ? 0 : box / 2 % 2;
        if (mistake != kNoWait && !(mistake == kNobodyWaits && box + 1 == boxes))
            ptx::mbarrier_wait(&full[s], parity);  // @wait_full
        if (mistake == kReleaseTooEarly) ptx::mbarrier_arrive(&empty[s]);
        if (!(mistake == kNobodyWaits && box + 1 == boxes))
            for (int i = thread; i < kRows * kColumns; i += 64) total += ring[s][i];  // @read
        if (mistake != kReleaseTooEarly && mistake != kNoRelease)
            ptx::mbarrier_arrive(&empty[s]);  // @release
        if (thread == 0 && box + 2 < boxes) fetch(box + 2);
    }
    out[thread] = total;
}

struct Sums {
    static constexpr int kBoxes = 5;
    std::vector<float> in = std::vector<float>(kBoxes * kRows * kColumns);
    Device<float> out{64};
    bool right(Mistake mistake = kNone) {
        for (size_t i = 0; i < in.size(); ++i) in[i] = float(i % 101);
        Device<float> device(in);
        const auto map = tensor_map(device.data, kBoxes * kRows, kColumns, kRows, kColumns);
        sum<<<1, 64>>>(map, kBoxes, mistake, out.data);
        std::vector<float> expected(64);
        for (size_t i = 0; i < in.size(); ++i) expected[i % 64] += in[i];
        return out.host() == expected;
    }
};

TEST_F(Async, RingOfTwo) {
    in_every_order([&] {
        EXPECT_TRUE(Sums().right());
        EXPECT_EQ(cudaGetLastError(), cudaSuccess);
        expect_problem("");
    });
}

TEST_F(Async, Look) {
    for (int m = 0; m <= kWrongBarrier; ++m)
        in_every_order([&] {
            const bool right = Sums().right(Mistake(m));
            std::printf("--- %d right %d error %d\n%s\n", m, right, cudaGetLastError(), problem().c_str());
        });
}

}  // namespace

// mbarriers and the loads that complete on them, traced: a pipeline of boxes, and the mistakes in
// one.
#include "common/ptx/ptx.cuh"
#include "device.h"
#include "tensor_map.h"

namespace {

class Mbarriers : public Base {};

// Thread 0 loads boxes of 8 x 32 floats into two stages, and all 64 threads add them up. Each
// mistake is one line that is missing or wrong.
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
    kTooFewArrivals,
    kNobodyWaits,
    kWrongBarrier,
    kNoReadFence,
    kFirstParity1,
    kOneReleaseMissing,
    kTooManyArrivals,
};
constexpr int kRows = 8, kColumns = 32, kBoxBytes = kRows * kColumns * 4;

__global__ void __launch_bounds__(64)
    sum(const __grid_constant__ CUtensorMap map, int boxes, Mistake mistake, float* out) {
    __shared__ alignas(128) float ring[2][kRows * kColumns];
    __shared__ uint64_t full[2], empty[2];
    const int thread = threadIdx.x;
    const int readers = mistake == kTooFewArrivals ? 63 : mistake == kTooManyArrivals ? 65 : 64;
    if (thread == 0) {
        for (int s = 0; s < 2; ++s) {
            if (mistake != kNoInit) ptx::mbarrier_init(&full[s], 1);  // @init_full
            ptx::mbarrier_init(&empty[s], readers);  // @init_empty
        }
        if (mistake != kNoInitFence) ptx::fence_mbarrier_init();
    }
    if (mistake != kNoBarrierAfterInit) __syncthreads();
    const auto fetch = [&](int box) {
        const int s = box % 2;
        if (box >= 2 && mistake != kNoWaitForRelease)
            ptx::mbarrier_wait_parity(&empty[s], (box / 2 - 1) % 2);  // @wait_empty
        const int bytes = mistake == kExpectTooLittle ? kBoxBytes / 2
                          : mistake == kExpectTooMuch ? kBoxBytes + 16
                                                      : kBoxBytes;
        if (mistake == kNoExpect) ptx::mbarrier_arrive(&full[s]);
        else ptx::mbarrier_arrive_expect_tx(&full[s], bytes);  // @expect
        uint64_t* const barrier = &full[mistake == kWrongBarrier ? 0 : s];
        ptx::cp_async_bulk_tensor(ring[s], &map, 0, box * kRows, barrier);  // @load
    };
    if (thread == 0)
        for (int box = 0; box < 2 && box < boxes; ++box) fetch(box);
    float total = 0;
    for (int box = 0; box < boxes; ++box) {
        const int s = box % 2,
                  parity = mistake == kNoToggle ? 0 : (box / 2 + (mistake == kFirstParity1)) % 2;
        if (mistake != kNoWait && !(mistake == kNobodyWaits && box + 1 == boxes))
            ptx::mbarrier_wait_parity(&full[s], parity);  // @wait_full
        if (mistake == kReleaseTooEarly) ptx::mbarrier_arrive(&empty[s]);
        if (!(mistake == kNobodyWaits && box + 1 == boxes))
            for (int i = thread; i < kRows * kColumns; i += 64) total += ring[s][i];  // @read
        if (mistake != kNoReadFence) ptx::fence_proxy_async();
        if (mistake != kReleaseTooEarly && mistake != kNoRelease &&
            !(mistake == kOneReleaseMissing && thread == 7 && box == 2) &&
            !(mistake == kNobodyWaits && box + 1 == boxes))
            ptx::mbarrier_arrive(&empty[s]);  // @release
        if (thread == 0 && box + 2 < boxes) fetch(box + 2);
    }
    out[thread] = total;
}

constexpr int kBoxes = 5;
// Returns whether the sums are correct.
bool run_sum(Mistake mistake) {
    std::vector<float> in(kBoxes * kRows * kColumns), expected(64);
    for (size_t i = 0; i < in.size(); ++i) {
        in[i] = float(i % 101);
        expected[i % 64] += in[i];
    }
    Device<float> device(in), out(64);
    sum<<<1, 64>>>(tensor_map(device.data, kBoxes * kRows, kColumns, kRows, kColumns), kBoxes,
                   mistake, out.data);
    return cudaPeekAtLastError() == cudaSuccess && out.host() == expected;
}

TEST_F(Mbarriers, RingOfTwo) {
    in_every_order([] {
        EXPECT_TRUE(run_sum(kNone));
        EXPECT_EQ(global_loads(), (Traffic{5, 5 * kBoxBytes / 32, 0, 5 * kBoxBytes}));
        EXPECT_EQ(shared_stores()[0], 0u);
        EXPECT_EQ(named(emulator::lines()[0].where), "@load");
        expect_silence();
    });
}

// The reports of each mistake, of which one must appear, whatever the order of threads and copies.
TEST_F(Mbarriers, MistakesInARing) {
    const Said late_load = {"race in shared memory: @read reads what @load writes"};
    const std::pair<Mistake, Said> all[] = {
        {kNoInit, {"no mbarrier is there: mbarrier_init() comes first at "}},
        {kNoInitFence,
         {"cp_async_bulk_tensor: no fence_mbarrier_init()..mbarrier_init() at @init_full and this call at @load"}},
        {kNoBarrierAfterInit,
         {"mbarrier_wait_parity: no barrier lies between..full[0] and this call at @wait_full..at @init_full, by thread 0",
          "mbarrier_wait_parity: no mbarrier is there..at @wait_full"}},
        {kNoExpect,
         {"cp_async_bulk_tensor: an earlier one of this line, of thread 0, is still writing there at "
          "@load..phase 1 of mbarrier full[0] is complete without..no mbarrier_arrive_expect_tx() expects any bytes",
          "phase 1, 64 threads waiting..2048 bytes have arrived (by the cp_async_bulk_tensor at @load), but no "
          "mbarrier_arrive_expect_tx() expects any bytes"}},
        {kExpectTooLittle,
         {"full[0], initialised at @init_full: phase 0, 64 threads waiting; its arrival has been made (thread 0 at @expect); "
          "1024 bytes have arrived (by the cp_async_bulk_tensor at @load), 512 more than the 512 bytes that are "
          "expected by thread 0 at @expect"}},
        {kExpectTooMuch,
         {"full[0], initialised at @init_full: phase 0, 64 threads waiting; its arrival has been made (thread 0 at @expect); "
          "1024 of the 1040 bytes that are expected by thread 0 at @expect have arrived (by the cp_async_bulk_tensor "
          "at @load)"}},
        {kNoReadFence,
         {"@read reads what @load writes asynchronously, without a fence_proxy_async()"}},
        {kNoWait, late_load},
        {kNoToggle,
         {"mbarrier_arrive_expect_tx: one arrival more..full[0]..at @expect..the wait at @wait_full "
          "on mbarrier full[0] by thread ..for parity 0, returned at once: ..of phase 0, for which",
          late_load[0],
          "mbarrier_wait_parity: phase 1 of mbarrier empty[0]..at @wait_empty..wait for ever; the wait at "
          "@wait_full on mbarrier full[0]..for parity 0, returned at once"}},
        {kNoRelease, {"deadlock..64 threads..@wait_empty for phase 0 of mbarrier empty[0]"}},
        {kOneReleaseMissing,
         {"empty[0], initialised at @init_empty: phase 1, 1 thread waiting; 63 of 64 arrivals have been made (threads 0 to "
          "6 and 8 to 63 at @release); missing is that of thread 7 at @release, which was made in the phase before: "
          "thread 7 waits at @wait_full"}},
        {kTooManyArrivals,
         {"empty[0], initialised at @init_empty: phase 0, 1 thread waiting; 64 of 65 arrivals have been made (threads 0 to "
          "63 at @release), and no other thread has ever arrived: is the 65 of its mbarrier_init() more"}},
        {kReleaseTooEarly, late_load},
        {kNoWaitForRelease,
         {late_load[0] + " (ring[0][0], block 0, thread 1 and thread 0's asynchronous write)",
          "mbarrier_wait_parity: phase 1 of mbarrier full[0] is complete before"}},
        {kTooFewArrivals, late_load},
        {kFirstParity1,
         {"the block ends, and no thread has waited for the cp_async_bulk_tensor at @load..: the wait at "
          "@wait_full on mbarrier full[..for parity 1, returned at once: that is the parity of the "
          "phase before the first",
          late_load[0]}},
        {kNobodyWaits,
         {"the block ends..no thread has waited for the cp_async_bulk_tensor at @load"}},
        {kWrongBarrier,
         {"cp_async_bulk_tensor: phase 0 of mbarrier full[0]..1024 bytes arrived: more arrive..at @load",
          "mbarrier full[1], initialised at @init_full: phase 0..; 0 of the 1024 bytes that are expected by thread 0 at "
          "@expect have arrived"}},
    };
    expect_each(all, run_sum);
    run_sum(kWrongBarrier);  // in forward order the bytes arrive late
    expect_failure({"cp_async_bulk_tensor: phase 0 of mbarrier full[0]..more arrive"});
    run_sum(kExpectTooMuch);
    expect_some(
        {"deadlock: no thread of block 0..64 threads..threads 0 to 63 wait at @wait_full for "
         "phase 0 of mbarrier full[0]\n"});
    run_sum(kNoRelease);  // the report names the threads that do not arrive, and those that wait
    expect_some(
        {"deadlock..thread 0 waits at @wait_empty for phase 0 of mbarrier empty[0]; "
         "threads 1 to 63 wait at @wait_full for phase 1 of mbarrier full[0]..\n"
         "..mbarrier full[0], initialised at @init_full: phase 1, 63 threads waiting; its arrival has "
         "not been made; missing is that of thread 0 at @expect, which was made in the phase before: thread "
         "0 waits at @wait_empty..mbarrier empty[0], initialised at @init_empty: phase 0, 1 thread "
         "waiting; none of 64 arrivals has been made"});
}

// Warps 1 and 2 wait for warp 0, and warp 3 waits for both before it writes again.
enum Apart { kOrdered, kOneWaits, kOneArrives, kWritesLate };
__global__ void across_warps(int* out, Apart apart) {
    __shared__ int s[32];
    __shared__ uint64_t full, empty;
    const int t = threadIdx.x, warp = t / 32;
    if (t == 0) {
        ptx::mbarrier_init(&full, 32);
        ptx::mbarrier_init(&empty, apart == kOneArrives ? 32 : 64);
    }
    __syncthreads();
    if (warp == 0) s[t] = t;  // @producer
    if (warp == 0) ptx::mbarrier_arrive(&full);
    if (warp == 0 && apart == kWritesLate) s[t] = 1;  // @late
    if (warp == 1 || (warp == 2 && apart != kOneWaits)) ptx::mbarrier_wait_parity(&full, 0);
    if (warp == 1 || warp == 2) out[t] = s[t % 32 ^ 1];  // @consumer
    if (warp == 1 || (warp == 2 && apart != kOneArrives)) ptx::mbarrier_arrive(&empty);
    if (warp == 3) ptx::mbarrier_wait_parity(&empty, 0);
    if (warp == 3) s[t % 32] = 0;  // @next
}

TEST_F(Mbarriers, OrderWarps) {
    in_every_order([&] {
        across_warps<<<1, 128>>>(ints.data, kOrdered);
        expect_silence();
        across_warps<<<1, 128>>>(ints.data, kOneWaits);
        EXPECT_EQ(problem().find("@producer writes what @next"), std::string::npos);
        expect_some({"@producer writes what @consumer", "@consumer reads what @producer",
                     "uninitialised shared memory: @consumer"});
        across_warps<<<1, 128>>>(ints.data, kWritesLate);
        expect_some(race("shared", "@late writes", "@consumer reads"));
        across_warps<<<1, 128>>>(ints.data, kOneArrives);
        expect_problem(race("shared", "@consumer reads", "@next writes"));
    });
}

// A read before the wait returns NaN, also if the memory was written before.
__global__ void read_too_early(const __grid_constant__ CUtensorMap map, float* out) {
    __shared__ alignas(128) float box[kRows * kColumns];
    __shared__ uint64_t full;
    for (float& x : box) x = 1;
    ptx::mbarrier_init(&full, 1);
    ptx::fence_mbarrier_init();
    ptx::fence_proxy_async();
    ptx::mbarrier_arrive_expect_tx(&full, kBoxBytes);
    ptx::cp_async_bulk_tensor(box, &map, 0, 0, &full);
    out[0] = box[3];
    ptx::mbarrier_wait_parity(&full, 0);
    out[1] = box[3];
}

TEST_F(Mbarriers, UntilTheWaitThereIsNaN) {
    Device<float> in(kRows * kColumns, 5.f), out(2);
    read_too_early<<<1, 1>>>(tensor_map(in.data, kRows, kColumns, kRows, kColumns), out.data);
    EXPECT_TRUE(std::isnan(out.host()[0]));
    EXPECT_EQ(out.host()[1], 5);
}

enum Misuse {
    kFine,
    kTwice,
    kMisaligned,
    kGlobalMemory,
    kNoArrivals,
    kOverwritten,
    kParity,
    kTooMany,
    kAtABarrier,
    kSkips,
};
__global__ void misuse(Misuse kind, uint64_t* global) {
    __shared__ uint64_t barriers[3];
    uint64_t* const b = &barriers[1];
    const int thread = threadIdx.x;
    if (thread == 0) {
        if (kind == kMisaligned) ptx::mbarrier_init((uint64_t*)((char*)b + 4), 1);  // @misaligned
        if (kind == kGlobalMemory) ptx::mbarrier_init(global, 1);  // @global
        ptx::mbarrier_init(b, kind == kNoArrivals ? 0 : 1);  // @init
        if (kind == kTwice) ptx::mbarrier_init(b, 1);  // @twice
        if (kind == kOverwritten) *b = 0;
        ptx::mbarrier_init(&barriers[0], 1);
    }
    __syncthreads();
    if (kind == kAtABarrier) {
        if (thread == 1) ptx::mbarrier_wait_parity(b, 0);  // @waits
        __syncthreads();  // @barrier
    }
    if (kind == kSkips && thread == 0)
        for (int i = 0; i < 2; ++i) {
            ptx::mbarrier_arrive(b);
            ptx::mbarrier_wait_parity(b, i % 2);
        }
    if (kind == kSkips) {
        if (thread == 0) ptx::mbarrier_arrive(&barriers[0]);
        if (thread == 0) __syncwarp(1);
        else ptx::mbarrier_wait_parity(b, 0);  // @skips
    }
    if (thread == 0) ptx::mbarrier_arrive(b);  // @arrive
    if (thread == 0 && kind == kTooMany) ptx::mbarrier_init(b, 2);
    ptx::mbarrier_wait_parity(b, kind == kParity ? 2 : 0);  // @wait
}

TEST_F(Mbarriers, Misuse) {
    Device<uint64_t> global(2);
    const std::pair<Misuse, const char*> all[] = {
        {kTwice,
         "mbarrier_init: mbarrier barriers[1] is already initialised before this call at @twice..at @init"},
        {kMisaligned, "mbarrier_init: ..multiple of 8 at @misaligned"},
        {kGlobalMemory, "mbarrier_init: ..not in shared memory at @global"},
        {kNoArrivals, "mbarrier_init: 0 arrivals..at @init"},
        {kOverwritten,
         "mbarrier_arrive: mbarrier barriers[1]..overwritten..at @arrive..mbarrier_init() is at @init"},
        {kParity, "mbarrier_wait_parity: parity 2, not 0 or 1 at @wait"},
        {kSkips,
         "mbarrier_wait_parity: the parity is ambiguous: mbarrier barriers[1] has reached phase 2..of phase 0 at @skips.."
         "the 1 of its mbarrier_init() at @init less than the arrivals"},
    };
    for (const auto& [kind, said] : all) {
        misuse<<<1, 2>>>(kFine, global.data);
        expect_silence();
        misuse<<<1, 2>>>(kind, global.data);
        expect_failure({said});
    }
    misuse<<<1, 2>>>(kAtABarrier, global.data);
    expect_some(
        {"deadlock..1 thread in mbarrier_wait_parity: thread 1 waits at @waits for phase 0 of "
         "mbarrier barriers[1]; thread 0 waits at @barrier"});
    emulator::set_architecture(75);
    misuse<<<1, 2>>>(kFine, global.data);
    expect_failure({"mbarrier_init: needs sm_90, not sm_75"});
}

__global__ void arrives_twice() {
    __shared__ uint64_t full;
    ptx::mbarrier_init(&full, 1);
    for (int round = 0; round < 2; ++round) ptx::mbarrier_arrive_expect_tx(&full, 16);  // @arrives
}

TEST_F(Mbarriers, AWaitIsMissingBetweenTwoArrivals) {
    arrives_twice<<<1, 1>>>();
    expect_failure(
        {"one arrival more than the 1 of phase 0 of mbarrier full..at @arrives..the "
         "thread has arrived in this phase before, at @arrives, and a wait"});
}

// ---- Their names in reports ---------------------------------------------------------------------

struct Tiles {
    float values[32];
    uint64_t full[2];
};
enum Where { kInStruct, kByCast, kComputed };
__global__ void in_dynamic_memory(Where where) {
    extern __shared__ char pool[];
    Tiles& tiles = *reinterpret_cast<Tiles*>(pool);
    uint64_t* const empty = reinterpret_cast<uint64_t*>(pool + sizeof(Tiles));
    uint64_t* const computed = (uint64_t*)&pool[512];
    for (int i = 0; i < 2; ++i) {
        if (where == kInStruct) ptx::mbarrier_init(&tiles.full[1], 1);
        if (where == kByCast) ptx::mbarrier_init(empty + 1, 1);
        if (where == kComputed) ptx::mbarrier_init(computed + min(3, 8), 1);
    }
}

// Also in dynamic memory, where only the kernel knows which array lies where.
TEST_F(Mbarriers, Names) {
    const std::pair<Where, const char*> all[] = {
        {kInStruct, "mbarrier_init: mbarrier full[1] is already initialised"},
        {kByCast, "mbarrier_init: mbarrier empty[1] is already initialised"},
        {kComputed, "mbarrier_init: the mbarrier computed + min(3, 8) at byte 536 of dynamic"},
    };
    for (const auto& [where, said] : all) {
        in_dynamic_memory<<<1, 1, 1024>>>(where);
        expect_failure({said});
    }
}

}  // namespace

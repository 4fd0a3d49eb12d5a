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
    kNoReadFence,
    kNoRelease,
    kReleaseTooEarly,
    kNoWaitForRelease,
    kTooFewArrivals,
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
            ptx::mbarrier_init(&empty[s], mistake == kTooFewArrivals ? 63 : 64);  // @init_empty
        }
        if (mistake != kNoInitFence) ptx::fence_mbarrier_init();
    }
    if (mistake != kNoBarrierAfterInit) __syncthreads();
    const auto fetch = [&](int box) {
        const int s = box % 2;
        if (box >= 2 && mistake != kNoWaitForRelease)
            ptx::mbarrier_wait(&empty[s], (box / 2 - 1) % 2);  // @wait_empty
        const int bytes = mistake == kExpectTooLittle ? kBoxBytes / 2
                          : mistake == kExpectTooMuch ? kBoxBytes + 16
                                                      : kBoxBytes;
        if (mistake == kNoExpect) ptx::mbarrier_arrive(&full[s]);
        else ptx::mbarrier_arrive_expect_tx(&full[s], bytes);  // @expect
        uint64_t* const barrier = &full[mistake == kWrongBarrier ? 0 : s];
        ptx::bulk_tensor_load(ring[s], &map, 0, box * kRows, barrier);  // @load
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
        if (mistake != kNoReadFence) ptx::fence_proxy_async();
        if (mistake != kReleaseTooEarly && mistake != kNoRelease &&
            !(mistake == kNobodyWaits && box + 1 == boxes))
            ptx::mbarrier_arrive(&empty[s]);  // @release
        if (thread == 0 && box + 2 < boxes) fetch(box + 2);
    }
    out[thread] = total;
}

constexpr int kBoxes = 5;
// True if the sums are right.
bool run_sum(Mistake mistake) {
    std::vector<float> in(kBoxes * kRows * kColumns), expected(64);
    for (size_t i = 0; i < in.size(); ++i) in[i] = float(i % 101), expected[i % 64] += in[i];
    Device<float> device(in), out(64);
    sum<<<1, 64>>>(tensor_map(device.data, kBoxes * kRows, kColumns, kRows, kColumns), kBoxes,
                   mistake, out.data);
    return cudaPeekAtLastError() == cudaSuccess && out.host() == expected;
}

TEST_F(Async, RingOfTwo) {
    in_every_order([] {
        EXPECT_TRUE(run_sum(kNone));
        expect_problem("");
    });
}

TEST_F(Async, LoadsAreCountedAsCopiesOfSectors) {
    run_sum(kNone);
    EXPECT_EQ(global_loads(), (Traffic{5, 5 * kBoxBytes / 32, 0, 5 * kBoxBytes}));
    EXPECT_EQ(shared_stores()[0], 0u);
    EXPECT_EQ(emulator::counts().lines[0].where, located("@load", __FILE__));
}

// What is said of each mistake, whatever the order of threads and copies.
TEST_F(Async, MistakesInARing) {
    const struct {
        Mistake mistake;
        std::vector<std::string> said;  // one of these
    } all[] = {
        {kNoInit, {"no mbarrier is there: mbarrier_init() comes first at "}},
        {kNoInitFence,
         {"bulk_tensor_load: no fence_mbarrier_init() follows the mbarrier_init() of mbarrier "
          "full[0] at @init_full at @load (block 0, thread 0)"}},
        {kNoBarrierAfterInit,
         {"mbarrier_wait: no barrier lies between this and the mbarrier_init() of mbarrier full[0] "
          "at @init_full by thread 0 at @wait_full (block 0, thread 1)",
          "mbarrier_wait: no mbarrier is there: mbarrier_init() comes first at @wait_full "}},
        {kNoExpect,
         {"bulk_tensor_load: the one at @load is still writing there at @load (block 0, thread 0)",
          "phase 1, 0 of 1 arrivals and 2048 bytes more than expected have come, 64 threads"}},
        {kExpectTooLittle,
         {"mbarrier full[0], set up at @init_full: phase 0, 0 of 1 arrivals and 512 bytes more "
          "than expected have come, 64 threads waiting"}},
        {kExpectTooMuch,
         {"deadlock: no thread of block 0 can go on: 64 threads in mbarrier_wait, thread 0 at "
          "@wait_full for phase 0 of mbarrier full[0]\nmbarrier full[0], set up at @init_full: "
          "phase 0, 0 of 1 arrivals and 16 expected bytes to come, 64 threads waiting\n"}},
        {kNoWait,
         {"uninitialised shared memory: @read reads what no thread of the block has written"}},
        {kNoToggle,
         {"mbarrier_arrive_expect_tx: one arrival more than the 1 of phase 1 of mbarrier full[0] "
          "at @expect (block 0, thread 0)",
          "race in shared memory: @read reads what ~load writes",
          "mbarrier_wait: phase 1 of mbarrier empty[0] is complete before the thread that waits "
          "for phase 0 has gone on: it may wait for ever at @wait_empty (block 0, thread 0)"}},
        {kNoReadFence,
         {"no fence_proxy_async() after @read reads what @load writes asynchronously (block 0, "}},
        {kNoRelease,
         {"64 threads in mbarrier_wait, thread 0 at @wait_empty for phase 0 of mbarrier empty[0]"}},
        {kReleaseTooEarly, {"race in shared memory: @read reads what ~load writes (block 0, "}},
        {kNoWaitForRelease,
         {"race in shared memory: @read reads what ~load writes (block 0, threads 1 and 0's copy)",
          "mbarrier_wait: phase 1 of mbarrier full[0] is complete before the thread that waits"}},
        {kTooFewArrivals, {"race in shared memory: @read reads what ~load writes (block 0, "}},
        {kNobodyWaits,
         {"the block ends, and no thread has waited for the bulk_tensor_load at @load (block 0, "
          "thread 0)"}},
        {kWrongBarrier,
         {"bulk_tensor_load: phase 0 of mbarrier full[0] was complete before these 1024 bytes "
          "came: more come than are expected at @load (block 0, thread 0)",
          "mbarrier full[1], set up at @init_full: phase 0, 0 of 1 arrivals and 1024 expected "
          "bytes to come, 64 threads waiting"}},
    };
    for (const auto& [mistake, said] : all) {
        SCOPED_TRACE(said[0]);
        in_every_order([&, mistake = mistake, said = said] {
            run_sum(mistake);
            bool any = false;
            for (const std::string& text : said) any |= reported(text);
            EXPECT_TRUE(any) << problem();
            cudaGetLastError();
        });
    }
}

TEST_F(Async, LateBytesAreReportedWhenTheyCome) {
    run_sum(kWrongBarrier);  // in forward order they come late
    expect_failure(
        "bulk_tensor_load: phase 0 of mbarrier full[0] was complete before these 1024 bytes "
        "came: more come than are expected at @load (block 0, thread 0)");
}

// A read before the wait gives NaN, also where something was written before.
__global__ void read_too_early(const __grid_constant__ CUtensorMap map, float* out) {
    __shared__ alignas(128) float box[kRows * kColumns];
    __shared__ uint64_t full;
    for (float& x : box) x = 1;
    ptx::mbarrier_init(&full, 1), ptx::fence_mbarrier_init(), ptx::fence_proxy_async();
    ptx::mbarrier_arrive_expect_tx(&full, kBoxBytes);
    ptx::bulk_tensor_load(box, &map, 0, 0, &full);
    out[0] = box[3];
    ptx::mbarrier_wait(&full, 0);
    out[1] = box[3];
}

TEST_F(Async, UntilTheWaitThereIsNaN) {
    Device<float> in(kRows * kColumns, 5.f), out(2);
    read_too_early<<<1, 1>>>(tensor_map(in.data, kRows, kColumns, kRows, kColumns), out.data);
    EXPECT_TRUE(std::isnan(out.host()[0]));
    EXPECT_EQ(out.host()[1], 5);
}

// ---- Boxes, their edges and their swizzles ------------------------------------------------------

// One box, as its 16-byte pieces lie in shared memory.
template <class T>
__global__ void fetch(const __grid_constant__ CUtensorMap map, int x, int y, int bytes, T* out,
                      int offset, int fault) {
    extern __shared__ __align__(1024) unsigned char s[];
    __shared__ uint64_t full;
    if (fault) ((int*)s)[threadIdx.x] = 1;  // @generic_write
    if (fault == 2) ptx::fence_proxy_async();
    if (threadIdx.x == 0) ptx::mbarrier_init(&full, 1), ptx::fence_mbarrier_init();
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::mbarrier_arrive_expect_tx(&full, bytes);
        ptx::bulk_tensor_load(s + offset, &map, x, y, &full);  // @fetch
    }
    ptx::mbarrier_wait(&full, 0);
    for (int i = threadIdx.x; i < bytes / int(sizeof(T)); i += 32) out[i] = ((T*)(s + offset))[i];
}

constexpr int kWidth = 24, kHeight = 10;
template <class T>
std::vector<float> box(int rows, int columns, int swizzle, int x, int y) {
    std::vector<T> in(kHeight * kWidth);
    for (size_t i = 0; i < in.size(); ++i) in[i] = T(float(i + 1));
    Device<T> device(in), out(rows * columns);
    const auto map = tensor_map(device.data, kHeight, kWidth - 3, rows, columns, swizzle, kWidth);
    const int bytes = rows * columns * int(sizeof(T));
    fetch<T><<<1, 32, bytes + 1024>>>(map, x, y, bytes, out.data, 0, 0);
    std::vector<float> floats;
    for (const T value : out.host()) floats.push_back(float(value));
    return floats;
}

template <class T>
void check_boxes(int swizzle) {
    const int columns = (swizzle ? swizzle : 32) / int(sizeof(T)), rows = 20;
    for (const int x : {0, 8, -8, -columns, kWidth - 8, kWidth, 1 << 29, -(1 << 29)})
        for (const int y : {0, 5, -7, -rows, kHeight, 1 << 30}) {
            const auto got = box<T>(rows, columns, swizzle, x, y);
            for (int i = 0; i < rows; ++i)
                for (int j = 0; j < columns; ++j) {
                    const int row = y + i, col = x + j;
                    const bool in = row >= 0 && row < kHeight && col >= 0 && col < kWidth - 3;
                    const int byte = (i * columns + j) * int(sizeof(T));
                    const int at = swizzle ? byte ^ (byte / 128 % (swizzle / 16)) * 16 : byte;
                    ASSERT_EQ(got[at / sizeof(T)], in ? row * kWidth + col + 1 : 0)
                        << x << " " << y;
                }
        }
    expect_problem("");
}

TEST_F(Async, BoxesOverEveryEdge) {
    check_boxes<float>(0), check_boxes<half>(0);
    for (const int swizzle : {32, 64, 128})
        check_boxes<half>(swizzle), check_boxes<__nv_bfloat16>(swizzle),
            check_boxes<float>(swizzle);
}

TEST_F(Async, EdgesCountOnlyWhatIsRead) {
    box<float>(4, 8, 0, -4, 8);  // 2 rows of 4 floats; sectors as if there were 4 of 8
    EXPECT_EQ(global_loads(), (Traffic{1, 8, 0, 32}));
}

TEST_F(Async, MistakesInACopy) {
    Device<float> in(std::vector<float>(512, 1)), out(512);
    const auto map = tensor_map(in.data, 16, 32, 8, 32);
    const auto swizzled = tensor_map(in.data, 16, 32, 8, 32, 128);
    const auto expect = [&](const CUtensorMap& map, int offset, const std::string& text,
                            int fault = 0, int bytes = 1024, int shared = 4096) {
        in_every_order([&] {
            fetch<float><<<1, 32, shared>>>(map, 0, 0, bytes, out.data, offset, fault);
            cudaGetLastError();
            expect_problem(text);
        });
    };
    const std::string at = " at @fetch (block 0, thread 0)";
    expect(map, 128, "");
    fetch<float><<<1, 32, 4096>>>(map, 2, 0, 1024, out.data, 0, 0);
    expect_failure("bulk_tensor_load: x is 2, whose bytes are not a multiple of 16" + at);
    expect(map, 16, "bulk_tensor_load: the address in shared memory is not a multiple of 128" + at);
    expect(
        swizzled, 128,
        "bulk_tensor_load: the address in shared memory is not a multiple of 1024, where the swizzle begins" +
            at);
    expect(
        CUtensorMap{}, 0,
        "bulk_tensor_load: that is no tensor map (const __grid_constant__ CUtensorMap, a kernel's "
        "parameter)" +
            at);
    expect(
        map, 3200,
        "out of bounds: @fetch writes 1024 bytes, the last 128 past the end of the 4096 bytes of "
        "dynamic shared memory (block 0, thread 0)");
    expect(
        map, 0,
        "no fence_proxy_async() after @generic_write writes what @fetch writes asynchronously (block "
        "0, threads 0 and 0's copy)",
        1);
    expect(map, 0, "", 2);
    expect(
        map, 0,
        "mbarrier_arrive_expect_tx: 1048576 bytes expected of mbarrier full, not 0 to 1048575 ...",
        0, 1 << 20);
    expect(map, 0,
           "mbarrier_arrive_expect_tx: -16 bytes expected of mbarrier full, not 0 to 1048575 ...",
           0, -16);
    emulator::set_architecture(75);
    expect(map, 0, "mbarrier_init: needs sm_90, not sm_75 ...");
    emulator::set_architecture(80);
    const auto gone = [] {
        Device<float> in(512);
        return tensor_map(in.data, 16, 32, 8, 32);
    }();
    expect(
        gone, 0,
        "out of bounds: @fetch reads 128 bytes, no memory of the device, but the host's or freed ...");
}

// ---- Stores -------------------------------------------------------------------------------------

enum StoreMistake {
    kStoreFine,
    kNoFence,
    kNoBarrierBefore,
    kNoReadWait,
    kNoBarrierBehind,
    kNoCommit,
    kLastGroupLeftOut,
    kNoWaitAtEnd,
    kMatrixReadTooEarly,
};
// Tiles of 8 x 32 floats, all filled by 64 threads and stored from one place; row * 100 + column.
__global__ void store_tiles(const __grid_constant__ CUtensorMap map, int tiles,
                            StoreMistake mistake, const float* matrix, float* seen) {
    __shared__ alignas(1024) float tile[kRows * kColumns];
    for (int t = 0; t < tiles; ++t) {
        for (int i = threadIdx.x; i < kRows * kColumns; i += 64) {
            const int at = i ^ i / 32 % 8 * 4;  // the swizzle of 128 bytes
            tile[at] = (t * kRows + i / kColumns) * 100 + i % kColumns;  // @fill
        }
        if (mistake != kNoFence) ptx::fence_proxy_async();
        if (mistake != kNoBarrierBefore) __syncthreads();
        if (threadIdx.x == 0) {
            ptx::bulk_tensor_store(&map, 0, t * kRows, tile);  // @store
            if (mistake != kNoCommit) ptx::bulk_commit_group();
        }
        // Of the threads only the one that committed waits here.
        if (mistake == kLastGroupLeftOut) ptx::bulk_wait_group_read<1>();
        else if (mistake != kNoReadWait && mistake != kNoWaitAtEnd) ptx::bulk_wait_group_read<0>();
        if (mistake != kNoBarrierBehind) __syncthreads();
    }
    if (mistake != kMatrixReadTooEarly) ptx::bulk_wait_group<0>();
    if (threadIdx.x == 0) seen[0] = matrix[0];  // @see
}

bool run_store(StoreMistake mistake) {
    constexpr int kHeight = 21, kWidth = 28;
    Device<float> out(kHeight * 32, -1.f), seen(1);
    const auto map = tensor_map(out.data, kHeight, kWidth, kRows, kColumns, 128, 32);
    store_tiles<<<1, 64>>>(map, 3, mistake, out.data, seen.data);
    if (cudaPeekAtLastError() != cudaSuccess) return false;
    const auto host = out.host();
    bool right = seen.host()[0] == 0;
    for (int i = 0; i < kHeight * 32; ++i)
        right &= host[i] == (i % 32 < kWidth ? i / 32 * 100 + i % 32 : -1);
    return right;
}

TEST_F(Async, StoresAreClippedAndCounted) {
    in_every_order([] {
        EXPECT_TRUE(run_store(kStoreFine));
        expect_problem("");
        run_store(kStoreFine);
        EXPECT_EQ(global_stores(), (Traffic{4, 21 * 4 + 1, 0, 21 * 28 * 4 + 4}));  // @see's as well
    });
}

__global__ void store_one(const __grid_constant__ CUtensorMap map, int x, int y) {
    __shared__ alignas(128) float tile[kRows * kColumns];
    for (float& element : tile) element = 1;
    ptx::fence_proxy_async();
    ptx::bulk_tensor_store(&map, x, y, tile);  // @one
    ptx::bulk_commit_group();
    ptx::bulk_wait_group<0>();
}

TEST_F(Async, StoresAsAnH200DoesThem) {
    // Whole pieces of 16 bytes: of 29 columns 32 are written.
    Device<float> out(8 * 32, 0.f);
    const auto map = tensor_map(out.data, 8, 29, kRows, kColumns, 0, 32);
    store_one<<<1, 1>>>(map, 16, 0);
    expect_problem("");
    for (int i = 0; i < 8 * 32; ++i) EXPECT_EQ(out.host()[i], i % 32 >= 16);
    const std::string said = "bulk_tensor_store: the box begins at x ";
    for (const int x : {-32, 0}) {
        store_one<<<1, 1>>>(map, x, x == 0 ? -8 : 0);
        expect_failure(said + (x == 0 ? "0 and y -8" : "-32 and y 0") +
                       "; a store's may not be negative at @one (block 0, thread 0)");
    }
}

TEST_F(Async, MistakesWithStores) {
    const struct {
        StoreMistake mistake;
        std::string said, or_said = said;
    } all[] = {
        {kNoFence, "no fence_proxy_async() after @fill writes what @store reads asynchronously "},
        {kNoBarrierBefore, "race in shared memory: @fill writes what ~store reads (block 0, ",
         "race in shared memory: @store reads what ~fill writes (block 0, "},
        {kNoReadWait, "race in shared memory: @fill writes what ~store reads (block 0, "},
        {kNoBarrierBehind, "race in shared memory: @fill writes what ~store reads (block 0, ",
         "race in shared memory: @store reads what ~fill writes (block 0, "},
        {kNoCommit,
         "the block ends, and no bulk_wait_group_read() covers the bulk_tensor_store at "
         "@store (block 0, thread 0)"},
        {kLastGroupLeftOut, "race in shared memory: @fill writes what ~store reads (block 0, "},
        {kNoWaitAtEnd, "race in shared memory: @fill writes what ~store reads (block 0, "},
        {kMatrixReadTooEarly, "race in global memory: @see reads what ~store writes (block 0, "},
    };
    for (const auto& row : all) {
        SCOPED_TRACE(row.said);
        in_every_order([&] {
            run_store(row.mistake);
            EXPECT_TRUE(reported(row.said) || reported(row.or_said)) << problem();
            cudaGetLastError();
        });
    }
}

// ---- mbarriers ----------------------------------------------------------------------------------

enum Misuse {
    kFine,
    kTwice,
    kMisaligned,
    kGlobalMemory,
    kNoArrivals,
    kOverwritten,
    kInvalid,
    kParity,
    kTooMany,
    kInvalWaiting,
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
        if (kind == kInvalid) ptx::mbarrier_inval(b);
        ptx::mbarrier_init(&barriers[0], 1);
    }
    __syncthreads();
    if (kind == kAtABarrier) {
        if (thread == 1) ptx::mbarrier_wait(b, 0);  // @waits
        __syncthreads();  // @barrier
    }
    if (kind == kInvalWaiting && thread == 0) __syncwarp(1), ptx::mbarrier_inval(b);  // @inval
    if (kind == kSkips && thread == 0)
        for (int i = 0; i < 2; ++i) ptx::mbarrier_arrive(b), ptx::mbarrier_wait(b, i % 2);
    if (kind == kSkips) {
        if (thread == 0) ptx::mbarrier_arrive(&barriers[0]);
        if (thread == 0) __syncwarp(1);
        else ptx::mbarrier_wait(b, 0);  // @skips
    }
    if (thread == 0) ptx::mbarrier_arrive(b);  // @arrive
    if (thread == 0 && kind == kTooMany) ptx::mbarrier_init(b, 2);
    ptx::mbarrier_wait(b, kind == kParity ? 2 : 0);  // @wait
}

TEST_F(Async, MisuseOfMbarriers) {
    Device<uint64_t> global(2);
    const auto expect = [&](Misuse kind, const std::string& text) {
        misuse<<<1, 2>>>(kind, global.data);
        cudaGetLastError();
        expect_problem(text);
    };
    expect(kFine, "");
    expect(kTwice,
           "mbarrier_init: mbarrier barriers[1] is set up already at @init: mbarrier_inval() "
           "comes first at @twice (block 0, thread 0)");
    expect(kMisaligned, "mbarrier_init: the address is not a multiple of 8 at @misaligned ...");
    expect(kGlobalMemory, "mbarrier_init: the address is not in shared memory at @global ...");
    expect(kNoArrivals, "mbarrier_init: 0 arrivals, not 1 to 1048575 at @init ...");
    expect(kOverwritten,
           "mbarrier_arrive: mbarrier barriers[1] has been overwritten since its "
           "mbarrier_init() at @init at @arrive (block 0, thread 0)");
    expect(kInvalid,
           "mbarrier_arrive: no mbarrier is there: mbarrier_init() comes first at @arrive ...");
    expect(kParity, "mbarrier_wait: parity 2, not 0 or 1 at @wait (block 0, thread 0)");
    expect(kAtABarrier,
           "deadlock: no thread of block 0 can go on: 1 thread in mbarrier_wait, thread 1 at "
           "@waits for phase 0 of mbarrier barriers[1]; others at a barrier or warp "
           "operation, thread 0 at @barrier\n...");
    emulator::set_order(Order::reverse);
    expect(kInvalWaiting,
           "mbarrier_inval: thread 1 waits for mbarrier barriers[1] at @inval (block 0, "
           "thread 0)");
    emulator::set_order(Order::forward);
    expect(kSkips,
           "mbarrier_wait: lapped: parity 0 of mbarrier barriers[1] stands for phase 2 by now, but "
           "nothing says that the thread comes after phase 1 at @skips (block 0, thread 1)");
}

// ---- Tensor maps --------------------------------------------------------------------------------

std::string why_not(int rows, int columns, int box_rows, int box_columns, int swizzle, int leading,
                    int shift) {
    Device<float> in(4096);
    try {
        tensor_map(in.data + shift, rows, columns, box_rows, box_columns, swizzle, leading);
    } catch (const Failure& failure) {
        const std::string said = problem();
        emulator::reset_counts();
        return said.empty() ? failure.what() : said;
    }
    return "";
}

TEST_F(Async, TensorMapsAreChecked) {
    const std::string head = "cuTensorMapEncodeTiled: ";
    EXPECT_EQ(why_not(8, 30, 8, 16, 0, 32, 0), "");
    EXPECT_EQ(why_not(8, 30, 8, 16, 0, 0, 0),
              "tensor map of 8 x 30 elements, boxes of 8 x 16: rows lie 120 "
              "bytes apart, not a multiple of 16 that holds a row");
    EXPECT_EQ(why_not(8, 30, 8, 16, 0, 28, 0).substr(0, 48),
              "tensor map of 8 x 30 elements, boxes of 8 x 16: ");
    EXPECT_EQ(why_not(8, 32, 8, 16, 48, 0, 0),
              "tensor map of 8 x 32 elements, boxes of 8 x 16: a swizzle of 48 "
              "bytes, not 0, 32, 64 or 128");
    EXPECT_EQ(why_not(8, 32, 8, 16, 0, 0, 1), head + "the global address is not a multiple of 16");
    EXPECT_EQ(why_not(0, 32, 8, 16, 0, 0, 0), head + "globalDim[1] is 0, not 1 to 2^32");
    EXPECT_EQ(why_not(8, 32, 257, 16, 0, 0, 0), head + "boxDim[1] is 257, not 1 to 256");
    EXPECT_EQ(why_not(8, 32, 0, 16, 0, 0, 0), head + "boxDim[1] is 0, not 1 to 256");
    EXPECT_EQ(why_not(8, 32, 8, 6, 0, 0, 0),
              head + "a row of the box has 24 bytes, not a multiple of 16");
    EXPECT_EQ(why_not(8, 64, 8, 64, 128, 0, 0),
              head + "a row of the box has 256 bytes, more than the swizzle's 128");
}

}  // namespace

// Clusters and named barriers, traced: what they compute, and what is reported.
#include <cooperative_groups.h>

#include "common/ptx/hopper.cuh"
#include "device.h"
#include "tensor_map.h"

namespace {

class Clusters : public Base {};

// ---- Named barriers -----------------------------------------------------------------------------

enum Named {
    kFine,
    kFewLanes,
    kNoBarrier,
    kOneWarpMissing,
    kOtherCount,
    kUneven,
    kNumber16,
    kOtherBarrierId
};
// Warps 0 and 1 write for each other, then warps 2 and 3 read what they wrote.
__global__ void __launch_bounds__(128) pass_on(Named kind, int* out) {
    __shared__ int s[64];
    const int thread = threadIdx.x;
    if (kind == kFewLanes && thread % 32 >= 20) return;
    if (thread < 64) {
        s[thread] = thread;  // @write
        if (kind == kUneven) ptx::named_barrier_sync(1, 48);  // @uneven
        if (kind == kNumber16) ptx::named_barrier_sync(16, 64);  // @number16
        if (kind == kOneWarpMissing && thread >= 32) return;  // @leaves
        if (kind == kOtherCount && thread >= 32) ptx::named_barrier_sync(1, 96);  // @other
        else if (kind != kNoBarrier) ptx::named_barrier_sync(1, 64);  // @sync
        out[thread] = s[kind == kFewLanes ? thread ^ 32 : 63 - thread];  // @read
    }
    ptx::named_barrier_sync(kind == kOtherBarrierId && thread >= 64 ? 3 : 2,
                            kind == kOtherBarrierId ? 64 : 128);
    if (thread >= 64) out[thread] = s[thread - 64];  // @read2
}

TEST_F(Clusters, NamedBarriers) {
    const auto unwritten = [](const std::string& place) {
        return "uninitialised shared memory: " + place + " reads";
    };
    const std::pair<Named, Said> all[] = {
        {kNoBarrier,
         {"@write writes what @read reads", "@read reads what @write", unwritten("@read")}},
        {kOneWarpMissing,
         {"deadlock..threads 0 to 31 wait at @sync, a barrier at which 32 of 64 threads have arrived: threads 0 "
          "to 31; threads 32 to 63 have returned at @leaves"}},
        {kOtherCount, {"named_barrier_sync: ..threads for barrier 1..the first to arrive, at @"}},
        {kUneven, {"named_barrier_sync: 48 threads..128 at @uneven"}},
        {kNumber16, {"named_barrier_sync: barrier 16..at @number16"}},
        {kOtherBarrierId, {"@write writes what @read2 reads", unwritten("@read2")}},
    };
    Device<int> out(128);
    expect_each(all, [&](auto kind) {
        pass_on<<<1, 128>>>(kFine, out.data);
        expect_silence();
        for (int i = 0; i < 128; ++i) EXPECT_EQ(out.host()[i], i < 64 ? 63 - i : i - 64);
        pass_on<<<1, 128>>>(kFewLanes, out.data);  // a warp comes without those that have returned
        expect_silence();
        for (int i = 0; i < 128; ++i)
            EXPECT_TRUE(i % 32 >= 20 || out.host()[i] == (i < 64 ? i ^ 32 : i - 64)) << i;
        pass_on<<<1, 128>>>(kind, out.data);
    });
}

enum Handed { kHandedOver, kNobodyArrives, kArrivesEarly, kArrivesUneven };
// Warp 0 writes, arrives and goes on. Warp 1 waits, then reads.
__global__ void __launch_bounds__(64) hand_over(Handed kind, int* out) {
    __shared__ int s[32];
    const int thread = threadIdx.x;
    if (thread < 32) {
        if (kind == kArrivesEarly) ptx::named_barrier_arrive(1, 64);
        s[thread] = thread;  // @hand
        if (kind == kArrivesUneven) ptx::named_barrier_arrive(1, 48);  // @arrive48
        else if (kind == kHandedOver) ptx::named_barrier_arrive(1, 64);
    } else {
        ptx::named_barrier_sync(1, 64);  // @taker
        out[thread - 32] = s[63 - thread];  // @take
    }
}

TEST_F(Clusters, NamedBarriersAtWhichSomeDoNotWait) {
    const std::pair<Handed, Said> all[] = {
        {kNobodyArrives,
         {"deadlock..threads 32 to 63 wait at @taker, a barrier at which 32 of 64 threads have arrived"}},
        {kArrivesEarly,
         {"@hand writes what @take reads", "@take reads what @hand",
          "uninitialised shared memory: @take reads"}},
        {kArrivesUneven, {"named_barrier_arrive: 48 threads..64 at @arrive48"}},
    };
    Device<int> out(32);
    expect_each(all, [&](auto kind) {
        hand_over<<<1, 64>>>(kHandedOver, out.data);
        expect_silence();
        for (int i = 0; i < 32; ++i) EXPECT_EQ(out.host()[i], 31 - i);
        hand_over<<<1, 64>>>(kind, out.data);
    });
}

// ---- Clusters -----------------------------------------------------------------------------------

enum Mistake {
    kNone,
    kNoClusterBarrier,
    kNoBarrierAtEnd,
    kNoWaitForArrival,
    kWrongRank,
    kOtherRanksPlace,
    kOwnRankAlone,
    kNoArrive,
    kOneBlockMissing,
    kForeignWait,
    kOtherBarrier,
    kPastTheEnd,
};
// Two blocks: each multicasts its half of 8 x 32 floats to both. Then each reads the first row of
// the other's, and arrives at the other's barrier; none leaves before the other has arrived.
__global__ void CLUSTER_DIMS(2) __launch_bounds__(64)
    exchange(const __grid_constant__ CUtensorMap map, Mistake mistake, float* out) {
    extern __shared__ __align__(1024) float s[];  // two boxes
    uint64_t* const full = (uint64_t*)(s + 512);
    uint64_t* const heard = full + 1;
    const int rank = ptx::get_sreg_cluster_ctarank(), thread = threadIdx.x;
    if (thread == 0) {
        ptx::mbarrier_init(full, 1);  // @init
        ptx::mbarrier_init(heard, 2);
        ptx::fence_mbarrier_init();
    }
    if (mistake == kNoClusterBarrier) __syncthreads();
    if (mistake != kNoClusterBarrier && mistake != kNoArrive) ptx::barrier_cluster_arrive();
    if (mistake != kNoClusterBarrier) ptx::barrier_cluster_wait();  // @barrier_cluster_wait
    if (mistake == kOneBlockMissing && rank == 1) {
        ptx::barrier_cluster_arrive();
        ptx::barrier_cluster_wait();  // @second
    }
    if (thread == 0) {
        ptx::mbarrier_arrive_expect_tx(full, 2048);
        float* const to = s + (mistake == kOtherRanksPlace ? 0 : rank * 256);
        const int ranks = mistake == kWrongRank ? 7 : mistake == kOwnRankAlone ? 1 << rank : 3;
        ptx::cp_async_bulk_tensor(to, &map, 0, rank * 8, full, ranks);  // @multicast
    }
    uint64_t* const foreign = ptx::mapa(full, 1 - rank);
    ptx::mbarrier_wait_parity(mistake == kForeignWait ? foreign : full, 0);  // @wait_full
    if (mistake == kOtherBarrier && thread % 2) __syncthreads();  // @odd
    __syncthreads();  // @even
    if (mistake == kPastTheEnd && rank == 0) out[thread] = s[520];  // @past
    // The other block's memory is complete when that block has waited.
    if (thread == 0) ptx::mbarrier_arrive_cluster(heard, 1 - rank);  // @first_arrival
    if (thread == 32) ptx::mbarrier_arrive_cluster(heard, 1 - rank);  // @arrival
    if (mistake != kNoWaitForArrival) ptx::mbarrier_wait_parity(heard, 0);
    out[rank * 64 + thread] = ptx::mapa(s, 1 - rank)[thread] + s[256 + thread];  // @read
    if (mistake != kNoBarrierAtEnd) {
        ptx::barrier_cluster_arrive();
        ptx::barrier_cluster_wait();
    }
}

bool run(Mistake mistake) {
    std::vector<float> in(16 * 32);
    for (size_t i = 0; i < in.size(); ++i) in[i] = float(i);
    Device<float> device(in), out(128);
    exchange<<<4, 64, 2048 + 16>>>(tensor_map(device.data, 16, 32, 8, 32), mistake, out.data);
    if (cudaPeekAtLastError() != cudaSuccess) return false;
    bool right = true;
    for (int i = 0; i < 128; ++i) right &= out.host()[i] == i % 64 * 2 + 256;
    return right;
}

TEST_F(Clusters, TwoBlocksShare) {
    in_every_order([] {
        EXPECT_TRUE(run(kNone));
        EXPECT_EQ(emulator::counts().blocks, 4u);
        EXPECT_EQ(emulator::counts().barriers, 4u);
        EXPECT_EQ(global_loads(), (Traffic{4, 4 * 32, 0, 4 * 1024})) << "of a multicast once";
        expect_silence();  // two clusters store the same values
    });
    // A record has each block once, and nothing of the attempt before the launch was known to have
    // clusters.
    std::string text;
    emulator::record_next_launch({}, [&](const std::string& record) { text = record; });
    run(kNone);
    const auto count = [&](const std::string& what) {
        size_t found = 0;
        for (size_t at = 0; (at = text.find("\n" + what, at)) != std::string::npos; ++at) ++found;
        return found;
    };
    EXPECT_EQ(count("block,"), 2u) << text;
    EXPECT_EQ(count("note,load,"), 2u * 4) << text;  // two multicasts to two blocks each
}

TEST_F(Clusters, Mistakes) {
    const std::pair<Mistake, Said> all[] = {
        {kNoClusterBarrier,
         {"no mbarrier is there",
          "no barrier of the cluster lies between..this call at ..mbarrier_init() is at @init, by"}},
        {kNoBarrierAtEnd, {"has left its cluster"}},
        {kNoWaitForArrival, {"race in shared memory: ", "uninitialised shared memory: "}},
        {kWrongRank,
         {"cp_async_bulk_tensor: the mask 7 has ranks 0 to 2, in a cluster of 2 blocks"}},
        {kOtherRanksPlace,
         {"cp_async_bulk_tensor into rank ..: an earlier one of this line, of thread 0 of rank "
          "..at @multicast..that of rank 0 goes to ranks 0 to 1..that of rank 1 goes to ranks 0 to 1",
          "cp_async_bulk_tensor into rank ..: an earlier one of this line, of thread 0 of rank "
          "..at @multicast..that of rank 1 goes to ranks 0 to 1..that of rank 0 goes to ranks 0 to 1",
          "uninitialised shared memory: @read"}},
        {kOwnRankAlone,
         {"deadlock: no thread of the cluster of block ..2 blocks of 64 threads, can go on: 128..\n"
          "..of rank 1, initialised at @init: phase 0, 64 threads waiting; its arrival has been made (thread 0 of rank 1 at "
          "..); 1024 of the 2048 bytes that are expected by thread 0 of rank 1 at ..have arrived (by the "
          "cp_async_bulk_tensor at @multicast of its own rank alone)"}},
        {kNoArrive,
         {"barrier_cluster_wait: no barrier_cluster_arrive() before at @barrier_cluster_wait"}},
        {kOneBlockMissing,
         {"deadlock: no thread of the cluster of block ..threads 0 to 63 of rank 1 wait at @second, for the cluster, "
          "of which threads 0 to 63 of rank 0 have not arrived"}},
        {kForeignWait, {"is another block's at @wait_full"}},
        {kOtherBarrier, {"barrier divergence: thread "}},
        {kPastTheEnd,
         {"out of bounds: @past reads 4 bytes, ..past the end of the 2064 bytes of dynamic shared "
          "memory of rank 0 (block "}},
    };
    expect_each(all, run);
}

// A pipeline of one stage: in each round each block multicasts its half to both, and a thread of
// each reads it.
enum Round { kRight, kArrivesAtHome, kParityStays, kReadersParityStays };
__global__ void CLUSTER_DIMS(2) __launch_bounds__(64)
    rounds(const __grid_constant__ CUtensorMap map, Round kind, float* out) {
    extern __shared__ __align__(1024) float s[];  // two boxes
    uint64_t* const full = (uint64_t*)(s + 512);
    uint64_t* const empty = full + 1;
    const int rank = ptx::get_sreg_cluster_ctarank();
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(full, 1);
        ptx::mbarrier_init(empty, 2);  // @init_empty
        ptx::fence_mbarrier_init();
    }
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();
    for (int round = 0; threadIdx.x == 0 && round < 3; ++round) {
        const int parity = kind == kParityStays ? 1 : (round + 1) % 2;
        ptx::mbarrier_wait_parity(empty, parity);  // @wait_empty
        ptx::mbarrier_arrive_expect_tx(full, 2048);
        ptx::cp_async_bulk_tensor(s + rank * 256, &map, 0, rank * 8, full, 3);  // @load
    }
    for (int round = 0; threadIdx.x == 32 && round < 3; ++round) {
        ptx::mbarrier_wait_parity(full, kind == kReadersParityStays ? 0 : round % 2);  // @reads
        out[rank * 2 + round % 2] = s[256];
        ptx::fence_proxy_async();
        for (int peer = 0; peer < 2; ++peer)
            if (kind == kArrivesAtHome) ptx::mbarrier_arrive(empty);
            else ptx::mbarrier_arrive_cluster(empty, peer);
    }
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();
}

// The report names the wait at the other barrier, which lets the thread go on too early.
TEST_F(Clusters, WaitsThatEndTooEarly) {
    Device<float> in(16 * 32, 1.f), out(4);
    const auto run = [&](Round kind) {
        rounds<<<2, 64, 2048 + 16>>>(tensor_map(in.data, 16, 32, 8, 32), kind, out.data);
    };
    in_every_order([&] { run(kRight), expect_silence(); });
    run(kArrivesAtHome);
    expect_some(
        {"@load..the last wait of thread 0 of rank ..at @wait_empty on the mbarrier empty..returned "
         "after the 2 arrivals of its mbarrier_init() at @init_empty, all from its own block"});
    run(kParityStays);
    expect_some(
        {"one arrival more..the wait at @wait_empty on the mbarrier empty..by thread 0 of rank ..for "
         "parity 1, returned at once: that is the parity of the phase before the first, for which "
         "the thread had waited before"});
    run(kReadersParityStays);  // a wait of one block lets the other one's producer go on
    expect_some(
        {"one arrival more..of rank 1, by this call..the wait at @reads..of rank 0 by thread 32 of "
         "rank 0, for parity 0, returned at once"});
}

// Each block arrives at the other's barrier, but only rank 0 waits before it leaves.
__global__ void CLUSTER_DIMS(2) leave(bool wait) {
    extern __shared__ uint64_t heard[];
    const int rank = ptx::get_sreg_cluster_ctarank();
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(heard, 1);
        ptx::fence_mbarrier_init();
    }
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();
    if (threadIdx.x == 0) ptx::mbarrier_arrive_cluster(heard, 1 - rank);  // @leaving
    if (rank == 0 || wait) ptx::mbarrier_wait_parity(heard, 0);
}

TEST_F(Clusters, ABlockLeavesTooEarly) {
    in_every_order([] {
        leave<<<2, 32, 16>>>(true);
        expect_silence();
        leave<<<2, 32, 16>>>(false);
        expect_some({"rank 1 leaves its cluster too early..mbarrier_arrive_cluster at @leaving",
                     "mbarrier_arrive_cluster: ..rank 1 has left its cluster at @leaving"});
    });
}

// ---- Asynchronous stores ------------------------------------------------------------------------

enum Slip {
    kNoSlip,
    kToItself,
    kNoWaitForFull,
    kNoWaitForFree,
    kFreeTooEarly,
    kTooFewBytes,
    kGone,
    kNoWaitAtEnd,
    kRelaxed,
    kWrittenLater,
    kNoFence,
    kMisaligned,
    kPastTheInbox,
};
constexpr int kRounds = 3;
// In each round a thread sends a value to the reduction buffer of the other block, and reads what that
// one sent, with the note that it had written before.
__global__ void CLUSTER_DIMS(2) __launch_bounds__(64) send(Slip slip, float* out) {
    extern __shared__ __align__(16) float reduction_buffer[];  // 4 for each thread
    uint64_t* const full = (uint64_t*)(reduction_buffer + 64 * 4);
    uint64_t* const free = full + 1;
    float* const note = (float*)(full + 2);
    const int rank = ptx::get_sreg_cluster_ctarank(), thread = threadIdx.x;
    const int other = slip == kToItself ? rank : 1 - rank;
    const Slip mine = thread == 40 ? slip : kNoSlip;  // only thread 40 makes the mistake
    if (thread == 0) {
        ptx::mbarrier_init(full, 1);
        ptx::mbarrier_init(free, 64);
        if (slip != kNoFence) ptx::fence_mbarrier_init();
    }
    note[thread] = 0;  // @plain
    ptx::barrier_cluster_arrive_relaxed();
    ptx::barrier_cluster_wait();
    if (slip == kGone && rank == 0) return;
    const float* const others = ptx::mapa(note, other);
    if (slip == kRelaxed) out[rank * 64 + thread] = others[thread];  // @read_plain
    const int at = slip == kMisaligned ? 2 : slip == kPastTheInbox ? 4 * 81 : 4 * thread;
    float sum = 0;
    for (int round = 0; round < kRounds; ++round) {
        const bool too_few = slip == kTooFewBytes && round == kRounds - 1;
        if (thread == 0) ptx::mbarrier_arrive_expect_tx(full, too_few ? 512 : 1024);
        if (round > 0 && mine != kNoWaitForFree) ptx::mbarrier_wait_parity(free, (round - 1) % 2);
        const float4 value = make_float4(round, 10 * rank, 100 * thread, 10000);
        if (slip != kWrittenLater) note[thread] = 7;
        ptx::st_async((float4*)(reduction_buffer + at), value, full, other);  // @store
        if (slip == kWrittenLater) note[thread] = 7;  // @later
        if (mine != kNoWaitForFull) ptx::mbarrier_wait_parity(full, round % 2);
        sum += others[thread];  // @read_note
        if (mine == kFreeTooEarly) ptx::mbarrier_arrive_cluster(free, other);
        for (int i = 0; i < 4; ++i) sum += reduction_buffer[4 * thread + i];  // @read
        if (mine != kFreeTooEarly) ptx::mbarrier_arrive_cluster(free, other);  // @free
    }
    if (slip != kNoWaitAtEnd) ptx::mbarrier_wait_parity(free, (kRounds - 1) % 2);
    out[rank * 64 + thread] = sum;
}

TEST_F(Clusters, Send) {
    Device<float> out(128);
    in_every_order([&] {
        for (const Slip slip : {kNoSlip, kToItself}) {
            send<<<2, 64, 64 * 16 + 16 + 64 * 4>>>(slip, out.data);
            expect_silence();
            for (int i = 0; i < 128; ++i) {
                const int from = slip == kNoSlip ? 1 - i / 64 : i / 64;
                EXPECT_EQ(out.host()[i], 3 + kRounds * (10007 + 10 * from + 100 * (i % 64)));
            }
        }
        EXPECT_EQ(global_loads()[3], 0u);
    });
    const std::pair<Slip, Said> all[] = {
        {kNoWaitForFull, race("shared", "@store writes", "@read reads")},
        {kNoWaitForFree,
         {"st_async: an earlier one of this line..is still writing there at @store",
          "st_async: ..more arrive than are expected at @store",
          "race in shared memory: @read reads what @store writes"}},
        {kFreeTooEarly, race("shared", "@store writes", "@read reads")},
        {kTooFewBytes,
         {"st_async: phase 2 of ..more arrive than are expected at @store",
          "the block ends, but phase 3 of the mbarrier full..bytes have arrived, and none are expected in this phase"}},
        {kGone,
         {"rank 0 leaves its cluster too early..st_async at @store",
          "st_async: the block of rank 0 has left its cluster at @store"}},
        {kNoWaitAtEnd, {"mbarrier_arrive_cluster: ..has left its cluster at @free"}},
        {kRelaxed, race("shared", "@plain writes", "@read_plain reads")},
        {kWrittenLater, race("shared", "@later writes", "@read_note reads")},
        {kNoFence,
         {"no barrier of the cluster lies between..at @store..no fence_mbarrier_init() follows it"}},
        {kMisaligned, {"st_async: ..is not a multiple of 16 at @store"}},
        {kPastTheInbox,
         {"out of bounds: @store writes 16 bytes",
          "st_async: that address is not in shared memory at @store"}},
    };
    expect_each(all, [&](Slip slip) { send<<<2, 64, 64 * 16 + 16 + 64 * 4>>>(slip, out.data); });
}

__global__ void CLUSTER_DIMS(4) four(int* out) {
    out[blockIdx.x * 8 + ptx::get_sreg_cluster_ctarank()] = 1;
}
__global__ void CLUSTER_DIMS(4) each(int* out) { out[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
__global__ void CLUSTER_DIMS(2, 2) square(int* ranks) {
    if (threadIdx.x == 0) ranks[blockIdx.y * 4 + blockIdx.x] = ptx::get_sreg_cluster_ctarank();
}
__global__ void CLUSTER_DIMS(8) eight(int* out) { *out = 1; }
// Each block of a cluster has its own static arrays, which the other one can read.
__global__ void CLUSTER_DIMS(2) with_static(bool syncs, int past, int* out) {
    __shared__ int s[32];
    __shared__ uint64_t full;
    const int rank = ptx::get_sreg_cluster_ctarank(), thread = threadIdx.x;
    int* const mine = s + past;
    mine[thread] = 100 * rank + thread;  // @own
    if (thread == 0) {
        ptx::mbarrier_init(&full, 32);
        ptx::fence_mbarrier_init();
    }
    if (syncs) {
        ptx::barrier_cluster_arrive();
        ptx::barrier_cluster_wait();
    }
    const int* const others = ptx::mapa(s, 1 - rank);
    out[rank * 32 + thread] = others[thread];  // @other
    if (syncs) ptx::mbarrier_arrive_cluster(&full, 1 - rank);
    if (syncs) ptx::mbarrier_wait_parity(&full, 0);
}

TEST_F(Clusters, BlocksHaveTheirOwnStaticArrays) {
    in_every_order([&] {
        with_static<<<2, 32>>>(true, 0, ints.data);
        const auto found = ints.host();
        for (int i = 0; i < 64; ++i) EXPECT_EQ(found[i], i < 32 ? 100 + i : i - 32);
        expect_silence();
        with_static<<<2, 32>>>(false, 0, ints.data);
        expect_some({"race in shared memory: @own writes what @other reads (s[",
                     "uninitialised shared memory: @other reads"});
        with_static<<<2, 32>>>(true, 1, ints.data);
        expect_some({"out of bounds: @own writes 4 bytes"});
    });
}

TEST_F(Clusters, Shapes) {
    square<<<dim3(4, 4), 32>>>(ints.data);
    expect_silence();
    const auto ranks = ints.host();
    for (int i = 0; i < 16; ++i) EXPECT_EQ(ranks[i], i / 4 % 2 * 2 + i % 2);
    four<<<6, 32>>>(ints.data);  // @six
    expect_failure(
        {"__cluster_dims__: the grid of 6 x 1 x 1 blocks..launch at @six..multiple..4 x 1 x 1"});
    eight<<<8, 544>>>(ints.data);
    expect_failure({"__cluster_dims__: 8 blocks of 544 threads"});
    cudaLaunchAttribute size = {};
    size.id = cudaLaunchAttributeClusterDimension;
    cudaLaunchConfig_t config = {};
    config.attrs = &size;
    config.numAttrs = 1;
    for (const int blocks : {1, 4}) {
        size.val.clusterDim = dim3(blocks);
        int clusters = 0;
        cudaOccupancyMaxActiveClusters(&clusters, each, &config);
        EXPECT_EQ(clusters, 3);  // one for each SM
    }
    Device<int> out(4 * 384);
    each<<<4, 384>>>(out.data);
    EXPECT_EQ(global_stores()[3], 4 * 384 * sizeof(int));
    expect_silence();
}

// ---- Cooperative groups --------------------------------------------------------------------------

// Each block passes its rank on to the next block of its cluster, and lists what the group says.
template <class Group>
__device__ void describe(Group cluster, unsigned* own, unsigned* out) {
    const unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
    const unsigned block = blockIdx.x + gridDim.x * blockIdx.y;
    if (threadIdx.x == 0) *cluster.map_shared_rank(own, int(next)) = cluster.block_rank();
    auto token = cluster.barrier_arrive();
    cluster.barrier_wait(std::move(token));
    const dim3 index = cluster.block_index(), dims = cluster.dim_blocks();
    const unsigned values[] = {*own,
                               cluster.block_rank(),
                               cluster.num_blocks(),
                               cluster.thread_rank(),
                               cluster.num_threads(),
                               10 * index.x + index.y,
                               10 * dims.x + dims.y,
                               cluster.dim_threads().x,
                               cluster.query_shared_rank(cluster.map_shared_rank(own, int(next)))};
    if (threadIdx.x == 1)
        for (unsigned i = 0; i < 9; ++i) out[9 * block + i] = values[i];
    cluster.sync();
}
__global__ void __cluster_dims__(2, 2, 1) describe_cluster(unsigned* out) {
    __shared__ unsigned own;
    describe(cooperative_groups::this_cluster(), &own, out);
}
__global__ void describe_block(unsigned* out) {
    __shared__ unsigned own;
    describe(cooperative_groups::this_cluster(), &own, out);
}

TEST_F(Clusters, CooperativeGroups) {
    Device<unsigned> out(9 * 8);
    describe_cluster<<<dim3(4, 2), 32>>>(out.data);
    expect_silence();
    const std::vector<unsigned> all = out.host();
    const std::vector<unsigned> last(all.end() - 9, all.end());  // rank 3 of the second cluster
    EXPECT_EQ(last, (std::vector<unsigned>{2, 3, 4, 97, 128, 11, 22, 64, 0}));
    describe_block<<<2, 64>>>(out.data);
    expect_silence();
    const std::vector<unsigned> of_blocks = out.host();
    const std::vector<unsigned> second(of_blocks.begin() + 9, of_blocks.begin() + 18);
    EXPECT_EQ(second, (std::vector<unsigned>{0, 0, 1, 1, 64, 0, 11, 64, 0}));
}

}  // namespace

// Barriers of a part of a block (bar.sync, tiles of several warps), and __syncthreads() in a cluster.

#include "emulator/engine/named_barriers.h"

#include <algorithm>
#include <utility>

#include "emulator/engine/clocks.h"
#include "emulator/engine/names.h"
#include "emulator/engine/threads.h"
#include "emulator/include/common/ptx/ptx.cuh"
#include "emulator/trace/record.h"
#include "emulator/trace/report.h"

namespace emulator {
namespace {

constexpr unsigned kWarps = kMaxBlockThreads / 32;  // of a block

struct NamedBarrier {
    unsigned expected = 0, arrived = 0;  // threads
    uint32_t lanes[kWarps] = {};  // of each warp, that have arrived
    uint32_t before[kWarps] = {};  // and those of the last time
    Call first;  // where the first of them arrived
    Sync arriving, passed;
};

constexpr int kNames = 16;
// Those with names, __syncthreads(), and those of tiles: of 64, 128, 256 and 512 threads, of which a
// block has at most 16.
constexpr int kTiles = kNames + 1, kTilesOfASize = 16, kSizes = 4;
NamedBarrier barriers[kMaxRanks][kTiles + kSizes * kTilesOfASize];
uint32_t exited[kMaxRanks][kWarps];  // lanes that have returned

// A warp's arrival counts as 32 threads, and does not wait for its threads that have exited.
// __syncthreads() waits for no exited thread.
bool is_complete(const NamedBarrier& b, unsigned rank) {
    int counted = 0;
    for (unsigned warp = 0; warp < kWarps; ++warp)
        if (b.lanes[warp] || &b == &barriers[rank][kNames])
            counted += __builtin_popcount(b.lanes[warp] | exited[rank][warp]);
    return counted >= int(b.expected);
}

void pass(NamedBarrier& b, unsigned rank) {
    totals.barriers += &b == &barriers[rank][kNames];
    b.arrived = 0;
    std::swap(b.lanes, b.before);
    std::fill_n(b.lanes, kWarps, 0);
    b.passed = std::exchange(b.arriving, Sync());
    for (unsigned t = 0; t < run.threads; ++t)
        if (threads[t].waits(&b)) b.passed.acquire(t);
    wake(&b);
}

// ", a barrier at which 32 of 64 threads have arrived: threads 0 to 31": and who else came last time.
std::string describe(const void* object) {
    const auto& b = *static_cast<const NamedBarrier*>(object);
    const unsigned rank = unsigned((&b - barriers[0]) / std::size(barriers[0]));
    std::vector<unsigned> here, missing;
    for (unsigned t = 0; t < run.block_threads; ++t) {
        const uint32_t lane = 1u << t % 32;
        if (b.lanes[t / 32] & lane) here.push_back(rank * run.block_threads + t);
        else if (b.before[t / 32] & lane) missing.push_back(rank * run.block_threads + t);
    }
    return ", a barrier at which " + std::to_string(b.arrived) + " of " +
           std::to_string(b.expected) + " threads have arrived: " + thread_names(here) +
           (missing.empty() ? "" : " (the last time also " + thread_names(missing) + ")");
}

// The running thread arrives. Returns whether the barrier is complete with it.
bool arrive(NamedBarrier& b, unsigned expected, const Call& site) {
    const unsigned rank = rank_of(current_thread), thread = current_thread % run.block_threads;
    if (b.arrived == 0) {
        b.expected = expected;
        b.first = site;
    }
    b.arriving.release(current_thread);
    note_arrival();
    ++b.arrived;
    b.lanes[thread / 32] |= 1u << thread % 32;
    if (!is_complete(b, rank)) return false;
    pass(b, rank);
    return true;
}

void arrive_and_wait(NamedBarrier& b, unsigned expected, const Call& site) {
    if (arrive(b, expected, site)) return b.passed.acquire(current_thread);
    wait_for(&b, site, describe);
}

NamedBarrier& named(const std::string& caller, int id, int count, const char* file, int line) {
    const auto refuse = [&](const std::string& why) { misuse(caller + ": " + why, file, line); };
    if (id < 0 || id >= kNames) refuse("barrier " + std::to_string(id) + ", not 0 to 15");
    if (count < 32 || count % 32 || unsigned(count) > run.block_threads)
        refuse(std::to_string(count) + " threads, not a multiple of 32 up to the block's " +
               std::to_string(run.block_threads));
    NamedBarrier& b = barriers[rank_of(current_thread)][id];
    if (b.arrived && b.expected != unsigned(count))
        refuse(std::to_string(count) + " threads for barrier " + std::to_string(id) +
               ", but the first to arrive, at " + site_name(b.first) + ", gave " +
               std::to_string(b.expected));
    return b;
}

}  // namespace

void named_barrier_sync(int id, int count, const char* file, int line) {
    EmulatorsWork work;
    if (record::on) record::call(current_thread, "barrier", file, line);
    arrive_and_wait(named("named_barrier_sync", id, count, file, line), unsigned(count),
                    {file, line, 0});
}

void named_barrier_arrive(int id, int count, const char* file, int line) {
    EmulatorsWork work;
    if (record::on) record::call(current_thread, "arrive", file, line);
    arrive(named("named_barrier_arrive", id, count, file, line), unsigned(count), {file, line, 0});
}

void tile_barrier(unsigned size, const char* file, int line) {
    EmulatorsWork work;
    if (record::on) record::call(current_thread, "barrier", file, line);
    const unsigned in_block = current_thread % run.block_threads;
    const int number = __builtin_ctz(size / 64) * kTilesOfASize + int(in_block / size);
    const unsigned expected = std::min(size, run.block_threads - in_block / size * size);
    arrive_and_wait(barriers[rank_of(current_thread)][kTiles + number], expected, {file, line, 0});
}

uint64_t* tile_values(unsigned size) {
    static uint64_t values[kMaxThreads];
    const unsigned in_block = current_thread % run.block_threads;
    return values + (current_thread - in_block) + in_block / size * size;
}

void block_barrier_in_cluster(const char* file, int line, int number) {
    EmulatorsWork work;
    NamedBarrier& b = barriers[rank_of(current_thread)][kNames];
    const Call site{file, line, number};
    if (b.arrived && !same_site(b.first, site))
        fail("barrier divergence: " + thread_name(current_thread) + " of " + block_name() +
             " waits at " + site_name(site) + ", but others at " + site_name(b.first));
    arrive_and_wait(b, run.block_threads, site);
}

namespace named_barriers {

void begin_block() {
    for (unsigned rank = 0; rank < run.ranks; ++rank)
        for (NamedBarrier& b : barriers[rank])
            if (b.expected) b = NamedBarrier();
    for (auto& of_rank : exited) std::fill_n(of_rank, kWarps, 0);
}

void end_thread() {
    const unsigned rank = rank_of(current_thread), thread = current_thread % run.block_threads;
    exited[rank][thread / 32] |= 1u << thread % 32;
    for (NamedBarrier& b : barriers[rank])
        if (b.arrived && is_complete(b, rank)) pass(b, rank);
}

}  // namespace named_barriers
}  // namespace emulator

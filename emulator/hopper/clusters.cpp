// Clusters: blocks that run together. Their threads are numbered through, those of rank 0 first, and
// their dynamic shared memories lie in one range.

#include "emulator/hopper/clusters.h"

#include <algorithm>
#include <utility>

#include "emulator/api/api.h"
#include "emulator/engine/accesses.h"
#include "emulator/engine/clocks.h"
#include "emulator/engine/names.h"
#include "emulator/hopper/mbarriers.h"
#include "emulator/include/common/ptx/hopper.cuh"
#include "emulator/trace/lines.h"
#include "emulator/trace/record.h"
#include "emulator/trace/report.h"

namespace emulator {
namespace {

struct ClusterBarrier {
    Sync arriving, passed;
    unsigned arrived = 0;
    uint32_t phase = 0;
    uint32_t waits_for[kMaxThreads] = {};  // phase + 1 that the thread has arrived in; 0: none
} cluster_barrier;

// The last thing that each thread has asked of another block.
struct Asked {
    const char* name = nullptr;
    Call site;
    uintptr_t pc = 0;  // of an access, which has no site
    uint32_t clock = 0;
};
Asked asked[kMaxRanks][kMaxThreads];

unsigned running_threads(unsigned rank) {
    unsigned count = 0;
    for (unsigned t = 0; t < run.block_threads; ++t)
        count += threads[rank * run.block_threads + t].state != State::returned;
    return count;
}

void pass_if_complete() {
    unsigned running = 0;
    for (unsigned rank = 0; rank < run.ranks; ++rank) running += running_threads(rank);
    if (cluster_barrier.arrived < running || cluster_barrier.arrived == 0) return;
    cluster_barrier.arrived = 0;
    ++cluster_barrier.phase;
    cluster_barrier.passed = std::exchange(cluster_barrier.arriving, Sync());
    wake(&cluster_barrier);
}

}  // namespace

unsigned rank_of(unsigned thread) { return thread / run.block_threads; }

std::string rank_names(unsigned mask) {
    std::string ranges;
    for (unsigned rank = 0; mask >> rank;) {
        const unsigned first = rank;
        while (mask >> rank & 1) ++rank;
        if (rank == first) {
            ++rank;
            continue;
        }
        ranges += (ranges.empty() ? "" : ", ") + std::to_string(first) +
                  (rank - 1 > first ? " to " + std::to_string(rank - 1) : "");
    }
    return ((mask & (mask - 1)) ? "ranks " : "rank ") + ranges;
}

static std::string blocks_of(dim3 size) {
    return std::to_string(size.x) + " x " + std::to_string(size.y) + " x " + std::to_string(size.z);
}

void set_cluster(unsigned x, unsigned y, unsigned z) {
    const unsigned ranks = x * y * z;
    if (run.ranks == ranks && run.cluster.x == x && run.cluster.y == y) return;
    const auto refuse = [](const std::string& why) { fail("__cluster_dims__: " + why); };
    if (ranks < 1 || ranks > kMaxRanks)
        refuse(std::to_string(ranks) + " blocks, not 1 to " + std::to_string(kMaxRanks));
    if (run.grid.x % x || run.grid.y % y || run.grid.z % z)
        refuse("the grid of " + blocks_of(run.grid) + " blocks of the launch at " +
               site_name(run.launched) + " is not a multiple of the cluster's " +
               blocks_of({x, y, z}));
    if (ranks > 1 && run.block_threads % 32)
        refuse("the emulator wants whole warps in the blocks of a cluster");
    if (ranks * run.block_threads > kMaxThreads)
        refuse(std::to_string(ranks) + " blocks of " + std::to_string(run.block_threads) +
               " threads are more than the emulator's " + std::to_string(kMaxThreads));
    if (ranks > 1 && static_shared(run.kernel) > 0)
        refuse("the emulator wants all shared memory of a cluster's kernel to be dynamic");
    run.cluster = {x, y, z};
    run.ranks = ranks;
    restart_launch();
}

void* in_rank(void* pointer, unsigned rank, const char* name, const char* file, int line) {
    if (rank >= run.ranks)
        misuse(std::string(name) + ": rank " + std::to_string(rank) + " of a cluster of " +
                   std::to_string(run.ranks),
               file, line);
    if (running_threads(rank) == 0)
        misuse(std::string(name) + ": the block of rank " + std::to_string(rank) +
                   " has left its cluster",
               file, line);
    if (rank != rank_of(current_thread))
        asked[rank][current_thread] = {name, {file, line, 0}, 0, clocks::now(current_thread)};
    const auto offset = static_cast<char*>(pointer) - static_cast<char*>(builtins.dynamic_shared);
    if (offset < 0 || size_t(offset) >= run.shared_stride)
        misuse(std::string(name) + ": the address is not in the block's own shared memory", file,
               line);
    return static_cast<char*>(run.shared) + size_t(rank) * run.shared_stride + offset;
}

void note_remote_access(unsigned thread, unsigned rank, uintptr_t pc) {
    if (thread < run.threads && rank != rank_of(thread))
        asked[rank][thread] = {"access", {}, pc, clocks::now(thread)};
}

void* map_shared(void* pointer, int rank, const char* file, int line) {
    EmulatorsWork work;
    return in_rank(pointer, unsigned(rank), "map_shared", file, line);
}

int cluster_rank() { return int(rank_of(current_thread)); }

void cluster_arrive(bool relaxed, const char* file, int line) {
    EmulatorsWork work;
    if (record::on) record::call(current_thread, "cluster arrive", file, line);
    if (cluster_barrier.waits_for[current_thread])
        misuse("cluster_arrive: the thread has not waited since its last one", file, line);
    cluster_barrier.waits_for[current_thread] = cluster_barrier.phase + 1;
    if (relaxed) publish_mbarriers(cluster_barrier.arriving);
    else cluster_barrier.arriving.release(current_thread);
    ++cluster_barrier.arrived;
    note_arrival();
    pass_if_complete();
}

void cluster_wait(const char* file, int line) {
    EmulatorsWork work;
    if (record::on) record::call(current_thread, "cluster wait", file, line);
    uint32_t& phase = cluster_barrier.waits_for[current_thread];
    if (phase == 0) misuse("cluster_wait: no cluster_arrive() before", file, line);
    if (cluster_barrier.phase < phase)
        wait_for(&cluster_barrier, {file, line, 0},
                 [](const void*) -> std::string { return ", for the cluster"; });
    phase = 0;
    cluster_barrier.passed.acquire(current_thread);
}

namespace clusters {

void begin_block() {
    if (run.ranks == 1) return;
    clocks::keep_all_readers();
    cluster_barrier = ClusterBarrier();
    for (unsigned rank = 0; rank < run.ranks; ++rank)
        std::fill_n(asked[rank], run.threads, Asked());
}

// Whoever asked a block for something must have been heard before that block's last thread returns.
// The last thing that a thread asked stands for all before it.
void end_thread() {
    if (run.ranks == 1) return;
    pass_if_complete();
    const unsigned rank = rank_of(current_thread);
    if (!tracing() || running_threads(rank) > 0) return;
    for (unsigned asking = 0; asking < run.threads; ++asking) {
        const Asked& request = asked[rank][asking];
        if (!request.name) continue;
        bool heard = false;
        for (unsigned t = 0; t < run.block_threads; ++t)
            heard |= clocks::knows(rank * run.block_threads + t, asking, request.clock);
        if (heard) continue;
        report_problem("the block of rank " + std::to_string(rank) +
                       " leaves its cluster too early: it has not waited for the " + request.name +
                       " at " +
                       (request.pc ? find_lines({request.pc})[0] : site_name(request.site)) + " (" +
                       block_name() + ", " + thread_name(asking) + ")");
        return;
    }
}

}  // namespace clusters
}  // namespace emulator

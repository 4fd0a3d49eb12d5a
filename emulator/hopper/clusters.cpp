// Clusters: blocks that run together. Their threads are numbered consecutively, beginning with
// those of rank 0, and their dynamic shared memory lies in one range.

#include "emulator/hopper/clusters.h"

#include <utility>

#include "emulator/api/limits.h"
#include "emulator/engine/clocks.h"
#include "emulator/engine/names.h"
#include "emulator/engine/threads.h"
#include "emulator/hopper/mbarriers.h"
#include "emulator/hopper/ranks.h"
#include "emulator/include/common/ptx/hopper.cuh"
#include "emulator/include/cooperative_groups.h"
#include "emulator/trace/record.h"

namespace emulator {
namespace {

struct ClusterBarrier {
    Sync arriving, passed;
    unsigned arrived = 0;
    uint32_t phase = 0;
    uint32_t waits_for[kMaxThreads] = {};  // 1 + the phase in which the thread has arrived; 0: none
} cluster_barrier;

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

static std::string blocks_of(dim3 size) {
    return std::to_string(size.x) + " x " + std::to_string(size.y) + " x " + std::to_string(size.z);
}

static void set_cluster(const std::string& by, unsigned x, unsigned y, unsigned z) {
    const unsigned ranks = x * y * z;
    if (run.ranks == ranks && run.cluster.x == x && run.cluster.y == y) return;
    const auto refuse = [&](const std::string& why) { fail(by + ": " + why); };
    if (run.ranks > 1)
        refuse("the launch at " + site_name(run.launched) + " asks for clusters of " +
               blocks_of(run.cluster) + " blocks");
    if (ranks < 1 || ranks > kMaxRanks)
        refuse(std::to_string(ranks) + " blocks, not 1 to " + std::to_string(kMaxRanks));
    if (run.grid.x % x || run.grid.y % y || run.grid.z % z)
        refuse("the grid of " + blocks_of(run.grid) + " blocks of the launch at " +
               site_name(run.launched) + " is not a multiple of the cluster's " +
               blocks_of({x, y, z}));
    if (ranks > 1 && run.block_threads % 32)
        refuse("the emulator requires whole warps in the blocks of a cluster");
    if (ranks * run.block_threads > kMaxThreads)
        refuse(std::to_string(ranks) + " blocks of " + std::to_string(run.block_threads) +
               " threads are more than the emulator's " + std::to_string(kMaxThreads));
    if (ranks > 1 && has_unnamed_shared(run.kernel))
        refuse("the emulator has no shared memory of this form in a cluster's kernel");
    run.cluster = {x, y, z};
    run.ranks = ranks;
    restart_launch();
}
void set_cluster(unsigned x, unsigned y, unsigned z) { set_cluster("__cluster_dims__", x, y, z); }
// Only for a kernel with __cluster_dims__ has rewrite_launches.py given each block of a cluster its
// own static arrays.
void set_launch_cluster(dim3 size) {
    const char* const attribute = "cudaLaunchAttributeClusterDimension";
    if (static_shared(run.kernel))
        fail(std::string(attribute) + ": the kernel of the launch at " + site_name(run.launched) +
             " has static __shared__ arrays, for which the emulator needs __cluster_dims__");
    set_cluster(attribute, size.x, size.y, size.z);
}

void* mapa(void* pointer, int rank, const char* file, int line) {
    EmulatorsWork work;
    return in_rank(pointer, unsigned(rank), "mapa", file, line);
}

dim3 cluster_dims() { return run.cluster; }
void* shared_of_rank(void* pointer, unsigned rank, const char* file, int line) {
    EmulatorsWork work;
    if (run.ranks == 1 && rank == 0) return pointer;
    return in_rank(pointer, rank, "map_shared_rank", file, line);
}
unsigned rank_of_shared(const void* pointer) {
    if (run.ranks == 1) return 0;
    return unsigned(size_t(static_cast<const char*>(pointer) - static_cast<char*>(run.shared)) /
                    run.shared_stride);
}

int get_sreg_cluster_ctarank() { return int(rank_of(current_thread)); }

void barrier_cluster_arrive(bool relaxed, const char* file, int line) {
    EmulatorsWork work;
    if (record::on) record::call(current_thread, "cluster arrive", file, line);
    if (cluster_barrier.waits_for[current_thread])
        misuse("barrier_cluster_arrive: the thread has not waited since its last one", file, line);
    cluster_barrier.waits_for[current_thread] = cluster_barrier.phase + 1;
    if (relaxed) publish_mbarriers(cluster_barrier.arriving);
    else cluster_barrier.arriving.release(current_thread);
    ++cluster_barrier.arrived;
    note_arrival();
    pass_if_complete();
}

void barrier_cluster_wait(const char* file, int line) {
    EmulatorsWork work;
    if (record::on) record::call(current_thread, "cluster wait", file, line);
    uint32_t& phase = cluster_barrier.waits_for[current_thread];
    if (phase == 0) misuse("barrier_cluster_wait: no barrier_cluster_arrive() before", file, line);
    if (cluster_barrier.phase < phase)
        wait_for(&cluster_barrier, {file, line, 0}, [](const void*) {
            const auto missing = threads_that([](const Thread& thread) {
                const uint32_t phase = cluster_barrier.waits_for[&thread - &threads[0]];
                return thread.state != State::returned && phase != cluster_barrier.phase + 1;
            });
            return ", for the cluster, of which " + thread_names(missing) +
                   (missing.size() == 1 ? " has" : " have") + " not arrived";
        });
    phase = 0;
    cluster_barrier.passed.acquire(current_thread);
}

namespace clusters {

void begin_block() {
    if (run.ranks == 1) return;
    clocks::keep_all_readers();
    cluster_barrier = ClusterBarrier();
}

void end_thread() {
    if (run.ranks > 1) pass_if_complete();
}

}  // namespace clusters
}  // namespace emulator

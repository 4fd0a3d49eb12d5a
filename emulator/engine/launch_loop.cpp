// A launch runs its blocks one after the other, those of a cluster together. A block runs from
// barrier to barrier.

#include "emulator/engine/launch_loop.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <utility>

#include "emulator/engine/accesses.h"
#include "emulator/engine/block_barriers.h"
#include "emulator/engine/device_memory.h"
#include "emulator/engine/grid_barrier.h"
#include "emulator/engine/grid_dependency.h"
#include "emulator/engine/hooks.h"
#include "emulator/engine/named_barriers.h"
#include "emulator/engine/names.h"
#include "emulator/engine/races.h"
#include "emulator/engine/removed_calls.h"
#include "emulator/engine/settings.h"
#include "emulator/engine/shared_window.h"
#include "emulator/engine/stacks.h"
#include "emulator/engine/threads.h"
#include "emulator/engine/watchdog.h"
#include "emulator/trace/record.h"
#include "emulator/trace/report.h"
#include "emulator/trace/shared_names.h"

namespace emulator {

namespace {

void begin_launch() {
    shared_names::begin_launch();
    shared_window::begin_launch();
    call_each(run.hooks->begin_launch);  // one of them decides whether the launch is traced
    accesses::begin_launch();
    watchdog::begin_launch();
    record::begin_launch();
}

void end_launch() {
    accesses::end_launch();
    watchdog::end_launch();
    call_each(run.hooks->end_launch);
    // The record comes last, because it is passed on when it is complete.
    record::on = false;
    if (record::wanted() && !run.restart) record::end_launch(kernel_name());
}

// Forgets the block that ran before, which may not have been traced.
void clear_block() {
    if (traced) removed_calls::restore();
    block_barriers::begin_block();
    accesses::begin_block();
    named_barriers::begin_block();
    grid_dependency::begin_block();
    call_each(run.hooks->begin_block);
}

void begin_block() {
    for (unsigned t = 0; t < run.threads; ++t) {
        threads[t].state = State::ready;
        threads[t].returned_at = Call();
    }
    clear_block();
    // The record of a launch has its first and its last block.
    record::on = traced && run.first_or_last && record::wanted();
    if (record::on) record::begin_block(block_name(), run.threads);
}

void end_block() {
    grid_barrier::end_block();
    for (const auto end : run.hooks->end_block)
        if (!run.error) end();
    totals.blocks += run.ranks;
    totals.threads += run.threads;
}

// Runs the threads until all of them wait for the whole block, have returned or are stuck.
void run_to_barrier(std::vector<unsigned>& sequence) {
    if (thread_order() == Order::random) shuffle(sequence);
    do run_ready_threads(sequence);
    while (!run.error && !run.restart && any_holds(run.hooks->make_progress));
}

// Runs a block until it ends, or until it waits for the grid: then it is paused.
void run_block(std::vector<unsigned>& sequence, std::vector<PausedBlock>& paused) {
    do {
        run_to_barrier(sequence);
        if (run.restart) return;
        if (run.error && run.error != kEndedEarly && races::unwritten_was_read())
            run_after_failure(sequence);
        if (run.error) call_each(run.hooks->fail_block);
        accesses::end_interval();
        if (!run.error && grid_barrier::reached()) return paused.push_back(grid_barrier::pause());
    } while (!run.error && block_barriers::passes());
    end_block();
}

struct RestoresTraced {  // after a block that was not worth tracing
    const bool before = traced;
    ~RestoresTraced() { traced = before; }
};

void run_blocks() {
    std::vector<PausedBlock> paused;
    std::vector<unsigned> sequence(run.threads);
    std::iota(sequence.begin(), sequence.end(), 0);
    const Order order = thread_order();
    if (order == Order::reverse) std::reverse(sequence.begin(), sequence.end());
    const dim3 clusters(run.grid.x / run.cluster.x, run.grid.y / run.cluster.y,
                        run.grid.z / run.cluster.z);
    const uint64_t blocks = count(clusters);
    std::vector<unsigned> shuffled;
    if (order == Order::random) {
        shuffled.resize(blocks);
        std::iota(shuffled.begin(), shuffled.end(), 0);
        shuffle(shuffled);
    }
    for (uint64_t b = 0; b < blocks && !run.error && !run.restart; ++b) {
        if (leaves_single_blocks() && blocks == 1) continue;
        if (only_ends_run() && blocks > 1000 && b == 1) b = blocks - 1;
        run.first_or_last = b == 0 || b == blocks - 1;
        const uint64_t block = order == Order::random    ? shuffled[b]
                               : order == Order::reverse ? blocks - 1 - b
                                                         : b;
        const uint3 first = unflatten(block, clusters);
        run.first_block = {first.x * run.cluster.x, first.y * run.cluster.y,
                           first.z * run.cluster.z};
        indices.block = run.first_block;
        if (run.shared) std::memset(run.shared, 0xff, run.ranks * run.shared_stride);
        if (run.cooperative) {
            first_stack = unsigned(paused.size()) * run.threads;
            make_threads();
        }
        const RestoresTraced restores_traced;
        traced = traced && run.hooks->traces_block();
        begin_block();
        run_block(sequence, paused);
        run.hooks->leave_block();
    }
    while (!paused.empty() && !run.error && !run.restart) {
        grid_barrier::pass(paused, blocks);
        for (PausedBlock& block : std::exchange(paused, {})) {
            if (run.error) break;
            const RestoresTraced restores_traced;
            traced = block.traced && run.hooks->traces_block();
            indices.block = run.first_block = block.first;
            clear_block();
            grid_barrier::resume(block);
            record::on = false;  // the record has a block only up to its first wait for the grid
            run_block(sequence, paused);
            run.hooks->leave_block();
        }
    }
}

// Runs the launch until it ends, or until its first thread declares clusters and so restarts it
// (restart_launch()), which is the first thing that a kernel does.
void run_attempt() {
    constexpr size_t kAlignment = 1024, kStaticArrays = 64 << 10, kRedzone = 4096;
    const size_t bytes = run.shared_bytes;
    run.own_arrays.clear();
    run.restart = false;
    run.threads = run.ranks * run.block_threads;
    run.shared_stride = run.ranks == 1 ? bytes
                                       : (bytes + kAlignment - 1) / kAlignment * kAlignment +
                                             kStaticArrays + kRedzone;
    run.shared =
        run.shared_stride ? allocate_aligned(kAlignment, run.ranks * run.shared_stride) : nullptr;
    builtins.dynamic_shared = run.shared;
    make_threads();
    begin_launch();
    run_blocks();
    run.running = run.restart;
    std::free(run.shared);
    if (run.error || run.restart || run.cooperative) abandon_threads();
    first_stack = 0;
    end_launch();
}

}  // namespace

void run_launch(const Launch& launch, void (*thread)(void*), void* argument, const Hooks& hooks) {
    ++run.number;
    run.grid = launch.grid;
    run.block = launch.block;
    run.cluster = {1, 1, 1};
    run.ranks = 1;
    run.block_threads = launch.block.x * launch.block.y * launch.block.z;
    run.kernel = launch.kernel;
    run.launched = {launch.file, launch.line, 0};
    run.name = launch.name;
    run.shared_bytes = launch.dynamic_shared_bytes;
    run.shared_alignment = 0;
    run.hooks = &hooks;
    run.thread = thread;
    run.argument = argument;
    run.error = cudaSuccess;
    run.accesses_left = accesses_run();
    run.bounded = false;
    run.cooperative = launch.attributes.cooperative;
    run.running = true;
    builtins.grid_dim = launch.grid;
    builtins.block_dim = launch.block;
    do run_attempt();
    while (run.restart);
}

}  // namespace emulator

// Waiting for the whole grid.

#include "emulator/engine/grid_barrier.h"

#include <algorithm>
#include <utility>

#include "emulator/engine/clocks.h"
#include "emulator/engine/hooks.h"
#include "emulator/engine/names.h"
#include "emulator/engine/stacks.h"
#include "emulator/engine/threads.h"
#include "emulator/include/cooperative_groups.h"

namespace emulator {

static char grid;  // what threads wait for: only its address counts
static std::string returned;  // the last block that has returned, with the line of its first thread

bool in_cooperative_launch() { return run.cooperative; }

void grid_sync(const char* file, int line) {
    if (!run.cooperative)
        misuse_by(current_thread, "grid.sync() in an ordinary launch", file, line,
                  "a GPU stops there, too: only a launch by cudaLaunchCooperativeKernel() can "
                  "wait for the whole grid, and the one at " +
                      site_name(run.launched) + " is none");
    note_arrival();
    wait_for(&grid, {file, line, 0}, [](const void*) -> std::string { return ", for the grid"; });
}

namespace grid_barrier {

void end_block() {
    if (run.cooperative) returned = block_name() + place_of_return(threads[0]);
}

bool reached() {
    bool any = false;
    for (unsigned t = 0; t < run.threads; ++t) {
        if (threads[t].waits(&grid)) any = true;
        else if (threads[t].state != State::returned) return false;
    }
    return any;
}

PausedBlock pause() {
    call_each(run.hooks->pause_block);
    PausedBlock block{run.first_block, first_stack, traced, run.first_or_last, {}, {}, {}};
    block.shared = accesses::save_shared();
    block.threads.assign(threads.begin(), threads.begin() + run.threads);
    block.fibers = take_fibers();
    return block;
}

void resume(const PausedBlock& block) {
    run.first_or_last = block.first_or_last;
    first_stack = block.first_stack;
    std::copy(block.threads.begin(), block.threads.end(), threads.begin());
    put_fibers(block.fibers);
    accesses::restore_shared(block.shared);
    call_each(run.hooks->resume_block);
    wake(&grid);
}

void pass(const std::vector<PausedBlock>& paused, uint64_t blocks) {
    if (paused.size() < blocks) {
        const auto waiting = std::find_if(paused[0].threads.begin(), paused[0].threads.end(),
                                          [](const Thread& thread) { return thread.waits(&grid); });
        fail("deadlock: grid.sync() at " + site_name(waiting->site) +
             " waits for all blocks of the grid, but " + std::to_string(blocks - paused.size()) +
             " of " + std::to_string(blocks) + " have returned, the last one " + returned);
    }
    clocks::grid_barrier();
}

}  // namespace grid_barrier
}  // namespace emulator

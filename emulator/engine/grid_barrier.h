// Waiting for the whole grid, in a cooperative launch: blocks run one after the other up to
// grid.sync(), where each is paused until all of them are there.
#pragma once

#include <memory>
#include <vector>

#include "emulator/engine/accesses.h"
#include "emulator/engine/run.h"

namespace emulator {

struct PausedBlock {
    uint3 first;  // the block's index
    unsigned first_stack;
    bool traced, first_or_last;
    std::vector<Thread> threads;
    std::shared_ptr<void> fibers;
    accesses::SharedMemory shared;
};

namespace grid_barrier {
void end_block();
bool reached();  // whether no thread of the block that runs can go on before the grid does
PausedBlock pause();  // that block
void resume(const PausedBlock& block);  // run.first_block is its again
// Called when every block has ended or is paused: orders what comes after it after everything
// before. Ends the launch if some of the grid's blocks have ended.
void pass(const std::vector<PausedBlock>& paused, uint64_t blocks);
}  // namespace grid_barrier

}  // namespace emulator

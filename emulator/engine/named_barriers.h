// Barriers of a part of a block, and __syncthreads() in a cluster.
#pragma once

namespace emulator {

void block_barrier_in_cluster(const char* file, int line, int number);

namespace named_barriers {
void begin_block();
void end_thread();  // the others no longer wait for it
}  // namespace named_barriers

}  // namespace emulator

// Clusters: blocks that run together.
#pragma once

namespace emulator::clusters {

void begin_block();
void end_thread();

}  // namespace emulator::clusters

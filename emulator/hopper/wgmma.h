// Products of a warpgroup.
#pragma once

namespace emulator::wgmma_state {

void begin_block();
void end_block();
void fail_block();

}  // namespace emulator::wgmma_state

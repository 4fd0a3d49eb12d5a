// Bulk tensor loads.
#pragma once

namespace emulator::tensor_loads {

void begin_block();
bool goes_on();
void end_block();
void fail_block();

}  // namespace emulator::tensor_loads

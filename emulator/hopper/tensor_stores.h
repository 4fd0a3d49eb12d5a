// Bulk tensor stores.
#pragma once

namespace emulator::tensor_stores {

void begin_block();
void end_block();
void fail_block();

}  // namespace emulator::tensor_stores

// Bulk tensor loads.
#pragma once

#include <cstdint>

#include "emulator/engine/run.h"

namespace emulator::tensor_loads {

// A box of a tensor map in shared memory.
struct Box {
    uint64_t bytes, pitch;  // pitch: from row to row
    unsigned swizzle;  // bytes; 0: none
    Call site;  // of its load
};
// The one that a load has brought, or will bring, to this address; null: none.
const Box* box_at(const char* address);

void begin_block();
bool make_progress();
void end_block();
void fail_block();

}  // namespace emulator::tensor_loads

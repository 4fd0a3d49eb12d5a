// Pairs of accesses that nothing orders.
#pragma once

#include "emulator/engine/accesses.h"
#include "emulator/engine/clocks.h"

namespace emulator::races {

void begin_launch();
void begin_block();
void block_barrier();
Cell* new_cells(uintptr_t begin, uintptr_t end);  // those of a range
void delete_cells(Cell* cells, uintptr_t begin, uintptr_t end);
double bytes_per_byte();  // bytes of bookkeeping for each byte of memory
// cells: those of the range that begins at `begin`.
void check(Cell* cells, uintptr_t begin, uintptr_t address, int width, bool global,
           trace::Kind kind, unsigned thread, uint16_t site);

// What a copy does, as one of its stream: passed to streams::check_launch().
void check_launches(const Allocation& memory, uintptr_t begin, uintptr_t end, trace::Kind kind);

}  // namespace emulator::races

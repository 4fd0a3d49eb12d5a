// Pairs of accesses that nothing orders.
#pragma once

#include "emulator/engine/device_memory.h"
#include "emulator/trace/sites.h"

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

// Whoever knows what was done before this launch, and is not known to come before it, is asked of each
// access to device memory: what a copy has to do with it, and, where an earlier launch has accessed the
// same bytes, what that launch has, by the clock of its access.
struct Earlier {
    void (*copies)(uintptr_t begin, uintptr_t end, trace::Kind kind, uint16_t site);
    void (*launch)(uint32_t clock, trace::Kind kind_then, uint16_t site_then, trace::Kind kind,
                   uint16_t site);
};
extern const Earlier* earlier;  // null: all that was done before comes before
// The same of a copy now, and launches.
void check_launches(const Earlier& earlier, const Allocation& memory, uintptr_t begin,
                    uintptr_t end, trace::Kind kind);

}  // namespace emulator::races

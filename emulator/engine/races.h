// Pairs of accesses that nothing orders.
#pragma once

#include <functional>

#include "emulator/engine/device_memory.h"
#include "emulator/trace/sites.h"

namespace emulator::races {

void begin_launch();
void begin_block();
void block_barrier();
// Whether a thread has read shared memory that nobody had written, since the block's last barrier.
bool unwritten_was_read();
Cell* new_cells(uintptr_t begin, uintptr_t end);  // those of a range
// Appends, for each cell of [from, to), the instruction that has written it in this block, or 0.
void save_writers(const Cell* cells, uintptr_t begin, uintptr_t from, uintptr_t to,
                  std::vector<uint16_t>& writers);
// The instruction that has last written at an address, or 0.
uint16_t last_writer(const Cell* cells, uintptr_t begin, uintptr_t address);
uint32_t last_write(const Cell* cells, uintptr_t begin, uintptr_t address);  // its clock
uint32_t clock_before_launch();  // accesses of the launch have a later one
// Whether a cell of [from, to) has been read, or, if `both`, read and written, since that clock.
bool accessed_since(uint32_t clock, bool both, const Cell* cells, uintptr_t begin, uintptr_t from,
                    uintptr_t to);
// Two bytes of shared memory that this block has written.
struct SharedWrite {
    uintptr_t begin, end;
    uint16_t thread, site;  // of the last write
    bool read;  // since then
    uint16_t reader;  // an instruction by which warp 0 has read them since then, or 0
};
void for_each_write(const Cell* cells, uintptr_t begin, uintptr_t from, uintptr_t to,
                    const std::function<void(const SharedWrite&)>& use);
// Makes these cells such as if the block's last barrier had come after those writes. Returns what
// follows the last writer that it has used.
const uint16_t* restore_writers(Cell* cells, uintptr_t begin, uintptr_t from, uintptr_t to,
                                const uint16_t* writers);
void delete_cells(Cell* cells, uintptr_t begin, uintptr_t end);
double bytes_per_byte();  // bytes of bookkeeping for each byte of memory
// Whether check() is called for a store by compiled code, which follows when the call has returned.
// A write that races with an earlier one is then compared with it at the next call: the two may
// store the same value.
extern bool store_follows;
bool awaits_store();  // for such a comparison; until then no other thread may run
// cells: those of the range that begins at `begin`.
void check(Cell* cells, uintptr_t begin, uintptr_t address, int width, bool global,
           trace::Kind kind, unsigned thread, uint16_t site);

// An asynchronous copy's bytes are in flight from its call on, until they are there.
void set_in_flight(Cell* cells, uintptr_t begin, uintptr_t address, int bytes, bool in_flight);
// An access, at its thread's clock, to bytes in flight.
struct InFlightAccess {
    uint32_t clock;
    uint16_t thread, site;
    trace::Kind kind;
    uintptr_t address;
    int bytes;
};
// copier: the thread that has called the copy, at the instruction of copy_site. why: no wait of its
// covers the copy.
void report_missing_wait(const InFlightAccess& access, unsigned copier, uint16_t copy_site,
                         const std::string& why);

// Called for each access to device memory by a launch that does not come after all earlier
// operations. copies() reports the earlier copies that it conflicts with. launch() is called where
// an earlier launch has accessed the same bytes, with the clock of that access. thread: that of the
// launch's access.
struct Earlier {
    void (*copies)(uintptr_t begin, uintptr_t end, trace::Kind kind, uint16_t site);
    void (*launch)(uint32_t clock, trace::Kind kind_then, uint16_t site_then, trace::Kind kind,
                   uint16_t site, unsigned thread);
};
extern const Earlier* earlier;  // null: the launch comes after all earlier operations
// The same for a copy that is made now, and earlier launches.
void check_launches(const Earlier& earlier, const Allocation& memory, uintptr_t begin,
                    uintptr_t end, trace::Kind kind);

}  // namespace emulator::races

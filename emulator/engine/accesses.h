// Accesses of a traced kernel: which memory each of them goes to, and whether it is allowed to.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "emulator/engine/device_memory.h"
#include "emulator/include/cuda_errors.h"
#include "emulator/trace/sites.h"

namespace emulator {

namespace races {
struct SharedWrite;
}

extern uintptr_t last_traced;  // return address of the last access

// Ends the launch as fail() does, with the message "`what` 8 bytes, `where` (block 0, thread 3)".
void refuse_access(unsigned thread, const std::string& what, int width, const std::string& where,
                   cudaError_t error);
// Describes an address that no kernel may access: "just past the end of 400 bytes of device
// memory".
std::string describe_address(uintptr_t address, int width);
std::string past_multiple(uintptr_t address, int width);  // describes a misaligned address

namespace accesses {
// If it is not null: called for each access by host code that is compiled for tracing. polls: the
// access is volatile or atomic.
extern void (*of_host)(const void* address, size_t bytes, trace::Kind kind, bool polls,
                       const void* pc);

// What a paused block has in shared memory.
struct SharedMemory {
    std::vector<char> bytes;
    std::vector<uint16_t> writers;  // traced: the instruction that has written each cell, or 0
};
SharedMemory save_shared();
void restore_shared(const SharedMemory& saved);  // after begin_block()
void begin_launch();
void begin_block();
void end_interval();  // every thread of the block is at the barrier, or has returned
void end_launch();
// Calls use() for what this block has written to its shared memory.
void for_each_shared_write(const std::function<void(const races::SharedWrite&)>& use);
void forget(Allocation& allocation);

// Notes that the emulator itself accesses up to 16 bytes for a thread, on behalf of the instruction
// at `pc`. The access is always checked for races. counted: it also counts as a part of a request
// of the warp. copied_to: the destination in shared memory of a load that bypasses L1. Returns
// whether the thread should yield.
bool note(unsigned thread, const void* address, int bytes, trace::Kind kind, const void* pc,
          bool counted = true, const void* copied_to = nullptr);
// The same for a row of a bulk copy, which is not counted.
void note_bulk(unsigned thread, const void* address, size_t bytes, trace::Kind kind,
               const void* pc);
// Checks only the bounds.
void check_bulk(const void* address, size_t bytes, trace::Kind kind, const void* pc);
// The same for an access by the kernel's compiled code. aligned: the address must be a multiple of
// `bytes`. whole: it is not a piece of a larger one.
void note_compiled(const void* address, int bytes, trace::Kind kind, const void* pc, bool aligned,
                   bool whole = true);
// Marks shared memory that an asynchronous copy is to write, until it has done so.
void set_in_flight(const void* address, int bytes, bool in_flight);
}  // namespace accesses

}  // namespace emulator

// Accesses of a traced kernel: to which memory each goes, and whether it may.
#pragma once

#include <string>

#include "emulator/engine/device_memory.h"
#include "emulator/include/cuda_errors.h"
#include "emulator/trace/sites.h"

namespace emulator {

// AddressSanitizer, if the program has it, says that some of these bytes are not to be touched.
bool poisoned(const void* begin, size_t bytes);
extern uintptr_t last_traced;  // return address of the last access

// As fail() does: "`what` 8 bytes, `where` (block 0, thread 3)".
void refuse_access(unsigned thread, const std::string& what, int width, const std::string& where,
                   cudaError_t error);
// Where an address lies that no kernel may touch: "just past the end of 400 bytes of device memory".
std::string describe_address(uintptr_t address, int width);
std::string past_multiple(uintptr_t address, int width);  // where a misaligned access is

namespace accesses {
void begin_launch();
void begin_block();
void end_interval();  // every thread of the block is at the barrier, or has returned
void end_launch();
void forget(Allocation& allocation);

// The emulator itself accesses up to 16 bytes for a thread, on behalf of the instruction at `pc`.
// The access is always checked for races. counted: also count it as a request of the warp.
// copied_to: where a load that bypasses L1 goes in shared memory. Returns true if the thread should
// give way.
bool note(unsigned thread, const void* address, int bytes, trace::Kind kind, const void* pc,
          bool counted = true, const void* copied_to = nullptr);
// A bulk copy does, by rows; not counted.
void note_bulk(unsigned thread, const void* address, size_t bytes, trace::Kind kind,
               const void* pc);
void check_bulk(const void* address, size_t bytes, trace::Kind kind, const void* pc);  // may it?
// The same for an access by the kernel's compiled code. aligned: the address must be a multiple of
// `bytes`.
void note_compiled(const void* address, int bytes, trace::Kind kind, const void* pc, bool aligned);
}  // namespace accesses

}  // namespace emulator

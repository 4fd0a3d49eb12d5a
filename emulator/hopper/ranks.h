// Accesses of the blocks of a cluster to each other's shared memory. A block's number in its
// cluster is its rank.
#pragma once

#include <cstdint>
#include <string>

namespace emulator {

std::string rank_names(unsigned mask);  // "ranks 0 to 3, 5"
unsigned running_threads(unsigned rank);
// The address in the block of that rank which corresponds to `pointer` in the running thread's
// block. Notes that the thread accesses that block.
void* in_rank(void* pointer, unsigned rank, const char* name, const char* file, int line);
// The same for an address that is in that block already, such as mapa returns.
void* in_its_rank(void* there, const char* name, const char* file, int line);

namespace ranks {
void note_access(unsigned thread, unsigned rank, uintptr_t pc);  // by compiled code of the kernel
void begin_block();
void end_thread();
}  // namespace ranks

}  // namespace emulator

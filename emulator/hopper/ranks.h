// What the blocks of a cluster ask of each other. A block's number in its cluster is its rank.
#pragma once

#include <cstdint>
#include <string>

namespace emulator {

std::string rank_names(unsigned mask);  // "ranks 0 to 3, 5"
unsigned running_threads(unsigned rank);
// The running thread asks something of another block of its cluster: of what lies there where
// `pointer` points in its own.
void* in_rank(void* pointer, unsigned rank, const char* name, const char* file, int line);

namespace ranks {
void note_access(unsigned thread, unsigned rank, uintptr_t pc);  // by the kernel's own code
void begin_block();
void end_thread();
}  // namespace ranks

}  // namespace emulator

// Blocks that run together.
#pragma once

#include <cstdint>
#include <string>

namespace emulator {

unsigned rank_of(unsigned thread);
std::string rank_names(unsigned mask);  // "ranks 0 to 3, 5"
// The running thread asks something of another block of its cluster: of what lies there where
// `pointer` points in its own.
void* in_rank(void* pointer, unsigned rank, const char* name, const char* file, int line);
void note_remote_access(unsigned thread, unsigned rank, uintptr_t pc);

namespace clusters {
void begin_block();
void end_thread();
}  // namespace clusters

}  // namespace emulator

// Requests: what the lanes of a warp access together.
#pragma once

#include "emulator/trace/sites.h"

namespace emulator {

void count_threads(unsigned threads);  // of the launch that begins
// Returns whether the thread should yield to the others.
bool count_access(Site& site, unsigned thread, uintptr_t address, int width);
void count_pending();  // at the end of an interval between barriers
// Counts a bulk copy's bytes of global memory as one request.
void count_bulk(const void* pc, bool store, uint64_t bytes, uint64_t sectors);

}  // namespace emulator

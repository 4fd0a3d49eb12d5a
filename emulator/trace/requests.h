// What a warp's lanes ask for together.
#pragma once

#include "emulator/trace/sites.h"

namespace emulator {

void count_threads(unsigned threads);  // of a launch that begins
// True if the thread should give way to the others.
bool count_access(Site& site, unsigned thread, uintptr_t address, int width);
void count_pending();  // the interval is over
// A bulk copy's bytes of global memory, as one request.
void count_bulk(const void* pc, bool store, uint64_t bytes, uint64_t sectors);

}  // namespace emulator

// What a program has chosen for all launches: the order of threads, a GPU's size.
#pragma once

#include "emulator/emulator.h"

namespace emulator {

int only_ends_run();  // 0, or the number of SMs that kernels see
uint64_t accesses_run();  // how many traced accesses end a launch; 0: it ends by itself
bool leaves_single_blocks();  // launches of one block are left out
void note_early_end();  // for ended_early()
Order thread_order();
unsigned random_number();  // of the sequence that random orders come from
void shuffle(std::vector<unsigned>& numbers);
// Whether an asynchronous operation takes place now, before a thread waits for it: always in
// reverse order, by chance in random order.
bool happens_early();

}  // namespace emulator

// What a program has chosen for all launches: the order of threads, a GPU's size.
#pragma once

#include "emulator/emulator.h"

namespace emulator {

int only_ends_run();  // 0, or on how many multiprocessors
uint64_t accesses_run();  // traced ones of a launch, before it ends; 0: all
bool leaves_single_blocks();  // launches of one block don't run
void note_early_end();  // for ended_early()
Order thread_order();
unsigned random_number();  // of the sequence that random orders come from
void shuffle(std::vector<unsigned>& numbers);
// Whether asynchronous work takes place now, though nobody waits for it yet: always in reverse order,
// by chance in random order.
bool happens_early();

}  // namespace emulator

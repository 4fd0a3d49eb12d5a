// The launch that runs, and its threads.

#include "emulator/engine/run.h"

namespace emulator {

Indices indices;
Builtins builtins;
unsigned current_thread;
volatile uint64_t progress_made;
Run run;
std::vector<Thread>& threads = *new std::vector<Thread>;

}  // namespace emulator

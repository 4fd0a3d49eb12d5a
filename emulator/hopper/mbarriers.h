// The mbarriers of a block.
#pragma once

#include "emulator/hopper/mbarrier.h"

namespace emulator {

// The mbarrier at that address. Ends the launch if there is none, or if the running thread may not
// use it yet.
Mbarrier& mbarrier_at(uint64_t* memory, const char* instruction, const char* file, int line);
Waited last_wait(unsigned thread);
void bytes_arrived(Mbarrier& barrier, int64_t bytes);
void publish_mbarriers(Sync& sync);  // those that the running thread has initialised and fenced

namespace mbarriers {
void begin_block();
void pause_block();
void resume_block();
void end_block();
void fail_block();
bool anyone_waits();
bool make_progress();  // lets a thread go on that only tries a wait
bool report_deadlock();  // threads wait, at mbarriers or elsewhere, and nothing can end that
}  // namespace mbarriers

}  // namespace emulator

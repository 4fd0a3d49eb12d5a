// Hazards: races, missing waits and fences, uninitialised reads. Those that have one cause are one
// report.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "emulator/trace/sites.h"

namespace emulator {

// Two accesses that need an order. If there is no first access: an uninitialised read.
struct Hazard {
    // What is missing: anything that orders the two (a race); a proxy fence between the two, which
    // are ordered; a wait for the asynchronous copy that is the first access; nothing, because both
    // store the same value.
    enum Missing { order, fence, wait, nothing };
    bool global;
    trace::Kind first_kind, second_kind;
    uint16_t first, second;  // sites
    uint16_t first_thread, second_thread;
    bool same_block;  // the first access is the running block's
    bool async;  // the second access is an asynchronous operation's
    Missing missing;
    std::string who;
    // Of a missing wait: why no wait covers the copy. Of an uninitialised read: who had returned
    // before.
    std::string why;
    uintptr_t address = 0;  // of the second access
    uint64_t times = 1;  // for how many accesses of the second instruction
    std::string array = "";  // the kernel's name for the array in shared memory
    bool in_interval = false;  // a barrier of the block or warp between the two would order them
    std::string since = "";  // the place of the last barrier of the block before them
    bool unexplained = false;  // an uninitialised read that no race explains
};

// Keeps one hazard for each pair of instructions. who() is called only for a new one, which is
// returned; null: the pair is known.
Hazard* report_hazard(Hazard hazard, const std::function<std::string()>& who);
// An instruction has read uninitialised memory, and no later write races with it.
void report_unexplained(uint16_t site);
bool is_unexplained(uint16_t site);
void forget_hazards();

std::string describe(const Hazard& hazard);  // call find_lines_of_sites() first
// A line for each cause. counted: with "and 19 more like it".
std::vector<std::string> described_hazards(bool counted);
std::vector<std::string> described_harmless();  // likewise, of those that are not errors

}  // namespace emulator

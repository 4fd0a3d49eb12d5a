// Problems and counts.
#pragma once

#include <functional>
#include <string>

#include "emulator/emulator.h"
#include "emulator/trace/sites.h"

namespace emulator {

extern Counts totals;  // barriers, blocks, threads; the rest is filled in by counts()
extern uint64_t resets;  // calls of reset_counts(), which forgets what was reported
void report_problem(const std::string& problem);  // keeps it for counts()
void report_aloud(const std::string& problem);  // and says it on stderr, unless it is said later
// Problems and counts are printed when the program ends (EMULATOR_SUMMARY in its environment).
bool printed_at_exit();

// A race. If there is no first access: an uninitialised read.
struct Conflict {
    bool global;
    trace::Kind first_kind, second_kind;
    uint16_t first, second;  // sites
    uint16_t first_thread, second_thread;
    bool same_block;  // the first is of the block that runs
    bool async;  // the second is an asynchronous operation's
    bool unfenced;  // they are in order, but no proxy fence lies between
    std::string who;
    uintptr_t address;  // that the second accesses
    uint64_t times = 1;  // how many of its accesses conflict
};
std::vector<std::string> problems_uncounted();  // without "and 19 more like it"
std::string describe(const Conflict& conflict);  // call find_lines_of_sites() first
// Keeps one conflict for each pair of instructions, and calls who() only for a new one, which it gives
// back; null: it is known.
const Conflict* report_conflict(Conflict conflict, const std::function<std::string()>& who);

}  // namespace emulator

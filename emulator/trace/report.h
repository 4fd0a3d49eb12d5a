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
// Adds who it was, "block 3, thread 0", and reports the problem of the first alone.
void report_once(const std::string& problem, const std::string& who);
void report_aloud(const std::string& problem);  // also prints it, unless it is printed later
// Whether problems and counts are printed when the program ends (EMULATOR_SUMMARY in its
// environment).
bool printed_at_exit();
extern void (*print_summary)(int exit_code, void*);  // prints them; summary.cpp sets it
void print_at_exit();  // from now on, if they are printed then

// Two accesses that need an order. If there is no first access: an uninitialised read.
struct Conflict {
    // What is missing: anything that orders the two (a race); a proxy fence between the two, which
    // are ordered; a wait for the asynchronous copy that is the first access.
    enum Missing { order, fence, wait };
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
    uint64_t times = 1;  // how many of its accesses conflict
};
std::vector<std::string> problems_uncounted();  // without "and 19 more like it"
std::string describe(const Conflict& conflict);  // call find_lines_of_sites() first
// Keeps one conflict for each pair of instructions. who() is called only for a new one, which is
// returned; null: the pair is known.
Conflict* report_conflict(Conflict conflict, const std::function<std::string()>& who);

}  // namespace emulator

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
// Likewise a note, which is not a problem. One is kept for each `what`; why: the rest of its text.
void report_note(const std::string& what, const std::string& why);
void report_and_print(const std::string& problem);  // also prints it, unless it is printed later
// Whether problems and counts are printed when the program ends (EMULATOR_SUMMARY in its
// environment).
bool printed_at_exit();
extern void (*print_summary)(int exit_code, void*);  // prints them; summary.cpp sets it
void print_at_exit();  // only if this is called

std::vector<std::string> problems_uncounted();  // without "and 19 more like it"

}  // namespace emulator

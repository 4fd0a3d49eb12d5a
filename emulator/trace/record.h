// What a block's warps ask for, in order.
#pragma once

#include "emulator/trace/report.h"
#include "emulator/trace/requests.h"

namespace emulator {

namespace record {
extern bool on;  // true while a recorded block runs; the functions below are called only then
extern const char* collective;  // the event that one makes; null if it has accessed memory
void begin_launch();
void begin_block();
void access(unsigned thread, const Site& site, uintptr_t address, int width, bool counted);
void cost(const Site& site, unsigned warp, size_t index, int cost,
          int ideal);  // since the last barrier
void call(unsigned thread, const char* name, const char* file,
          int line);  // that accesses no memory
// What becomes of mbarriers, bulk copies and wgmma, in the order in which this run does it: "kind,..."
// Gives the note's number. own: by the running thread's last event, which from now on shows it.
size_t note(const std::string& text, bool own = true);
std::string number(const void* address);  // ",address"
void conflict(const Conflict& conflict);  // its second access is the next one recorded
void end_interval();
void end_launch();
}  // namespace record

}  // namespace emulator

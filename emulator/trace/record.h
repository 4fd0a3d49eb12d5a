// What a block's warps ask for, in order.
#pragma once

#include <string>

#include "emulator/trace/sites.h"

namespace emulator {

struct Conflict;

namespace record {
extern bool on;  // true while a recorded block runs; the functions below are called only then
extern const char* collective;  // the event that one makes; null if it has accessed memory
bool wanted();  // of the next launch to end
void begin_launch();
void begin_block(const std::string& name, unsigned threads);
void access(unsigned thread, const Site& site, uintptr_t address, int width, bool counted);
void cost(const Site& site, unsigned warp, size_t index, int cost,
          int ideal);  // since the last barrier
void call(unsigned thread, const char* name, const char* file,
          int line);  // that accesses no memory
// What becomes of mbarriers, bulk copies and wgmma, in the order in which this run does it: "kind,..."
// Gives the note's number. note_of: by the thread's last event, which from now on shows it.
size_t note(const std::string& text);
size_t note_of(unsigned thread, const std::string& text);
std::string number(const void* address);  // ",address"
void conflict(const Conflict& conflict);  // its second access is the next one recorded
void end_interval();
void end_launch(const std::string& kernel);  // hands the record over
}  // namespace record

}  // namespace emulator

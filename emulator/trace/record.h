// Records the requests of a block's warps, in program order.
#pragma once

#include <string>

#include "emulator/trace/sites.h"

namespace emulator {

struct Hazard;

namespace record {
extern bool on;  // true while a recorded block runs; the functions below are called only then
extern const char* collective;  // the name of a collective's event; null if it has accessed memory
bool wanted();  // whether the next launch that ends is recorded
void begin_launch();
void begin_block(const std::string& name, unsigned threads);
void access(unsigned thread, const Site& site, uintptr_t address, int width, bool counted);
// Sets the cost of a request since the last barrier.
void cost(const Site& site, unsigned warp, size_t index, int cost, int ideal);
// An event that accesses no memory.
void call(unsigned thread, const char* name, const char* file, int line);
// Notes of what happens to mbarriers, bulk copies and wgmma, in the order of this run: "kind,...".
// Both return the note's number. note_of: the thread's last event shows the note from then on.
size_t note(const std::string& text);
size_t note_of(unsigned thread, const std::string& text);
std::string number(const void* address);  // ",address"
void hazard(const Hazard& hazard);  // its second access is the next one recorded
void end_interval();
void end_launch(const std::string& kernel);  // passes the record on
}  // namespace record

}  // namespace emulator

// What takes part in every launch, besides its threads: bulk copies, for one. A mechanism is a file,
// and a row of the table in emulator/hooks.cpp.
#pragma once

namespace emulator {

struct Mechanism {
    void (*begin_launch)() = nullptr;  // twice for a cluster's: see restart_launch()
    void (*begin_block)() = nullptr;  // of a cluster, once for its blocks
    void (*end_thread)() = nullptr;  // the running one has returned
    bool (*goes_on)() = nullptr;  // no thread can: does this end that?
    void (*end_block)() = nullptr;  // not where the launch has failed
    void (*end_launch)() = nullptr;  // as often as begin_launch
};

// Calls it for all mechanisms that have it.
void each_mechanism(void (*Mechanism::*moment)());
bool any_goes_on();

}  // namespace emulator

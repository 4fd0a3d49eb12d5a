// The state of an mbarrier.
#pragma once

#include <map>

#include "emulator/hopper/tensor_copies.h"

namespace emulator {

// A thread has arrived, or (count 0) has only expected bytes (expect_tx).
struct Arrival {
    unsigned thread;
    Call site;
    int count;
    int64_t bytes;
};

struct Mbarrier {
    uint64_t* memory;
    Call site;  // of its mbarrier_init
    unsigned thread;  // that called it
    uint32_t clock;  // when
    bool fenced = false;  // visible to bulk copies
    uint32_t published = 0;  // its agent's clock at the first relaxed arrival after the fence
    int arrivals;  // of a phase
    // Of this phase: the arrivals that are missing; the bytes that are expected, less those that
    // have been transferred.
    int pending;
    int64_t bytes = 0;
    uint32_t phase = 0;
    // What a wait for the last complete phase comes after, and the copies that completed that phase
    // and that no thread has waited for yet. Then the same of the current phase.
    Sync complete, arriving;
    std::vector<TensorCopy> unseen, landed;
    // Its agent's clocks at the ends of the last phase and of the one before.
    uint32_t completed[2] = {};
    // For hints at the cause of a mistake: whether loads complete on the barrier, and whether any
    // arrival has expected their bytes; the arrivals of this phase and of the last complete one, and
    // the ranks of the latter as a mask; by thread, 2 + the phase that it last waited for; the last
    // wait here, and the last one before an arrival here, that returned at once although its thread
    // may not have meant it to.
    bool has_loads = false, expects = false;
    std::vector<Arrival> arrived, arrived_before;
    unsigned ranks_before = 0;
    std::vector<uint32_t> waited_for;
    Waited stale, before_arrival;

    Mbarrier(uint64_t* memory, Call site, int arrivals);
};
using Mbarriers = std::map<uint64_t*, Mbarrier>;  // of a block, by address

}  // namespace emulator

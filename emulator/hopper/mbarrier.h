// An mbarrier.
#pragma once

#include "emulator/hopper/tensor_copies.h"

namespace emulator {

struct Mbarrier {
    uint64_t* memory;
    Call site;  // of its mbarrier_init
    unsigned thread;  // that did it
    uint32_t clock;  // when
    bool fenced = false;  // bulk copies know of it
    uint32_t published = 0;  // its agent's clock at the first relaxed arrival behind the fence
    int arrivals;  // of a phase
    // Of this phase: the arrivals still to come; bytes expected less those that have come.
    int pending;
    int64_t bytes = 0;
    uint32_t phase = 0;
    // What a wait for the last phase that is complete comes after; the copies that completed it and
    // that no one has waited for yet; the same of this phase.
    Sync complete, arriving;
    std::vector<TensorCopy> unseen, landed;
    uint32_t completed[2] = {};  // when the last phase was, and the one before
    // By which the cause of a mistake is found: whether loads come to it; the ranks that have arrived in
    // this phase, and in the last that is complete, as masks; the phase that each thread has last waited
    // for, plus 2; the last wait here, and the last before an arrival here, that was over at once although its
    // thread may not have meant that.
    bool has_loads = false;
    unsigned arriving_ranks = 0, complete_ranks = 0;
    std::vector<uint32_t> waited_for;
    Waited stale, before_arrival;

    Mbarrier(uint64_t* memory, Call site, int arrivals);
};

}  // namespace emulator

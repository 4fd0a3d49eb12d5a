// Between mbarriers.cpp and tensor_loads.cpp.
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

// The mbarrier at that address, fit for use by the running thread. Ends the launch if it is not.
Mbarrier& mbarrier_at(uint64_t* memory, const char* instruction, const char* file, int line);
std::string name_of(const Mbarrier& barrier);
Waited last_wait(unsigned thread);
// The wait that may be the cause of a mistake at the barrier, as a hint: one that was over at once, or else
// what its thread had waited for before, at another barrier. "" if there is none.
std::string suspect(const Mbarrier& barrier, const Waited& before);
void bytes_came(Mbarrier& barrier, int64_t bytes);
void publish_mbarriers(Sync& sync);  // those that the running thread has set up and fenced
void see(std::vector<TensorCopy>& loads, Sync& sync);  // what they wrote is there from now on

namespace mbarriers {
void begin_block();
void end_block();
bool anyone_waits();
void report_deadlock();  // threads wait, at mbarriers or elsewhere, and nothing can end that
}  // namespace mbarriers

}  // namespace emulator

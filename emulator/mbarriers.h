// Between mbarriers.cpp and tensor_loads.cpp.
#pragma once

#include "emulator/tensor_copies.h"

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

    Mbarrier(uint64_t* memory, Call site, int arrivals);
};

// The mbarrier at that address, fit for use by the running thread. Ends the launch if it is not.
Mbarrier& mbarrier_at(uint64_t* memory, const char* instruction, const char* file, int line);
std::string name_of(const Mbarrier& barrier);
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

// Vector clocks, which say whether one access comes before another (happens-before).
//
// Every access gets its thread's clock, a number that changes when the thread passes a
// synchronisation point. For each other thread, a thread knows up to which clock that thread's
// accesses come before its own. A block barrier orders everything, so it needs no vector: it raises
// `base`, the clock that every thread knows of every other.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "emulator/engine/run.h"

namespace emulator {

// How an asynchronous operation is ordered. It comes after everything that the issuing thread knew
// at the call, and its accesses take place at some time before a wait for it. They are those of an
// agent, which acts beside the block's threads: all operations that complete on the same mbarrier
// have one agent, and so have all bulk stores of a thread and all wgmma of a warp.
struct AsyncOrder {
    unsigned agent = 0;  // its number, which follows those of the block's threads
    uint32_t base = 0, clock = 0;  // clock: that of its accesses
    std::vector<uint32_t> known, fenced;  // by thread; fenced: up to its last proxy fence
    // Whether a write that comes before the operation also has a proxy fence before it.
    bool sees(uint32_t clock, unsigned thread) const {
        return thread >= fenced.size() || clock <= fenced[thread];
    }
};

// release() publishes everything that a thread has done or knows of, and a thread that then calls
// acquire() comes after all of that. One object serves one phase of one barrier between several
// warps.
class Sync {
public:
    void release(unsigned thread);
    void release(const AsyncOrder& operation);
    uint32_t release_agent(const void* whose);  // returns the agent's clock
    void acquire(unsigned thread) const;

private:
    std::vector<uint32_t> known_;
};

namespace clocks {

void begin_launch();
void begin_block();
void block_barrier();
void grid_barrier();  // earlier accesses of all blocks come before later ones
void warp_barrier(unsigned first_thread, uint32_t lanes);  // among these lanes
void keep_all_readers();  // from now on, because threads synchronise beyond their warps
uint32_t now(unsigned thread);  // its clock
// Whether `thread` comes after what `other`, of the same block, did at that clock.
bool knows(unsigned thread, unsigned other, uint32_t clock);
void fence_proxy(unsigned thread);
unsigned agent(const void* whose);  // its number in this block
// threads: how many threads issue it together, beginning with `thread`.
AsyncOrder begin_async(unsigned thread, const void* whose, unsigned threads = 1);
void learn(unsigned thread, const AsyncOrder& operation);  // the thread comes after the operation
// Calls `accesses`, whose accesses are then the operation's.
void act(AsyncOrder& operation, const std::function<void()>& accesses);

constexpr unsigned kAgents = 256;  // of a block
constexpr unsigned kActors = kMaxThreads + kAgents;

// What races.cpp reads. Clocks never restart, so nothing has to be reset for the next block or
// launch.
struct Clocks {
    uint32_t last = 0;  // the latest clock that was given out
    uint32_t base = 0;  // all up to here is known to every thread of the block
    uint32_t block_start = 0, launch_start = 0;  // up to here: earlier blocks, launches
    uint32_t own[kActors] = {};  // where above base + 1: the thread's clock
    // [thread][other]: what it knows of other's clock, where above base.
    uint32_t (*known)[kActors] = nullptr;
    uint32_t knows_beyond_warp[kMaxThreads] = {};  // if above base: it acquired from other warps
    bool beyond_warps = false;  // in this launch
    // The objects whose asynchronous operations are agents, by the agent's number, and the thread
    // that issued the last operation of each. In arrays indexed by thread, agents follow the
    // block's threads.
    std::vector<const void*> agents;
    unsigned issuer[kAgents] = {};
    const AsyncOrder* acting = nullptr;  // the operation whose accesses are being made
    uint32_t fenced[kMaxThreads] = {};  // the thread's clock at its last proxy fence
};
extern Clocks state;

inline uint32_t clock_of(unsigned thread) { return std::max(state.own[thread], state.base + 1); }
// Whether what `other` did at that clock, in this block, comes before what `thread` does now.
inline bool before_in_block(uint32_t clock, unsigned other, unsigned thread) {
    if (clock <= state.base) return clock > state.block_start;
    return other == thread || clock <= state.known[thread][other];
}

}  // namespace clocks
}  // namespace emulator

// What is ordered, and what is not: vector clocks.
//
// Every access gets its thread's clock, a number that changes when the thread passes a
// synchronisation. For each other thread, a thread knows up to which clock that thread's accesses
// come before its own. A block barrier orders everything, so it needs no vector: it raises `base`,
// the clock that every thread knows of every other.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "emulator/engine/run.h"

namespace emulator {

// How an asynchronous operation is ordered: it knows what the thread that asked for it knew then. It
// takes place at some time between that and a wait, which is another's, an agent's, doing. All
// operations that come to the same mbarrier are one agent's, as are all of a thread that end there.
struct AsyncOrder {
    unsigned agent = 0;  // a number behind those of the block's threads
    uint32_t base = 0, clock = 0;  // clock: that of its accesses
    std::vector<uint32_t> known, fenced;  // by thread; fenced: up to its last proxy fence
    // A write that it knows of: is it fenced?
    bool sees(uint32_t clock, unsigned thread) const {
        return thread >= fenced.size() || clock <= fenced[thread];
    }
};

// release() stores everything that a thread has done or knows of. A thread that then calls
// acquire() comes after all that. One object serves one phase of one barrier between several warps.
class Sync {
public:
    void release(unsigned thread);
    void release(const AsyncOrder& operation);
    uint32_t release_agent(const void* whose);  // gives its clock
    void acquire(unsigned thread) const;

private:
    std::vector<uint32_t> known_;
};

namespace clocks {

void begin_launch();
void begin_block();
void block_barrier();
void warp_barrier(unsigned first_thread, uint32_t lanes);  // among these lanes
void keep_all_readers();  // from now on: threads are going to synchronise beyond their warps
uint32_t now(unsigned thread);  // its clock
// In this block: it comes after what `other` did then.
bool knows(unsigned thread, unsigned other, uint32_t clock);
void fence_proxy(unsigned thread);
unsigned agent(const void* whose);  // its number, this block's
// threads: `thread` and those behind it.
AsyncOrder begin_async(unsigned thread, const void* whose, unsigned threads = 1);
void learn(unsigned thread, const AsyncOrder& operation);  // it comes after what that did
// Does the accesses as the operation's.
void act(AsyncOrder& operation, const std::function<void()>& accesses);

constexpr unsigned kAgents = 256;  // of a block
constexpr unsigned kActors = kMaxThreads + kAgents;

// What races.cpp reads. Clocks never restart, so nothing has to be reset for the next block or launch.
struct Clocks {
    uint32_t last = 0;  // clock given out
    uint32_t base = 0;  // all up to here is known to every thread of the block
    uint32_t block_start = 0, launch_start = 0;  // up to here: earlier blocks, launches
    uint32_t own[kActors] = {};  // where above base + 1: the thread's clock
    uint32_t (*known)[kActors] = nullptr;  // [of thread][by thread], where above base
    uint32_t knows_beyond_warp[kMaxThreads] = {};  // if above base: it acquired from other warps
    bool beyond_warps = false;  // in this launch
    // Whose asynchronous operations are agents, by number; the thread that asked each last. Agents
    // come behind the block's threads in all that is indexed by threads.
    std::vector<const void*> agents;
    unsigned issuer[kAgents] = {};
    const AsyncOrder* acting = nullptr;  // the operation whose accesses are looked at
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

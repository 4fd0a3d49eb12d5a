// Vector clocks of the threads, and the operations that advance them.

#include "emulator/engine/clocks.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "emulator/engine/names.h"
#include "emulator/engine/threads.h"

namespace emulator {
namespace clocks {

Clocks state;

namespace {

unsigned actors() { return run.threads + unsigned(state.agents.size()); }

// Takes the element-wise maximum. Inlined, it is vectorised.
inline void join(uint32_t* into, const uint32_t* from, unsigned count) {
    for (unsigned i = 0; i < count; ++i) into[i] = std::max(into[i], from[i]);
}

}  // namespace

void begin_launch() {
    state.launch_start = state.last;
    state.beyond_warps = false;
    if (!state.known)  // by calloc, whose pages exist only once they are touched
        state.known = static_cast<uint32_t(*)[kActors]>(std::calloc(kActors, sizeof *state.known));
}

void begin_block() {
    block_barrier();
    state.block_start = state.base;
    state.agents.clear();
}

void grid_barrier() { state.launch_start = state.last; }

void block_barrier() {
    state.base = state.last;
    state.last = state.base + 1;
}

void warp_barrier(unsigned first, uint32_t lanes) {
    if (!traced) return;
    uint32_t joined[kActors];
    bool beyond = false;
    for (unsigned lane = 0; lane < 32; ++lane)
        if (lanes >> lane & 1) beyond |= state.knows_beyond_warp[first + lane] > state.base;
    // Joins what the lanes know of their own warp, and what they know of other warps if one of them
    // knows more than the base.
    const unsigned begin = beyond ? 0 : first, end = beyond ? actors() : first + 32;
    std::fill(joined + begin, joined + end, 0);
    for (unsigned lane = 0; lane < 32; ++lane) {
        if (!(lanes >> lane & 1)) continue;
        join(joined + begin, state.known[first + lane] + begin, end - begin);
    }
    for (unsigned lane = 0; lane < 32; ++lane)
        if (lanes >> lane & 1) joined[first + lane] = clock_of(first + lane);
    ++state.last;
    for (unsigned lane = 0; lane < 32; ++lane) {
        if (!(lanes >> lane & 1)) continue;
        std::memcpy(state.known[first + lane] + begin, joined + begin, (end - begin) * 4);
        state.own[first + lane] = state.last;
        if (beyond) state.knows_beyond_warp[first + lane] = state.last;
    }
}

void keep_all_readers() { state.beyond_warps = true; }
uint32_t now(unsigned thread) { return clock_of(thread); }
bool knows(unsigned thread, unsigned other, uint32_t clock) {
    return before_in_block(clock, other, thread);
}

void fence_proxy(unsigned thread) {
    state.fenced[thread] = clock_of(thread);
    state.own[thread] = ++state.last;
}

unsigned agent(const void* whose) {
    const auto found = std::find(state.agents.begin(), state.agents.end(), whose);
    const auto number = unsigned(found - state.agents.begin());
    if (number == kAgents)
        fail("more than " + std::to_string(kAgents) +
             " mbarriers and threads with bulk copies in " + block_name() +
             ": the emulator has no room for them");
    if (found == state.agents.end()) state.agents.push_back(whose);
    return run.threads + number;
}

AsyncOrder begin_async(unsigned first, const void* whose, unsigned threads) {
    AsyncOrder operation;
    if (!traced) return operation;
    state.beyond_warps = true;
    operation.agent = agent(whose);
    state.issuer[operation.agent - run.threads] = first;
    operation.base = state.base;
    operation.known.resize(actors());
    for (unsigned thread = first; thread < first + threads; ++thread) {
        join(operation.known.data(), state.known[thread], actors());
        operation.known[thread] = std::max(operation.known[thread], clock_of(thread));
    }
    operation.fenced.assign(state.fenced, state.fenced + run.threads);
    ++state.last;  // what the threads do from now on does not come before the operation
    std::fill_n(state.own + first, threads, state.last);
    return operation;
}

void learn(unsigned thread, const AsyncOrder& operation) {
    if (!traced) return;
    uint32_t& known = state.known[thread][operation.agent];
    known = std::max(known, operation.clock);
    state.knows_beyond_warp[thread] = state.last;
}

void act(AsyncOrder& operation, const std::function<void()>& accesses) {
    if (!traced) return;
    operation.clock = state.own[operation.agent] = ++state.last;
    std::copy(operation.known.begin(), operation.known.end(), state.known[operation.agent]);
    const uint32_t base = std::exchange(state.base, operation.base);
    state.acting = &operation;
    accesses();
    state.acting = nullptr;
    state.base = base;
}

}  // namespace clocks

void Sync::release(unsigned thread) {
    if (!traced) return;
    clocks::state.beyond_warps = true;
    known_.resize(clocks::kActors);
    clocks::join(known_.data(), clocks::state.known[thread], clocks::actors());
    known_[thread] = clocks::clock_of(thread);
    clocks::state.own[thread] = ++clocks::state.last;
}

void Sync::release(const AsyncOrder& operation) {
    if (!traced) return;
    known_.resize(clocks::kActors);
    clocks::join(known_.data(), operation.known.data(), unsigned(operation.known.size()));
    known_[operation.agent] = std::max(known_[operation.agent], operation.clock);
}

uint32_t Sync::release_agent(const void* whose) {
    if (!traced) return 0;
    known_.resize(clocks::kActors);
    return known_[clocks::agent(whose)] = ++clocks::state.last;
}

void Sync::acquire(unsigned thread) const {
    if (!traced || known_.empty()) return;
    clocks::join(clocks::state.known[thread], known_.data(), clocks::actors());
    clocks::state.knows_beyond_warp[thread] = clocks::state.last;
}

}  // namespace emulator

// Order by __threadfence() and atomics. An atomic releases what its thread has fenced, at the
// atomic's address, and acquires what other threads have released there. (In PTX only a fence after
// the atomic acquires it. That this fence is missing is not reported.) Blocks run one after the
// other, so that what an earlier block has released no longer changes. Therefore a thread has
// acquired what, at each address, the first n blocks have released, and only n is kept.

#include "emulator/engine/fences.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "emulator/engine/clocks.h"

namespace emulator {

using clocks::state;

namespace fences {

bool any_fence;

namespace {

// What a block has released: all accesses up to `base`, and each thread's up to its clock.
struct Released {
    uint32_t block_start = 0, base = 0;
    std::vector<uint32_t> by_thread;
    // The clocks of the atomics themselves, which come before later ones even without a fence.
    std::vector<uint32_t> atomics;
};
struct Location;
using Acquired = std::map<const Location*, size_t>;  // how many blocks had released there
struct Location {
    std::vector<Released> blocks;
    Acquired acquired;  // by the threads that released here
};
struct Fenced {  // a thread's vector clock at its last fence
    uint32_t base = 0;
    std::vector<uint32_t> known;
    Acquired acquired;
    const Location* released_at = nullptr;  // where it last released, and when
    uint64_t released_when = 0;
};

std::unordered_map<const void*, Location> locations;
std::vector<Fenced> fenced;
std::vector<Acquired> acquired;  // by thread
Acquired acquired_by_block;
uint64_t moment;  // incremented whenever a thread may have more to release
// With atomics at more addresses everything counts as released: that saves time, and races between
// blocks are no longer reported.
constexpr size_t kLocations = 1000;
std::set<const void*>& fencing_kernels = *new std::set<const void*>;  // of earlier launches
uint32_t block_base;  // fenced before the block's last barrier, so released by all its threads

const void* kernel() { return run.kernel ? run.kernel : run.name; }

void join(Acquired& to, const Acquired& from) {
    for (const auto& [location, count] : from) to[location] = std::max(to[location], count);
}

bool released_before(const Acquired& acquired, uint32_t clock, unsigned other) {
    for (const auto& [location, count] : acquired) {
        const auto begin = location->blocks.begin(), end = begin + long(count);
        const auto after = std::partition_point(
            begin, end, [&](const Released& released) { return released.block_start < clock; });
        if (after == begin) continue;
        const Released& released = after[-1];  // if of an earlier block, all its clocks are lower
        if (clock <= released.base ||
            (other < released.by_thread.size() && clock <= released.by_thread[other]))
            return true;
        if (std::binary_search(released.atomics.begin(), released.atomics.end(), clock))
            return true;
    }
    return false;
}

void acquire(unsigned thread, const Location& location) {
    const Released& last = location.blocks.back();
    if (last.block_start == state.block_start) {
        clocks::keep_all_readers();
        for (unsigned t = 0; t < last.by_thread.size(); ++t)
            state.known[thread][t] = std::max(state.known[thread][t], last.by_thread[t]);
        state.knows_beyond_warp[thread] = state.last;
    }
    acquired[thread][&location] = location.blocks.size();
    join(acquired[thread], location.acquired);
}

// A fence of another thread is cumulative, if it happens before this atomic.
void release(unsigned thread, Location& location) {
    Released& released = location.blocks.back();
    const std::vector<uint32_t>& own = fenced[thread].known;
    released.base = std::max({released.base, block_base, fenced[thread].base});
    for (unsigned t = 0; t < run.threads; ++t) {
        if (!own.empty()) released.by_thread[t] = std::max(released.by_thread[t], own[t]);
        if (fenced[t].known.empty()) continue;
        const uint32_t at = fenced[t].known[t];
        if (clocks::knows(thread, t, at))
            released.by_thread[t] = std::max(released.by_thread[t], at);
    }
    join(location.acquired, fenced[thread].acquired);
}

}  // namespace

void begin_launch() {
    any_fence = fencing_kernels.count(kernel());
    locations.clear();
}

void begin_block() {
    if (!any_fence) return;
    fenced.assign(run.threads, Fenced());
    acquired.assign(run.threads, Acquired());
    acquired_by_block.clear();
    block_base = 0;
}

void fence(unsigned thread) {
    if (!traced) return;
    if (!any_fence) {
        any_fence = true;
        fencing_kernels.insert(kernel());
        begin_block();
    }
    Fenced& mine = fenced[thread];
    ++moment;
    mine.base = state.base;
    mine.acquired = acquired_by_block;
    join(mine.acquired, acquired[thread]);
    mine.known.assign(state.known[thread], state.known[thread] + run.threads);
    mine.known[thread] = clocks::now(thread);
    state.own[thread] = ++state.last;
}

void before_atomic(unsigned thread) {  // gives the atomic its own clock value
    if (any_fence && traced) state.own[thread] = ++state.last;
}

void atomic(unsigned thread, const void* address) {
    if (!any_fence || !traced || locations.size() > kLocations) return;
    Location& location = locations[address];
    if (!location.blocks.empty()) acquire(thread, location);
    if (location.blocks.empty() || location.blocks.back().block_start != state.block_start)
        location.blocks.push_back({state.block_start, 0, std::vector<uint32_t>(run.threads), {}});
    location.blocks.back().atomics.push_back(clocks::now(thread));
    state.own[thread] = ++state.last;
    Fenced& mine = fenced[thread];
    if (mine.released_at == &location && mine.released_when == moment) return;
    mine.released_at = &location;
    mine.released_when = moment;
    release(thread, location);
}

void block_barrier() {
    if (!any_fence) return;
    ++moment;
    for (unsigned t = 0; t < run.threads; ++t) {
        block_base = std::max(block_base, fenced[t].base);
        join(acquired_by_block, acquired[t]);
        acquired[t].clear();
    }
}

void warp_barrier(unsigned first, uint32_t lanes) {
    if (!any_fence) return;
    ++moment;
    Acquired joined;
    for (unsigned lane = 0; lane < 32; ++lane)
        if (lanes >> lane & 1) join(joined, acquired[first + lane]);
    if (joined.empty()) return;
    for (unsigned lane = 0; lane < 32; ++lane)
        if (lanes >> lane & 1) acquired[first + lane] = joined;
}

bool happens_before(uint32_t clock, unsigned other, unsigned thread) {
    if (thread >= run.threads) thread = state.issuer[thread - run.threads];
    return locations.size() > kLocations || released_before(acquired[thread], clock, other) ||
           released_before(acquired_by_block, clock, other);
}

}  // namespace fences
}  // namespace emulator

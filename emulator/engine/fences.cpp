// Order by __threadfence() and atomics. All atomics of one address are a place. Who comes there tells what was fenced, and is told
// what others have told there. Blocks run one after the other, so what an earlier block has told no longer changes: to know of it is
// to know how many blocks had told at which places.

#include "emulator/engine/fences.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <vector>

#include "emulator/engine/clocks.h"

namespace emulator {

using clocks::state;

namespace fences {

bool any;

namespace {

// Of a block: all accesses up to `base`, and each thread's up to its clock.
struct Told {
    uint32_t block_start = 0, base = 0;
    std::vector<uint32_t> upto;
    std::vector<uint32_t>
        atomics;  // the clocks of the atomics themselves: whoever comes later knows of them without a fence
};
struct Place;
using Heard = std::map<const Place*, size_t>;  // how many blocks had told there
struct Place {
    std::vector<Told> blocks;
    Heard heard;  // by those who told
};
struct Fenced {  // what a thread knew at its last fence
    uint32_t base = 0;
    std::vector<uint32_t> known;
    Heard heard;
    const Place* told = nullptr;  // where it last told, and when
    uint64_t told_at = 0;
};

std::unordered_map<const void*, Place> places;
std::vector<Fenced> fenced;
std::vector<Heard> heard;  // by thread
Heard heard_by_block;
uint64_t moment;  // rises whenever a thread may have more to tell
constexpr size_t kPlaces = 1000;  // more take too long; then all that was done counts as told
uint32_t block_base;  // fenced by threads that the whole block has met

void join(Heard& to, const Heard& from) {
    for (const auto& [place, count] : from) to[place] = std::max(to[place], count);
}

bool knows_from(const Heard& heard, unsigned other, uint32_t clock) {
    for (const auto& [place, count] : heard) {
        const auto begin = place->blocks.begin(), end = begin + long(count);
        const auto after = std::partition_point(
            begin, end, [&](const Told& told) { return told.block_start < clock; });
        if (after == begin) continue;
        const Told& told = after[-1];  // or of a block before: then all in it is less
        if (clock <= told.base || (other < told.upto.size() && clock <= told.upto[other]))
            return true;
        if (std::binary_search(told.atomics.begin(), told.atomics.end(), clock)) return true;
    }
    return false;
}

void is_told(unsigned thread, const Place& place) {
    const Told& last = place.blocks.back();
    if (last.block_start == state.block_start) {
        clocks::keep_all_readers();
        for (unsigned t = 0; t < last.upto.size(); ++t)
            state.known[thread][t] = std::max(state.known[thread][t], last.upto[t]);
        state.knows_beyond_warp[thread] = state.last;
    }
    heard[thread][&place] = place.blocks.size();
    join(heard[thread], place.heard);
}

// A fence of another thread counts, too, if this one has met it since.
void tells(unsigned thread, Place& place) {
    Told& told = place.blocks.back();
    const std::vector<uint32_t>& own = fenced[thread].known;
    told.base = std::max({told.base, block_base, fenced[thread].base});
    for (unsigned t = 0; t < run.threads; ++t) {
        if (!own.empty()) told.upto[t] = std::max(told.upto[t], own[t]);
        if (fenced[t].known.empty()) continue;
        const uint32_t at = fenced[t].known[t];
        if (clocks::knows(thread, t, at)) told.upto[t] = std::max(told.upto[t], at);
    }
    join(place.heard, fenced[thread].heard);
}

}  // namespace

void begin_launch() {
    any = false;
    places.clear();
}

void begin_block() {
    if (!any) return;
    fenced.assign(run.threads, Fenced());
    heard.assign(run.threads, Heard());
    heard_by_block.clear();
    block_base = 0;
}

void fence(unsigned thread) {
    if (!traced) return;
    if (!any) {
        any = true;
        begin_block();
    }
    Fenced& mine = fenced[thread];
    ++moment;
    mine.base = state.base;
    mine.heard = heard_by_block;
    join(mine.heard, heard[thread]);
    mine.known.assign(state.known[thread], state.known[thread] + run.threads);
    mine.known[thread] = clocks::now(thread);
    state.own[thread] = ++state.last;
}

void before_atomic(unsigned thread) {  // a clock of its own
    if (any && traced) state.own[thread] = ++state.last;
}

void atomic(unsigned thread, const void* address) {
    if (!any || !traced || places.size() > kPlaces) return;
    Place& place = places[address];
    if (!place.blocks.empty()) is_told(thread, place);
    if (place.blocks.empty() || place.blocks.back().block_start != state.block_start)
        place.blocks.push_back({state.block_start, 0, std::vector<uint32_t>(run.threads), {}});
    place.blocks.back().atomics.push_back(clocks::now(thread));
    state.own[thread] = ++state.last;
    Fenced& mine = fenced[thread];
    if (mine.told == &place && mine.told_at == moment) return;
    mine.told = &place;
    mine.told_at = moment;
    tells(thread, place);
}

void block_barrier() {
    if (!any) return;
    ++moment;
    for (unsigned t = 0; t < run.threads; ++t) {
        block_base = std::max(block_base, fenced[t].base);
        join(heard_by_block, heard[t]);
        heard[t].clear();
    }
}

void warp_barrier(unsigned first, uint32_t lanes) {
    if (!any) return;
    ++moment;
    Heard joined;
    for (unsigned lane = 0; lane < 32; ++lane)
        if (lanes >> lane & 1) join(joined, heard[first + lane]);
    if (joined.empty()) return;
    for (unsigned lane = 0; lane < 32; ++lane)
        if (lanes >> lane & 1) heard[first + lane] = joined;
}

bool knows(unsigned thread, unsigned other, uint32_t clock) {
    if (thread >= run.threads) thread = state.issuer[thread - run.threads];
    return places.size() > kPlaces || knows_from(heard[thread], other, clock) ||
           knows_from(heard_by_block, other, clock);
}

}  // namespace fences
}  // namespace emulator

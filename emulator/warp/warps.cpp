// Operations of a warp: __syncwarp(), shuffles, and the collectives of mma.h.

#include "emulator/warp/warps.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "emulator/engine/names.h"
#include "emulator/engine/order.h"
#include "emulator/engine/threads.h"
#include "emulator/include/hopper_calls.h"
#include "emulator/include/warp_calls.h"
#include "emulator/trace/record.h"

namespace emulator {
namespace {

std::string hexadecimal(unsigned mask) {
    char text[16];
    std::snprintf(text, sizeof text, "0x%x", mask);
    return text;
}

// The lanes of a warp that wait at an operation: how many, one of them, and whether all others are
// at the same call with the same mask.
struct WarpArrivals {
    unsigned waiting = 0, one = 0;
    bool matching = true;
    unsigned missing = 0;  // a lane that had not arrived at the last check
} warp_arrivals[kMaxThreads / 32];

void wait_at_warp(const char* file, int line) {
    Thread& self = threads[current_thread];
    self.site = {file, line, 0};
    self.state = State::at_warp;
    note_arrival();
    WarpArrivals& arrivals = warp_arrivals[current_thread / 32];
    const Thread& one = threads[arrivals.one];
    if (arrivals.waiting++ == 0) {
        arrivals.one = current_thread;
        arrivals.matching = !self.operation;
    } else if (one.mask != self.mask || one.name != self.name || one.site.file != file ||
               one.site.line != line || self.operation) {
        arrivals.matching = false;
    }
}

// Calls fail() if a lane in the mask of `thread` waits for it at another call, or with another
// mask.
void check_partners(unsigned thread) {
    const Thread& self = threads[thread];
    const unsigned first = thread / 32 * 32, lanes = std::min(32u, run.threads - first);
    if (warp_arrivals[thread / 32].matching) return;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const Thread& t = threads[first + lane];
        const bool mutual = (self.mask >> lane & 1) && (t.mask >> (thread - first) & 1);
        if (t.state != State::at_warp || t.operation || self.operation || !mutual) continue;
        const bool same_call = t.name == self.name || std::strcmp(t.name, self.name) == 0;
        // Only __syncwarp() may be called at several lines.
        if (t.mask == self.mask && same_call &&
            (same_site(t.site, self.site) || std::strcmp(t.name, "__syncwarp") == 0))
            continue;
        const auto call = [&](const Thread& t, unsigned number) {
            return thread_name(number) + " calls " + t.name + " at " + site_name(t.site) +
                   " with mask " + hexadecimal(t.mask);
        };
        fail("warp divergence: " + call(t, first + lane) + ", but " + call(self, thread) + " (" +
             block_name() + ")");
    }
}

// The lane that a shuffle reads must be in the mask and still running.
void check_source(const Thread& t, unsigned thread) {
    const unsigned first = thread / 32 * 32, source = unsigned(t.source);
    std::string why;
    if (first + source >= run.threads) why = "does not exist";
    else if (!(t.mask >> source & 1)) why = "is not in the mask " + hexadecimal(t.mask);
    else if (threads[first + source].state == State::returned)
        why = "has returned" + place_of_return(threads[first + source]);
    else return;
    fail(std::string(t.name) + " at " + site_name(t.site) + " reads lane " +
         std::to_string(source) + ", which " + why + " (" + block_name() + ", " +
         thread_name(thread) + ")");
}

// The result of a vote: the lanes of its mask whose value is not zero, or equals the thread's.
uint64_t lanes_like(const Thread& t, unsigned first, unsigned lanes) {
    uint64_t found = 0;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const Thread& other = threads[first + lane];
        if (!(t.mask >> lane & 1) || other.state == State::returned) continue;
        if (t.source == kBallot ? other.value != 0 : other.value == t.value)
            found |= uint64_t(1) << lane;
    }
    return found;
}

// Completes the warp operation at which `thread` waits if all lanes of its mask have arrived. A
// shuffle does not wait for lanes that have returned. A collective needs all 32 lanes at the same
// place.
bool complete(unsigned thread, const void* pc = nullptr) {
    const unsigned first = thread / 32 * 32, lanes = std::min(32u, run.threads - first);
    const Thread& self = threads[thread];
    const unsigned mask = self.mask;
    if (self.operation && lanes < 32) return false;
    WarpArrivals& arrivals = warp_arrivals[thread / 32];
    for (unsigned i = 0, from = arrivals.missing; i < lanes; ++i) {
        const unsigned lane = arrivals.missing = from + i < lanes ? from + i : from + i - lanes;
        const Thread& t = threads[first + lane];
        if (!(mask >> lane & 1) || (t.state == State::returned && !self.operation)) continue;
        if (t.state != State::at_warp || t.mask != mask || t.operation != self.operation)
            return false;
        if (self.operation && !same_site(t.site, self.site)) return false;
    }
    if (self.operation) {
        WarpCall call{{}, pc, self.site.file, self.site.line};
        for (unsigned lane = 0; lane < 32; ++lane)
            call.arguments[lane] = threads[first + lane].arguments;
        in_kernel = false;  // the operation itself traces what a GPU would access
        record::collective = "tensor";
        self.operation(call);
        for (unsigned lane = 0; record::on && record::collective && lane < 32; ++lane)
            record::call(first + lane, record::collective, call.file, call.line);
        in_kernel = traced;
    }
    for (unsigned lane = 0; lane < lanes; ++lane) {
        Thread& t = threads[first + lane];
        if (!(mask >> lane & 1) || t.state == State::returned) continue;
        if (!self.operation) {
            if (t.source >= 0) {
                check_source(t, first + lane);
                t.received = threads[first + t.source].value;
            } else {
                t.received = lanes_like(t, first, lanes);
            }
        }
    }
    for (unsigned lane = 0; lane < lanes; ++lane) {
        Thread& t = threads[first + lane];
        if ((mask >> lane & 1) && t.state != State::returned) {
            t.state = State::ready;
            --arrivals.waiting;
        }
    }
    // A collective orders no memory. A shuffle also orders the accesses of lanes that have
    // returned.
    if (!self.operation) order_warp(first, mask & (lanes < 32 ? (1u << lanes) - 1 : ~0u));
    return true;
}

}  // namespace

int lane() { return current_thread % 32; }

uint64_t exchange(unsigned mask, uint64_t value, int source, const char* name, const char* file,
                  int line) {
    Thread& self = threads[current_thread];
    self.name = name;
    self.mask = mask;
    self.value = value;
    self.source = source;
    self.operation = nullptr;
    wait_at_warp(file, line);
    if (record::on) record::call(current_thread, "warp sync", file, line);
    if (!(mask >> lane() & 1))
        fail("the mask " + hexadecimal(mask) + " at " + site_name(self.site) +
             " lacks the lane that calls " + name + ", lane " + std::to_string(lane()) + " (" +
             block_name() + ", " + thread_name(current_thread) + ")");
    check_partners(current_thread);
    if (!complete(current_thread)) suspend();
    return self.received;
}

void collective(void (*operation)(const WarpCall&), const void* arguments, const char* file,
                int line) {
    Thread& self = threads[current_thread];
    self.mask = ~0u;
    self.operation = operation;
    self.arguments = arguments;
    wait_at_warp(file, line);
    if (!complete(current_thread, caller(__builtin_return_address(0)))) suspend();
}

int elected_lane(unsigned mask, const char* file, int line) {
    require(90, "elect.sync", file, line);
    return __builtin_ctz(unsigned(exchange(mask, 1, kBallot, "elect.sync", file, line)));
}

// __activemask() has no mask of lanes to wait for: its result is all lanes that have reached the
// call when no thread can go on.
static const char kActive = 0;
unsigned active_lanes(const char* file, int line) {
    wait_for(&kActive, {file, line, 0},
             [](const void*) { return std::string(", for the active lanes"); });
    return unsigned(threads[current_thread].received);
}

namespace warps {

void begin_block() { std::fill_n(warp_arrivals, (run.threads + 31) / 32, WarpArrivals()); }

// Other lanes may have waited only for the one that has returned.
void end_thread() {
    const unsigned first = current_thread / 32 * 32, end = std::min(first + 32, run.threads);
    for (unsigned t = first; warp_arrivals[first / 32].waiting > 0 && t < end; ++t)
        if (threads[t].state == State::at_warp && complete(t)) return;
}

bool report_deadlock() {
    const auto end = threads.begin() + run.threads;
    const auto stuck = std::find_if(threads.begin(), end,
                                    [](const Thread& t) { return t.state == State::at_warp; });
    if (stuck == end) return false;
    const Thread& self = *stuck;
    const auto thread = unsigned(stuck - threads.begin());
    const unsigned first = thread / 32 * 32, lanes = std::min(32u, run.threads - first);
    std::vector<unsigned> waiting, missing;
    for (unsigned t = first; t < first + lanes; ++t)
        if (threads[t].state == State::at_warp && same_site(threads[t].site, self.site))
            waiting.push_back(t);
        else if (self.mask >> (t - first) & 1 &&
                 (threads[t].state != State::returned || self.operation))
            missing.push_back(t);
    const bool one = waiting.size() == 1;
    fail("warp divergence: " + thread_names(waiting) + " of " + block_name() +
         (one ? " waits at " : " wait at ") + site_name(self.site) + " for lanes of " +
         (one ? "its" : "their") + " warp that never arrive there" +
         (lanes < 32 && self.operation
              ? ": its warp has " + std::to_string(lanes) + " lanes, not 32"
              : (missing.empty() ? "" : ": ") + describe_waits(missing)));
    return true;
}

bool make_progress() {
    const auto end = threads.begin() + run.threads;
    const auto active =
        std::find_if(threads.begin(), end, [](const Thread& t) { return t.waits(&kActive); });
    if (active == end) return false;
    const unsigned first = unsigned(active - threads.begin()) / 32 * 32;
    const Call site = active->site;
    std::vector<unsigned> found;
    for (unsigned t = first; t < std::min(first + 32, run.threads); ++t)
        if (threads[t].waits(&kActive) && same_site(threads[t].site, site)) found.push_back(t);
    unsigned lanes = 0;
    for (const unsigned t : found) lanes |= 1u << (t - first);
    for (const unsigned t : found) {
        threads[t].received = lanes;
        threads[t].state = State::ready;
    }
    return true;
}

}  // namespace warps

void check_width(const char* shuffle, int width, const char* file, int line) {
    if (width > 0 && width <= 32 && (width & (width - 1)) == 0) return;
    misuse(shuffle + (" of width " + std::to_string(width)) + ", not a power of two up to 32", file,
           line);
}

}  // namespace emulator

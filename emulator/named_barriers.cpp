// Barriers of a part of a block (bar.sync, bar.arrive), and __syncthreads() where a cluster runs.

#include <algorithm>

#include "emulator/include/ptx.h"
#include "emulator/scheduler.h"

namespace emulator {

struct NamedBarrier {
    int id = 0;
    unsigned expected = 0, arrived = 0;  // threads
    Call first;  // where the first of them came
    uint32_t lanes[kMaxThreads / 32] = {};  // of each warp: who has come
    Sync arriving, passed;
};

namespace {

constexpr int kNames = 16;
NamedBarrier barriers[kMaxRanks][kNames + 1];  // the last is __syncthreads()

// The running thread arrives. Gives back whether the barrier is passed with that.
bool arrive(NamedBarrier& b, unsigned expected, const Call& site) {
    if (b.arrived == 0) b.expected = expected, b.first = site;
    b.arriving.release(current_thread);
    b.lanes[current_thread / 32] |= 1u << current_thread % 32;
    ++progress_made;
    if (++b.arrived < b.expected) return false;
    b.arrived = 0;
    b.passed = std::exchange(b.arriving, Sync());
    std::fill(std::begin(b.lanes), std::end(b.lanes), 0);
    for (unsigned t = 0; t < run.threads; ++t) {
        Thread& thread = threads[t];
        if (thread.state != State::at_named || thread.named != &b) continue;
        b.passed.acquire(t);
        thread.state = State::ready;
    }
    return true;
}

void arrive_and_wait(NamedBarrier& b, unsigned expected, const Call& site) {
    Thread& self = threads[current_thread];
    self.site = site, self.named = &b;
    if (arrive(b, expected, site)) return b.passed.acquire(current_thread);
    self.state = State::at_named;
    suspend();
}

NamedBarrier& named(const char* instruction, int id, int count, const char* file, int line) {
    const auto refuse = [&](const std::string& why) {
        misuse(std::string(instruction) + ": " + why, file, line);
    };
    if (id < 0 || id >= kNames) refuse("barrier " + std::to_string(id) + ", not 0 to 15");
    if (count < 32 || count % 32 || unsigned(count) > run.block_threads)
        refuse(std::to_string(count) + " threads, not a multiple of 32 up to the block's " +
               std::to_string(run.block_threads));
    NamedBarrier& b = barriers[rank_of(current_thread)][id];
    b.id = id;
    if (b.arrived && b.expected != unsigned(count))
        refuse(std::to_string(count) + " threads for barrier " + std::to_string(id) +
               ", but whoever came first, at " + site_name(b.first) + ", said " +
               std::to_string(b.expected));
    if (b.lanes[current_thread / 32] >> current_thread % 32 & 1)
        refuse("the thread has come to barrier " + std::to_string(id) + " already");
    return b;
}

}  // namespace

void named_barrier_sync(int id, int count, const char* file, int line) {
    EmulatorsWork work;
    if (record::on) record::call(current_thread, "barrier", file, line);
    arrive_and_wait(named("named_barrier_sync", id, count, file, line), unsigned(count),
                    {file, line, 0});
}

void named_barrier_arrive(int id, int count, const char* file, int line) {
    EmulatorsWork work;
    if (record::on) record::call(current_thread, "barrier arrive", file, line);
    arrive(named("named_barrier_arrive", id, count, file, line), unsigned(count), {file, line, 0});
}

void block_barrier_in_cluster(const char* file, int line, int number) {
    EmulatorsWork work;
    NamedBarrier& b = barriers[rank_of(current_thread)][kNames];
    const Call site{file, line, number};
    if (b.arrived && !same_site(b.first, site))
        fail("barrier divergence: " + thread_name(current_thread) + " of " + block_name() +
             " waits at " + site_name(site) + ", but others at " + site_name(b.first));
    if (b.arrived + 1 == run.block_threads) ++totals.barriers;
    arrive_and_wait(b, run.block_threads, site);
}

std::string state_of(const NamedBarrier& b) {
    return std::to_string(b.arrived) + " of " + std::to_string(b.expected) + " threads have come";
}

namespace named_barriers {

void begin_block() {
    for (unsigned rank = 0; rank < run.ranks; ++rank)
        for (NamedBarrier& b : barriers[rank])
            if (b.arrived) b = NamedBarrier();
}

}  // namespace named_barriers
}  // namespace emulator

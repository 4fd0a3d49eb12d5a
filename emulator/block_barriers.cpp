// __syncthreads(), and those that count.

#include "emulator/block_barriers.h"

#include <algorithm>

#include "emulator/mbarriers.h"
#include "emulator/named_barriers.h"
#include "emulator/names.h"
#include "emulator/record.h"
#include "emulator/report.h"

namespace emulator {

static uint64_t begun;  // since the program began, one more for each block

namespace block_barriers {

void begin_block() { ++begun; }

// Called when no thread can go on.
bool pass() {
    const auto end = threads.begin() + run.threads;
    const auto with = [&](State s) {
        return std::find_if(threads.begin(), end, [s](const Thread& t) { return t.state == s; });
    };
    const auto name = [](std::vector<Thread>::iterator t) {
        return thread_name(unsigned(t - threads.begin()));
    };
    if (with(State::waiting) != end) return mbarriers::report_deadlock(), false;
    const auto stuck = with(State::at_warp), waiting = with(State::at_barrier),
               returned = with(State::returned);
    if (stuck != end) {
        fail("warp divergence: " + name(stuck) + " of " + block_name() + " waits at " +
             site_name(stuck->site) + " for lanes of its warp that never come there");
        return false;
    }
    if (waiting == end) return false;
    const auto waits = [&](const Thread& t, bool here) {
        return t.state == State::at_barrier && same_site(t.site, waiting->site) == here;
    };
    const auto elsewhere =
        std::find_if(waiting, end, [&](const Thread& t) { return waits(t, false); });
    if (returned != end || elsewhere != end) {
        const auto there =
            std::count_if(waiting, end, [&](const Thread& t) { return waits(t, true); });
        const std::string here = site_name(waiting->site);
        std::string other =
            returned != end ? name(returned) + " has returned" : name(elsewhere) + " waits at ";
        if (returned == end) {
            const std::string place = site_name(elsewhere->site);
            other += place == here ? "another barrier of that line" : place;
        }
        fail("barrier divergence: " + std::to_string(there) + " of the " +
             std::to_string(run.threads) + " threads of " + block_name() + " wait at " + here +
             ", " + name(waiting) + " among them, but " + other);
        return false;
    }
    for (auto t = threads.begin(); t != end; ++t) t->state = State::ready;
    ++totals.barriers, ++begun;
    return true;
}

}  // namespace block_barriers

void barrier(const char* file, int line, int number) {
    if (run.ranks > 1) return block_barrier_in_cluster(file, line, number);
    Thread& self = threads[current_thread];
    self.state = State::at_barrier;
    self.site = {file, line, number};
    if (record::on) record::call(current_thread, "barrier", file, line);
    note_arrival();
    suspend();
}

void refuse_grid_sync(const char* file, int line) {
    misuse("a wait for the whole grid: the emulator runs one block after the other", file, line);
}

// A thread that has passed may come to the next barrier before the others have read this one's count.
int barrier_count(int predicate, const char* file, int line, int number) {
    static struct {
        uint64_t of = 0;
        int count = 0;
    } counts[2];
    auto& mine = counts[begun % 2];
    if (mine.of != begun) mine = {begun, 0};
    mine.count += predicate;
    barrier(file, line, number);
    return mine.count;
}

}  // namespace emulator

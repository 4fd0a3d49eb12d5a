// __syncthreads(), and its variants that count a predicate.

#include "emulator/engine/block_barriers.h"

#include <algorithm>

#include "emulator/engine/hooks.h"
#include "emulator/engine/named_barriers.h"
#include "emulator/engine/names.h"
#include "emulator/engine/threads.h"
#include "emulator/trace/record.h"
#include "emulator/trace/report.h"

namespace emulator {

static uint64_t begun;  // intervals between barriers, of all blocks so far

static Call passed;  // the last barrier of this block

// The first barrier of this block that did not wait for all threads, and those that had returned.
static struct {
    Call barrier;
    std::vector<unsigned> returned;
} without;

namespace block_barriers {

void begin_block() {
    ++begun;
    without.barrier = passed = Call();
}

std::string last_passed() { return passed.file ? site_name(passed) : ""; }

std::string left_out() {
    if (!without.barrier.file) return "";
    return describe_waits(without.returned) + ", and the barrier at " + site_name(without.barrier) +
           " does not wait for " + (without.returned.size() == 1 ? "it" : "them");
}

// Called when no thread can go on. A barrier waits for all threads of the block that have not
// exited: see REFERENCE.md, "Barriers".
bool passes() {
    if (any_holds(run.hooks->report_deadlock)) return false;
    const auto end = threads.begin() + run.threads;
    const auto waiting = std::find_if(threads.begin(), end,
                                      [](const Thread& t) { return t.state == State::at_barrier; });
    if (waiting == end) return false;
    const auto is_there = [&](const Thread& t) {
        return t.state == State::at_barrier && same_site(t.site, waiting->site);
    };
    const auto has_returned = [](const Thread& t) { return t.state == State::returned; };
    const auto others =
        threads_that([&](const Thread& t) { return !is_there(t) && !has_returned(t); });
    if (!others.empty()) {
        const auto there = threads_that(is_there);
        const std::string here = site_name(waiting->site);
        const bool same_line = std::any_of(others.begin(), others.end(), [&](unsigned t) {
            return threads[t].state == State::at_barrier && site_name(threads[t].site) == here;
        });
        fail("barrier divergence: " + std::to_string(there.size()) + " of the " +
             std::to_string(run.threads) + " threads of " + block_name() + " wait at " + here +
             ", " + thread_names(there) + ", but " + describe_waits(others) +
             (same_line ? ", another barrier of that line" : ""));
        return false;
    }
    if (!without.barrier.file && std::any_of(threads.begin(), end, has_returned)) {
        without.barrier = waiting->site;
        without.returned = threads_that(has_returned);
    }
    passed = waiting->site;
    for (auto t = waiting; t != end; ++t)
        if (t->state == State::at_barrier) t->state = State::ready;
    ++totals.barriers;
    ++begun;
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

// Two counts alternate, because a thread may come to the next barrier before the others have read
// the count of this one.
int barrier_count(int predicate, const char* file, int line, int number) {
    static struct {
        uint64_t interval = 0;
        int count = 0;
    } counts[2];
    auto& mine = counts[begun % 2];
    if (mine.interval != begun) mine = {begun, 0};
    mine.count += predicate;
    barrier(file, line, number);
    return mine.count;
}

}  // namespace emulator

// mbarriers. Their state is kept here. Their 64 bits in shared memory hold only a mark, so that it
// is noticed if something else is written there.

#include "emulator/hopper/mbarriers.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "emulator/engine/accesses.h"
#include "emulator/engine/names.h"
#include "emulator/engine/threads.h"
#include "emulator/hopper/mbarrier_hints.h"
#include "emulator/hopper/ranks.h"
#include "emulator/include/common/ptx/hopper.cuh"
#include "emulator/trace/record.h"
#include "emulator/trace/report.h"

namespace emulator {
namespace {

constexpr int kMax = (1 << 20) - 1;  // arrivals; bytes

Mbarriers barriers;
std::map<uint64_t, Mbarriers> paused;  // of the blocks that wait for the grid
uint64_t number_of_block() { return flatten(run.first_block, run.grid); }

// Where a thread waits and for which phase, until it has gone on.
struct Wait {
    const Mbarrier* barrier = nullptr;
    uint32_t phase = 0;
    bool tries = false;  // it returns when no thread can go on otherwise
    bool given_up = false;  // as it has done
} waits[kMaxThreads];
Wait gave_up[kMaxThreads];  // the last one that did so: the next time, the thread waits
Waited waited[kMaxThreads];  // the last wait that has returned

uint64_t mark(const uint64_t* memory) {
    return reinterpret_cast<uintptr_t>(memory) ^ 0x7265697272616200;
}

std::string numbers(std::initializer_list<int64_t> all) {
    std::string text;
    for (const int64_t number : all) text += "," + std::to_string(number);
    return text;
}

// Ends the phase if it is complete.
void complete_phase(Mbarrier& b) {
    if (b.pending > 0 || b.bytes != 0) return;
    publish(b.unseen, b.complete);  // no thread has waited for them
    b.unseen = std::move(b.landed);
    b.complete = std::exchange(b.arriving, Sync());
    b.landed.clear();
    b.completed[1] = std::exchange(b.completed[0], b.complete.release_agent(&b));
    b.pending = b.arrivals;
    b.ranks_before = 0;
    for (const Arrival& arrival : b.arrived) b.ranks_before |= 1u << rank_of(arrival.thread);
    std::swap(b.arrived_before, b.arrived);
    b.arrived.clear();
    ++b.phase;
    for (unsigned t = 0; t < run.threads; ++t) {
        const Call& site = threads[t].site;
        const uint32_t phase = waits[t].phase;
        if (waits[t].barrier == &b && threads[t].state == State::ready && phase + 2 == b.phase) {
            const std::string stale = describe_stale_wait(b, waited[current_thread]);
            misuse_by(t,
                      "mbarrier_wait_parity: phase " + std::to_string(phase + 1) + " of " +
                          name_of(b) + " is complete before the thread that waits for phase " +
                          std::to_string(phase) + " has gone on",
                      site.file, site.line,
                      "it may wait for ever; " + (stale.empty() ? arrival_count_hint(b) : stale));
        }
    }
    wake(&b);
}

// A parity stands for one phase only if the thread knows that the one before is complete.
void check_phase(const Mbarrier& b, uint32_t phase, const Call& site) {
    if (!tracing() || phase == 0) return;
    if (clocks::knows(current_thread, clocks::agent(&b), b.completed[b.phase - phase])) return;
    misuse_by(current_thread,
              "mbarrier_wait_parity: the parity is ambiguous: " + name_of(b) +
                  " has reached phase " + std::to_string(phase) +
                  " without this thread, and the parity that it waits for, " +
                  std::to_string(phase % 2) + ", is also that of " +
                  (phase < 2 ? "the time before the first" : "phase " + std::to_string(phase - 2)),
              site.file, site.line, arrival_count_hint(b));
}

// Only mbarrier_arrive_cluster may address another block's mbarrier.
void check_own(const Mbarrier& b, const char* instruction, const char* file, int line) {
    if (owning_rank(b) == rank_of(current_thread)) return;
    misuse(std::string(instruction) + ": " + name_of(b) + " is another block's", file, line);
}

// Notes an arrival, or (count 0) that bytes are expected.
void note(Mbarrier& b, const char* instruction, int count, int64_t bytes, const Call& site) {
    if (bytes < 0 || b.bytes + bytes > kMax)
        misuse(std::string(instruction) + ": " + std::to_string(b.bytes + bytes) +
                   " bytes expected of " + name_of(b) + ", not 0 to " + std::to_string(kMax),
               site.file, site.line);
    b.bytes += bytes;
    b.expects |= bytes > 0;
    b.arrived.push_back({current_thread, site, count, bytes});
}

void arrive(uint64_t* memory, const char* instruction, int64_t bytes, const char* file, int line,
            bool remote = false, int count = 1) {
    EmulatorsWork work;
    Mbarrier& b = mbarrier_at(memory, instruction, file, line);
    if (!remote) check_own(b, instruction, file, line);
    if (record::on) record::call(current_thread, "arrive", file, line);
    note_arrival();
    if (count < 1 || count > kMax)
        misuse(std::string(instruction) + ": " + std::to_string(count) + " arrivals, not 1 to " +
                   std::to_string(kMax),
               file, line);
    if (b.pending < count) {
        const auto before =
            std::find_if(b.arrived.begin(), b.arrived.end(), [](const Arrival& arrival) {
                return arrival.count && arrival.thread == current_thread;
            });
        const Waited& last = waited[current_thread];
        const std::string cause =
            before == b.arrived.end() || !describe_stale_wait(b, last).empty()
                ? wait_hint(b, last)
                : "the thread has arrived in this phase before," + at_site(before->site) +
                      ", and a wait for that phase may be missing between the two";
        misuse_by(current_thread,
                  std::string(instruction) + ": " +
                      (count - b.pending == 1 ? "one arrival"
                                              : std::to_string(count - b.pending) + " arrivals") +
                      " more than the " + std::to_string(b.arrivals) + " of phase " +
                      std::to_string(b.phase) + " of " + name_of(b) + ", by this call",
                  file, line, with_init_site(b, cause));
    }
    if (record::on)
        record::note_of(current_thread, "arrive" + record::number(b.memory) +
                                            numbers({current_thread, bytes, b.phase}));
    note(b, instruction, count, bytes, {file, line, 0});
    b.arriving.release(current_thread);
    if (waited[current_thread].again) b.before_arrival = waited[current_thread];
    b.pending -= count;
    complete_phase(b);
}

}  // namespace

Mbarrier::Mbarrier(uint64_t* memory, Call site, int arrivals)
    : memory(memory), site(site), thread(current_thread), clock(clocks::now(current_thread)),
      arrivals(arrivals), pending(arrivals), waited_for(run.threads) {
    clocks::keep_all_readers();
}

Waited last_wait(unsigned thread) { return waited[thread]; }

Mbarrier& mbarrier_at(uint64_t* memory, const char* instruction, const char* file, int line) {
    const auto refuse = [&](const std::string& why, const std::string& hint = "") {
        misuse_by(current_thread, std::string(instruction) + ": " + why, file, line, hint);
    };
    const auto found = barriers.find(memory);
    if (found == barriers.end()) refuse("no mbarrier is there: mbarrier_init() comes first");
    Mbarrier& b = found->second;
    if (*memory != mark(memory))
        refuse(name_of(b) + " has been overwritten before this call", with_init_site(b, ""));
    const auto knows = [&](unsigned other, uint32_t clock) {
        return clocks::knows(current_thread, other, clock);
    };
    if (tracing() && !knows(b.thread, b.clock) &&
        !(b.published && knows(clocks::agent(&b), b.published)))
        refuse(std::string("no barrier ") +
                   (rank_of(b.thread) != rank_of(current_thread) ? "of the cluster " : "") +
                   "lies between the mbarrier_init() of " + name_of(b) + " and this call",
               "that mbarrier_init() is" + at_site(b.site) + ", by " + thread_name(b.thread) +
                   (run.ranks > 1 && !b.fenced ? ", and no fence_mbarrier_init() follows it" : ""));
    return b;
}

void bytes_arrived(Mbarrier& barrier, int64_t bytes) {
    barrier.bytes -= bytes;
    complete_phase(barrier);
}

void publish_mbarriers(Sync& sync) {
    if (!tracing()) return;
    for (auto& [memory, b] : barriers)
        if (b.thread == current_thread && b.fenced && !b.published)
            b.published = sync.release_agent(&b);
}

namespace mbarriers {

void begin_block() {
    barriers.clear();
    std::fill(std::begin(waits), std::end(waits), Wait());
    std::fill(std::begin(gave_up), std::end(gave_up), Wait());
    std::fill(std::begin(waited), std::end(waited), Waited());
}

void pause_block() {
    for (const auto& [memory, b] : barriers)
        if (b.bytes != 0 || !b.unseen.empty() || !b.landed.empty())
            fail("grid.sync() while " + name_of(b) +
                 " has bulk copies that no thread has waited for: the emulator cannot pause such a "
                 "block (" +
                 block_name() + ", initialised" + at_site(b.site) + ")");
    paused[number_of_block()] = std::move(barriers);
}

void resume_block() {
    barriers = std::move(paused[number_of_block()]);
    if (barriers.empty()) return;
    // What the block did before grid.sync() has clocks of an earlier block. Every thread knows of it.
    clocks::block_barrier();
    const uint32_t known = clocks::state.base;
    for (auto& [memory, b] : barriers) {
        b.clock = b.completed[0] = b.completed[1] = known;
        if (b.published) b.published = known;
    }
}

void end_block() {
    for (auto& [memory, b] : barriers) {
        for (const auto* loads : {&b.unseen, &b.landed})
            if (!loads->empty()) {
                const std::string stale = describe_stale_wait(b, {});
                report_problem("the block ends, and no thread has waited for the " +
                               std::string((*loads)[0].name) + at_site((*loads)[0].site) + " (" +
                               block_name() + ", " + thread_name((*loads)[0].thread) + ")" +
                               (stale.empty() ? "" : ": " + stale));
            }
        publish(b.unseen, b.complete);
        publish(b.landed, b.arriving);
        if (b.bytes == 0) continue;
        report_problem("the block ends, but phase " + std::to_string(b.phase) + " of " +
                       name_of(b) + " is not complete: " + describe_bytes(b) + " (initialised" +
                       at_site(b.site) + ", " + block_name() + ")");
    }
}

// A thread that only tries a wait may have other work that the barrier's phase needs.
bool make_progress() {
    for (unsigned t = 0; t < run.threads; ++t)
        if (waits[t].tries && threads[t].waits(waits[t].barrier)) {
            waits[t].given_up = true;
            threads[t].state = State::ready;
            return true;
        }
    return false;
}

void fail_block() {
    for (auto& [memory, b] : barriers) {
        publish(b.unseen, b.complete);
        publish(b.landed, b.arriving);
    }
}

bool anyone_waits() {
    for (unsigned t = 0; t < run.threads; ++t)
        if (waits[t].barrier && threads[t].waits(waits[t].barrier)) return true;
    return false;
}

bool report_deadlock() {
    const auto end = threads.begin() + run.threads;
    if (std::none_of(threads.begin(), end,
                     [](const Thread& t) { return t.state == State::waiting; }))
        return false;
    const auto in_wait = [](const Thread& t) {
        const Mbarrier* const barrier = waits[&t - &threads[0]].barrier;
        return barrier && t.waits(barrier);
    };
    const std::vector<unsigned> waiting = threads_that(in_wait);
    const std::string of_cluster =
        run.ranks > 1 ? "the cluster of block " + index_name(run.first_block, run.grid) + ", " +
                            std::to_string(run.ranks) + " blocks of " +
                            std::to_string(run.block_threads) + " threads,"
                      : block_name();
    std::string problem = "deadlock: no thread of " + of_cluster + " can go on: ";
    if (!waiting.empty())
        problem += with_unit(int64_t(waiting.size()), "thread") +
                   " in mbarrier_wait_parity: " + describe_waits(waiting);
    const std::vector<unsigned> others = threads_that([&](const Thread& t) { return !in_wait(t); });
    if (!others.empty()) problem += (waiting.empty() ? "" : "; ") + describe_waits(others);
    // Barriers in the same state share a line, and the same one in several ranks has one name. Those
    // for which nobody waits come last.
    std::vector<std::pair<std::string, std::map<std::string, unsigned>>> lines;
    size_t waited_for = 0;
    for (const auto& [memory, b] : barriers) {
        const auto waiting_here = threads_that([&b = b](const Thread& t) { return t.waits(&b); });
        if (waiting_here.empty() && b.pending == b.arrivals && b.bytes == 0) continue;
        const std::string text = describe_state(b, unsigned(waiting_here.size()), barriers);
        auto line = std::find_if(lines.begin(), lines.end(),
                                 [&](const auto& each) { return each.first == text; });
        if (line == lines.end())
            line = lines.insert(
                waiting_here.empty() ? line : lines.begin() + ptrdiff_t(waited_for++), {text, {}});
        line->second[name_in_rank(b)] |= run.ranks > 1 ? 1u << owning_rank(b) : 0;
    }
    for (const auto& [text, names] : lines) {
        problem += "\n  ";
        for (const auto& [name, ranks] : names)
            problem += (name == names.begin()->first ? "" : ", ") + name +
                       (ranks ? " of " + rank_names(ranks) : "");
        problem += text;
    }
    fail(problem + first_phase_hint(barriers));
    return true;
}

}  // namespace mbarriers

// ---- The instructions ---------------------------------------------------------------------------

void mbarrier_init(uint64_t* memory, int arrivals, const char* file, int line) {
    const void* const pc = caller(__builtin_return_address(0));
    EmulatorsWork work;
    require(90, "mbarrier_init", file, line);
    const auto refuse = [&](const std::string& why) {
        misuse("mbarrier_init: " + why, file, line);
    };
    if (reinterpret_cast<uintptr_t>(memory) % 8) refuse("the address is not a multiple of 8");
    if (!is_shared(memory)) refuse("the address is not in shared memory");
    if (arrivals < 1 || arrivals > kMax)
        refuse(std::to_string(arrivals) + " arrivals, not 1 to " + std::to_string(kMax));
    accesses::note(current_thread, memory, 8, trace::kWrite, pc, false);
    const auto [place, is_new] =
        barriers.try_emplace(memory, memory, Call{file, line, 0}, arrivals);
    if (!is_new)
        misuse_by(
            current_thread,
            "mbarrier_init: " + name_of(place->second) + " is already initialised before this call",
            file, line, "by that" + at_site(place->second.site));
    *memory = mark(memory);
    if (record::on)
        record::note_of(current_thread, "barrier" + record::number(memory) + numbers({arrivals}));
}

void fence_mbarrier_init() {
    EmulatorsWork work;
    for (auto& [memory, b] : barriers)
        if (b.thread == current_thread) b.fenced = true;
}

void fence_proxy_async() {
    EmulatorsWork work;
    fence_mbarrier_init();
    clocks::fence_proxy(current_thread);
}

unsigned mbarrier_phase(uint64_t* memory, const char* file, int line) {
    EmulatorsWork work;
    return mbarrier_at(memory, "mbarrier_arrive", file, line).phase;
}

void mbarrier_arrive(uint64_t* memory, const char* file, int line) {
    arrive(memory, "mbarrier_arrive", 0, file, line);
}
void mbarrier_arrive_drop(uint64_t* memory, const char* file, int line) {
    {
        EmulatorsWork work;
        --mbarrier_at(memory, "mbarrier_arrive", file, line).arrivals;  // of the phases to come
    }
    mbarrier_arrive(memory, file, line);
}
void mbarrier_arrive_cluster(uint64_t* memory, int rank, const char* file, int line) {
    EmulatorsWork work;
    const char* const name = "mbarrier_arrive_cluster";
    void* const there = in_rank(memory, unsigned(rank), name, file, line);
    arrive(static_cast<uint64_t*>(there), name, 0, file, line, true);
}
void mbarrier_arrive_expect_tx(uint64_t* memory, int bytes, const char* file, int line) {
    arrive(memory, "mbarrier_arrive_expect_tx", bytes, file, line);
}
void mbarrier_arrive_at(uint64_t* memory, int count, int bytes, const char* file, int line) {
    EmulatorsWork work;
    void* const there = in_its_rank(memory, "mbarrier_arrive", file, line);
    arrive(static_cast<uint64_t*>(there), "mbarrier_arrive", bytes, file, line, true, count);
}
void mbarrier_expect_tx(uint64_t* memory, int bytes, const char* file, int line) {
    EmulatorsWork work;
    const char* const name = "mbarrier_expect_tx";
    note(mbarrier_at(memory, name, file, line), name, 0, bytes, {file, line, 0});
}
void mbarrier_inval(uint64_t* memory, const char* file, int line) {
    EmulatorsWork work;
    mbarrier_at(memory, "mbarrier_inval", file, line);
    barriers.erase(memory);
}

// Waits for the phase of that parity. tries: it may return false instead.
static bool wait(uint64_t* memory, int parity, bool tries, const char* file, int line) {
    EmulatorsWork work;
    Mbarrier& b = mbarrier_at(memory, "mbarrier_wait_parity", file, line);
    check_own(b, "mbarrier_wait_parity", file, line);
    if (record::on) record::call(current_thread, "wait", file, line);
    note_arrival();
    if (parity != 0 && parity != 1)
        misuse("mbarrier_wait_parity: parity " + std::to_string(parity) + ", not 0 or 1", file,
               line);
    const Call site{file, line, 0};
    const bool blocks = int(b.phase % 2) == parity;
    const int64_t phase = int64_t(b.phase) - !blocks;
    const std::string what = record::number(memory) + numbers({current_thread / 32, phase});
    if (record::on) record::note_of(current_thread, (blocks ? "wait" : "look") + what);
    uint32_t& waited_for = b.waited_for[current_thread];
    const uint32_t waited_before = waited_for;
    Waited& now = waited[current_thread];
    now = {&b, site, current_thread, phase, !blocks && waited_for == phase + 2, b.ranks_before};
    waited_for = uint32_t(phase + 2);
    if (now.again || (phase < 0 && !b.stale.again)) b.stale = now;
    if (phase < 0) return true;  // before the first phase
    check_phase(b, uint32_t(phase), site);
    if (blocks) {
        const Wait& last = gave_up[current_thread];
        tries &= last.barrier != &b || last.phase != uint32_t(phase);
        waits[current_thread] = {&b, uint32_t(phase), tries};
        wait_for(&b, site, [](const void* object) {
            const auto& b = *static_cast<const Mbarrier*>(object);
            return " for phase " + std::to_string(b.phase) + " of " + name_of(b);
        });
        if (waits[current_thread].given_up) {
            gave_up[current_thread] = std::exchange(waits[current_thread], {});
            waited_for = waited_before;
            return false;
        }
        waits[current_thread] = {};
        now.ranks = b.ranks_before;
        if (record::on) record::note("pass" + what);
    }
    publish(b.unseen, b.complete);
    b.complete.acquire(current_thread);
    return true;
}

void mbarrier_wait_parity(uint64_t* memory, int parity, const char* file, int line) {
    wait(memory, parity, false, file, line);
}
bool mbarrier_try_wait_parity(uint64_t* memory, int parity, const char* file, int line) {
    return wait(memory, parity, true, file, line);
}

}  // namespace emulator

// mbarriers. What they count is kept here; their 64 bits hold a mark alone, by which it is seen if
// something else is written there.

#include "emulator/mbarriers.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "emulator/accesses.h"
#include "emulator/clusters.h"
#include "emulator/include/hopper.h"
#include "emulator/lines.h"
#include "emulator/names.h"
#include "emulator/record.h"
#include "emulator/report.h"
#include "emulator/shared_names.h"
#include "emulator/symbols.h"

namespace emulator {
namespace {

constexpr int kMost = (1 << 20) - 1;  // arrivals; bytes

std::map<uint64_t*, Mbarrier> barriers;  // of the block, by address

// Of a thread: where it waits and for which phase, until it has gone on.
struct Wait {
    const Mbarrier* barrier = nullptr;
    uint32_t phase = 0;
} waits[kMaxThreads];

uint64_t mark(const uint64_t* memory) {
    return reinterpret_cast<uintptr_t>(memory) ^ 0x7265697272616200;
}

std::string at(const Call& site) { return " at " + site_name(site); }

std::string count(int64_t n, const char* what) {
    return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

std::string numbers(std::initializer_list<int64_t> of) {
    std::string text;
    for (const int64_t number : of) text += "," + std::to_string(number);
    return text;
}

// Why phases may pass that a waiting thread has not seen.
std::string too_fast(const Mbarrier& b) {
    return "is the " + std::to_string(b.arrivals) + " of its mbarrier_init()" + at(b.site) +
           " less than the arrivals of a phase, or does the thread leave out a wait?";
}

// Does what every phase ends with, if this one does.
void complete_phase(Mbarrier& b) {
    if (b.pending > 0 || b.bytes != 0) return;
    see(b.unseen, b.complete);  // waited for by nobody
    b.unseen = std::move(b.landed);
    b.complete = std::exchange(b.arriving, Sync());
    b.landed.clear();
    b.completed[1] = std::exchange(b.completed[0], b.complete.release_agent(&b));
    b.pending = b.arrivals;
    ++b.phase;
    for (unsigned t = 0; t < run.threads; ++t) {
        const Call& site = threads[t].site;
        const uint32_t phase = waits[t].phase;
        if (waits[t].barrier == &b && threads[t].state == State::ready && phase + 2 == b.phase)
            misuse_by(t,
                      "mbarrier_wait: phase " + std::to_string(phase + 1) + " of " + name_of(b) +
                          " is complete before the thread that waits for phase " +
                          std::to_string(phase) + " has gone on",
                      site.file, site.line, "it may wait for ever; " + too_fast(b));
    }
    wake(&b);
}

// A parity stands for one phase only if the thread knows that the one before is complete.
void check_phase(const Mbarrier& b, uint32_t phase, const Call& site) {
    if (!tracing() || phase == 0) return;
    if (clocks::knows(current_thread, clocks::agent(&b), b.completed[b.phase - phase])) return;
    misuse_by(current_thread,
              "mbarrier_wait: lapped: " + name_of(b) + " has come to phase " +
                  std::to_string(phase) +
                  " without this thread, and the parity that it waits for, " +
                  std::to_string(phase % 2) + ", is also that of " +
                  (phase < 2 ? "the time before the first" : "phase " + std::to_string(phase - 2)),
              site.file, site.line, too_fast(b));
}

// Only mbarrier_arrive_remote reaches another block's.
void check_own(const Mbarrier& b, const char* instruction, const char* file, int line) {
    const auto address = reinterpret_cast<char*>(b.memory);
    const size_t offset = size_t(address - static_cast<char*>(run.shared));
    if (run.ranks == 1 || offset / run.shared_stride == rank_of(current_thread)) return;
    misuse(std::string(instruction) + ": " + name_of(b) + " is another block's", file, line);
}

void arrive(uint64_t* memory, const char* instruction, int64_t bytes, const char* file, int line,
            bool remote = false) {
    EmulatorsWork work;
    Mbarrier& b = mbarrier_at(memory, instruction, file, line);
    if (!remote) check_own(b, instruction, file, line);
    if (record::on) record::call(current_thread, "arrive", file, line);
    note_arrival();
    if (bytes < 0 || b.bytes + bytes > kMost)
        misuse(std::string(instruction) + ": " + std::to_string(b.bytes + bytes) +
                   " bytes expected of " + name_of(b) + ", not 0 to " + std::to_string(kMost),
               file, line);
    if (b.pending == 0)
        misuse(std::string(instruction) + ": one arrival more than the " +
                   std::to_string(b.arrivals) + " of phase " + std::to_string(b.phase) + " of " +
                   name_of(b) + ", as its mbarrier_init()" + at(b.site) + " says,",
               file, line);
    if (record::on)
        record::note("arrive" + record::number(b.memory) +
                     numbers({current_thread, bytes, b.phase}));
    b.bytes += bytes;
    b.arriving.release(current_thread);
    --b.pending;
    complete_phase(b);
}

}  // namespace

Mbarrier::Mbarrier(uint64_t* memory, Call site, int arrivals)
    : memory(memory), site(site), thread(current_thread), clock(clocks::now(current_thread)),
      arrivals(arrivals), pending(arrivals) {
    clocks::keep_all_readers();
}

// "mbarrier full[1]", and of a cluster's block " of rank 2". Where the kernel has no name for the place,
// or has come there by another pointer than the one that lies before it: what mbarrier_init() was given.
std::string name_of(const Mbarrier& barrier) {
    const auto address = reinterpret_cast<uintptr_t>(barrier.memory);
    const size_t offset = address - reinterpret_cast<uintptr_t>(run.shared);
    const std::string rank =
        run.ranks > 1 ? " of rank " + std::to_string(offset / run.shared_stride) : "";
    const std::string argument = first_argument(site_name(barrier.site), "mbarrier_init");
    const SharedArray* const array = shared_names::array_at(address);
    if (array && array->extents.element == sizeof *barrier.memory &&
        (!array->pointer || argument.empty() || argument.find(array->name) != argument.npos))
        return "mbarrier " + shared_names::element_at(address) + rank;
    const bool dynamic = offset < run.ranks * run.shared_stride;
    if (const Symbol* const symbol = dynamic ? nullptr : find_symbol(address)) {
        const std::string index = "[" + std::to_string((address - symbol->begin) / 8) + "]";
        return "mbarrier " + short_name(*symbol) + (symbol->size > 8 ? index : "");
    }
    return "the mbarrier " + (argument.empty() ? "" : argument + " ") + "at byte " +
           std::to_string(offset % run.shared_stride) + " of dynamic shared memory" + rank;
}

Mbarrier& mbarrier_at(uint64_t* memory, const char* instruction, const char* file, int line) {
    const auto refuse = [&](const std::string& why) {
        misuse(std::string(instruction) + ": " + why, file, line);
    };
    const auto found = barriers.find(memory);
    if (found == barriers.end()) refuse("no mbarrier is there: mbarrier_init() comes first");
    Mbarrier& b = found->second;
    if (*memory != mark(memory))
        refuse(name_of(b) + " has been overwritten since its mbarrier_init()" + at(b.site));
    const auto knows = [&](unsigned other, uint32_t clock) {
        return clocks::knows(current_thread, other, clock);
    };
    if (tracing() && !knows(b.thread, b.clock) &&
        !(b.published && knows(clocks::agent(&b), b.published)))
        refuse("no barrier lies between this and the mbarrier_init() of " + name_of(b) +
               at(b.site) + " by " + thread_name(b.thread) +
               (run.ranks > 1 && !b.fenced ? ", which no fence_mbarrier_init() follows" : ""));
    return b;
}

void bytes_came(Mbarrier& barrier, int64_t bytes) {
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
}

void end_block() {
    for (auto& [memory, b] : barriers) {
        for (const auto* loads : {&b.unseen, &b.landed})
            if (!loads->empty())
                report_problem("the block ends, and no thread has waited for the " +
                               std::string((*loads)[0].name) + at((*loads)[0].site) + " (" +
                               block_name() + ", " + thread_name((*loads)[0].thread) + ")");
        see(b.unseen, b.complete), see(b.landed, b.arriving);
        if (b.bytes == 0) continue;
        const std::string state =
            b.bytes > 0 ? count(b.bytes, "byte") + " that " + name_of(b) + " expects have not come"
                        : count(-b.bytes, "byte") + " more than " + name_of(b) + " expects came";
        report_problem("the block ends, but " + state + " (set up" + at(b.site) + ", " +
                       block_name() + ", phase " + std::to_string(b.phase) + ")");
    }
}

bool anyone_waits() {
    for (unsigned t = 0; t < run.threads; ++t)
        if (waits[t].barrier && threads[t].waits(waits[t].barrier)) return true;
    return false;
}

void report_deadlock() {
    const auto in_wait = [](const Thread& t) {
        const Mbarrier* const barrier = waits[&t - &threads[0]].barrier;
        return barrier && t.waits(barrier);
    };
    const std::vector<unsigned> waiting = threads_that(in_wait);
    std::string problem = "deadlock: no thread of " + block_name() + " can go on: ";
    if (!waiting.empty())
        problem +=
            count(int64_t(waiting.size()), "thread") + " in mbarrier_wait: " + whereabouts(waiting);
    const std::vector<unsigned> others = threads_that([&](const Thread& t) { return !in_wait(t); });
    if (!others.empty()) problem += (waiting.empty() ? "" : "; ") + whereabouts(others);
    for (const auto& [memory, b] : barriers) {
        const auto waiting_here = threads_that([&b = b](const Thread& t) { return t.waits(&b); });
        if (waiting_here.empty() && b.pending == b.arrivals && b.bytes == 0) continue;
        const std::string bytes = b.bytes < 0
                                      ? count(-b.bytes, "byte") + " more than expected have come"
                                      : count(b.bytes, "expected byte") + " to come";
        problem += "\n  " + name_of(b) + ", set up" + at(b.site) + ": phase " +
                   std::to_string(b.phase) + ", " + std::to_string(b.pending) + " of " +
                   std::to_string(b.arrivals) + " arrivals and " + bytes + ", " +
                   count(int64_t(waiting_here.size()), "thread") + " waiting";
    }
    fail(problem);
}

}  // namespace mbarriers

// ---- The instructions ---------------------------------------------------------------------------

void mbarrier_init(uint64_t* memory, int arrivals, const char* file, int line) {
    const void* const pc = __builtin_return_address(0);
    EmulatorsWork work;
    require(90, "mbarrier_init", file, line);
    const auto refuse = [&](const std::string& why) {
        misuse("mbarrier_init: " + why, file, line);
    };
    if (reinterpret_cast<uintptr_t>(memory) % 8) refuse("the address is not a multiple of 8");
    if (!is_shared(memory)) refuse("the address is not in shared memory");
    if (arrivals < 1 || arrivals > kMost)
        refuse(std::to_string(arrivals) + " arrivals, not 1 to " + std::to_string(kMost));
    trace::access(current_thread, memory, 8, trace::kWrite, pc, false);
    const auto [place, is_new] =
        barriers.try_emplace(memory, memory, Call{file, line, 0}, arrivals);
    if (!is_new) refuse(name_of(place->second) + " is set up already," + at(place->second.site));
    *memory = mark(memory);
    if (record::on) record::note("barrier" + record::number(memory) + numbers({arrivals}));
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
void mbarrier_arrive_remote(uint64_t* memory, int rank, const char* file, int line) {
    EmulatorsWork work;
    const char* const name = "mbarrier_arrive_remote";
    void* const there = in_rank(memory, unsigned(rank), name, file, line);
    arrive(static_cast<uint64_t*>(there), name, 0, file, line, true);
}
void mbarrier_arrive_expect_tx(uint64_t* memory, int bytes, const char* file, int line) {
    arrive(memory, "mbarrier_arrive_expect_tx", bytes, file, line);
}

void mbarrier_wait(uint64_t* memory, int parity, const char* file, int line) {
    EmulatorsWork work;
    Mbarrier& b = mbarrier_at(memory, "mbarrier_wait", file, line);
    check_own(b, "mbarrier_wait", file, line);
    if (record::on) record::call(current_thread, "wait", file, line);
    note_arrival();
    if (parity != 0 && parity != 1)
        misuse("mbarrier_wait: parity " + std::to_string(parity) + ", not 0 or 1", file, line);
    const Call site{file, line, 0};
    const bool blocks = int(b.phase % 2) == parity;
    const int64_t phase = int64_t(b.phase) - !blocks;
    const auto note = [&](const char* what, bool own) {
        const std::string text = numbers({current_thread / 32, phase});
        if (record::on) record::note(what + record::number(memory) + text, own);
    };
    note(blocks ? "wait" : "look", true);
    if (phase < 0) return;  // before the first phase
    check_phase(b, uint32_t(phase), site);
    if (blocks) {
        waits[current_thread] = {&b, uint32_t(phase)};
        wait_for(&b, site, [](const void* object) {
            const auto& b = *static_cast<const Mbarrier*>(object);
            return " for phase " + std::to_string(b.phase) + " of " + name_of(b);
        });
        waits[current_thread] = {};
        note("pass", false);
    }
    see(b.unseen, b.complete);
    b.complete.acquire(current_thread);
}

}  // namespace emulator

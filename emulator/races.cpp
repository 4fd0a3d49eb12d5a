// Finds races: pairs of accesses that nothing orders.
//
// Vector clocks. Every access gets its thread's clock, a number that changes when the thread passes
// a synchronisation. For each other thread, a thread knows up to which clock that thread's accesses
// come before its own. A block barrier orders everything, so it needs no vector: it raises `base`,
// the clock that every thread knows of every other.

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <unordered_map>
#include <utility>

#include "emulator/scheduler.h"

namespace emulator {

using trace::kAtomic;
using trace::Kind;
using trace::kRead;
using trace::kWrite;

namespace {

struct Access {
    uint32_t clock;
    uint16_t thread, site;
    Kind kind;
};

// Accesses that need no order among themselves: reads (or atomics) by lanes of one warp, by the
// same instruction and at the same clock.
struct Group {
    uint32_t clock = 0;
    uint16_t site = 0;
    uint8_t warp = 0;
    bool atomic = false;
    uint32_t lanes = 0;
};

}  // namespace

// The last write, and two groups of readers. A write that comes after both comes after all readers
// (see keep()).
struct Cell {
    uint32_t clock;  // 0: none yet
    uint16_t thread, site;
    Group group[2];
};

namespace {

constexpr unsigned kAgents = 256;  // of a block
constexpr unsigned kActors = kMaxThreads + kAgents;
constexpr int kCellBytes = 2;  // a half: the narrowest access that neighbouring threads make

// Clocks never restart, so nothing has to be reset for the next block or launch.
struct Order {
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
    std::map<uint32_t, uint3> blocks;  // of this launch, by their block_start
    std::unordered_map<const Cell*, std::vector<Group>> more;  // groups since the last barrier
} order;

uint32_t clock_of(unsigned thread) { return std::max(order.own[thread], order.base + 1); }
unsigned threads_of_block() { return run.threads; }  // or of a cluster

unsigned actors() { return threads_of_block() + unsigned(order.agents.size()); }

bool comes_before(uint32_t clock, unsigned thread, const Access& now) {
    if (clock <= order.base)
        return clock > order.block_start;  // threads of two blocks have no order
    return thread == now.thread || clock <= order.known[now.thread][thread];
}

// A thread of the group that is not ordered with the access, or -1.
[[gnu::always_inline]] inline int unordered_thread(const Group& group, const Access& now) {
    if (group.clock <= order.base && group.clock > order.block_start) return -1;
    for (uint32_t lanes = group.lanes; lanes; lanes &= lanes - 1) {
        const int thread = group.warp * 32 + __builtin_ctz(lanes);
        if (!comes_before(group.clock, thread, now)) return thread;
    }
    return -1;
}

std::string block_at(uint32_t clock) {
    const uint3 index = std::prev(order.blocks.lower_bound(clock))->second;
    return "block " + index_name(index, builtins.grid_dim);
}

[[gnu::cold]] void conflict(bool global, const Access& before, const Access& now,
                            bool unfenced = false) {
    const bool same_block = before.site != 0 && before.clock > order.block_start;
    const unsigned threads = threads_of_block();
    const auto thread = [&](const Access& a) {
        return uint16_t(a.thread < threads ? a.thread : order.issuer[a.thread - threads]);
    };
    const Conflict found{global,      before.kind, now.kind,
                         before.site, now.site,    thread(before),
                         thread(now), same_block,  now.thread >= threads,
                         unfenced,    ""};
    report_conflict(found, [&] {
        const auto index = [&](const Access& a) {
            return thread_name(thread(a)).substr(7) +  // less "thread "
                   (same_block && a.thread >= threads ? "'s copy" : "");
        };
        const std::string block = block_at(now.clock);
        if (before.site == 0) return block + ", thread " + index(now);
        if (same_block) return block + ", threads " + index(before) + " and " + index(now);
        return block_at(before.clock) + " thread " + index(before) + ", " + block + " thread " +
               index(now);
    });
}

// Keeps a read or an atomic in the groups. It may replace a group that comes before it, because any
// later access that is unordered with the old group is also unordered with `now`. One group of
// another block, or two groups of different warps, stand for all others: only a barrier of the
// block can order an access after them. If reads and atomics mix, or threads synchronise across
// warps, all are kept.
[[gnu::always_inline]] inline void keep(Cell& cell, const Access& now, uint32_t since) {
    Group &first = cell.group[0], &second = cell.group[1];
    const bool atomic = now.kind == kAtomic;
    const bool alike = first.atomic == atomic && second.atomic == atomic && !order.beyond_warps;
    if (alike && first.clock > order.base && second.clock > order.base && first.warp != second.warp)
        return;
    const unsigned warp = now.thread / 32;
    const uint32_t lane = 1u << now.thread % 32;
    const Group group{now.clock, now.site, uint8_t(warp), atomic, lane};
    const auto joins = [&](Group& g, bool any_site) {
        if (g.clock != now.clock || g.warp != warp || g.atomic != atomic) return false;
        if (g.site != now.site && !any_site) return false;
        g.lanes |= lane;
        return true;
    };
    const auto replaces = [&](const Group& g) {
        return g.clock <= since || (g.atomic == atomic && unordered_thread(g, now) < 0);
    };
    if (joins(first, false) || joins(second, false)) return;
    if (replaces(first)) return void(first = group);
    if (replaces(second)) return void(second = group);
    const bool first_other = first.clock <= order.block_start;
    const bool second_other = second.clock <= order.block_start;
    if (alike && (first_other || second_other || first.warp != warp || second.warp != warp)) {
        if (first_other ? second_other : !second_other && first.warp == second.warp) second = group;
        return;
    }
    if (joins(second, true)) return;  // a third instruction: the second's line stands for it
    std::vector<Group>& more = order.more[&cell];
    if (first.atomic == second.atomic && first.atomic != atomic) {  // one of each kind stays
        more.push_back(second);
        second = group;
        return;
    }
    for (Group& g : more)
        if (joins(g, true)) return;
    for (Group& g : more)
        if (replaces(g)) return void(g = group);
    more.push_back(group);
}

// Of the group's threads one that has not fenced what it read from what the acting operation writes,
// or -1. A block barrier is enough in practice, an mbarrier is not: see README.md, "Order".
inline int unfenced_thread(const Group& group, const Access& now) {
    if (!order.acting || now.kind != kWrite || group.clock <= order.base) return -1;
    for (uint32_t lanes = group.lanes; lanes; lanes &= lanes - 1) {
        const int thread = group.warp * 32 + __builtin_ctz(lanes);
        if (!order.acting->sees(group.clock, thread)) return thread;
    }
    return -1;
}

void check_group(const Group& group, bool global, const Access& now, uint32_t since) {
    if (group.clock <= since) return;
    const Kind kind = group.atomic ? kAtomic : kRead;
    if (const int thread = unordered_thread(group, now); thread >= 0)
        conflict(global, {group.clock, uint16_t(thread), group.site, kind}, now);
    else if (const int thread = global ? -1 : unfenced_thread(group, now); thread >= 0)
        conflict(global, {group.clock, uint16_t(thread), group.site, kind}, now, true);
}

// A write conflicts with every group, a read only with atomics, an atomic only with reads.
inline bool may_conflict(const Group& group, Kind kind) {
    return kind == kWrite || group.atomic != (kind == kAtomic);
}

// acting: as an asynchronous operation, to which ordinary writes must be fenced.
template <bool acting>
inline void check_cell(Cell& cell, bool global, const Access& now, uint32_t since) {
    const bool written = cell.clock > since;
    if (written && !comes_before(cell.clock, cell.thread, now))
        conflict(global, {cell.clock, cell.thread, cell.site, kWrite}, now);
    else if (acting && written && !global && !order.acting->sees(cell.clock, cell.thread))
        conflict(global, {cell.clock, cell.thread, cell.site, kWrite}, now, true);
    for (const Group& group : cell.group)
        if (may_conflict(group, now.kind)) check_group(group, global, now, since);
    if (!order.more.empty())
        if (const auto more = order.more.find(&cell); more != order.more.end())
            for (const Group& group : more->second)
                if (may_conflict(group, now.kind)) check_group(group, global, now, since);
    if (now.kind == kWrite) {
        cell.clock = now.clock, cell.thread = now.thread, cell.site = now.site;
    } else {
        if (!global && !written) conflict(global, {0, 0, 0, kWrite}, now);
        keep(cell, now, since);
    }
}

}  // namespace

bool AsyncOrder::sees(uint32_t clock, unsigned thread) const {
    return thread >= fenced.size() || clock <= fenced[thread];
}

void Sync::release(unsigned thread) {
    if (!compiled_for_tracing) return;
    order.beyond_warps = true;
    known_.resize(kActors);
    for (unsigned t = 0; t < actors(); ++t) known_[t] = std::max(known_[t], order.known[thread][t]);
    known_[thread] = clock_of(thread);
    order.own[thread] = ++order.last;
}

void Sync::release(const AsyncOrder& operation) {
    if (!compiled_for_tracing) return;
    known_.resize(kActors);
    for (size_t t = 0; t < operation.known.size(); ++t)
        known_[t] = std::max(known_[t], operation.known[t]);
    known_[operation.agent] = std::max(known_[operation.agent], operation.clock);
}

uint32_t Sync::release_agent(const void* whose) {
    if (!compiled_for_tracing) return 0;
    known_.resize(kActors);
    return known_[races::agent(whose)] = ++order.last;
}

void Sync::acquire(unsigned thread) const {
    if (!compiled_for_tracing || known_.empty()) return;
    for (unsigned t = 0; t < actors(); ++t)
        order.known[thread][t] = std::max(order.known[thread][t], known_[t]);
    order.knows_beyond_warp[thread] = order.last;
}

namespace races {

void begin_launch() {
    order.launch_start = order.last;
    order.beyond_warps = false;
    order.blocks.clear();
    if (!order.known)  // calloc: pages exist only once touched
        order.known = static_cast<uint32_t(*)[kActors]>(std::calloc(kActors, sizeof *order.known));
}

void begin_block() {
    block_barrier();
    order.block_start = order.base;
    order.blocks[order.block_start] = builtins.block;
    order.agents.clear();
}

void block_barrier() {
    order.base = order.last;
    order.last = order.base + 1;
    order.more.clear();
}

void warp_barrier(unsigned first, uint32_t lanes) {
    if (!compiled_for_tracing) return;
    uint32_t joined[kActors];
    bool beyond = false;
    for (unsigned lane = 0; lane < 32; ++lane)
        if (lanes >> lane & 1) beyond |= order.knows_beyond_warp[first + lane] > order.base;
    // Joins what the lanes know of their own warp, and of others if one knows more than the base.
    const unsigned begin = beyond ? 0 : first, end = beyond ? actors() : first + 32;
    std::fill(joined + begin, joined + end, 0);
    for (unsigned lane = 0; lane < 32; ++lane) {
        if (!(lanes >> lane & 1)) continue;
        const uint32_t* const known = order.known[first + lane];
        for (unsigned t = begin; t < end; ++t) joined[t] = std::max(joined[t], known[t]);
    }
    for (unsigned lane = 0; lane < 32; ++lane)
        if (lanes >> lane & 1) joined[first + lane] = clock_of(first + lane);
    ++order.last;
    for (unsigned lane = 0; lane < 32; ++lane) {
        if (!(lanes >> lane & 1)) continue;
        std::memcpy(order.known[first + lane] + begin, joined + begin, (end - begin) * 4);
        order.own[first + lane] = order.last;
        if (beyond) order.knows_beyond_warp[first + lane] = order.last;
    }
}

void check(Cell* cells, uintptr_t begin, uintptr_t address, int width, bool global, Kind kind,
           unsigned thread, uint16_t site) {
    const Access now{clock_of(thread), uint16_t(thread), site, kind};
    // Accesses of earlier blocks do not count in shared memory.
    const uint32_t since = global ? order.launch_start : order.block_start;
    cells -= begin / kCellBytes;
    Cell *cell = cells + address / kCellBytes, *last = cells + (address + width - 1) / kCellBytes;
    if (order.acting)
        for (; cell <= last; ++cell) check_cell<true>(*cell, global, now, since);
    else
        for (; cell <= last; ++cell) check_cell<false>(*cell, global, now, since);
}

void keep_all_readers() { order.beyond_warps = true; }
uint32_t now(unsigned thread) { return clock_of(thread); }
bool knows(unsigned thread, unsigned other, uint32_t clock) {
    return comes_before(clock, other, {0, uint16_t(thread), 0, kRead});
}

void fence_proxy(unsigned thread) {
    order.fenced[thread] = clock_of(thread);
    order.own[thread] = ++order.last;
}

unsigned agent(const void* whose) {
    const auto found = std::find(order.agents.begin(), order.agents.end(), whose);
    const auto number = unsigned(found - order.agents.begin());
    if (number == kAgents)
        fail("more than " + std::to_string(kAgents) +
             " mbarriers and threads with bulk copies in " + block_name() +
             ": the emulator has no room for them");
    if (found == order.agents.end()) order.agents.push_back(whose);
    return threads_of_block() + number;
}

AsyncOrder begin_async(unsigned first, const void* whose, unsigned threads) {
    AsyncOrder operation;
    if (!compiled_for_tracing) return operation;
    order.beyond_warps = true;
    operation.agent = agent(whose);
    order.issuer[operation.agent - threads_of_block()] = first;
    operation.base = order.base;
    operation.known.resize(actors());
    for (unsigned thread = first; thread < first + threads; ++thread) {
        for (unsigned t = 0; t < actors(); ++t)
            operation.known[t] = std::max(operation.known[t], order.known[thread][t]);
        operation.known[thread] = std::max(operation.known[thread], clock_of(thread));
    }
    operation.fenced.assign(order.fenced, order.fenced + threads_of_block());
    ++order.last;  // what the threads do from now on, the operation does not know
    std::fill_n(order.own + first, threads, order.last);
    return operation;
}

void learn(unsigned thread, const AsyncOrder& operation) {
    if (!compiled_for_tracing) return;
    uint32_t& known = order.known[thread][operation.agent];
    known = std::max(known, operation.clock);
    order.knows_beyond_warp[thread] = order.last;
}

void act(AsyncOrder& operation, const std::function<void()>& accesses) {
    if (!compiled_for_tracing) return;
    operation.clock = order.own[operation.agent] = ++order.last;
    std::copy(operation.known.begin(), operation.known.end(), order.known[operation.agent]);
    const uint32_t base = std::exchange(order.base, operation.base);
    order.acting = &operation;
    accesses();
    order.acting = nullptr;
    order.base = base;
}

// mmap: the pages exist, zeroed, only once touched.
size_t cells_bytes(uintptr_t begin, uintptr_t end) {
    return ((end - begin) / kCellBytes + 2) * sizeof(Cell);
}
Cell* new_cells(uintptr_t begin, uintptr_t end) {
    void* p = mmap(nullptr, cells_bytes(begin, end), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) std::perror("emulator: no memory to trace with"), std::abort();
    return static_cast<Cell*>(p);
}
void delete_cells(Cell* cells, uintptr_t begin, uintptr_t end) {
    if (cells) munmap(cells, cells_bytes(begin, end));
}

double bytes_per_byte() { return double(sizeof(Cell)) / kCellBytes; }

}  // namespace races
}  // namespace emulator

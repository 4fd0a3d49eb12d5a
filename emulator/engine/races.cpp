// Finds races: pairs of accesses that nothing orders.

#include "emulator/engine/races.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "emulator/engine/block_barriers.h"
#include "emulator/engine/hooks.h"
#include "emulator/engine/names.h"
#include "emulator/engine/order.h"
#include "emulator/trace/hazards.h"
#include "emulator/trace/record.h"
#include "emulator/trace/report.h"
#include "emulator/trace/shared_names.h"

namespace emulator {

using clocks::clock_of;
using clocks::state;
using trace::kAtomic;
using trace::Kind;
using trace::kRead;
using trace::kWrite;

namespace {

struct Access {
    uint32_t clock;
    uint16_t thread, site;
    Kind kind;
    unsigned bytes;  // of the cell's two: 1, 2, or 3 for both
    uintptr_t address = 0;
    int width = 0;
};

// Accesses that need no order among themselves: reads (or atomics) by lanes of one warp at the same
// clock, and by the same instruction, unless joins() has merged those of a third one. Or an earlier
// write, of the byte that the cell's last one has not written.
struct Group {
    uint32_t clock = 0;
    uint16_t site = 0;
    uint8_t warp = 0;
    uint8_t access = 0;  // bytes and kind, in a number that is compared at each access
    uint32_t lanes = 0;

    static constexpr unsigned kAtomics = 4, kWrites = 8;
    static uint8_t access_of(Kind kind, unsigned bytes) {
        return uint8_t(bytes | (kind == kAtomic ? kAtomics : kind == kWrite ? kWrites : 0));
    }
    unsigned bytes() const { return access & 3; }
    bool atomic() const { return access & kAtomics; }
    bool write() const { return access & kWrites; }
    Kind kind() const { return write() ? kWrite : atomic() ? kAtomic : kRead; }
    bool within(unsigned other_bytes) const { return (bytes() & ~other_bytes) == 0; }
    bool same_but_lanes(const Group& other) const {
        return clock == other.clock && site == other.site && warp == other.warp &&
               access == other.access;
    }
};

}  // namespace

// The last write, and two groups of reads or atomics. Where these cannot stand for all the others,
// the rest is in more_groups (see keep() and keep_write()).
struct Cell {
    uint32_t clock;  // 0: none yet
    uint16_t thread : 13, in_flight : 1, bytes : 2;  // in_flight: of an asynchronous copy
    uint16_t site;
    uint32_t more;  // index in more_groups of its last one; stale if that is of another cell
    Group group[2];
};

namespace {

static_assert(clocks::kActors <= 1 << 13);  // Cell::thread
constexpr int kCellBytes = 2;  // of one cell: a half, the narrowest access tracked exactly

std::map<uint32_t, uint3> blocks;  // of this launch, by the clock at their start
struct MoreGroup {
    Cell* cell;
    uint32_t before;  // the index of the cell's previous one, or kNone
    Group group;
};
constexpr uint32_t kNone = ~0u;
constexpr size_t kMostGroups = 1 << 22;  // that outlive a barrier: 96 MiB
std::vector<MoreGroup> more_groups;  // since the last barrier; with fences, since the launch began
uint32_t last_of(const Cell& cell) {
    const uint32_t at = cell.more;
    return at < more_groups.size() && more_groups[at].cell == &cell ? at : kNone;
}
void add(Cell& cell, const Group& group) {
    const uint32_t last = last_of(cell);
    cell.more = uint32_t(more_groups.size());
    more_groups.push_back({&cell, last, group});
}
// The first of the cell's groups in more_groups for which this holds, or null.
template <class Holds>
Group* find_more(const Cell& cell, const Holds& holds) {
    for (uint32_t i = last_of(cell); i != kNone; i = more_groups[i].before)
        if (holds(more_groups[i].group)) return &more_groups[i].group;
    return nullptr;
}

// Forgets more_groups. That a byte was accessed passes to the cell's own write or groups. For a later
// block this is enough: it comes after all that this block has done before a barrier, or after none.
// since: only what was done after that clock. A barrier of this block orders nothing that an earlier
// block has done.
void forget_more_groups(uint32_t since = 0) {
    std::vector<MoreGroup> kept;
    for (const MoreGroup& more : more_groups) {
        if (more.group.clock <= since) {
            kept.push_back(more);
            continue;
        }
        Cell& cell = *more.cell;
        const Group& group = more.group;
        if (group.write()) {
            cell.bytes |= group.bytes();
            continue;
        }
        unsigned covered = 0;
        Group* of_this_block = nullptr;
        for (Group& kept : cell.group) {
            if (kept.atomic() != group.atomic()) continue;
            covered |= kept.bytes();
            if (kept.clock > state.block_start) of_this_block = &kept;
        }
        if (group.within(covered)) continue;
        Group &first = cell.group[0], &second = cell.group[1];
        if (of_this_block) of_this_block->access |= group.bytes();
        else if (first.atomic() == second.atomic())
            (second.within(first.bytes()) ? second : first) = group;
    }
    more_groups.clear();
    for (const MoreGroup& more : kept) add(*more.cell, more.group);
}
// What a barrier orders need not be kept, unless a fence orders it for other blocks alone.
void forget_ordered_groups(uint32_t since = 0) {
    if (more_groups.size() > kMostGroups) forget_more_groups();
    else if (!fences::any_fence) forget_more_groups(since);
}

// A thread of the group that is not ordered with the access, or -1.
[[gnu::always_inline]] inline int unordered_thread(const Group& group, const Access& now) {
    if (group.clock <= state.base && group.clock > state.block_start) return -1;
    for (uint32_t lanes = group.lanes; lanes; lanes &= lanes - 1) {
        const int thread = group.warp * 32 + __builtin_ctz(lanes);
        if (!happens_before(group.clock, thread, now.thread)) return thread;
    }
    return -1;
}

std::string block_at(uint32_t clock) {
    const uint3 index = std::prev(blocks.lower_bound(clock))->second;
    return "block " + index_name(index, builtins.grid_dim);
}

// The thread that makes an access, or that has issued the operation which makes it.
unsigned issuer_of(unsigned actor) {
    return actor < run.threads ? actor : state.issuer[actor - run.threads];
}

[[gnu::cold]] void report(bool global, const Access& before, const Access& now,
                          Hazard::Missing missing = Hazard::order) {
    const bool same_block = before.site != 0 && before.clock > state.block_start;
    const unsigned threads = run.threads;
    const auto thread = [](const Access& a) { return uint16_t(issuer_of(a.thread)); };
    const Hazard found{global,      before.kind, now.kind,
                       before.site, now.site,    thread(before),
                       thread(now), same_block,  now.thread >= threads,
                       missing,     "",          "",
                       now.address};
    const auto who = [&] {
        const auto actor = [&](const Access& a) {
            const bool async = same_block && a.thread >= threads;
            return thread_name(thread(a)) + (!async             ? ""
                                             : a.kind == kWrite ? "'s asynchronous write"
                                                                : "'s asynchronous read");
        };
        const std::string name = global ? "" : shared_names::element_at(now.address);
        const std::string block = (name.empty() ? "" : name + ", ") + block_at(now.clock);
        if (before.site == 0) return block + ", " + actor(now);
        if (!same_block)
            return block_at(before.clock) + " " + actor(before) + ", " + block + " " + actor(now);
        if (before.thread < threads && now.thread < threads)
            return block + ", threads " + thread_name(before.thread).substr(7) + " and " +
                   thread_name(now.thread).substr(7);  // without "thread "
        return block + ", " + actor(before) + " and " + actor(now);
    };
    Hazard* const first = report_hazard(found, who);
    if (!first) return;
    if (before.site == 0) first->why = block_barriers::left_out();
    // Where threads synchronise by mbarriers and the like, a wait may be missing instead.
    first->in_interval = same_block && missing == Hazard::order && !state.beyond_warps;
    first->since = block_barriers::last_passed();
    if (const SharedArray* const array = global ? nullptr : shared_names::array_at(now.address))
        first->array = array->full_name();
    if (record::on && !first->async) record::hazard(*first);
}

// Keeps a read or an atomic in the groups. It may replace a group of no other bytes that comes before
// it, because any later access that is unordered with the old group is also unordered with `now`. Of
// the same bytes, a group of another block beside one of this block, or two groups of different
// warps, stand for all others, because only a barrier of the block orders an access after both. If
// reads and atomics mix, or some accesses are of single bytes, so many are kept of each. If threads
// synchronise across the warps of a block, or by fences across blocks, all are.
[[gnu::always_inline]] inline void keep(Cell& cell, const Access& now, uint32_t since) {
    Group &first = cell.group[0], &second = cell.group[1];
    const uint8_t access = Group::access_of(now.kind, now.bytes);
    const bool all_kept = state.beyond_warps || fences::any_fence;
    const bool alike = first.access == access && second.access == access && !all_kept;
    if (alike && first.clock > state.base && second.clock > state.base && first.warp != second.warp)
        return;
    const unsigned warp = now.thread / 32;
    const uint32_t lane = 1u << now.thread % 32;
    const bool atomic = now.kind == kAtomic;
    const Group group{now.clock, now.site, uint8_t(warp), access, lane};
    const auto joins = [&](Group& g, bool any_site) {
        if (g.clock != now.clock || g.warp != warp || g.access != access) return false;
        if (g.site != now.site && !any_site) return false;
        g.lanes |= lane;
        return true;
    };
    const auto replaces = [&](const Group& g) {
        return g.clock <= since || (g.atomic() == atomic && !g.write() && g.within(now.bytes) &&
                                    unordered_thread(g, now) < 0);
    };
    if (joins(first, false) || joins(second, false)) return;
    if (replaces(first)) return void(first = group);
    if (replaces(second)) return void(second = group);
    const bool first_other = first.clock <= state.block_start;
    const bool second_other = second.clock <= state.block_start;
    if (alike && (first_other || second_other || first.warp != warp || second.warp != warp)) {
        if (first_other ? second_other : !second_other && first.warp == second.warp) second = group;
        return;
    }
    if (joins(second, true)) return;  // a third instruction: the second's line stands for it
    if (first.atomic() == second.atomic() && first.atomic() != atomic) {  // one of each kind stays
        add(cell, second);
        second = group;
        return;
    }
    const Group* like = nullptr;
    const auto is_second = [&](const Group& g) {  // of two different warps
        if (g.clock <= state.base || g.access != access) return false;
        if (like && like->warp != g.warp) return true;
        like = &g;
        return false;
    };
    if (!all_kept && (is_second(first) || is_second(second) || find_more(cell, is_second))) return;
    if (find_more(cell, [&](Group& g) { return joins(g, true); })) return;
    if (Group* const old = find_more(cell, replaces)) return void(*old = group);
    add(cell, group);
}

// Keeps the cell's last write if the present one is of its other byte.
inline void keep_write(Cell& cell, const Access& now) {
    const uint8_t access = Group::access_of(kWrite, cell.bytes & ~now.bytes);
    const Group old{cell.clock, cell.site, uint8_t(cell.thread / 32), access,
                    1u << cell.thread % 32};
    Group* const older =
        find_more(cell, [&](const Group& g) { return g.write() && g.within(old.bytes()); });
    if (older) *older = old;
    else add(cell, old);
}

// The acting operation overwrites what the group has read. Returns a thread of the group that has
// passed no proxy fence since that read, or -1. A block barrier is enough in practice, an mbarrier
// is not: see REFERENCE.md, "mbarriers and bulk copies".
inline int unfenced_thread(const Group& group, const Access& now) {
    if (!state.acting || (now.kind != kWrite && !group.write()) || group.clock <= state.base)
        return -1;
    for (uint32_t lanes = group.lanes; lanes; lanes &= lanes - 1) {
        const int thread = group.warp * 32 + __builtin_ctz(lanes);
        if (!state.acting->sees(group.clock, thread)) return thread;
    }
    return -1;
}

// Two unordered writes, of which the second is not yet executed, and the value of the first.
struct TwoWrites {
    bool global;
    Access first, second;
    unsigned char stored[16];
};
std::vector<TwoWrites> two_writes;

// before: a write.
[[gnu::cold]] void race_of_write(bool global, const Access& before, const Access& now) {
    if (!races::store_follows || record::on) return report(global, before, now);
    two_writes.push_back({global, before, now, {}});
    std::memcpy(two_writes.back().stored, reinterpret_cast<void*>(now.address), size_t(now.width));
}

void check_group(const Group& group, bool global, const Access& now, uint32_t since) {
    if (group.clock <= since) return;
    const auto access = [&](int thread) {
        return Access{group.clock, uint16_t(thread), group.site, group.kind(), 3};
    };
    if (const int thread = unordered_thread(group, now); thread >= 0)
        (group.write() ? race_of_write(global, access(thread), now)
                       : report(global, access(thread), now));
    else if (const int thread = global ? -1 : unfenced_thread(group, now); thread >= 0)
        report(global, access(thread), now, Hazard::fence);
}

// A write conflicts with every group, a read only with writes and atomics, an atomic only with
// writes and reads.
inline bool may_conflict(const Group& group, const Access& now) {
    if (!(group.access & now.bytes)) return false;
    return now.kind == kWrite ? true : now.kind == kRead ? group.access > 3 : !group.atomic();
}

// Reports what earlier launches have done to these bytes, if this launch may not come after them.
void check_launches(const races::Earlier& earlier, const Cell* cell, const Cell* last,
                    const Access& now, uint32_t until) {
    for (; cell <= last; ++cell) {
        if (cell->clock && cell->clock <= until && (cell->bytes & now.bytes))
            earlier.launch(cell->clock, kWrite, cell->site, now.kind, now.site, now.thread);
        for (const Group& group : cell->group)
            if (group.clock && group.clock <= until && may_conflict(group, now))
                earlier.launch(group.clock, group.kind(), group.site, now.kind, now.site,
                               now.thread);
    }
}

// An access that does not even come after the copy's call is an ordinary race.
[[gnu::cold]] void access_in_flight(Cell& cell, const Access& now) {
    if (happens_before(cell.clock, cell.thread, now.thread))
        run.hooks->access_in_flight(
            cell.thread, {now.clock, now.thread, now.site, now.kind, now.address, now.width});
    if (now.kind == kWrite) cell.in_flight = false;  // the last write is now another one
}

// "a and b (x.cu:7, x.cu:8) are the same memory", if the two access extern __shared__ arrays of
// different names. Else "".
const std::string& same_memory(uint16_t first, uint16_t second) {
    static std::map<std::pair<uint16_t, uint16_t>, std::string> known;
    const auto [place, is_new] = known.try_emplace({first, second});
    if (is_new) {
        find_lines_of_sites();
        place->second = shared_names::same_memory(site_of(first).where, site_of(second).where);
    }
    return place->second;
}
// Two extern __shared__ arrays were meant to be two. They are reported once.
void report_same_memory(const std::string& same, const std::string& what, const Access& now) {
    static std::set<std::string> reported;
    static uint64_t since_reset;
    if (std::exchange(since_reset, resets) != resets) reported.clear();
    if (!reported.insert(same).second) return;
    report_and_print(what + ": " + same + ", as all extern __shared__ arrays of a block are (" +
                     block_at(now.clock) + ", " + thread_name(now.thread) + ")");
}

// The cells whose value was overwritten through another extern __shared__ array, and the
// instruction that had stored it.
std::unordered_map<const Cell*, uint16_t> overwritten;

// Reports a store that overwrites what was stored through another such array and what nothing has
// read. Past a barrier the memory may be used anew.
[[gnu::cold]] void overwrite(const Cell& cell, const Access& now, uint32_t since) {
    const auto known = overwritten.find(&cell);
    if (known != overwritten.end() && same_memory(known->second, now.site).empty())
        overwritten.erase(known);  // by the first one's name again
    if (cell.clock <= since || cell.site == now.site) return;
    const std::string& same = same_memory(cell.site, now.site);
    if (same.empty()) return;
    overwritten.try_emplace(&cell, cell.site);
    const auto read = [&](const Group& group) {
        return group.clock >= cell.clock && !group.write();
    };
    if (cell.clock <= state.base || read(cell.group[0]) || read(cell.group[1]) ||
        find_more(cell, read))
        return;
    report_same_memory(same,
                       site_of(now.site).where + " overwrites a value of " +
                           site_of(cell.site).where + " that nothing has read",
                       now);
}

// Reports a read of what was stored through another such array, where the read's own one had
// stored a value before.
[[gnu::cold]] void read_overwritten(const Cell& cell, const Access& now) {
    const auto first = overwritten.find(&cell);
    if (first == overwritten.end() || !same_memory(first->second, now.site).empty()) return;
    const std::string& same = same_memory(cell.site, now.site);
    if (!same.empty())
        report_same_memory(same,
                           site_of(now.site).where + " reads what " + site_of(cell.site).where +
                               " has stored over the value of " + site_of(first->second).where,
                           now);
}

[[gnu::cold]] void compare_two_writes() {
    for (const TwoWrites& each : two_writes) {
        const auto* const memory = reinterpret_cast<const void*>(each.second.address);
        const bool same = std::memcmp(memory, each.stored, size_t(each.second.width)) == 0;
        report(each.global, each.first, each.second, same ? Hazard::nothing : Hazard::order);
    }
    two_writes.clear();
}

// Uninitialised reads since the last barrier of the block. A later write of the same bytes explains
// such a read if the two race.
std::unordered_map<const Cell*, std::vector<Access>> uninitialised_reads;

[[gnu::cold]] void compare_with_uninitialised_reads(const Cell& cell, const Access& write) {
    const auto found = uninitialised_reads.find(&cell);
    if (found == uninitialised_reads.end()) return;
    for (const Access& read : found->second)
        if (happens_before(read.clock, read.thread, write.thread)) report_unexplained(read.site);
    uninitialised_reads.erase(found);
}

void end_interval() {
    for (const auto& [cell, reads] : uninitialised_reads)
        for (const Access& read : reads) report_unexplained(read.site);
    uninitialised_reads.clear();
}

// acting: the access is an asynchronous operation's, and ordinary writes need a proxy fence before
// it.
template <bool acting>
inline void check_cell(Cell& cell, bool global, const Access& now, uint32_t since) {
    const bool written = cell.clock > since;
    const bool same_bytes = cell.bytes & now.bytes;
    if (cell.in_flight && same_bytes) access_in_flight(cell, now);
    if (written && same_bytes && !happens_before(cell.clock, cell.thread, now.thread))
        race_of_write(global, {cell.clock, cell.thread, cell.site, kWrite, 3}, now);
    else if (acting && written && same_bytes && !global &&
             !state.acting->sees(cell.clock, cell.thread))
        report(global, {cell.clock, cell.thread, cell.site, kWrite, 3}, now, Hazard::fence);
    for (const Group& group : cell.group)
        if (may_conflict(group, now)) check_group(group, global, now, since);
    for (uint32_t i = last_of(cell); i != kNone; i = more_groups[i].before)
        if (may_conflict(more_groups[i].group, now))
            check_group(more_groups[i].group, global, now, since);
    if (now.kind == kWrite) {
        if (shared_names::several_externs && !global) overwrite(cell, now, since);
        if (!uninitialised_reads.empty()) compare_with_uninitialised_reads(cell, now);
        unsigned bytes = now.bytes;
        if (written && (cell.bytes & ~bytes)) {
            if (cell.thread == now.thread && cell.clock == now.clock) bytes |= cell.bytes;
            else keep_write(cell, now);
        }
        cell.bytes = bytes & 3;
        cell.clock = now.clock;
        cell.thread = now.thread & 0x1fff;
        cell.site = now.site;
    } else {
        if (!overwritten.empty() && !global) read_overwritten(cell, now);
        if (!global && !written) {
            report(global, {0, 0, 0, kWrite, 3}, now);
            if (!is_unexplained(now.site)) uninitialised_reads[&cell].push_back(now);
        }
        keep(cell, now, since);
    }
}

[[gnu::noinline]] void check_cells(Cell* cell, Cell* last, bool global, const Access& now,
                                   uint32_t since) {
    if (global &&
        std::max({cell->clock, cell->group[0].clock, cell->group[1].clock}) <= state.block_start)
        ++progress_made;
    if (state.acting)
        for (; cell <= last; ++cell) check_cell<true>(*cell, global, now, since);
    else
        for (; cell <= last; ++cell) check_cell<false>(*cell, global, now, since);
}

// Most reads find a cell as the reads of other lanes have left it: its last write comes before them,
// and keep() adds the lane to a group at most. Returns whether this is so for a read of the whole
// cell, and then adds the lane. own: the group that consists of this read.
[[gnu::always_inline]] inline bool joins_readers(Cell& cell, bool global, const Group& own,
                                                 uint32_t since) {
    Group &first = cell.group[0], &second = cell.group[1];
    const bool ordered = cell.clock <= state.base &&
                         (cell.clock > state.block_start || (global && cell.clock <= since));
    const bool only_reads = (first.access | second.access) <= own.access;
    if (!ordered || !only_reads || cell.in_flight || last_of(cell) != kNone) return false;
    if (first.access == own.access && second.access == own.access && first.clock > state.base &&
        second.clock > state.base && first.warp != second.warp && !state.beyond_warps &&
        !fences::any_fence)
        return true;
    if (!first.same_but_lanes(own) && !second.same_but_lanes(own)) return false;
    (first.same_but_lanes(own) ? first : second).lanes |= own.lanes;
    return true;
}

}  // namespace

namespace races {

const Earlier* earlier;
bool store_follows;
bool awaits_store() { return !two_writes.empty(); }

bool unwritten_was_read() { return !uninitialised_reads.empty(); }

void begin_launch() {
    forget_more_groups();
    clocks::begin_launch();
    fences::begin_launch();
    blocks.clear();
}

void begin_block() {
    end_interval();
    two_writes.clear();  // of a launch that has failed
    overwritten.clear();
    forget_ordered_groups();
    clocks::begin_block();
    fences::begin_block();
    blocks[state.block_start] = indices.block;
}

void block_barrier() {
    compare_two_writes();
    end_interval();
    forget_ordered_groups(state.block_start);
    clocks::block_barrier();
    fences::block_barrier();
}

void check(Cell* cells, uintptr_t begin, uintptr_t address, int width, bool global, Kind kind,
           unsigned thread, uint16_t site) {
    if (!two_writes.empty()) compare_two_writes();
    // Accesses of earlier blocks do not count in shared memory.
    const uint32_t since = global ? state.launch_start : state.block_start;
    cells -= begin / kCellBytes;
    Cell* cell = cells + address / kCellBytes;
    Cell* const last = cells + (address + width - 1) / kCellBytes;
    if (kind == kRead && width > 1 && !state.acting && !(global && earlier) &&
        overwritten.empty()) {
        const Group own{clock_of(thread), site, uint8_t(thread / 32), Group::access_of(kRead, 3),
                        1u << thread % 32};
        while (cell <= last && joins_readers(*cell, global, own, since)) ++cell;
        if (cell > last) return;
    }
    const Access now{clock_of(thread),
                     uint16_t(thread),
                     site,
                     kind,
                     width == 1 ? 1u << address % 2 : 3u,
                     address,
                     width};
    if (global && earlier) {
        earlier->copies(address, address + width, kind, site);
        emulator::check_launches(*earlier, cell, last, now, state.launch_start);
    }
    check_cells(cell, last, global, now, since);
}

void check_launches(const Earlier& earlier, const Allocation& memory, uintptr_t begin,
                    uintptr_t end, Kind kind) {
    const Access now{0, 0, 0, kind, 3};
    if (!memory.cells) return;
    const Cell* const cells = memory.cells - memory.begin / kCellBytes;
    emulator::check_launches(earlier, cells + begin / kCellBytes, cells + (end - 1) / kCellBytes,
                             now, state.last);
}

void set_in_flight(Cell* cells, uintptr_t begin, uintptr_t address, int bytes, bool in_flight) {
    Cell* const first = cells - begin / kCellBytes + address / kCellBytes;
    for (Cell* cell = first; cell < first + bytes / kCellBytes; ++cell) cell->in_flight = in_flight;
}

void report_missing_wait(const InFlightAccess& access, unsigned copier, uint16_t copy_site,
                         const std::string& why) {
    const unsigned thread = issuer_of(access.thread);
    const bool async = thread != access.thread;
    const Hazard found{
        false, kWrite, access.kind,  copy_site, access.site, uint16_t(copier), uint16_t(thread),
        true,  async,  Hazard::wait, "",        why,         access.address};
    report_hazard(found, [&] {
        const std::string name = shared_names::element_at(access.address);
        return (name.empty() ? "" : name + ", ") + block_at(access.clock) + ", " +
               thread_name(thread) + (thread == copier ? "" : ", copied by " + thread_name(copier));
    });
}

void save_writers(const Cell* cells, uintptr_t begin, uintptr_t from, uintptr_t to,
                  std::vector<uint16_t>& writers) {
    cells -= begin / kCellBytes;
    for (const Cell* cell = cells + from / kCellBytes; cell < cells + to / kCellBytes; ++cell)
        writers.push_back(cell->clock > state.block_start ? cell->site : 0);
}
uint16_t last_writer(const Cell* cells, uintptr_t begin, uintptr_t address) {
    return cells[address / kCellBytes - begin / kCellBytes].site;
}
uint32_t last_write(const Cell* cells, uintptr_t begin, uintptr_t address) {
    return cells[address / kCellBytes - begin / kCellBytes].clock;
}
void for_each_write(const Cell* cells, uintptr_t begin, uintptr_t from, uintptr_t to,
                    const std::function<void(const SharedWrite&)>& use) {
    cells -= begin / kCellBytes;
    for (uintptr_t at = from / kCellBytes * kCellBytes; at < to; at += kCellBytes) {
        const Cell& cell = cells[at / kCellBytes];
        if (cell.clock <= state.block_start) continue;
        SharedWrite write{at, at + kCellBytes, uint16_t(cell.thread), cell.site, false, 0};
        for (const Group& group : cell.group) {
            if (group.clock < cell.clock || group.kind() != kRead) continue;
            write.read = true;
            if (group.warp == 0) write.reader = group.site;
        }
        use(write);
    }
}
uint32_t clock_before_launch() { return state.launch_start; }
bool accessed_since(uint32_t clock, bool both, const Cell* cells, uintptr_t begin, uintptr_t from,
                    uintptr_t to) {
    cells -= begin / kCellBytes;
    return std::any_of(cells + from / kCellBytes, cells + to / kCellBytes, [=](const Cell& cell) {
        const auto reads = [=](const Group& g) { return g.clock > clock && g.kind() == kRead; };
        return (!both || cell.clock > clock) && (reads(cell.group[0]) || reads(cell.group[1]));
    });
}
const uint16_t* restore_writers(Cell* cells, uintptr_t begin, uintptr_t from, uintptr_t to,
                                const uint16_t* writers) {
    cells -= begin / kCellBytes;
    for (Cell* cell = cells + from / kCellBytes; cell < cells + to / kCellBytes; ++cell) {
        *cell = {};
        if (const uint16_t site = *writers++) {
            cell->clock = state.base;
            cell->site = site;
            cell->bytes = 3;
        }
    }
    return writers;
}

// By mmap, whose pages exist, zeroed, only once they are touched.
static size_t cells_bytes(uintptr_t begin, uintptr_t end) {
    return ((end - begin) / kCellBytes + 2) * sizeof(Cell);
}
Cell* new_cells(uintptr_t begin, uintptr_t end) {
    void* p = mmap(nullptr, cells_bytes(begin, end), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        std::perror("emulator: no memory to trace with");
        std::abort();
    }
    return static_cast<Cell*>(p);
}
void delete_cells(Cell* cells, uintptr_t begin, uintptr_t end) {
    forget_more_groups();
    if (cells) munmap(cells, cells_bytes(begin, end));
}

double bytes_per_byte() { return double(sizeof(Cell)) / kCellBytes; }

}  // namespace races
}  // namespace emulator

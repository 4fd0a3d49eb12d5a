// Bulk tensor loads: boxes in flight to shared memory. Until a load lands, its destination holds
// 0xff.

#include "emulator/hopper/tensor_loads.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <unordered_set>
#include <utility>

#include "emulator/engine/accesses.h"
#include "emulator/engine/names.h"
#include "emulator/engine/settings.h"
#include "emulator/engine/threads.h"
#include "emulator/hopper/mbarrier_hints.h"
#include "emulator/hopper/mbarriers.h"
#include "emulator/hopper/ranks.h"
#include "emulator/include/common/ptx/hopper.cuh"
#include "emulator/trace/record.h"
#include "emulator/trace/report.h"

namespace emulator {
namespace {

// Most loads land in the order of their calls. The stores of st_async are kept apart, because there
// are thousands of them, of 16 bytes each.
using Copies = std::deque<TensorCopy>;
Copies in_flight, async_stores;
std::unordered_set<const char*> async_store_targets;
std::map<const char*, tensor_loads::Box> boxes;  // by where they begin

void fill_box(const TensorCopy& load) {
    char line[2048];  // of 256 elements of 8 bytes
    const int bytes = int(load.map.row_bytes());
    for (uint64_t i = 0; i < load.map.rows(); ++i) {
        std::memset(line, 0, bytes);
        const TensorCopy::Row row = load.row(i);
        if (row.bytes) std::memcpy(line + row.skipped, row.begin, row.bytes);
        for (int at = 0; at < bytes; at += 16)
            std::memcpy(load.place(i, at), line + at, std::min(16, bytes));
    }
}

TensorCopy take(Copies& copies, size_t number) {
    // In random order the list's order does not matter, and swapping is quick.
    if (thread_order() == Order::random) {
        std::swap(copies[number], copies.back());
        number = copies.size() - 1;
    }
    TensorCopy load = std::move(copies[number]);
    copies.erase(copies.begin() + number);
    return load;
}

void land(TensorCopy load) {
    if (!load.bulk()) async_store_targets.erase(load.shared);
    fill_box(load);
    load.end_note();
    Mbarrier& barrier = *load.barrier;
    const auto bytes = int64_t(load.map.box_bytes());
    if (barrier.phase != load.phase) {
        std::string hint = barrier.expects ? wait_hint(barrier, load.before) : kNothingExpected;
        const std::string expected = describe_expected_bytes(barrier.arrived_before);
        if (barrier.phase == load.phase + 1 && !expected.empty())
            hint = "it had all of " + expected + (hint.empty() ? "" : "; ") + hint;
        return misuse_by(load.thread,
                         load.title() + ": phase " + std::to_string(load.phase) + " of " +
                             name_of(barrier) + " was complete before these " +
                             std::to_string(bytes) +
                             " bytes arrived: more arrive than are expected",
                         load.site.file, load.site.line, hint);
    }
    barrier.landed.push_back(std::move(load));
    bytes_arrived(barrier, bytes);
}

// A thread that had waited for the other copy's phase would be here after that copy.
[[noreturn]] void refuse_overlap(const TensorCopy& load, const TensorCopy& other) {
    const bool same = same_site(load.site, other.site);
    const std::string phase =
        "phase " + std::to_string(other.phase) + " of " + name_of(*other.barrier);
    const unsigned rank = rank_of(load.thread), others_rank = rank_of(other.thread);
    std::string hint;
    if (load.ranks && other.ranks && rank != others_rank) {
        const auto goes_to = [](unsigned from, unsigned mask) {
            return "that of rank " + std::to_string(from) + " goes to " + rank_names(mask);
        };
        hint = goes_to(others_rank, other.ranks) + ", " + goes_to(rank, load.ranks) +
               ". Is one of the two masks or addresses wrong?";
    } else if (other.barrier->phase == other.phase) {
        const std::string cause = wait_hint(*other.barrier, load.before);
        hint = "its bytes belong to " + phase + ", which is not complete. " +
               (cause.empty() ? "Is a wait for that phase missing before this copy?" : cause);
    } else {
        hint = phase + " is complete without its bytes" +
               (other.barrier->expects
                    ? ". Does the mbarrier_arrive_expect_tx() of that phase expect too few?"
                    : std::string(", because ") + kNothingExpected);
    }
    load.refuse((same ? "an earlier one of this line" : "the one at " + site_name(other.site)) +
                    ", of " + thread_name(other.thread) + ", is still writing there",
                hint);
}

// barrier: the one in the block that receives the box.
void start_load(TensorCopy load, uint64_t* barrier) {
    Mbarrier& b = mbarrier_at(barrier, load.name, load.site.file, load.site.line);
    load.barrier = &b;
    load.phase = b.phase;
    load.before = last_wait(current_thread);
    b.has_loads = true;
    if (load.bulk() && !b.fenced) {  // on the next copies nothing more is to be said
        report_once(load.title() +
                        ": no fence_mbarrier_init() lies between the mbarrier_init() at " +
                        site_name(b.site) + " and this call at " + site_name(load.site),
                    block_name() + ", " + thread_name(load.thread));
        b.fenced = true;
    }
    const auto check = [&](const Copies& copies) {
        for (const TensorCopy& other : copies)
            if (other.shared < load.shared + load.map.footprint() &&
                load.shared < other.shared + other.map.footprint())
                refuse_overlap(load, other);
    };
    check(in_flight);
    if (load.bulk() || async_store_targets.count(load.shared)) check(async_stores);
    if (!load.bulk()) async_store_targets.insert(load.shared);
    load.each_part([](char* begin, uint64_t bytes) { std::memset(begin, 0xff, bytes); });
    if (load.map.rank)
        boxes[load.shared] = {load.map.footprint(), load.map.pitch(), load.map.swizzle_bytes,
                              load.site};
    load.order = clocks::begin_async(current_thread, &b);
    if (!load.bulk()) load.order.fenced = {};  // an ordinary write, not one of the async proxy
    load.start_note(b.memory);
    Copies& copies = load.bulk() ? in_flight : async_stores;
    copies.push_back(std::move(load));
    if (thread_order() == Order::reverse) land(take(copies, copies.size() - 1));
    while (thread_order() == Order::random && !copies.empty() && random_number() % 2)
        land(take(copies, random_number() % copies.size()));
}

}  // namespace

namespace {

// ranks: the blocks that receive the copy, as a mask, at the same offset; each one's mbarrier
// counts the bytes. 0: the running thread's own block, without a mask.
template <class MakeCopy>
void start_loads(const char* name, const MakeCopy& copy_to, void* to, uint64_t* barrier,
                 unsigned ranks, const Call& site) {
    if (record::on) record::call(current_thread, "bulk load", site.file, site.line);
    if (ranks == 0) {
        TensorCopy load = copy_to(to);
        load.trace_matrix();
        return start_load(std::move(load), barrier);
    }
    if (ranks >> run.ranks)
        misuse(name + (": the mask " + std::to_string(ranks)) + " has " + rank_names(ranks) +
                   ", in a cluster of " + std::to_string(run.ranks) +
                   (run.ranks == 1 ? " block," : " blocks,"),
               site.file, site.line);
    bool first = true;
    for (unsigned rank = 0; rank < run.ranks; ++rank) {
        if (!(ranks >> rank & 1)) continue;
        const auto there = [&](void* mine) {
            return in_rank(mine, rank, name, site.file, site.line);
        };
        TensorCopy load = copy_to(there(to));
        load.ranks = ranks;
        if (std::exchange(first, false)) load.trace_matrix();
        start_load(std::move(load), static_cast<uint64_t*>(there(barrier)));
    }
}

void start_box(void* to, const CUtensorMap* map, const Coordinates& at, int rank, uint64_t* barrier,
               unsigned ranks, const Call& site, const void* pc) {
    EmulatorsWork work;
    start_loads(
        "cp_async_bulk_tensor",
        [&](void* there) { return TensorCopy(false, map, there, at, rank, site, pc); }, to, barrier,
        ranks, site);
}

}  // namespace

void cp_async_bulk_tensor(void* to, const CUtensorMap* map, int x, int y, uint64_t* barrier,
                          const char* file, int line) {
    start_box(to, map, {x, y}, 2, barrier, 0, {file, line, 0}, caller(__builtin_return_address(0)));
}

void cp_async_bulk_tensor(void* to, const CUtensorMap* map, int x, int y, uint64_t* barrier,
                          unsigned ranks, const char* file, int line) {
    if (ranks == 0)
        misuse("cp_async_bulk_tensor: the mask 0 has no rank, in a cluster of " +
                   std::to_string(run.ranks) + (run.ranks == 1 ? " block," : " blocks,"),
               file, line);
    start_box(to, map, {x, y}, 2, barrier, ranks, {file, line, 0},
              caller(__builtin_return_address(0)));
}

void cp_async_bulk_tensor(void* to, const CUtensorMap* map, const int (&at)[5], int rank,
                          uint64_t* barrier, unsigned ranks, const char* file, int line) {
    start_box(to, map, {at[0], at[1], at[2], at[3], at[4]}, rank, barrier, ranks, {file, line, 0},
              caller(__builtin_return_address(0)));
}

void cp_async_bulk(void* to, const void* from, unsigned bytes, uint64_t* barrier, unsigned ranks,
                   const char* file, int line) {
    EmulatorsWork work;
    const void* const pc = caller(__builtin_return_address(0));
    const Call site{file, line, 0};
    start_loads(
        "cp_async_bulk",
        [&](void* there) {
            return TensorCopy(false, const_cast<void*>(from), there, bytes, site, pc);
        },
        to, barrier, ranks, site);
}

namespace {

// there(address): that address, in the block where it lies.
template <class There>
void start_store(const void* value, int bytes, void* to, uint64_t* barrier, const There& there,
                 const Call& site, const void* pc) {
    if (record::on) record::call(current_thread, "bulk load", site.file, site.line);
    TensorCopy store(value, bytes, there(to), site, pc);
    start_load(std::move(store), static_cast<uint64_t*>(there(barrier)));
}

}  // namespace

void st_async(float4* to, float4 value, uint64_t* barrier, int rank, const char* file, int line) {
    EmulatorsWork work;
    const auto there = [&](void* mine) {
        return in_rank(mine, unsigned(rank), "st_async", file, line);
    };
    start_store(&value, sizeof value, to, barrier, there, {file, line, 0},
                caller(__builtin_return_address(0)));
}
void st_async_at(void* to, const void* value, int bytes, uint64_t* barrier, const char* file,
                 int line) {
    EmulatorsWork work;
    const auto there = [&](void* at) { return in_its_rank(at, "st_async", file, line); };
    start_store(value, bytes, to, barrier, there, {file, line, 0},
                caller(__builtin_return_address(0)));
}

namespace {

bool any_lands() {  // of those in flight; false: there is none
    const bool random = thread_order() == Order::random;
    Copies& copies = in_flight.empty() || (random && !async_stores.empty() && random_number() % 2)
                         ? async_stores
                         : in_flight;
    if (copies.empty()) return false;
    if (random) {
        land(take(copies, random_number() % copies.size()));
        return true;
    }
    // Lands one that a thread waits for; the others may come still later.
    std::map<const Mbarrier*, bool> known;
    const auto awaited = [&](const TensorCopy& load) {
        const auto [entry, is_new] = known.try_emplace(load.barrier);
        if (is_new)
            entry->second = std::any_of(threads.begin(), threads.begin() + run.threads,
                                        [&](const Thread& t) { return t.waits(load.barrier); });
        return entry->second;
    };
    const auto found = std::find_if(in_flight.begin(), in_flight.end(), awaited);
    if (found != in_flight.end()) {
        land(take(in_flight, found - in_flight.begin()));
        return true;
    }
    const auto store = std::find_if(async_stores.begin(), async_stores.end(), awaited);
    if (store == async_stores.end()) {
        land(take(copies, 0));
        return true;
    }
    // All others that this barrier counts land too, because only the last of them can wake a
    // thread.
    const auto rest = std::stable_partition(
        async_stores.begin(), async_stores.end(),
        [barrier = store->barrier](const TensorCopy& load) { return load.barrier != barrier; });
    Copies now(std::make_move_iterator(rest), std::make_move_iterator(async_stores.end()));
    async_stores.erase(rest, async_stores.end());
    for (TensorCopy& load : now) land(std::move(load));
    return true;
}

}  // namespace

namespace tensor_loads {

void begin_block() {
    in_flight.clear();
    async_stores.clear();
    async_store_targets.clear();
    boxes.clear();
}

const Box* box_at(const char* address) {
    const auto after = boxes.upper_bound(address);
    if (after == boxes.begin()) return nullptr;
    const auto& [begin, box] = *std::prev(after);
    return address < begin + box.bytes ? &box : nullptr;
}

bool make_progress() { return mbarriers::anyone_waits() && any_lands(); }

void end_block() {
    while (any_lands()) {
    }
}

void fail_block() {
    for (Copies* const copies : {&in_flight, &async_stores}) {
        std::vector<TensorCopy> loads(std::make_move_iterator(copies->begin()),
                                      std::make_move_iterator(copies->end()));
        copies->clear();
        Sync nobody_waits;
        publish(loads, nobody_waits);
    }
}

}  // namespace tensor_loads
}  // namespace emulator

// Bulk tensor copies: boxes of a matrix, on their way to shared memory.
//
// A copy takes place at some time between its call and the end of the barrier's phase: at once where
// threads run in reverse order, as late as can be in forward order, at any time in random order.
// Until then what it is going to write holds 0xff.

#include <algorithm>
#include <cstring>

#include "emulator/mbarriers.h"

// AddressSanitizer's, in a program that has it.
extern "C" __attribute__((weak)) void* __asan_region_is_poisoned(void* begin, size_t bytes);

namespace emulator {
namespace {

std::vector<TensorLoad> under_way;

const char* const kLoad = "bulk_tensor_load";

// The part of a box's row that lies in the matrix.
struct Row {
    char* begin = nullptr;
    int skipped = 0, bytes = 0;  // skipped: of the box's row, before it
};
Row row_of(const TensorMap& map, int x, int64_t y) {
    const int64_t begin = std::max<int64_t>(x, 0);
    const int64_t end = std::min(int64_t(x) + map.box[0], int64_t(map.dims[0]));
    if (y < 0 || y >= int64_t(map.dims[1]) || begin >= end) return {};
    return {map.address + y * map.strides[0] + begin * map.element_bytes,
            int(begin - x) * map.element_bytes, int(end - begin) * map.element_bytes};
}

// Calls visit(begin, bytes) for what lies in shared memory, which only a swizzle can tear apart.
template <class Visit>
void each_part(const TensorMap& map, char* to, const Visit& visit) {
    if (!map.swizzle_bytes || map.box_bytes() % 1024 == 0) return visit(to, map.box_bytes());
    for (uint64_t at = 0; at < map.box_bytes(); at += 16)
        visit(reinterpret_cast<char*>(map.swizzled(reinterpret_cast<uintptr_t>(to + at))), 16);
}

void fill_box(const TensorLoad& load) {
    char row[2048];  // of 256 elements of 8 bytes
    const int bytes = int(load.map.row_bytes());
    for (int i = 0; i < load.map.box[1]; ++i) {
        std::memset(row, 0, bytes);
        const Row inside = row_of(load.map, load.x, int64_t(load.y) + i);
        if (inside.bytes) std::memcpy(row + inside.skipped, inside.begin, inside.bytes);
        const auto to = reinterpret_cast<uintptr_t>(load.to) + size_t(i) * bytes;
        for (int at = 0; at < bytes; at += 16)
            std::memcpy(reinterpret_cast<void*>(load.map.swizzled(to + at)), row + at, 16);
    }
}

void land(size_t number) {
    TensorLoad load = std::move(under_way[number]);
    under_way.erase(under_way.begin() + number);
    fill_box(load);
    Mbarrier& barrier = *load.barrier;
    const auto bytes = int64_t(load.map.box_bytes());
    if (barrier.phase != load.phase)
        return misuse_by(load.thread,
                         std::string(kLoad) + ": phase " + std::to_string(load.phase) + " of " +
                             name_of(barrier) + " was complete before these " +
                             std::to_string(bytes) + " bytes came: more come than are expected",
                         load.site.file, load.site.line);
    barrier.landed.push_back(std::move(load));
    bytes_came(barrier, bytes);
}

// What the hardware asks of the addresses, and the emulator of the map.
void check(const TensorLoad& load, const CUtensorMap* map) {
    const auto refuse = [&](const std::string& why) {
        misuse(std::string(kLoad) + ": " + why, load.site.file, load.site.line);
    };
    const TensorMap& m = load.map;
    if (reinterpret_cast<uintptr_t>(map) % 64 || m.magic != TensorMap::kMagic)
        refuse("that is no tensor map (const __grid_constant__ CUtensorMap, a kernel's parameter)");
    if (m.rank != 2) refuse("the map is of rank " + std::to_string(m.rank) + ", not 2");
    const int alignment = m.swizzle_bytes ? 8 * m.swizzle_bytes : 128;
    if (reinterpret_cast<uintptr_t>(load.to) % alignment)
        refuse("the destination is not a multiple of " + std::to_string(alignment) +
               (m.swizzle_bytes ? ", where the swizzle begins" : ""));
    if (!is_shared(load.to)) refuse("the destination is not in shared memory");
    if (__asan_region_is_poisoned && __asan_region_is_poisoned(load.to, m.box_bytes()))
        refuse("the box of " + std::to_string(m.box_bytes()) +
               " bytes does not fit at the destination");
    if (!load.barrier->fenced)
        refuse("no fence_mbarrier_init() follows the mbarrier_init() of " + name_of(*load.barrier) +
               " at " + site_name(load.barrier->site));
    for (const TensorLoad& other : under_way)
        if (other.to < load.to + m.box_bytes() && load.to < other.to + other.map.box_bytes())
            refuse("the one at " + site_name(other.site) + " is still writing there");
}

// Tells the trace what is read, and counts it.
void trace_source(const TensorLoad& load) {
    uint64_t bytes = 0, sectors = 0;
    for (int i = 0; i < load.map.box[1]; ++i) {
        const Row row = row_of(load.map, load.x, int64_t(load.y) + i);
        if (!row.bytes) continue;
        const auto begin = reinterpret_cast<uintptr_t>(row.begin), end = begin + row.bytes;
        const Allocation* memory = find_allocation(begin);
        if (!tracing() && !only_ends_run() && (!memory || end > memory->end))
            misuse(std::string(kLoad) + ": row " + std::to_string(int64_t(load.y) + i) +
                       " of the map's matrix is not all in device memory",
                   load.site.file, load.site.line);
        trace::bulk_access(current_thread, row.begin, row.bytes, trace::kRead, load.pc);
        bytes += row.bytes;
        sectors += (end + 31) / 32 - begin / 32;
    }
    trace::count_bulk(load.pc, bytes, sectors);
}

}  // namespace

void see(std::vector<TensorLoad>& loads, Sync& sync) {
    for (TensorLoad& load : loads) {
        races::act(load.order, [&] {
            each_part(load.map, load.to, [&](char* begin, uint64_t bytes) {
                trace::bulk_access(load.order.agent, begin, bytes, trace::kWrite, load.pc);
            });
        });
        sync.release(load.order);
    }
    loads.clear();
}

void bulk_tensor_load(void* to, const CUtensorMap* map, int x, int y, uint64_t* barrier,
                      const char* file, int line) {
    const void* const pc = __builtin_return_address(0);
    EmulatorsWork work;
    Mbarrier& b = mbarrier_at(barrier, kLoad, file, line);
    if (record::on) record::call(current_thread, "bulk load", file, line);
    TensorLoad load{
        {}, static_cast<char*>(to), x, y, &b, b.phase, current_thread, {file, line, 0}, pc, {}};
    std::memcpy(&load.map, map, sizeof load.map);
    check(load, map);
    trace_source(load);
    each_part(load.map, load.to, [&](char* begin, uint64_t bytes) {
        trace::bulk_bounds(begin, bytes, pc);
        std::memset(begin, 0xff, bytes);
    });
    load.order = races::begin_async(current_thread, &b);
    under_way.push_back(std::move(load));
    if (thread_order() == Order::reverse) land(under_way.size() - 1);
    while (thread_order() == Order::random && !under_way.empty() && random_number() % 2)
        land(random_number() % under_way.size());
}

void prefetch_tensormap(const CUtensorMap* map, const char* file, int line) {
    if (reinterpret_cast<uintptr_t>(map) % 64)
        misuse("prefetch_tensormap: that is no tensor map", file, line);
}

namespace tensor_copies {

void begin_block() { under_way.clear(); }

bool any_lands() {
    if (under_way.empty()) return false;
    size_t number = 0;
    if (thread_order() == Order::random) {
        number = random_number() % under_way.size();
    } else {  // one that is waited for: the others may still be late
        const auto awaited = [](const TensorLoad& load) {
            return std::any_of(threads.begin(), threads.begin() + run.threads, [&](Thread& t) {
                return t.state == State::at_mbarrier && t.mbarrier == load.barrier;
            });
        };
        const auto found = std::find_if(under_way.begin(), under_way.end(), awaited);
        if (found != under_way.end()) number = size_t(found - under_way.begin());
    }
    land(number);
    return true;
}

void end_block() {
    while (any_lands()) {
    }
}

}  // namespace tensor_copies
}  // namespace emulator

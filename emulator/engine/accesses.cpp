// Accesses of a traced kernel: which memory each of them goes to, and whether it is allowed to.

#include "emulator/engine/accesses.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "emulator/engine/fences.h"
#include "emulator/engine/hooks.h"
#include "emulator/engine/kernel_heap.h"
#include "emulator/engine/names.h"
#include "emulator/engine/overflows.h"
#include "emulator/engine/races.h"
#include "emulator/engine/sections.h"
#include "emulator/engine/settings.h"
#include "emulator/engine/stacks.h"
#include "emulator/engine/threads.h"
#include "emulator/engine/written.h"
#include "emulator/include/warp_calls.h"
#include "emulator/trace/address.h"
#include "emulator/trace/hazards.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/record.h"
#include "emulator/trace/requests.h"
#include "emulator/trace/symbols.h"

// Symbols that the linker defines: the program's code and its writable data.
extern "C" char __executable_start, etext, __data_start, _end;

namespace emulator {

uintptr_t last_traced;

namespace {

using trace::Kind;

const uintptr_t kImageBegin = address_value(&__executable_start), kCodeEnd = address_value(&etext);
const uintptr_t kDataBegin = address_value(&__data_start), kDataEnd = address_value(&_end);

// What an instruction accessed last. Mostly it accesses the same array again, which then need not be
// looked up.
struct Recent {
    uintptr_t pc = 0;
    bool store = false;
    uintptr_t begin = 0, end = 0;  // of the array; equal: it has to be looked up each time
    Site* site = nullptr;
    const Allocation* range = nullptr;  // where the array lies
    Allocation global;  // a copy of the array in device memory, as others may be added or removed

    bool holds(uintptr_t its_pc, bool stores, uintptr_t address, int width) const {
        return pc == its_pc && store == stores && address - begin < end - begin &&
               address + width <= end;
    }
};

struct Memory {
    Allocation static_shared{kDataBegin, kDataEnd}, dynamic_shared;
    Recent recent[64];  // by the last bits of the instruction's address
    // For each byte of the program's data: 1 + the index of the shared array that it belongs to, or
    // 0.
    std::vector<uint32_t> owner;
} memory;

bool contains(const Allocation& range, uintptr_t address) {
    return address - range.begin < range.end - range.begin;
}

// untraced: the thread's stack, a constant, the program's own data. none: memory that no kernel may
// access.
enum class Region { untraced, global, shared, none };

inline Region find_region(uintptr_t address, unsigned thread, const Allocation*& range) {
    range = nullptr;
    if (address - stacks_begin < stacks_bytes)
        return stack_owner(address) == thread ? Region::untraced : Region::none;
    if (contains(memory.static_shared, address) && !kDeviceVariables.contains(address) &&
        !kManagedVariables.contains(address)) {
        if (address - address_value(&indices) < sizeof indices) return Region::untraced;
        if (address - address_value(&builtins) < sizeof builtins) return Region::untraced;
        if (kConstants.contains(address)) return Region::untraced;
        range = &memory.static_shared;
        return Region::shared;
    }
    range = &memory.dynamic_shared;
    if (contains(memory.dynamic_shared, address)) return Region::shared;
    if (Allocation* found = find_allocation(address)) {
        if (!found->cells) found->cells = races::new_cells(found->begin, found->end);
        range = found;
        return Region::global;
    }
    return address - kImageBegin < kDataEnd - kImageBegin ? Region::untraced : Region::none;
}

// "16 bytes past the end of ", or before the start.
std::string distance(uintptr_t address, int width, uintptr_t begin, uintptr_t end) {
    if (address < begin) return std::to_string(begin - address) + " bytes before the start of ";
    if (address < end)
        return "the last " + std::to_string(address + width - end) + " past the end of ";
    const std::string bytes = std::to_string(address - end) + " bytes";
    return (address == end ? "just" : bytes) + " past the end of ";
}

[[gnu::noinline]] void refuse(unsigned thread, int width, Kind kind, uintptr_t pc,
                              const std::string& head, const std::string& where,
                              cudaError_t error) {
    refuse_access(thread,
                  head + line_or_unknown(pc) + (kind == trace::kRead ? " reads" : " writes"), width,
                  where, error);
}

// Returns the region of an access. An access that is out of bounds ends the launch.
[[gnu::noinline]] Region checked_region(unsigned thread, uintptr_t address, int width, Kind kind,
                                        uintptr_t pc, const Allocation*& range) {
    const Region region = find_region(address, thread, range);
    if (region == Region::untraced) return region;
    bool inside = region != Region::none && address + width <= range->end;
    if (inside && range == &memory.static_shared) {
        const uint32_t owner = memory.owner[address - kDataBegin];
        inside = memory.owner.empty() ||
                 (owner && owner == memory.owner[address + width - 1 - kDataBegin]);
    }
    if (run.ranks > 1 && range == &memory.dynamic_shared && region == Region::shared) {
        const size_t offset = address - range->begin;  // must also lie within one block's part
        inside &= in_shared_memory(offset % run.shared_stride, width);
        const auto rank = unsigned(offset / run.shared_stride);
        if (thread < run.threads && rank != rank_of(thread))
            run.hooks->access_remote(thread, rank, pc);
    }
    if (--run.accesses_left == 0) end_early();
    if (region == Region::none && (only_ends_run() || kernel_heap::holds(address, size_t(width))))
        return Region::untraced;
    if (!inside)
        refuse(thread, width, kind, pc, "out of bounds: ", describe_address(address, width),
               cudaErrorIllegalAddress);
    return region;
}

[[gnu::noinline, gnu::cold]] void report_unwritten(const Allocation& array, uintptr_t address,
                                                   Kind kind, unsigned thread, uint16_t site) {
    if (!written::all_launches_succeeded()) return;
    Hazard found{};
    found.global = true;
    found.second_kind = kind;
    found.second = site;
    found.second_thread = uint16_t(thread);
    found.address = address;
    report_hazard(found, [&] {
        return written::describe_byte(array, address) + ", " + block_name() + ", " +
               thread_name(thread);
    });
}

// A read or an atomic of memory that nothing has written is reported. A write or an atomic writes.
[[gnu::always_inline]] inline void check_written(const Allocation& array, uintptr_t address,
                                                 size_t bytes, Kind kind, unsigned thread,
                                                 uint16_t site) {
    if (!array.written) return;
    if (kind != trace::kWrite && written::all_unwritten(array, address, bytes))
        report_unwritten(array, address, kind, thread, site);
    if (kind != trace::kRead) written::mark(array, address, bytes);
}

// Makes `recent` what an instruction accesses in this region.
[[gnu::noinline]] void look_up(Recent& recent, Region region, const Allocation& range,
                               uintptr_t address, uintptr_t pc, bool store) {
    const bool global = region == Region::global;
    recent.pc = pc;
    recent.store = store;
    recent.site = &find_site(pc, global, store);
    if (global) recent.global = range;
    recent.range = global ? &recent.global : &range;
    recent.begin = range.begin;
    recent.end = range.end;
    if (&range == &memory.static_shared) {
        const uint32_t owner = memory.owner.empty() ? 0 : memory.owner[address - kDataBegin];
        recent.begin = owner ? symbols()[owner - 1].begin : 0;
        recent.end = owner ? recent.begin + symbols()[owner - 1].size : 0;
    } else if (!global && run.ranks > 1) {  // each access must lie within one block's part
        recent.begin = recent.end = 0;
    }
}

// Returns whether the thread should yield to the others.
[[gnu::always_inline]] inline bool note_access(unsigned thread, const void* pointer, int width,
                                               Kind kind, const void* return_address, bool counted,
                                               const void* copied_to, bool aligned) {
    const uintptr_t address = address_value(pointer), pc = address_value(return_address);
    if (pc - kImageBegin >= kCodeEnd - kImageBegin) return false;
    last_traced = pc;
    const bool store = kind != trace::kRead;
    Recent& recent = memory.recent[pc / 4 % std::size(memory.recent)];
    if (!recent.holds(pc, store, address, width)) {
        const Allocation* range;
        const Region region = checked_region(thread, address, width, kind, pc, range);
        if (region == Region::untraced) return false;
        look_up(recent, region, *range, address, pc, store);
    } else if (--run.accesses_left == 0) {
        end_early();
    }
    if (aligned && address & unsigned(width - 1))
        refuse(thread, width, kind, pc, "misaligned: ", past_multiple(address, width),
               cudaErrorMisalignedAddress);
    const Allocation& range = *recent.range;
    Site& site = *recent.site;
    site.address = address;
    races::check(range.cells, range.begin, address, width, site.global, kind, thread, site.number);
    check_written(range, address, size_t(width), kind, thread, site.number);
    // A copy that bypasses L1 costs, for each 128-byte line, one sector for each 32-byte sector of
    // shared memory that it writes (see REFERENCE.md). Therefore an artificial address is counted,
    // which is equal exactly for accesses that share both the line and the sector.
    const uintptr_t counted_address =
        copied_to ? (address / 128 << 16 | (address_value(copied_to) / 32 & 0xffff)) * 32 : address;
    const bool yields = counted && count_access(site, thread, counted_address, width);
    if (record::on) record::access(thread, site, address, width, counted);
    return yields;
}

}  // namespace

// Whether the process has memory at this address.
static bool is_mapped(uintptr_t address) {
    const auto page = uintptr_t(sysconf(_SC_PAGE_SIZE));
    unsigned char resident;
    return mincore(reinterpret_cast<void*>(address / page * page), 1, &resident) == 0;
}

// Describes an address that lies 2^32 elements before or after an array, because an index of 32 bits
// has wrapped round; "" for any other. How many bytes an element has is not known. Where the thread's
// last overflow is known, the address must be off by as much as that has lost.
static std::string wrapped_index(uintptr_t address, int width) {
    const Overflow* const overflow = overflows::last();
    const uintptr_t lost = overflow ? uintptr_t(overflow->lost()) : uintptr_t(1) << 32;
    for (uintptr_t bytes = 1; bytes <= 16; bytes *= 2) {
        const uintptr_t wrap = bytes * lost;
        const Allocation* past = find_allocation(address + wrap);
        if (!past && overflow) past = find_beside(address + wrap);
        const Allocation* const below = past ? nullptr : find_beside(address - wrap);
        if (!past && !below) continue;
        const Allocation& a = past ? *past : *below;
        return distance(address, width, a.begin, a.end) + std::to_string(a.end - a.begin) +
               " bytes of device memory, " +
               (overflow ? "because an index has overflowed at " + overflow->place() + ": " +
                               overflow->described() + ": compute a large index with size_t"
                : past ? "as if an int index had overflowed: compute a large index with size_t"
                       : "as if an unsigned index had gone below 0");
    }
    return "";
}

std::string describe_address(uintptr_t address, int width) {
    constexpr uintptr_t kNear = 1 << 20;
    const auto near = [&](uintptr_t begin, uintptr_t end) {
        return begin != end && address + kNear >= begin && address < end + kNear;
    };
    const auto place_by = [&](const auto& memory) {
        const bool inside = memory.begin <= address && address + width <= memory.end;
        return (inside ? "in " : distance(address, width, memory.begin, memory.end)) +
               std::to_string(memory.end - memory.begin);
    };
    if (const Freed* const freed = find_freed(address))
        return place_by(*freed) + " bytes of device memory, " + freed_by(*freed);
    if (const std::string wrapped = wrapped_index(address, width); !wrapped.empty()) return wrapped;
    const unsigned owner = stack_owner(address);
    if (owner != kNoThread) return "a local variable of " + thread_name(owner);
    if (contains(memory.static_shared, address)) {
        const Symbol *nearest = nullptr, *below = nullptr;  // arrays
        const auto away = [&](const Symbol& s) {
            return address < s.begin ? s.begin - address
                                     : address - std::min(address, s.begin + s.size);
        };
        for (const Symbol& s : symbols()) {
            if (!is_shared_array(s)) continue;
            if (!nearest || away(s) < away(*nearest)) nearest = &s;
            if (s.begin <= address) below = &s;
        }
        const auto by = [&](const Symbol& s) {
            return distance(address, width, s.begin, s.begin + s.size) + short_name(s) + ", " +
                   std::to_string(s.size) + " bytes of shared memory";
        };
        const Symbol* const other = find_symbol(address);
        if (!other || is_shared_array(*other) || name_of(*other).find("emulator") == 0)
            return nearest ? by(*nearest) : "no variable of the device";
        return "the host's variable " + short_name(*other) +
               (below && away(*below) < below->size ? ", or " + by(*below) : "");
    }
    if (run.shared_alignment && !run.shared_bytes && address < kNear)
        return "in dynamic shared memory, of which the launch's third argument gives it 0 bytes";
    const Allocation& dynamic = memory.dynamic_shared;
    if (near(dynamic.begin, dynamic.end)) {
        uintptr_t begin = dynamic.begin, end = dynamic.end;
        std::string rank;
        if (run.ranks > 1) {  // the nearest block's part
            const uintptr_t offset = std::max(address, begin) - begin;
            const uintptr_t number = std::min<uintptr_t>(offset / run.shared_stride, run.ranks - 1);
            begin += number * run.shared_stride;
            end = begin + run.shared_bytes;
            rank = " of rank " + std::to_string(number);
        }
        return distance(address, width, begin, end) + "the " + std::to_string(end - begin) +
               " bytes of dynamic shared memory" + rank;
    }
    for (const Allocation& a : allocations)
        if (near(a.begin, a.end))
            return distance(address, width, a.begin, a.end) + std::to_string(a.end - a.begin) +
                   " bytes of device memory";
    if (const kernel_heap::Block* const b = kernel_heap::find(address))
        return place_by(*b) + " bytes that a kernel has allocated" +
               (b->freed ? ", " + b->state() : "");
    if (address < 4096) return null_pointer();
    return is_mapped(address)
               ? "not in device memory, but in the host's, which kernels cannot touch"
               : "where there is no memory at all";
}

std::string past_multiple(uintptr_t address, int width) {
    return "at an address that is " + std::to_string(address % width) + " past a multiple of them";
}

void refuse_access(unsigned thread, const std::string& what, int width, const std::string& where,
                   cudaError_t error) {
    fail(what + " " + std::to_string(width) + (width == 1 ? " byte, " : " bytes, ") + where + " (" +
             block_name() + ", " + thread_name(thread) + ")",
         error);
}

double host_bytes(double device_bytes) {
    return device_bytes * (tracing() ? 1 + races::bytes_per_byte() : 1);
}

namespace accesses {

void (*of_host)(const void*, size_t, Kind, bool, const void*);

void begin_launch() {
    if (!traced) return;
    count_threads(run.threads);
    for (Recent& recent : memory.recent) recent = Recent();
    const uintptr_t begin = address_value(builtins.dynamic_shared);
    const uintptr_t end = begin + run.ranks * run.shared_stride;
    memory.dynamic_shared = {begin, end, races::new_cells(begin, end)};
    if (!memory.static_shared.cells) {
        memory.static_shared.cells = races::new_cells(kDataBegin, kDataEnd);
        if (!symbols().empty()) memory.owner.resize(kDataEnd - kDataBegin);
        for (const Symbol& s : symbols())
            if (is_shared_array(s))
                std::fill_n(memory.owner.begin() + (s.begin - kDataBegin),
                            std::min(s.size, kDataEnd - s.begin), 1 + (&s - symbols().data()));
    }
    races::begin_launch();
    overflows::begin_launch();
}

void begin_block() {
    if (traced) races::begin_block();
}

// Calls use(begin, end) for each range of shared memory, of all blocks that run together.
template <class Use>
static void for_each_shared(const Use& use) {
    const Symbol* const kernel = find_symbol(address_value(run.kernel));
    for (const Symbol& s : symbols())
        if (belongs_to_kernel(s, kernel)) use(s.begin, s.begin + s.size);
    if (run.shared)
        use(address_value(run.shared), address_value(run.shared) + run.ranks * run.shared_stride);
}
static const Allocation& range_of(uintptr_t address) {
    return contains(memory.static_shared, address) ? memory.static_shared : memory.dynamic_shared;
}

SharedMemory save_shared() {
    SharedMemory saved;
    for_each_shared([&](uintptr_t from, uintptr_t to) {
        const auto* const bytes = reinterpret_cast<const char*>(from);
        saved.bytes.insert(saved.bytes.end(), bytes, bytes + (to - from));
        const Allocation& range = range_of(from);
        if (traced) races::save_writers(range.cells, range.begin, from, to, saved.writers);
    });
    return saved;
}

void restore_shared(const SharedMemory& saved) {
    const char* bytes = saved.bytes.data();
    const uint16_t* writers = saved.writers.data();
    if (traced) races::block_barrier();  // what was written comes before what is done from now on
    for_each_shared([&](uintptr_t from, uintptr_t to) {
        std::copy_n(bytes, to - from, reinterpret_cast<char*>(from));
        bytes += to - from;
        const Allocation& range = range_of(from);
        if (traced) writers = races::restore_writers(range.cells, range.begin, from, to, writers);
    });
}

void for_each_shared_write(const std::function<void(const races::SharedWrite&)>& use) {
    for_each_shared([&](uintptr_t from, uintptr_t to) {
        const Allocation& range = range_of(from);
        races::for_each_write(range.cells, range.begin, from, to, use);
    });
}

void end_interval() {
    if (!traced) return;
    count_pending();
    if (record::on) record::end_interval();
    races::block_barrier();
}

void end_launch() {
    if (!traced) return;
    races::delete_cells(memory.dynamic_shared.cells, memory.dynamic_shared.begin,
                        memory.dynamic_shared.end);
    memory.dynamic_shared = Allocation();
}

void forget(Allocation& allocation) {
    races::delete_cells(allocation.cells, allocation.begin, allocation.end);
    for (Recent& recent : memory.recent) recent = Recent();
}

bool note(unsigned thread, const void* address, int bytes, Kind kind, const void* pc, bool counted,
          const void* copied_to) {
    if (!traced) return false;
    EmulatorsWork work;
    return note_access(thread, address, bytes, kind, pc, counted, copied_to, false);
}

void set_in_flight(const void* pointer, int bytes, bool in_flight) {
    const uintptr_t address = address_value(pointer);
    for (const Allocation& range : {memory.static_shared, memory.dynamic_shared})
        if (range.cells && contains(range, address))
            races::set_in_flight(range.cells, range.begin, address, bytes, in_flight);
}

void note_bulk(unsigned thread, const void* pointer, size_t bytes, Kind kind, const void* pc) {
    if (!traced) return;
    const Allocation* range;
    const uintptr_t begin = address_value(pointer);
    const Region region = checked_region(thread, begin, int(bytes), kind, address_value(pc), range);
    if (region == Region::untraced) return;
    const bool global = region == Region::global;
    Site& site = find_site(address_value(pc), global, kind != trace::kRead);
    site.address = begin;
    for (uintptr_t at = begin; at < begin + bytes; at += 16) {
        const size_t width = std::min<size_t>(16, begin + bytes - at);
        races::check(range->cells, range->begin, at, int(width), global, kind, thread, site.number);
        check_written(*range, at, width, kind, thread, site.number);
    }
}

void check_bulk(const void* pointer, size_t bytes, Kind kind, const void* pc) {
    const Allocation* range;
    if (traced)
        checked_region(current_thread, address_value(pointer), int(bytes), kind, address_value(pc),
                       range);
}

void note_compiled(const void* address, int bytes, Kind kind, const void* pc, bool aligned,
                   bool whole) {
    in_kernel = false;
    races::store_follows = kind == trace::kWrite && whole;
    const bool yields =
        note_access(current_thread, address, bytes, kind, pc, true, nullptr, aligned);
    races::store_follows = false;
    if (--run.until_time_check == 0) run.hooks->check_time();
    in_kernel = traced;
    if (yields && !races::awaits_store()) suspend();
}

}  // namespace accesses

void trace_lane(int lane, const void* address, int bytes, bool store, const void* pc) {
    accesses::note(current_thread / 32 * 32 + lane, address, bytes,
                   store ? trace::kWrite : trace::kRead, pc);
}

void trace_exchange(const void* address, int bytes, const void* pc) {
    if (traced && find_allocation(address_value(address)))
        written::mark_all(address, size_t(bytes));
    trace_atomic(address, bytes, pc);
}

void trace_atomic(const void* address, int bytes, const void* pc) {
    // A thread that repeats an atomic at one address waits for another thread, so it yields.
    static std::pair<const void*, unsigned> last[kMaxThreads];
    auto& [repeated, times] = last[current_thread];
    times = repeated == address ? times + 1 : 0;
    repeated = address;
    if (times % 64 == 63) suspend();
    fences::before_atomic(current_thread);
    accesses::note(current_thread, address, bytes, trace::kAtomic, pc, false);
    fences::atomic(current_thread, address);
}

void note_fence() { fences::fence(current_thread); }

bool traced_as_shared(const void* address) {
    const Allocation* range;
    return find_region(address_value(address), current_thread, range) == Region::shared;
}

}  // namespace emulator

// Device memory: its allocations, and its protection from the host.

#include "emulator/engine/device_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <fstream>

#include "emulator/engine/sections.h"
#include "emulator/trace/lines.h"

namespace emulator {

// __device__ and __managed__ variables are there from the start.
static std::vector<Allocation> variables() {
    std::vector<Allocation> all;
    for (const Section& section : {kDeviceVariables, kManagedVariables}) {
        if (section.begin == section.end) continue;
        all.emplace_back();
        all.back().begin = section.begin;
        all.back().end = section.end;
        all.back().kind = Memory::variables;
    }
    std::sort(all.begin(), all.end(),
              [](const Allocation& a, const Allocation& b) { return a.begin < b.begin; });
    return all;
}
std::vector<Allocation> allocations = variables();

namespace {

std::vector<Allocation>::iterator allocation_after(uintptr_t address) {
    return std::upper_bound(allocations.begin(), allocations.end(), address,
                            [](uintptr_t a, const Allocation& x) { return a < x.begin; });
}

// A redzone surrounds each allocation, so that an access past its end does not hit the next array.
constexpr size_t kRedzone = 1 << 20;

size_t with_redzones(size_t bytes) {
    const size_t page = size_t(sysconf(_SC_PAGE_SIZE));
    return kRedzone + (bytes + page - 1) / page * page + kRedzone;
}

void* take_memory(size_t bytes) {
    void* const all = mmap(nullptr, with_redzones(bytes), PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) return nullptr;
    void* const begin = static_cast<char*>(all) + kRedzone;
    if (mprotect(begin, bytes, PROT_READ | PROT_WRITE) == 0) return begin;
    munmap(all, with_redzones(bytes));
    return nullptr;
}

// The addresses of freed arrays stay reserved for a while, so that an access to one is reported as
// such.
constexpr size_t kQuarantined = 100;
std::deque<Freed>& freed = *new std::deque<Freed>;

void unmap(const Freed& memory) {
    munmap(reinterpret_cast<char*>(memory.begin) - kRedzone,
           with_redzones(memory.end - memory.begin));
}

void give_back(void* pointer, size_t bytes, const void* caller) {
    const auto begin = reinterpret_cast<uintptr_t>(pointer);
    void* const all = static_cast<char*>(pointer) - kRedzone;
    const Freed memory{begin, begin + bytes, reinterpret_cast<uintptr_t>(caller)};
    if (mmap(all, with_redzones(bytes), PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
        return unmap(memory);
    freed.push_back(memory);
    if (freed.size() <= kQuarantined) return;
    unmap(freed.front());
    freed.pop_front();
}

void protect_all(int protection) {
    for (const Allocation& a : allocations)
        if (a.kind == Memory::device)
            mprotect(reinterpret_cast<void*>(a.begin), a.end - a.begin, protection);
}

}  // namespace

Allocation* allocate_device_memory(size_t bytes, Memory kind) {
    void* const p = take_memory(bytes);
    return p ? add_allocation(p, bytes, kind) : nullptr;
}

Allocation* add_allocation(const void* pointer, size_t bytes, Memory kind) {
    Allocation added;
    added.begin = reinterpret_cast<uintptr_t>(pointer);
    added.end = added.begin + bytes;
    added.kind = kind;
    return &*allocations.insert(allocation_after(added.begin), added);
}

void remove_allocation(const Allocation& allocation, const void* caller) {
    const Allocation memory = allocation;
    allocations.erase(allocations.begin() + (&allocation - allocations.data()));
    if (!memory.borrowed())
        give_back(reinterpret_cast<void*>(memory.begin), memory.end - memory.begin, caller);
}

void add_device_variables() { allocations = variables(); }

Allocation* find_allocation(uintptr_t address) {
    const auto after = allocation_after(address);
    return after != allocations.begin() && address < after[-1].end ? &after[-1] : nullptr;
}

const Allocation* find_beside(uintptr_t address) {
    for (const Allocation& a : allocations)
        if (!a.borrowed() && a.begin - kRedzone <= address && address < a.end + kRedzone) return &a;
    return nullptr;
}

const Freed* find_freed(uintptr_t address) {
    for (auto f = freed.rbegin(); f != freed.rend(); ++f)
        if (f->begin - kRedzone <= address && address < f->end + kRedzone) return &*f;
    return nullptr;
}

static std::string& failed_allocation = *new std::string;
void note_failed_allocation(const std::string& call) { failed_allocation = call; }
std::string null_pointer() {
    return "a null pointer" + (failed_allocation.empty() ? "" : " (" + failed_allocation + ")");
}

std::string freed_by(const Freed& memory) {
    if (!memory.caller) return "freed (cudaDeviceReset)";
    const std::string place = place_of_call(memory.caller);
    return place.empty() ? "freed" : "freed (cudaFree" + place + ")";
}

DeviceMemoryOpen::DeviceMemoryOpen() { protect_all(PROT_READ | PROT_WRITE); }
DeviceMemoryOpen::~DeviceMemoryOpen() { protect_all(PROT_NONE); }

void* allocate_aligned(size_t alignment, size_t bytes) {
    void* p = nullptr;
    return posix_memalign(&p, alignment, bytes) == 0 ? p : nullptr;
}

double available_memory() {
    std::ifstream numbers("/proc/meminfo");
    double kib;
    for (std::string name; numbers >> name;)
        if (name == "MemAvailable:" && numbers >> kib) return kib * 1024;
    return HUGE_VAL;
}

}  // namespace emulator

// Addresses in PTX's .shared state space: 32-bit numbers.
//
// On a GPU they are offsets in a block's shared memory. Its first 1024 bytes belong to the system
// (cudaDeviceProp::reservedSharedMemPerBlock), and so the kernel's own memory begins at 1024. Here
// dynamic memory does, and a static array, which is a variable anywhere in the program, gets the
// next free numbers when its address is first asked for. An address and its number are congruent modulo
// 1024, because a swizzle depends on these bits.

#include "emulator/engine/shared_window.h"

#include <algorithm>

#include "emulator/engine/run.h"
#include "emulator/trace/symbols.h"

namespace emulator {
namespace {

constexpr uint32_t kPeriod = 1024;

struct StaticArray {
    uintptr_t begin;
    size_t bytes;
    uint32_t number;
};
std::vector<StaticArray> arrays;  // by number

// Of a block's dynamic memory, in a cluster with the static arrays after it.
size_t own_bytes() { return run.ranks > 1 ? run.shared_stride - 1 : run.shared_bytes; }

// The numbers of the array that has the address; null if there is none.
const StaticArray* find_array(uintptr_t address) {
    for (const StaticArray& array : arrays)
        if (address - array.begin < array.bytes) return &array;
    const Symbol* const symbol = find_symbol(address);
    if (!symbol || symbol->function || !is_data(address)) return nullptr;
    const uint32_t free = arrays.empty() ? kFirstShared + uint32_t(own_bytes())
                                         : uint32_t(arrays.back().number + arrays.back().bytes);
    // The swizzle of a small array, such as an mbarrier, does not matter.
    const uint32_t period = symbol->size < 128 ? 16 : kPeriod;
    const uint32_t number = free + uint32_t(symbol->begin - free) % period;
    arrays.push_back({symbol->begin, symbol->size, number});
    return &arrays.back();
}

}  // namespace

uint32_t to_shared(const void* pointer) {
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    const auto own = reinterpret_cast<uintptr_t>(builtins.dynamic_shared);
    if (run.shared && address - own <= own_bytes()) return kFirstShared + uint32_t(address - own);
    const auto all = reinterpret_cast<uintptr_t>(run.shared);
    if (run.ranks > 1 && run.shared && address - all < run.ranks * run.shared_stride)
        return uint32_t(1 + (address - all) / run.shared_stride) << 24 |
               uint32_t(kFirstShared + (address - all) % run.shared_stride);
    const StaticArray* const array = find_array(address);
    return array ? array->number + uint32_t(address - array->begin) : kNoSharedAddress;
}

void* from_shared(uint64_t number) {
    constexpr uint64_t kNear = 4096;  // past an array's end, so that it can be said which one it is
    const uint64_t rank = number >> 24, at = number & 0xffffff;
    if (rank > run.ranks || at < kFirstShared) return nullptr;
    for (auto array = arrays.rbegin(); array != arrays.rend(); ++array)
        if (array->number <= at)
            return at - array->number <= array->bytes + kNear
                       ? reinterpret_cast<void*>(array->begin + (at - array->number))
                       : nullptr;
    if (!run.shared || at > kFirstShared + own_bytes() + kNear) return nullptr;
    char* const block = rank ? static_cast<char*>(run.shared) + (rank - 1) * run.shared_stride
                             : static_cast<char*>(builtins.dynamic_shared);
    return block + (at - kFirstShared);
}

namespace shared_window {

void begin_launch() { arrays.clear(); }

}  // namespace shared_window
}  // namespace emulator

size_t __cvta_generic_to_shared(const void* pointer) { return emulator::to_shared(pointer); }
void* __cvta_shared_to_generic(size_t number) { return emulator::from_shared(number); }

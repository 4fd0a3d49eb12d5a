// The stacks of a block's threads.

#include "emulator/engine/stacks.h"

#include <sys/mman.h>

#include <stdexcept>

namespace emulator {
namespace {

// A stack has 128 KiB, of which only touched pages exist. The inaccessible gap below it is so large
// that a large local array does not reach another thread's stack.
// Stacks at multiples of a power of two would compete for the same few lines of the processor's
// caches and of its TLB, and a thousand threads that take turns would miss them each time. So the
// stride has an odd number of pages, and the stacks of 16 neighbours begin at different lines.
constexpr size_t kPage = 4096, kStackBytes = 32 * kPage, kStride = 257 * kPage;

std::runtime_error no_stacks() {
    return std::runtime_error(
        "the emulator can't have 8 GiB of addresses, not memory, for the "
        "stacks of threads: is there a limit (ulimit -v)?");
}

}  // namespace

uintptr_t stacks_begin, stacks_bytes;
unsigned first_stack;

void* reserve_stack(unsigned thread, size_t& bytes) {
    if (!stacks_begin) {
        void* const all = mmap(nullptr, kStride * kMostStacks, PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (all == MAP_FAILED) throw no_stacks();
        stacks_begin = reinterpret_cast<uintptr_t>(all);
        stacks_bytes = kStride * kMostStacks;
    }
    void* const end = reinterpret_cast<void*>(stacks_begin + (first_stack + thread + 1) * kStride);
    void* const begin = static_cast<char*>(end) - kStackBytes;
    if (mprotect(begin, kStackBytes, PROT_READ | PROT_WRITE) != 0) throw no_stacks();
    const size_t shift = thread % 16 * (kPage / 16);
    bytes = kStackBytes - shift;
    return static_cast<char*>(end) - shift;
}

unsigned stack_owner(uintptr_t address, bool* overflow) {
    if (address - stacks_begin >= stacks_bytes) return kNoThread;
    const uintptr_t offset = address - stacks_begin;
    if (overflow) *overflow = offset % kStride < kStride - kStackBytes;
    const auto stack = unsigned(offset / kStride);
    return stack < first_stack ? kNoThread : stack - first_stack;
}

}  // namespace emulator

// What kernels allocate by malloc() or new, and free.

#include "emulator/engine/kernel_heap.h"

#include <cstdlib>
#include <deque>
#include <map>

#include "emulator/engine/names.h"
#include "emulator/engine/run.h"
#include "emulator/engine/stacks.h"
#include "emulator/engine/threads.h"
#include "emulator/trace/address.h"
#include "emulator/trace/heap.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/report.h"

namespace emulator::kernel_heap {

size_t limit = kUsualLimit;

namespace {

// By address. What the emulator itself allocates while it works for a thread may be among them.
std::map<uintptr_t, Block>& blocks = *new std::map<uintptr_t, Block>;
// Freed blocks are given back late, so that an access to one is reported as such.
constexpr size_t kQuarantined = 100;
constexpr size_t kNear = 32;  // other blocks are close
std::deque<uintptr_t>& freed = *new std::deque<uintptr_t>;

bool busy;  // with what stands above, which allocates, too
struct Busy {
    Busy() { busy = true; }
    ~Busy() { busy = false; }
};

bool on_a_threads_stack() {
    return address_value(__builtin_frame_address(0)) - stacks_begin < stacks_bytes;
}
bool kernel_runs() { return traced ? in_kernel : threads[current_thread].in_kernel; }

size_t allocated;  // bytes, of the blocks that are not freed

void note_malloc(void* block, size_t bytes) {
    if (busy || !run.running || !on_a_threads_stack() || !kernel_runs()) return;
    const Busy now;
    const auto begin = address_value(block);
    blocks[begin] = {begin, begin + bytes, false, 0};
    allocated += bytes;
    if (allocated <= limit) return;
    report_note("malloc() or new in " + kernel_name(),
                "at least " + std::to_string(allocated) +
                    " bytes are allocated by kernels at once, and a GPU's heap for them has " +
                    std::to_string(limit) +
                    ": there it returns a null pointer. cudaDeviceSetLimit("
                    "cudaLimitMallocHeapSize, bytes) before the first launch makes it larger");
}

// Returns whether the block stays for now.
bool keep_freed(void* block, const void* caller) {
    if (busy || !run.running || !on_a_threads_stack()) return false;
    const auto found = blocks.find(address_value(block));
    if (found == blocks.end()) return false;
    Block& b = found->second;
    const auto pc = address_value(caller);
    if (b.freed) {
        fail("freed twice:" + place_of_call(pc) + " a kernel frees " +
             std::to_string(b.end - b.begin) + " bytes that it has allocated, " + b.state() + " (" +
             block_name() + ", " + thread_name(current_thread) + ")");
        return true;
    }
    const Busy now;
    allocated -= b.end - b.begin;
    if (!kernel_runs()) {
        blocks.erase(found);
        return false;
    }
    b.freed = true;
    b.freed_by = pc;
    freed.push_back(b.begin);
    if (freed.size() > kQuarantined) {
        blocks.erase(freed.front());
        free(reinterpret_cast<void*>(freed.front()));
        freed.pop_front();
    }
    return true;
}

const bool hooked = [] {
    after_malloc = note_malloc;
    before_free = keep_freed;
    return true;
}();

}  // namespace

std::string Block::state() const { return freed ? "freed" + place_of_call(freed_by) : ""; }

const Block* find(uintptr_t address) {
    const auto after = blocks.upper_bound(address);
    const Block* const next = after == blocks.end() ? nullptr : &after->second;
    const Block* const last = after == blocks.begin() ? nullptr : &std::prev(after)->second;
    if (last && address < last->end) return last;
    if (last && address - last->end < kNear &&
        !(next && next->begin - address < address - last->end))
        return last;
    return next && next->begin - address < kNear ? next : nullptr;
}

bool holds(uintptr_t address, size_t bytes) {
    const Block* const b = find(address);
    return b && !b->freed && b->begin <= address && address + bytes <= b->end;
}

}  // namespace emulator::kernel_heap

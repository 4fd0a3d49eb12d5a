// A block's threads are fibers on one thread of the operating system. Each runs until it must wait
// or returns.

#include "emulator/engine/threads.h"

#include <algorithm>
#include <boost/context/fiber.hpp>
#include <utility>

#include "emulator/engine/device_memory.h"
#include "emulator/engine/hooks.h"
#include "emulator/engine/names.h"
#include "emulator/engine/sections.h"
#include "emulator/engine/settings.h"
#include "emulator/engine/stacks.h"
#include "emulator/engine/written.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/report.h"

namespace emulator {

namespace {

// The threads' fibers. They are never destroyed, because that would unwind a suspended one.
std::vector<boost::context::fiber>& fibers = *new std::vector<boost::context::fiber>;
bool after_failure;  // the launch has failed, and threads still run
boost::context::fiber scheduler;  // run_ready_threads(), while a thread runs
boost::context::fiber* left;  // where the fiber that has switched to another is to be kept
// The threads whose turn comes next, up to `end`.
struct Turns {
    const unsigned *next, *end;
} turns;

void switch_to(boost::context::fiber& other, boost::context::fiber& self) {
    left = &self;
    boost::context::fiber from = std::move(other).resume();
    *left = std::move(from);  // the one that has switched back
}

struct Stack {  // Boost.Context's interface of a stack allocator
    unsigned thread;
    boost::context::stack_context allocate() {
        boost::context::stack_context context;
        context.sp = reserve_stack(thread, context.size);
        return context;
    }
    void deallocate(boost::context::stack_context&) noexcept {}
};

// The loop of a fiber: it runs the kernel as one thread of a block, then waits until it is to be
// another.
boost::context::fiber thread_main(boost::context::fiber&& from) {
    *left = std::move(from);
    for (;;) {
        run.thread(run.argument);
        threads[current_thread].in_kernel = false;
        ++progress_made;
        threads[current_thread].state = State::returned;
        call_each(run.hooks->end_thread);
        suspend();
    }
}

// Sets what differs between the blocks of a cluster.
void enter_rank(unsigned rank) {
    const uint3 first = run.first_block, at = unflatten(rank, run.cluster);
    indices.block = {first.x + at.x, first.y + at.y, first.z + at.z};
    builtins.dynamic_shared = static_cast<char*>(run.shared) + rank * run.shared_stride;
}

// Switches to a thread from `self`, the scheduler or another thread.
inline void run_thread(unsigned thread, boost::context::fiber& self) {
    current_thread = thread;
    indices.thread = threads[thread].index;
    if (run.ranks > 1) enter_rank(rank_of(thread));
    in_kernel = traced && threads[thread].in_kernel;
    switch_to(fibers[thread], self);
}

// The next thread that is ready, or kNoThread.
inline unsigned next_ready() {
    while (turns.next != turns.end) {
        const unsigned thread = *turns.next++;
        if (threads[thread].state == State::ready) return thread;
    }
    return kNoThread;
}

}  // namespace

void suspend() {
    boost::context::fiber& self = fibers[current_thread];
    const bool over = run.error || run.restart;
    const unsigned next = over ? kNoThread : next_ready();
    if (next == kNoThread) switch_to(scheduler, self);
    else run_thread(next, self);
}

void wait_for(const void* object, const Call& site, std::string (*why)(const void*)) {
    Thread& self = threads[current_thread];
    self.site = site;
    self.state = State::waiting;
    self.waits_for = object;
    self.why = why;
    suspend();
}

void wake(const void* object) {
    for (unsigned t = 0; t < run.threads; ++t)
        if (threads[t].waits(object)) threads[t].state = State::ready;
}

void fail(const std::string& problem, cudaError_t error) {
    in_kernel = false;
    if (after_failure) {  // by what the first one has left undone
        threads[current_thread].state = State::returned;
        return suspend();
    }
    report_and_print(problem);
    written::note_failed_launch();
    run.error = error;
    if (scheduler) suspend();
}

void misuse_by(unsigned thread, const std::string& what, const char* file, int line,
               const std::string& hint) {
    fail(what + " at " + short_place(file, line) + " (" + block_name() + ", " +
         thread_name(thread) + ")" + (hint.empty() ? "" : ": " + hint));
}

void misuse(const std::string& what, const char* file, int line) {
    misuse_by(current_thread, what, file, line);
}

void trap(const char* file, int line) { misuse("__trap(): this thread has called it", file, line); }

void end_early() {
    note_early_end();
    run.error = kEndedEarly;
    if (scheduler) suspend();
}

void restart_launch() {
    in_kernel = false;
    run.restart = true;
    suspend();
}

void make_threads() {
    if (threads.size() < run.threads) {
        threads.resize(run.threads);
        fibers.resize(run.threads);
    }
    for (unsigned t = 0; t < run.threads; ++t) {
        threads[t].index = unflatten(t % run.block_threads, run.block);
        threads[t].in_kernel = false;
        threads[t].asm_pc = nullptr;
        if (!fibers[t])
            fibers[t] = boost::context::fiber(std::allocator_arg, Stack{t}, thread_main);
    }
}

void run_ready_threads(const std::vector<unsigned>& sequence) {
    while (!run.error && !run.restart) {
        turns = {sequence.data(), sequence.data() + sequence.size()};
        const unsigned first = next_ready();
        if (first == kNoThread) return;
        run_thread(first, scheduler);  // which switches to the next one, and so on
        in_kernel = false;
    }
}

void run_after_failure(const std::vector<unsigned>& sequence) {
    constexpr int kRounds = 16;  // one of them may spin until the failed thread does something
    const cudaError_t error = run.error;
    after_failure = true;
    threads[current_thread].state = State::returned;
    for (int round = 0; round < kRounds; ++round)
        for (unsigned t : sequence)
            if (threads[t].state == State::ready) run_thread(t, scheduler);
    in_kernel = after_failure = false;
    run.error = error;
}

using Fibers = std::vector<boost::context::fiber>;

// Fibers are leaked, because destroying them would unwind the stacks and run kernel code. New
// fibers reuse the stacks.
static void abandon(Fibers& all) {
    for (auto& fiber : all)
        if (fiber) new boost::context::fiber(std::move(fiber));
}
void abandon_threads() { abandon(fibers); }

std::shared_ptr<void> take_fibers() {
    auto* const taken = new Fibers(std::exchange(fibers, Fibers(threads.size())));
    return {taken, [](Fibers* of_block) {
                abandon(*of_block);
                delete of_block;
            }};
}
void put_fibers(const std::shared_ptr<void>& of_block) {
    std::swap(fibers, *static_cast<Fibers*>(of_block.get()));
}

void* memory_of_rank(void* variable, size_t bytes) {
    if (run.ranks == 1) return variable;
    constexpr size_t kRedzone = 128, kMaxAlignment = 1024;
    char* const block = static_cast<char*>(builtins.dynamic_shared);
    for (const OwnArray& array : run.own_arrays)
        if (array.variable == variable) return block + array.offset;
    // It gets the variable's alignment, which may be more than its type's.
    const size_t residue = reinterpret_cast<uintptr_t>(variable) % kMaxAlignment;
    const size_t end = run.own_arrays.empty()
                           ? run.shared_bytes
                           : run.own_arrays.back().offset + run.own_arrays.back().bytes;
    const size_t offset = end + kRedzone + (residue - (end + kRedzone)) % kMaxAlignment;
    if (offset + bytes > run.shared_stride)
        fail("the emulator has no room for the static arrays of a cluster's kernel");
    run.own_arrays.push_back({variable, offset, bytes});
    return block + offset;
}

void* dynamic_memory(size_t alignment) {
    run.shared_alignment = std::max(run.shared_alignment, alignment);
    return builtins.dynamic_shared;
}

void enter_kernel() {
    threads[current_thread].in_kernel = true;
    in_kernel = traced;
}

void note_return(const char* file, int line) {
    threads[current_thread].returned_at = {file, line, 0};
}

// A GPU gets the address that the argument has on the host. It can access that only if the host has
// put the object into managed or pinned memory.
void check_reference(const char* parameter, const char* file, int line) {
    const auto on_device = [](const Allocation& a) { return a.kind == Memory::device; };
    if (kManagedVariables.begin != kManagedVariables.end ||
        !std::all_of(allocations.begin(), allocations.end(), on_device))
        return;
    misuse_by(current_thread,
              std::string("the parameter ") + parameter +
                  " is a reference: a GPU gets the address of the host's variable, which kernels "
                  "cannot touch,",
              file, line, "take it by value");
}

void check_bounds(const char* file, int line, unsigned threads, unsigned, unsigned) {
    run.bounded = true;
    if (run.block_threads <= threads) return;
    misuse("a block of " + std::to_string(run.block_threads) +
               " threads, but __launch_bounds__ says " + std::to_string(threads),
           file, line);
}

}  // namespace emulator

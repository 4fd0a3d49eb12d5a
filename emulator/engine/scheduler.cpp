// Launches, blocks and threads. A block's threads are fibers on one thread of the operating
// system; each runs until it must wait or returns.

#include "emulator/engine/scheduler.h"

#include <algorithm>
#include <boost/context/fiber.hpp>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <utility>

#include "emulator/engine/device_memory.h"
#include "emulator/engine/hooks.h"
#include "emulator/engine/names.h"
#include "emulator/engine/settings.h"
#include "emulator/engine/stacks.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/report.h"

// Fibers switch stacks without AddressSanitizer's knowledge, so its fake stack frames must be off.
// It calls this function when it starts.
extern "C" const char* __asan_default_options() {
    return "detect_stack_use_after_return=0:detect_leaks=0";
}

namespace emulator {

namespace {

// Of the threads. Never destroyed: a suspended one would be unwound.
std::vector<boost::context::fiber>& fibers = *new std::vector<boost::context::fiber>;
boost::context::fiber scheduler;  // the fiber to resume when a thread waits or returns

struct Stack {  // Boost.Context's interface of a stack allocator
    unsigned thread;
    boost::context::stack_context allocate() {
        boost::context::stack_context context;
        context.sp = reserve_stack(thread, context.size);
        return context;
    }
    void deallocate(boost::context::stack_context&) noexcept {}
};

// What a fiber does for ever: run the kernel as one thread of one block, then wait to be another.
boost::context::fiber thread_main(boost::context::fiber&& from) {
    scheduler = std::move(from);
    for (;;) {
        run.thread(run.argument);
        threads[current_thread].in_kernel = false;
        ++progress_made;
        threads[current_thread].state = State::returned;
        call_each(run.hooks->end_thread);
        suspend();
    }
}

// What differs between the blocks of a cluster.
void enter_rank(unsigned rank) {
    const uint3 first = run.first_block, at = unflatten(rank, run.cluster);
    builtins.block = {first.x + at.x, first.y + at.y, first.z + at.z};
    builtins.dynamic_shared = static_cast<char*>(run.shared) + rank * run.shared_stride;
}

void run_ready_threads(const std::vector<unsigned>& sequence) {
    for (bool any = true; any && !run.error && !run.restart;) {
        any = false;
        for (unsigned t : sequence) {
            if (threads[t].state != State::ready) continue;
            any = true;
            current_thread = t;
            builtins.thread = threads[t].index;
            if (run.ranks > 1) enter_rank(rank_of(t));
            in_kernel = traced && threads[t].in_kernel;
            fibers[t] = std::move(fibers[t]).resume();
            in_kernel = false;
            if (run.error || run.restart) return;
        }
    }
}

void run_block(std::vector<unsigned>& sequence) {
    for (unsigned t = 0; t < run.threads; ++t) threads[t].state = State::ready;
    const Hooks& hooks = *run.hooks;
    call_each(hooks.begin_block);
    do {
        if (thread_order() == Order::random) shuffle(sequence);
        do run_ready_threads(sequence);
        while (!run.error && !run.restart && any_says_so(hooks.goes_on));
        if (run.restart) return;
        call_each(hooks.end_interval);
    } while (!run.error && any_says_so(hooks.passes_barrier));
    for (const auto end_block : hooks.end_block)
        if (!run.error) end_block();
    totals.blocks += run.ranks;
    totals.threads += run.threads;
}

void run_blocks() {
    std::vector<unsigned> sequence(run.threads);
    std::iota(sequence.begin(), sequence.end(), 0);
    const Order order = thread_order();
    if (order == Order::reverse) std::reverse(sequence.begin(), sequence.end());
    const dim3 clusters(run.grid.x / run.cluster.x, run.grid.y / run.cluster.y,
                        run.grid.z / run.cluster.z);
    const uint64_t blocks = uint64_t(clusters.x) * clusters.y * clusters.z;
    const bool all_traced = traced;
    std::vector<unsigned> shuffled;
    if (order == Order::random) {
        shuffled.resize(blocks);
        std::iota(shuffled.begin(), shuffled.end(), 0);
        shuffle(shuffled);
    }
    for (uint64_t b = 0; b < blocks && !run.error && !run.restart; ++b) {
        if (leaves_single_blocks() && blocks == 1) continue;
        if (only_ends_run() && blocks > 1000 && b == 1) b = blocks - 1;
        run.first_or_last = b == 0 || b == blocks - 1;
        const uint64_t block = order == Order::random    ? shuffled[b]
                               : order == Order::reverse ? blocks - 1 - b
                                                         : b;
        const uint3 first = unflatten(block, clusters);
        run.first_block = {first.x * run.cluster.x, first.y * run.cluster.y,
                           first.z * run.cluster.z};
        builtins.block = run.first_block;
        if (run.shared) std::memset(run.shared, 0xff, run.ranks * run.shared_stride);
        traced = all_traced && run.hooks->traces_block();
        run_block(sequence);
        run.hooks->leave_block();
        traced = all_traced;
    }
}

void make_fibers() {
    if (threads.size() < run.threads) threads.resize(run.threads), fibers.resize(run.threads);
    for (unsigned t = 0; t < run.threads; ++t) {
        threads[t].index = unflatten(t % run.block_threads, run.block);
        threads[t].in_kernel = false;
        if (!fibers[t])
            fibers[t] = boost::context::fiber(std::allocator_arg, Stack{t}, thread_main);
    }
}

// After a failure threads are stuck in the kernel. Destroying their fibers would unwind the stacks
// and run kernel code, so leak the fibers. New fibers reuse the stacks.
void abandon_fibers() {
    for (auto& fiber : fibers) new boost::context::fiber(std::move(fiber));
}

// Until it ends, or says that blocks run together: its first thread does at once.
void run_attempt() {
    constexpr size_t kAlignment = 1024, kGap = 4096;
    const size_t bytes = run.shared_bytes;
    run.restart = false;
    run.threads = run.ranks * run.block_threads;
    run.shared_stride =
        run.ranks == 1 ? bytes : (bytes + kAlignment - 1) / kAlignment * kAlignment + kGap;
    run.shared = bytes ? allocate_aligned(kAlignment, run.ranks * run.shared_stride) : nullptr;
    builtins.dynamic_shared = run.shared;
    make_fibers();
    call_each(run.hooks->begin_launch);
    run_blocks();
    run.running = run.restart;
    std::free(run.shared);
    if (run.error || run.restart) abandon_fibers();
    call_each(run.hooks->end_launch);
}

}  // namespace

void restart_launch() {
    in_kernel = false;
    run.restart = true;
    suspend();
}

void run_launch(const Launch& launch, void (*thread)(void*), void* argument, const Hooks& hooks) {
    run.grid = launch.grid;
    run.block = launch.block;
    run.cluster = {1, 1, 1};
    run.ranks = 1;
    run.block_threads = launch.block.x * launch.block.y * launch.block.z;
    run.kernel = launch.kernel;
    run.launched = {launch.file, launch.line, 0};
    run.name = launch.name;
    run.shared_bytes = launch.dynamic_shared_bytes;
    run.shared_alignment = 0;
    run.hooks = &hooks;
    run.thread = thread;
    run.argument = argument;
    run.error = cudaSuccess;
    run.accesses_left = accesses_run();
    run.bounded = false;
    run.running = true;
    builtins.grid_dim = launch.grid;
    builtins.block_dim = launch.block;
    do run_attempt();
    while (run.restart);
}

void fail(const std::string& problem, cudaError_t error) {
    in_kernel = false;
    report_aloud(problem);
    run.error = error;
    if (scheduler) suspend();
}

void end_early() {
    note_early_end();
    run.error = kEndedEarly;
    suspend();
}

void* dynamic_memory(size_t alignment) {
    run.shared_alignment = std::max(run.shared_alignment, alignment);
    return builtins.dynamic_shared;
}

void enter_kernel() {
    threads[current_thread].in_kernel = true;
    in_kernel = traced;
}

void suspend() { scheduler = std::move(scheduler).resume(); }
void give_way() { suspend(); }

void wait_for(const void* object, const Call& site, std::string (*why)(const void*)) {
    Thread& self = threads[current_thread];
    self.site = site;
    self.state = State::waiting;
    self.waits_for = object, self.why = why;
    suspend();
}

void wake(const void* object) {
    for (unsigned t = 0; t < run.threads; ++t)
        if (threads[t].waits(object)) threads[t].state = State::ready;
}

void misuse_by(unsigned thread, const std::string& what, const char* file, int line,
               const std::string& hint) {
    fail(what + " at " + short_path(file) + ":" + std::to_string(line) + " (" + block_name() +
         ", " + thread_name(thread) + ")" + (hint.empty() ? "" : ": " + hint));
}
void misuse(const std::string& what, const char* file, int line) {
    misuse_by(current_thread, what, file, line);
}

void check_bounds(const char* file, int line, unsigned threads, unsigned, unsigned) {
    run.bounded = true;
    if (run.block_threads <= threads) return;
    misuse("a block of " + std::to_string(run.block_threads) +
               " threads, but __launch_bounds__ says " + std::to_string(threads),
           file, line);
}

}  // namespace emulator

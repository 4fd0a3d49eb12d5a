// Launches, blocks, threads and barriers. A block's threads are fibers on one thread of the operating
// system; each runs until it must wait or returns.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>
#include <stdexcept>

#include "emulator/scheduler.h"

// Fibers switch stacks without AddressSanitizer's knowledge, so its fake stack frames must be off.
// It calls this function when it starts.
extern "C" const char* __asan_default_options() {
    return "detect_stack_use_after_return=0:detect_leaks=0";
}

namespace emulator {

Builtins builtins;
unsigned current_thread;
volatile uint64_t progress_made;
Run run;
// Never destroyed: a suspended fiber would be unwound.
std::vector<Thread>& threads = *new std::vector<Thread>;

namespace {

struct Settings {
    Order order = Order::forward;
    int ends_only = 0;  // of a GPU with so many multiprocessors
    std::function<void(uint64_t, uint64_t)> on_block;
    std::mt19937 random{1};
    int architecture = 80;
} settings;

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
        async::finish();
        ++progress_made;
        const unsigned self = current_thread, first = self / 32 * 32;
        threads[self].state = State::returned;
        check_leaving(self);
        for (unsigned t = first; t < std::min(first + 32, run.threads); ++t)
            if (threads[t].state == State::at_warp && complete_warp(t))
                break;  // a lane was waiting only for this one
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
            in_kernel = compiled_for_tracing && threads[t].in_kernel;
            threads[t].fiber = std::move(threads[t].fiber).resume();
            in_kernel = false;
            if (run.error || run.restart) return;
        }
    }
}

// Called when no thread can go on. Returns true if all wait at the same barrier, which they then
// pass. Otherwise all have returned, or the kernel is wrong and fail() reports it.
bool pass_barrier() {
    const auto end = threads.begin() + run.threads;
    const auto with = [&](State s) {
        return std::find_if(threads.begin(), end, [s](const Thread& t) { return t.state == s; });
    };
    const auto name = [](std::vector<Thread>::iterator t) {
        return thread_name(unsigned(t - threads.begin()));
    };
    for (const State state :
         {State::at_mbarrier, State::at_named, State::at_cluster, State::at_wgmma})
        if (with(state) != end) return mbarriers::report_deadlock(), false;
    const auto stuck = with(State::at_warp), waiting = with(State::at_barrier),
               returned = with(State::returned);
    if (stuck != end) {
        fail("warp divergence: " + name(stuck) + " of " + block_name() + " waits at " +
             site_name(stuck->site) + " for lanes of its warp that never come there");
        return false;
    }
    if (waiting == end) return false;
    const auto waits = [&](const Thread& t, bool here) {
        return t.state == State::at_barrier && same_site(t.site, waiting->site) == here;
    };
    const auto elsewhere =
        std::find_if(waiting, end, [&](const Thread& t) { return waits(t, false); });
    if (returned != end || elsewhere != end) {
        const auto there =
            std::count_if(waiting, end, [&](const Thread& t) { return waits(t, true); });
        const std::string here = site_name(waiting->site);
        std::string other =
            returned != end ? name(returned) + " has returned" : name(elsewhere) + " waits at ";
        if (returned == end) {
            const std::string place = site_name(elsewhere->site);
            other += place == here ? "another barrier of that line" : place;
        }
        fail("barrier divergence: " + std::to_string(there) + " of the " +
             std::to_string(run.threads) + " threads of " + block_name() + " wait at " + here +
             ", " + name(waiting) + " among them, but " + other);
        return false;
    }
    for (auto t = threads.begin(); t != end; ++t) t->state = State::ready;
    ++totals.barriers;
    return true;
}

void run_block(std::vector<unsigned>& sequence, bool first_or_last) {
    for (unsigned t = 0; t < run.threads; ++t) threads[t].state = State::ready;
    trace::begin_block();
    record::begin_block(first_or_last);
    mbarriers::begin_block();
    tensor_loads::begin_block();
    tensor_stores::begin_block();
    wgmma_state::begin_block();
    named_barriers::begin_block();
    clusters::begin_block();
    const auto at_mbarrier = [](const Thread& t) { return t.state == State::at_mbarrier; };
    do {
        if (settings.order == Order::random)
            std::shuffle(sequence.begin(), sequence.end(), settings.random);
        do run_ready_threads(sequence);
        while (!run.error && !run.restart &&
               std::any_of(threads.begin(), threads.begin() + run.threads, at_mbarrier) &&
               tensor_loads::any_lands());
        if (run.restart) return;
        trace::end_interval();
    } while (!run.error && pass_barrier());
    if (!run.error) tensor_loads::end_block();
    if (!run.error) mbarriers::end_block();
    if (!run.error) tensor_stores::end_block();
    if (!run.error) wgmma_state::end_block();
    totals.blocks += run.ranks;
    totals.threads += run.threads;
}

void run_blocks(const Launch& launch) {
    std::vector<unsigned> sequence(run.threads);
    std::iota(sequence.begin(), sequence.end(), 0);
    if (settings.order == Order::reverse) std::reverse(sequence.begin(), sequence.end());
    const dim3 clusters(run.grid.x / run.cluster.x, run.grid.y / run.cluster.y,
                        run.grid.z / run.cluster.z);
    const uint64_t blocks = uint64_t(clusters.x) * clusters.y * clusters.z;
    std::vector<uint32_t> shuffled;
    if (settings.order == Order::random) {
        shuffled.resize(blocks);
        std::iota(shuffled.begin(), shuffled.end(), 0);
        std::shuffle(shuffled.begin(), shuffled.end(), settings.random);
    }
    for (uint64_t b = 0; b < blocks && !run.error; ++b) {
        const bool first_or_last = b == 0 || b == blocks - 1;
        if (settings.ends_only && (blocks > 1000 ? !first_or_last : blocks == 1)) continue;
        const uint64_t block = settings.order == Order::random    ? shuffled[b]
                               : settings.order == Order::reverse ? blocks - 1 - b
                                                                  : b;
        const uint3 first = unflatten(block, clusters);
        run.first_block = {first.x * run.cluster.x, first.y * run.cluster.y,
                           first.z * run.cluster.z};
        builtins.block = run.first_block;
        if (launch.dynamic_shared_bytes)
            std::memset(run.shared, 0xff, run.ranks * run.shared_stride);
        run_block(sequence, first_or_last);
        if (run.restart) return;
        if (settings.on_block) settings.on_block(b + 1, blocks);
    }
}

void make_fibers() {
    if (threads.size() < run.threads) threads.resize(run.threads);
    for (unsigned t = 0; t < run.threads; ++t) {
        threads[t].index = unflatten(t % run.block_threads, run.block);
        threads[t].in_kernel = false;
        if (!threads[t].fiber)
            threads[t].fiber = boost::context::fiber(std::allocator_arg, Stack{t}, thread_main);
    }
}

// After a failure threads are stuck in the kernel. Destroying their fibers would unwind the stacks
// and run kernel code, so leak the fibers. New fibers reuse the stacks.
void abandon_fibers() {
    for (Thread& t : threads) new boost::context::fiber(std::move(t.fiber));
}

}  // namespace

namespace {

// Until it ends, or says that blocks run together: its first thread does at once.
void run_attempt(const Launch& launch) {
    constexpr size_t kAlignment = 1024, kGap = 4096;
    const size_t bytes = launch.dynamic_shared_bytes;
    run.threads = run.ranks * run.block_threads;
    run.shared_stride =
        run.ranks == 1 ? bytes : (bytes + kAlignment - 1) / kAlignment * kAlignment + kGap;
    run.shared = bytes ? allocate_aligned(kAlignment, run.ranks * run.shared_stride) : nullptr;
    builtins.dynamic_shared = run.shared;
    make_fibers();
    async::begin_launch();
    trace::begin_launch(bytes, run.shared_stride, run.ranks);
    record::begin_launch();
    watchdog::begin_launch();
    run_blocks(launch);
    watchdog::end_launch();
    trace::end_launch();
    std::free(run.shared);
    if (run.restart) abandon_fibers();
}

}  // namespace

void restart_launch() {
    in_kernel = false;
    run.restart = true;
    suspend();
}

void launch(const Launch& launch, void (*thread)(void*), void* argument) {
    if (run.running)
        return fail("a kernel launches a kernel: the emulator cannot run dynamic parallelism");
    if (!launch_fits(launch)) return;
    run.grid = launch.grid;
    run.block = launch.block;
    run.cluster = {1, 1, 1};
    run.ranks = 1;
    run.block_threads = launch.block.x * launch.block.y * launch.block.z;
    run.kernel = launch.kernel;
    run.thread = thread;
    run.argument = argument;
    run.error = cudaSuccess;
    run.bounded = false;
    run.running = true;
    builtins.grid_dim = launch.grid;
    builtins.block_dim = launch.block;
    do run_attempt(launch);
    while (std::exchange(run.restart, false));
    run.running = false;
    if (run.error) {
        set_last_error(run.error);
        abandon_fibers();
    }
    record::end_launch();
}

void fail(const std::string& problem, cudaError_t error) {
    in_kernel = false;
    report_problem(problem);
    std::fprintf(stderr, "emulator: %s\n", problem.c_str());
    run.error = error;
    if (scheduler) suspend();
}

void barrier(const char* file, int line, int number) {
    if (run.ranks > 1) return block_barrier_in_cluster(file, line, number);
    Thread& self = threads[current_thread];
    self.state = State::at_barrier;
    self.site = {file, line, number};
    if (record::on) record::call(current_thread, "barrier", file, line);
    ++progress_made;
    suspend();
}

void enter_kernel() {
    threads[current_thread].in_kernel = true;
    in_kernel = compiled_for_tracing;
}

bool in_launch() { return run.running; }
int only_ends_run() { return settings.ends_only; }
unsigned ready_threads() {
    return unsigned(std::count_if(threads.begin(), threads.begin() + run.threads,
                                  [](const Thread& t) { return t.state == State::ready; }));
}

void suspend() { scheduler = std::move(scheduler).resume(); }
void give_way() { suspend(); }

void misuse_by(unsigned thread, const std::string& what, const char* file, int line) {
    fail(what + " at " + short_path(file) + ":" + std::to_string(line) + " (" + block_name() +
         ", " + thread_name(thread) + ")");
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

int architecture() { return settings.architecture; }
Order thread_order() { return settings.order; }
unsigned random_number() { return settings.random(); }
bool happens_early() {
    return settings.order == Order::reverse ||
           (settings.order == Order::random && random_number() % 2);
}

void set_architecture(int sm) {
    if (sm != 70 && sm != 75 && sm < 80)
        throw std::invalid_argument("set_architecture: 70, 75 or 80, not " + std::to_string(sm));
    settings.architecture = std::min(sm, 80);
}

void set_order(Order order, unsigned seed) {
    settings.order = order;
    settings.random.seed(seed);
}

void run_ends_only(int multiprocessors) { settings.ends_only = multiprocessors; }

void on_block(const std::function<void(uint64_t, uint64_t)>& hook) { settings.on_block = hook; }

bool same_site(const Call& a, const Call& b) {
    return a.line == b.line && a.number == b.number &&
           (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

std::string site_name(const Call& site) {
    return short_path(site.file) + ":" + std::to_string(site.line);
}

std::string block_name() { return "block " + index_name(builtins.block, run.grid); }

std::string kernel_name() {
    const Symbol* const symbol = find_symbol(reinterpret_cast<uintptr_t>(run.kernel));
    return symbol ? short_name(*symbol) : "a kernel";
}

std::string thread_name(unsigned thread) {
    const std::string name =
        "thread " + index_name(unflatten(thread % run.block_threads, run.block), run.block);
    return run.ranks > 1 ? name + " of rank " + std::to_string(rank_of(thread)) : name;
}

std::string index_name(uint3 index, dim3 extent) {
    const std::string x = std::to_string(index.x), y = std::to_string(index.y),
                      z = std::to_string(index.z);
    return extent.z > 1   ? "(" + x + "," + y + "," + z + ")"
           : extent.y > 1 ? "(" + x + "," + y + ")"
                          : x;
}

uint3 unflatten(uint64_t number, dim3 extent) {
    return {unsigned(number % extent.x), unsigned(number / extent.x % extent.y),
            unsigned(number / extent.x / extent.y)};
}

}  // namespace emulator

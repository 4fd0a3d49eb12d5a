// Threads, barriers and memory of the emulator. What the threads access is trace.cpp's business.

#include <unistd.h>

#include <algorithm>
#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <climits>
#include <cstdio>
#include <numeric>
#include <random>
#include <stdexcept>

#include "common/memory.h"
#include "emulator/include/cuda_pipeline.h"
#include "emulator/include/mma.h"
#include "emulator/internal.h"

// Fibers switch stacks behind AddressSanitizer's back, so its heap of fake stack frames must stay off. It reads this at its start.
extern "C" const char* __asan_default_options() {
    return "detect_stack_use_after_return=0:detect_leaks=0";
}

namespace emulator {

Builtins builtins;
Counts totals;
unsigned current_thread;
unsigned warp_epoch[32];

namespace {

using Stack = boost::context::protected_fixedsize_stack;  // with a guard page at its end
constexpr size_t kStackBytes = 128 * 1024;  // a thread's; only the pages that it touches exist
constexpr unsigned kMaxThreads = 1024;
constexpr size_t kDefaultDynamicShared = 48 * 1024, kMaxDynamicShared = 227 * 1024;  // H100, H200

enum class State { ready, at_barrier, at_warp, returned };

struct AsyncCopy {  // asked for, not yet done
    void* to;
    size_t size;
    unsigned batch;
    const void* pc;
    unsigned char bytes[16];
};

struct Thread {
    boost::context::fiber fiber;
    State state = State::returned;
    uint3 index{};
    const char* file = nullptr;  // where it waits
    int line = 0;
    unsigned mask =
        0;  // of a warp operation: the lanes that it waits for, what it brings, whose value it wants and gets
    uint64_t value = 0;
    int source = 0;
    uint64_t received = 0;
    void (*operation)(const WarpCall&) =
        nullptr;  // of a collective, with what the lane brings; null for a shuffle
    const void* arguments = nullptr;
    std::vector<AsyncCopy> copies;  // in the order of their batches
    unsigned batches = 0;  // committed
};

// Made when first needed and kept for every later block and launch. Never destroyed: a suspended fiber would be unwound.
std::vector<Thread>& threads = *new std::vector<Thread>;
boost::context::fiber scheduler;  // where a thread goes when it waits or returns

dim3 launch_grid, launch_block;
unsigned thread_count;
void (*kernel)(void*);
void* kernel_argument;
bool running, failed;

Order order = Order::forward;
bool ends_only = false;
std::mt19937 random_engine(1);
int fragment_architecture = 80;
cudaError_t last_error = cudaSuccess;
size_t allowed_dynamic_shared = kDefaultDynamicShared;
size_t allocated_bytes;

bool same_site(const Thread& a, const Thread& b) {
    return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

std::string site_name(const Thread& t) { return short_path(t.file) + ":" + std::to_string(t.line); }

std::string block_name() { return "block " + index_name(builtins.block, launch_grid); }

void suspend() { scheduler = std::move(scheduler).resume(); }

// Ends the launch. Called by a kernel's thread it does not come back: the thread is abandoned where it is.
void fail(const std::string& problem) {
    report_problem(problem);
    std::fprintf(stderr, "emulator: %s\n", problem.c_str());
    failed = true;
    if (scheduler) suspend();
}

// Lets the warp of `thread`, which waits at a warp operation, go on if all the lanes that it waits for wait with it. Lanes that
// have returned are not waited for, except by a collective, for which all 32 must have come to the same place.
bool complete_warp(unsigned thread, const void* pc = nullptr) {
    const unsigned first = thread / 32 * 32, lanes = std::min(32u, thread_count - first);
    const Thread& self = threads[thread];
    const unsigned mask = self.mask;
    bool whole_warp = true;
    if (self.operation && lanes < 32) return false;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const Thread& t = threads[first + lane];
        if (t.state == State::returned && !self.operation) continue;
        if (!(mask >> lane & 1)) whole_warp = false;
        else if (t.state != State::at_warp || t.mask != mask || t.operation != self.operation)
            return false;
        else if (self.operation && !same_site(t, self)) return false;
    }
    if (self.operation) {
        WarpCall call{{}, pc, self.file, self.line};
        for (unsigned lane = 0; lane < 32; ++lane)
            call.arguments[lane] = threads[first + lane].arguments;
        self.operation(call);
    }
    for (unsigned lane = 0; lane < lanes; ++lane) {
        Thread& t = threads[first + lane];
        if (!(mask >> lane & 1) || t.state == State::returned) continue;
        const bool there = unsigned(t.source) < lanes && mask >> t.source & 1;
        t.received = there ? threads[first + t.source].value : t.value;
        t.state = State::ready;
    }
    if (whole_warp && !self.operation) ++warp_epoch[first / 32];  // a collective orders no memory
    return true;
}

void finish_copies(Thread& thread, unsigned end_batch) {
    size_t done = 0;
    for (; done < thread.copies.size() && thread.copies[done].batch < end_batch; ++done) {
        const AsyncCopy& copy = thread.copies[done];
        trace::access(current_thread, copy.to, int(copy.size), true, copy.pc,
                      false);  // was counted at the call
        std::memcpy(copy.to, copy.bytes, copy.size);
    }
    thread.copies.erase(thread.copies.begin(), thread.copies.begin() + done);
}

// What a fiber does for ever: run the kernel as one thread of one block, then wait to be another.
boost::context::fiber thread_main(boost::context::fiber&& from) {
    scheduler = std::move(from);
    for (;;) {
        kernel(kernel_argument);
        finish_copies(threads[current_thread], UINT_MAX);
        const unsigned self = current_thread, first = self / 32 * 32;
        threads[self].state = State::returned;
        for (unsigned t = first; t < std::min(first + 32, thread_count);
             ++t)  // a lane may have waited for this one only
            if (threads[t].state == State::at_warp && complete_warp(t)) break;
        suspend();
    }
}

void run_ready_threads(const std::vector<unsigned>& sequence) {
    for (bool any = true; any && !failed;) {
        any = false;
        for (unsigned t : sequence) {
            if (threads[t].state != State::ready) continue;
            any = true;
            current_thread = t;
            builtins.thread = threads[t].index;
            trace::resume();
            threads[t].fiber = std::move(threads[t].fiber).resume();
            trace::pause();
            if (failed) return;
        }
    }
}

// No thread can go on. Either all of them wait at one barrier (true: another interval follows), or all have returned, or the
// kernel is wrong.
bool pass_barrier() {
    const auto with = [](State s) {
        return std::find_if(threads.begin(), threads.begin() + thread_count,
                            [s](const Thread& t) { return t.state == s; });
    };
    const auto end = threads.begin() + thread_count;
    const auto name = [](std::vector<Thread>::iterator t) {
        return "thread " + index_name(t->index, launch_block);
    };
    const auto stuck = with(State::at_warp), waiting = with(State::at_barrier),
               returned = with(State::returned);
    if (stuck != end) {
        fail("warp divergence: " + name(stuck) + " of " + block_name() + " waits at " +
             site_name(*stuck) + " for lanes of its warp that never come there");
        return false;
    }
    if (waiting == end) return false;
    const auto waits = [&](const Thread& t, bool here) {
        return t.state == State::at_barrier && same_site(t, *waiting) == here;
    };
    const auto elsewhere =
        std::find_if(waiting, end, [&](const Thread& t) { return waits(t, false); });
    if (returned != end || elsewhere != end) {
        const auto there =
            std::count_if(waiting, end, [&](const Thread& t) { return waits(t, true); });
        fail("barrier divergence: " + std::to_string(there) + " of the " +
             std::to_string(thread_count) + " threads of " + block_name() + " wait at " +
             site_name(*waiting) + ", " + name(waiting) + " among them, but " +
             (returned != end ? name(returned) + " has returned"
                              : name(elsewhere) + " waits at " + site_name(*elsewhere)));
        return false;
    }
    for (auto t = threads.begin(); t != end; ++t) t->state = State::ready;
    ++totals.barriers;
    return true;
}

void run_block(std::vector<unsigned>& sequence) {
    for (unsigned t = 0; t < thread_count; ++t) threads[t].state = State::ready;
    std::fill(std::begin(warp_epoch), std::end(warp_epoch), 0);
    trace::begin_block();
    do {
        if (order == Order::random) std::shuffle(sequence.begin(), sequence.end(), random_engine);
        run_ready_threads(sequence);
        trace::end_interval();
    } while (!failed && pass_barrier());
    ++totals.blocks;
    totals.threads += thread_count;
}

cudaError_t check_launch(dim3 grid, dim3 block, size_t dynamic_shared_bytes) {
    const uint64_t threads = uint64_t(block.x) * block.y * block.z;
    const bool grid_fits =
        grid.x && grid.y && grid.z && grid.x <= 0x7fffffff && grid.y <= 65535 && grid.z <= 65535;
    const bool block_fits = threads > 0 && threads <= kMaxThreads && block.x <= 1024 &&
                            block.y <= 1024 && block.z <= 64;
    if (!grid_fits || !block_fits) return cudaErrorInvalidConfiguration;
    if (dynamic_shared_bytes > allowed_dynamic_shared) return cudaErrorInvalidValue;
    return cudaSuccess;
}

// Exactly so many bytes, so that AddressSanitizer sees an access past their end.
void* allocate_aligned(size_t alignment, size_t bytes) {
    void* p = nullptr;
    return posix_memalign(&p, alignment, bytes) == 0 ? p : nullptr;
}

}  // namespace

void launch(dim3 grid, dim3 block, size_t dynamic_shared_bytes, void (*thread)(void*),
            void* argument) {
    if (running)
        return fail("a kernel launches a kernel: the emulator cannot run dynamic parallelism");
    if (const cudaError_t error = check_launch(grid, block, dynamic_shared_bytes)) {
        last_error = error;
        return;
    }
    launch_grid = grid;
    launch_block = block;
    thread_count = block.x * block.y * block.z;
    kernel = thread;
    kernel_argument = argument;
    builtins.grid_dim = grid;
    builtins.block_dim = block;
    builtins.dynamic_shared =
        dynamic_shared_bytes ? allocate_aligned(128, dynamic_shared_bytes) : nullptr;

    if (threads.size() < thread_count) threads.resize(thread_count);
    std::vector<unsigned> sequence(thread_count);
    std::iota(sequence.begin(), sequence.end(), 0);
    if (order == Order::reverse) std::reverse(sequence.begin(), sequence.end());
    for (unsigned t = 0; t < thread_count; ++t) {
        threads[t].index = unflatten(t, block);
        threads[t].copies.clear();  // a launch that failed may have left some
        if (!threads[t].fiber)
            threads[t].fiber =
                boost::context::fiber(std::allocator_arg, Stack(kStackBytes), thread_main);
    }

    running = true;
    failed = false;
    trace::begin_launch(dynamic_shared_bytes);
    const uint64_t blocks = uint64_t(grid.x) * grid.y * grid.z;
    std::vector<uint32_t> shuffled;
    if (order == Order::random) {
        shuffled.resize(blocks);
        std::iota(shuffled.begin(), shuffled.end(), 0);
        std::shuffle(shuffled.begin(), shuffled.end(), random_engine);
    }
    for (uint64_t b = 0; b < blocks && !failed; ++b) {
        if (ends_only && b != 0 && b != blocks - 1) continue;
        builtins.block = unflatten(order == Order::random    ? shuffled[b]
                                   : order == Order::reverse ? blocks - 1 - b
                                                             : b,
                                   grid);
        if (dynamic_shared_bytes) std::memset(builtins.dynamic_shared, 0xff, dynamic_shared_bytes);
        run_block(sequence);
    }
    trace::end_launch();
    running = false;
    std::free(builtins.dynamic_shared);

    if (failed) {
        last_error = cudaErrorLaunchFailure;
        // Threads that are stuck in the kernel are given up with their stacks: unwinding would run the kernel's code again.
        for (unsigned t = 0; t < thread_count; ++t)
            if (threads[t].state != State::returned)
                new boost::context::fiber(std::move(threads[t].fiber));
    }
}

void barrier(const char* file, int line) {
    Thread& self = threads[current_thread];
    self.state = State::at_barrier;
    self.file = file;
    self.line = line;
    suspend();
}

void give_way() { suspend(); }

int lane() { return current_thread % 32; }

uint64_t exchange(unsigned mask, uint64_t value, int source, const char* file, int line) {
    Thread& self = threads[current_thread];
    self.file = file;
    self.line = line;
    self.mask = mask;
    self.value = value;
    self.source = source;
    self.operation = nullptr;
    if (!(mask >> lane() & 1))
        fail("the mask at " + site_name(self) + " lacks the lane that calls it, thread " +
             index_name(self.index, launch_block));
    self.state = State::at_warp;
    if (!complete_warp(current_thread)) suspend();
    return self.received;
}

void collective(void (*operation)(const WarpCall&), const void* arguments, const char* file,
                int line) {
    Thread& self = threads[current_thread];
    self.file = file;
    self.line = line;
    self.mask = ~0u;
    self.operation = operation;
    self.arguments = arguments;
    self.state = State::at_warp;
    if (!complete_warp(current_thread, __builtin_return_address(0))) suspend();
}

void misuse(const std::string& what, const char* file, int line) {
    fail(what + " at " + short_path(file) + ":" + std::to_string(line) + " (" + block_name() +
         ", thread " + index_name(threads[current_thread].index, launch_block) + ")");
}

void* async_copy(void* to, const void* from, size_t size, size_t zfill, const void* pc,
                 const char* file, int line) {
    if ((size != 4 && size != 8 && size != 16) || zfill > size)
        misuse("__pipeline_memcpy_async copies 4, 8 or 16 bytes, not " + std::to_string(size) +
                   " less " + std::to_string(zfill),
               file, line);
    if (reinterpret_cast<uintptr_t>(to) % size || reinterpret_cast<uintptr_t>(from) % size)
        misuse("__pipeline_memcpy_async: an address is not aligned to the " + std::to_string(size) +
                   " bytes",
               file, line);
    // How many wavefronts the store takes depends on when the data arrive, so it is not counted; see README.md.
    if (zfill < size && trace::access(current_thread, from, int(size - zfill), false, pc, true,
                                      size == 16 ? to : nullptr))
        give_way();
    trace::access(current_thread, to, int(size), true, pc, false);
    Thread& self = threads[current_thread];
    self.copies.push_back({to, size, self.batches, pc, {}});
    return self.copies.back().bytes;
}

void commit_copies() { ++threads[current_thread].batches; }

void wait_for_copies(size_t but_last) {
    Thread& self = threads[current_thread];
    if (self.batches > but_last) finish_copies(self, self.batches - unsigned(but_last));
}

int architecture() { return fragment_architecture; }

void set_architecture(int sm) {
    if (sm != 70 && sm != 75 && sm < 80)
        throw std::invalid_argument("set_architecture: 70, 75 or 80, not " + std::to_string(sm));
    fragment_architecture = std::min(sm, 80);
}

void set_order(Order new_order, unsigned seed) {
    order = new_order;
    random_engine.seed(seed);
}

void run_ends_only(bool only) { ends_only = only; }

std::string short_path(const std::string& path) {
    const size_t name = path.rfind('/');
    const size_t folder =
        name == std::string::npos || name == 0 ? std::string::npos : path.rfind('/', name - 1);
    return folder == std::string::npos ? path : path.substr(folder + 1);
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

// ---- The runtime API --------------------------------------------------------------------------------------------------------

std::vector<Allocation> allocations;

std::vector<Allocation>::iterator allocation_after(uintptr_t address) {
    return std::upper_bound(allocations.begin(), allocations.end(), address,
                            [](uintptr_t a, const Allocation& x) { return a < x.begin; });
}

Allocation* find_allocation(uintptr_t address) {
    const auto after = allocation_after(address);
    return after != allocations.begin() && address < after[-1].end ? &after[-1] : nullptr;
}

cudaError_t allow_dynamic_shared(int bytes) {
    if (bytes < 0 || size_t(bytes) > kMaxDynamicShared) return last_error = cudaErrorInvalidValue;
    allowed_dynamic_shared = std::max(kDefaultDynamicShared, size_t(bytes));
    return cudaSuccess;
}

namespace {

size_t memory_limit() {
    return size_t(sysconf(_SC_PHYS_PAGES)) * size_t(sysconf(_SC_PAGE_SIZE)) / 2;
}  // leave the machine usable

bool on_device(const void* pointer, size_t bytes) {
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    const Allocation* a = find_allocation(address);
    return a && bytes <= a->end - address;
}

// A failed kernel is only seen when the host next waits for the device; asking for the error forgets it (a GPU's process would
// have to end, but a test goes on).
cudaError_t launch_error() {
    return last_error == cudaErrorLaunchFailure ? last_error : cudaSuccess;
}

struct Description {
    cudaError_t error;
    const char *name, *text;
};
const Description& describe(cudaError_t error) {
    static const Description all[] = {
        {cudaSuccess, "cudaSuccess", "no error"},
        {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
        {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
        {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
         "invalid configuration argument"},
        {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
        {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
        {cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice",
         "no kernel image is available for execution on the device"},
        {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    };
    static const Description unknown = {cudaError_t(999), "cudaErrorUnknown", "unknown error"};
    const auto found = std::find_if(std::begin(all), std::end(all),
                                    [&](const Description& d) { return d.error == error; });
    return found != std::end(all) ? *found : unknown;
}

}  // namespace
}  // namespace emulator

using namespace emulator;

const char* cudaGetErrorName(cudaError_t error) { return describe(error).name; }
const char* cudaGetErrorString(cudaError_t error) { return describe(error).text; }
cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return last_error; }
cudaError_t cudaDeviceSynchronize() { return launch_error(); }
cudaError_t cudaGetDeviceCount(int* count) { return *count = 1, cudaSuccess; }
cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
cudaError_t cudaSetDevice(int device) {
    return device == 0 ? cudaSuccess : last_error = cudaErrorInvalidDevice;
}

cudaError_t cudaDeviceReset() {
    while (!allocations.empty()) cudaFree(reinterpret_cast<void*>(allocations.back().begin));
    last_error = cudaSuccess;
    allowed_dynamic_shared = kDefaultDynamicShared;
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
    *total = memory_limit();
    *free = *total - std::min(*total, allocated_bytes);
    return cudaSuccess;
}

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
    *pointer = nullptr;
    if (bytes == 0) return cudaSuccess;
    if (bytes > memory_limit() || allocated_bytes + bytes > memory_limit())
        return last_error = cudaErrorMemoryAllocation;
    if (bytes >> 20 && host_bytes(double(bytes)) > available_memory())
        return last_error = cudaErrorMemoryAllocation;
    void* p = allocate_aligned(256, bytes);
    if (!p) return last_error = cudaErrorMemoryAllocation;
    std::memset(p, 0xff, bytes);
    const auto begin = reinterpret_cast<uintptr_t>(p);
    allocations.insert(allocation_after(begin), {begin, begin + bytes, nullptr});
    allocated_bytes += bytes;
    *pointer = p;
    return cudaSuccess;
}

cudaError_t cudaFree(void* pointer) {
    if (!pointer) return cudaSuccess;
    Allocation* a = find_allocation(reinterpret_cast<uintptr_t>(pointer));
    if (!a || a->begin != reinterpret_cast<uintptr_t>(pointer))
        return last_error = cudaErrorInvalidValue;
    allocated_bytes -= a->end - a->begin;
    trace::forget(*a);
    allocations.erase(allocations.begin() + (a - allocations.data()));
    std::free(pointer);
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    if (const cudaError_t error = launch_error()) return error;
    if (bytes == 0) return cudaSuccess;
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if ((to_device && !on_device(to, bytes)) || (from_device && !on_device(from, bytes)))
        return last_error = cudaErrorInvalidValue;
    std::memmove(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemset(void* to, int value, size_t bytes) {
    if (const cudaError_t error = launch_error()) return error;
    if (bytes == 0) return cudaSuccess;
    if (!on_device(to, bytes)) return last_error = cudaErrorInvalidValue;
    std::memset(to, value, bytes);
    return cudaSuccess;
}

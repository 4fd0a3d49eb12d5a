// The launch that runs, and its threads.
#pragma once

#include <string>
#include <vector>

#include "emulator/emulator.h"
#include "emulator/include/warp_calls.h"
#include "emulator/trace/sites.h"
#include "emulator/trace/tracing.h"

namespace emulator {

constexpr unsigned kMaxBlockThreads = 1024;
constexpr unsigned kMaxRanks = 8;  // blocks of a cluster

// waiting: on an object, such as an mbarrier.
enum class State { ready, at_barrier, at_warp, waiting, returned };

struct Call {  // where a thread waits
    const char* file = nullptr;
    int line = 0, number = 0;  // number: distinguishes barriers on one line
};

struct Thread {
    State state = State::returned;
    uint3 index{};
    bool in_kernel = false;  // false while it still copies the kernel's arguments
    Call site;
    Call returned_at;  // its return statement; no file: the end of the kernel, or none yet
    // While it is waiting: the object, and a function that describes it in words that follow the
    // place: ", for the cluster".
    const void* waits_for = nullptr;
    std::string (*why)(const void* object) = nullptr;
    const void* asm_pc = nullptr;  // of the asm statement that it executes, or null
    // In a warp operation: its name, the lanes it waits for, the value it passes, the lane it
    // reads, and the value it receives.
    const char* name = nullptr;
    unsigned mask = 0;
    uint64_t value = 0;
    int source = 0;
    uint64_t received = 0;
    // In a collective: the operation and this lane's arguments. Null in a shuffle.
    void (*operation)(const WarpCall&) = nullptr;
    const void* arguments = nullptr;

    bool waits(const void* object) const { return state == State::waiting && waits_for == object; }
};

// Created when first needed and reused by all later blocks and launches.
extern std::vector<Thread>& threads;
extern unsigned current_thread;  // the running thread's linear number
// Counts progress, of which an infinite loop makes none. There is progress when a thread ends and,
// traced, when the block accesses device memory that it has not accessed before. Untraced launches
// do not see accesses: there every arrival at a barrier or the like counts.
extern volatile uint64_t progress_made;
inline void note_arrival() {
    if (!traced) ++progress_made;
}

// A static array of a cluster's kernel, which each block has `offset` bytes after the beginning of
// its dynamic memory.
struct OwnArray {
    const void* variable;
    size_t offset, bytes;
};

struct Hooks;
constexpr cudaError_t kEndedEarly = cudaErrorLaunchTimeout;  // of a launch: by end_early()
struct Run {  // the launch that runs
    uint32_t number = 0;  // of the launch in this program, from 1 up
    dim3 grid, block, cluster;
    unsigned ranks = 1;  // blocks that run together: those of a cluster
    unsigned block_threads = 0, threads = 0;  // of a block; of all that run together
    uint3 first_block{};  // of the cluster that runs
    bool first_or_last = false;  // whether it is the launch's first or last
    bool restart = false;  // as a cluster's launch
    bool cooperative = false;  // by cudaLaunchCooperativeKernel()
    size_t shared_bytes = 0;  // dynamic shared memory of a block
    void* shared = nullptr;  // of the blocks that run together, shared_stride bytes apart
    size_t shared_stride = 0;
    std::vector<OwnArray> own_arrays{};
    size_t shared_alignment = 0;  // as the kernel declares it; 0: no declaration was reached
    const void* kernel = nullptr;  // its address, where that is known
    const char* name = nullptr;  // as the launch has it
    Call launched;  // where the launch is
    void (*thread)(void*) = nullptr;  // runs the kernel as one thread
    void* argument = nullptr;
    bool running = false;
    bool bounded = false;  // by __launch_bounds__
    const Hooks* hooks = nullptr;
    uint64_t until_time_check = 0;  // traced accesses before hooks->check_time(); 0: never
    uint64_t accesses_left = 0;  // before end_early(); 0: never
    cudaError_t error = cudaSuccess;
};
extern Run run;
// Whether these bytes of a block's shared memory, from its dynamic memory on, are one array's.
inline bool in_shared_memory(size_t offset, size_t bytes) {
    if (offset + bytes <= run.shared_bytes) return true;
    for (const OwnArray& array : run.own_arrays)
        if (array.offset <= offset && offset + bytes <= array.offset + array.bytes) return true;
    return false;
}
inline unsigned rank_of(unsigned thread) { return thread / run.block_threads; }

}  // namespace emulator

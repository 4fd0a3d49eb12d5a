// Shared by scheduler.cpp and warps.cpp: the threads of the running block.
#pragma once

#include <boost/context/fiber.hpp>

#include "emulator/include/mma.h"
#include "emulator/internal.h"

namespace emulator {

enum class State {
    ready,
    at_barrier,
    at_named,
    at_cluster,
    at_wgmma,
    at_mbarrier,
    at_warp,
    returned
};

struct Mbarrier;  // see mbarriers.cpp
struct NamedBarrier;  // see named_barriers.cpp

struct Call {  // where a thread waits
    const char* file = nullptr;
    int line = 0, number = 0;  // number: tells barriers on one line apart
};

struct Thread {
    boost::context::fiber fiber;
    State state = State::returned;
    uint3 index{};
    bool in_kernel = false;  // false while it still copies the kernel's arguments
    Call site;
    // In a warp operation: its name, the lanes it waits for, the value it brings, the lane it
    // reads, and the value it receives.
    const char* name = nullptr;
    unsigned mask = 0;
    uint64_t value = 0;
    int source = 0;
    uint64_t received = 0;
    // In a collective: the operation and this lane's arguments. Null in a shuffle.
    void (*operation)(const WarpCall&) = nullptr;
    const void* arguments = nullptr;
    // Of a wait at an mbarrier: which, and the phase; null once the thread has gone on.
    Mbarrier* mbarrier = nullptr;
    uint32_t phase = 0;
    NamedBarrier* named = nullptr;
};

// Created when first needed and reused by all later blocks and launches.
extern std::vector<Thread>& threads;

constexpr unsigned kMaxRanks = 8;  // blocks of a cluster

struct Run {  // the launch that runs
    dim3 grid, block, cluster;
    unsigned ranks = 1;  // blocks that run together: those of a cluster
    unsigned block_threads = 0, threads = 0;  // of a block; of all that run together
    uint3 first_block{};  // of the cluster that runs
    bool restart = false;  // as a cluster's launch
    void* shared = nullptr;  // their dynamic shared memories, so far apart
    size_t shared_stride = 0;
    const void* kernel = nullptr;  // its address, where that is known
    void (*thread)(void*) = nullptr;  // runs it as one thread
    void* argument = nullptr;
    bool running = false;
    bool bounded = false;  // by __launch_bounds__
    cudaError_t error = cudaSuccess;
};
extern Run run;

void suspend();  // the running thread, until it is ready again
bool same_site(const Call& a, const Call& b);
std::string site_name(const Call& site);
std::string state_of(const NamedBarrier& barrier);  // how many have come
void block_barrier_in_cluster(const char* file, int line, int number);
unsigned rank_of(unsigned thread);
void restart_launch();  // with blocks that run together; does not come back
void check_leaving(unsigned thread);  // it has returned
// The running thread asks something of another block of its cluster: of what lies there where
// `pointer` points in its own.
void* in_rank(void* pointer, unsigned rank, const char* name, const char* file, int line);
bool complete_warp(unsigned thread, const void* pc = nullptr);

}  // namespace emulator

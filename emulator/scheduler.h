// Shared by scheduler.cpp and warps.cpp: the threads of the running block.
#pragma once

#include <boost/context/fiber.hpp>

#include "emulator/include/mma.h"
#include "emulator/internal.h"

namespace emulator {

enum class State { ready, at_barrier, at_warp, returned };

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
};

// Created when first needed and reused by all later blocks and launches.
extern std::vector<Thread>& threads;

struct Run {  // the launch that runs
    dim3 grid, block;
    unsigned threads = 0;  // of a block
    const void* kernel = nullptr;  // its address, where that is known
    void (*thread)(void*) = nullptr;  // runs it as one thread
    void* argument = nullptr;
    bool running = false;
    cudaError_t error = cudaSuccess;
};
extern Run run;

void suspend();  // the running thread, until it is ready again
bool same_site(const Call& a, const Call& b);
std::string site_name(const Call& site);
bool complete_warp(unsigned thread, const void* pc = nullptr);

}  // namespace emulator

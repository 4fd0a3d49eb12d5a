// Between runtime.cpp (threads, memory) and trace.cpp (what they access). Not for programs.
#pragma once

#include "emulator/emulator.h"
#include "emulator/include/cuda_runtime.h"

namespace emulator {

struct Cell;  // who touched a few bytes of memory last; see trace.cpp

struct Allocation {
    uintptr_t begin, end;
    Cell* cells;  // null until a traced kernel touches it
};
extern std::vector<Allocation> allocations;  // live cudaMalloc ranges, by address
Allocation* find_allocation(uintptr_t address);

extern Counts totals;  // barriers, blocks, threads; the rest is filled in by counts()
void report_problem(const std::string& problem);  // keeps it for counts()
std::string short_path(const std::string& path);  // the last folder and the name
std::string index_name(uint3 index, dim3 extent);  // "5", "(5,1)" or "(5,1,0)", as the shape needs
uint3 unflatten(uint64_t number, dim3 extent);  // from a linear number, x fastest

// The running thread, by its linear number in the block, and how many warp-wide synchronisations its warp has passed.
extern unsigned current_thread;
extern unsigned warp_epoch[32];
void give_way();  // called by the running thread: the others of its block run first

namespace trace {
void begin_launch(size_t dynamic_shared_bytes);
void begin_block();
void end_interval();  // every thread of the block is at the barrier, or has returned
void end_launch();
void forget(Allocation& allocation);
void resume();  // kernel code runs from here ...
void pause();  // ... to here

// A thread accesses up to 16 bytes by the instruction at `pc`, which is not compiled code but the emulator's. counted: as a request
// of its warp; it is looked at for races in any case. copied_to: where in shared memory a load that bypasses L1 goes. True if the
// thread should give way.
bool access(unsigned thread, const void* address, int bytes, bool store, const void* pc,
            bool counted = true, const void* copied_to = nullptr);
}  // namespace trace

}  // namespace emulator

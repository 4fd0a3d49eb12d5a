// The program's instructions that access memory, and the counts of each.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace emulator {

constexpr unsigned kMaxThreads = 4096;  // of a cluster: eight blocks of 512

namespace trace {
enum Kind { kRead, kWrite, kAtomic };
}

struct Request {  // one instruction, executed by the lanes of a warp together
    uint32_t active = 0;
    int width = 0;  // the widest of any lane
    int bytes = 0;  // the sum over all lanes
    uint64_t address[32];
    Request() {}  // leaves the addresses unset, because there are millions of requests
};

// The loads of one instruction from one of the two memories, or its stores. Atomics are stores.
struct Site {
    uint16_t number;  // from 1 up
    uintptr_t pc;
    bool global, store;
    int width = 0;  // the widest; they differ only where a whole struct is copied
    uint64_t bytes = 0, requests = 0, cost = 0, ideal = 0;
    uintptr_t address = 0;  // of its last access
    // Since the last barrier: how often each thread has executed it (times), how many requests of
    // each warp are already counted (finished), and those that are not (pending). The lanes'
    // i-th executions count as one request, as on a GPU where the warp does not diverge.
    bool touched = false;
    uint32_t times[kMaxThreads] = {};
    uint32_t finished[kMaxThreads / 32] = {};
    std::vector<Request> pending[kMaxThreads / 32];
    std::string where;  // its source line, once find_lines_of_sites() has looked it up
    std::vector<std::string> inlined_at;  // the line of the call, and of that one's call
};

Site& find_site(uintptr_t pc, bool global, bool store);
std::deque<Site>& all_sites();
Site& site_of(uint16_t number);
void find_lines_of_sites();  // of those without a line yet

}  // namespace emulator

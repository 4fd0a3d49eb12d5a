// Pointer chases: each load gives one thread the address of the next, in an order that no
// prefetcher can predict.
#pragma once

#include <cstdint>
#include <random>

#include "00_machine_limits/latency.cuh"
#include "00_machine_limits/lines.cuh"
#include "common/errors.h"

constexpr int kSharedWords = 4096;  // 16 KiB

// Run by one thread. L1 is empty at the start of every launch, so the kernel warms it up.
__global__ void chase(const Line* at, int warm_up, int steps, Timed<const Line*>* result) {
    for (int i = 0; i < warm_up; ++i) at = load_global(&at->next);
    const long long begin = clock64();
    for (int i = 0; i < steps; ++i) at = load_global(&at->next);
    const long long end = clock64();
    *result = {at, end - begin};
}

// The same pointer chase in shared memory, where `next` holds offsets in bytes.
__global__ void chase_shared(const uint32_t* next, int steps, Timed<uint32_t>* result) {
    __shared__ uint32_t shared[kSharedWords];
    for (int i = 0; i < kSharedWords; ++i) shared[i] = next[i];
    uint32_t at = 0;
    const long long begin = clock64();
    for (int i = 0; i < steps; ++i)
        at = *reinterpret_cast<const uint32_t*>(reinterpret_cast<const char*>(shared) + at);
    const long long end = clock64();
    *result = {at, end - begin};
}

// Returns a random order of `count` elements that is one cycle, made by Sattolo's algorithm.
std::vector<uint32_t> random_cycle(uint32_t count) {
    std::vector<uint32_t> next(count);
    for (uint32_t i = 0; i < count; ++i) next[i] = i;
    std::mt19937 random(count);
    for (uint32_t i = count - 1; i > 0; --i) std::swap(next[i], next[random() % i]);
    return next;
}

// Returns the elements in the order in which they are visited from 0 on. Throws Failure unless each
// is visited once.
std::vector<uint32_t> visits(const std::vector<uint32_t>& next) {
    std::vector<uint32_t> visited;
    visited.reserve(next.size());
    uint32_t at = 0;
    do {
        visited.push_back(at);
        at = next.at(at);
    } while (at != 0 && visited.size() < next.size());
    if (at != 0 || visited.size() != next.size())
        throw Failure(
            kWrongResult,
            format("the random order is not a single cycle: from element 0 it visits %zu of %zu",
                   visited.size(), next.size()));
    return visited;
}

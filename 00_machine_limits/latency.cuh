// The kernels of latency.cu that time themselves by clock64(), which are chains of instructions and
// reads from L1, and the function that launches such a kernel.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/checked_launch.h"
#include "common/device.h"
#include "common/gpu_timer.h"

// What a thread stores: its result, and the cycles that it measured.
template <class T>
struct Timed {
    T value;
    long long cycles;
};

// Launches, waits, and returns what each of `threads` threads stored. `global` and `shared` are the
// bytes loaded from device and from shared memory (see run_checked()). Throws Failure.
template <class T, class Launch>
std::vector<Timed<T>> run(const std::string& what, double global, double shared, int threads,
                          Launch launch) {
    DeviceArray<Timed<T>> results_device(threads);
    // As floats these bytes are NaN.
    check_cuda(cudaMemset(results_device.data(), 0xff, threads * sizeof(Timed<T>)), "cudaMemset");
    run_checked(what, {global, -1, shared}, [&] { launch(results_device.data()); });
    std::vector<Timed<T>> results;
    results_device.download(results);
    return results;
}

// The steps of a chain between two branches, over which the cost of a branch is spread.
constexpr int kUnrolled = 256;
constexpr int kThreads = 1024;  // 32 warps read L1: while some wait, others load
constexpr int kChunk = 32 * 1024;  // bytes that those read in a pass
static_assert(kChunk % (kThreads * sizeof(uint4)) == 0, "every thread reads whole elements");

// Run by one thread. The first run of the loop warms the instruction cache, and the second one is
// timed. Nothing is subtracted.
template <class Op, class T = typename Op::T>
__global__ void chain(const T* operands, int rounds, Timed<T>* result) {
    T x = operands[0], y{}, z{};
    if (Op::kOperands > 1) y = operands[1];
    if (Op::kOperands > 2) z = operands[2];
    long long cycles = 0;
#pragma unroll 1
    for (int time = 0; time < 2; ++time) {
        const long long begin = clock64();
#pragma unroll 1
        for (int round = 0; round < rounds; ++round) {
#pragma unroll
            for (int step = 0; step < kUnrolled; ++step) Op::step(x, y, z, step);
        }
        cycles = clock64() - begin;
    }
    *result = Timed<T>{x, cycles};  // nvcc 12.0 warns that cycles is unused if the type is left out
}

__device__ uint32_t sum_of(uint32_t x) { return x; }
__device__ uint32_t sum_of(const uint4& v) { return v.x + v.y + v.z + v.w; }

// Run by one block on one SM. `from` holds two chunks, of which each pass reads one. `chunk` is the
// number of elements of a chunk, `mask` that of both less 1. These are constants, but they come
// with the launch, because otherwise the compiler would load once and keep the values in registers.
template <class Load>
__global__ void read_l1(const Load* from, int chunk, int mask, int passes,
                        Timed<uint32_t>* results) {
    uint32_t sum = 0;
    int at = threadIdx.x;
    const auto read = [&](int count) {
#pragma unroll 4
        for (int pass = 0; pass < count; ++pass, at = (at + chunk) & mask)
#pragma unroll
            for (int i = 0; i < kChunk / int(sizeof(Load)) / kThreads; ++i)
                sum += sum_of(from[at + i * kThreads]);
    };
    read(2);  // brings both chunks to L1
    __syncthreads();
    const long long begin = clock64();
    read(passes);
    __syncthreads();  // the slowest warp counts
    results[threadIdx.x] = {sum, clock64() - begin};
}

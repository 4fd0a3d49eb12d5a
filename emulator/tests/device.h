// What the tests of emulated kernels share.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <string>
#include <vector>

#include "emulator/emulator.h"

using emulator::Order;

// Device memory with n elements, freed at the end of the scope.
template <class T>
struct Device {
    T* data = nullptr;
    size_t n;
    explicit Device(size_t n) : n(n) { EXPECT_EQ(cudaMalloc(&data, n * sizeof(T)), cudaSuccess); }
    Device(size_t n, T value) : Device(std::vector<T>(n, value)) {}
    explicit Device(const std::vector<T>& from) : Device(from.size()) {
        EXPECT_EQ(cudaMemcpy(data, from.data(), n * sizeof(T), cudaMemcpyHostToDevice),
                  cudaSuccess);
    }
    Device(const Device&) = delete;
    ~Device() { cudaFree(data); }
    std::vector<T> host() const {
        std::vector<T> to(n);
        EXPECT_EQ(cudaMemcpy(to.data(), data, n * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
        return to;
    }
};

// Every test starts and ends with nothing counted, forward order and no error.
class Base : public testing::Test {
protected:
    Device<int> ints{192};
    Device<float> floats{192};
    void SetUp() override { TearDown(); }
    void TearDown() override {
        emulator::set_order(Order::forward);
        emulator::set_architecture(80);
        emulator::reset_counts();
        cudaGetLastError();
    }
};

template <class Test>
void in_every_order(const Test& test) {
    for (const Order order : {Order::forward, Order::reverse, Order::random}) {
        SCOPED_TRACE(int(order));
        emulator::set_order(order);
        emulator::reset_counts();
        test();
    }
}

// Everything reported since the last reset, a line each.
inline std::string problem() {
    std::string all;
    for (const std::string& p : emulator::counts().problems) all += (all.empty() ? "" : "\n") + p;
    return all;
}

// In the text, @name becomes the place of the comment "// @name" (tests/trace_test.cu:40), ~name the same less the folder.
inline std::string located(std::string text, const std::string& path) {
    for (size_t i; (i = text.find_first_of("@~")) != text.npos;) {
        const size_t end = std::min(text.find_first_of(" ,:;\n", i), text.size()),
                     file = path.rfind('/');
        const std::string mark = "// @" + text.substr(i + 1, end - i - 1);
        std::ifstream source(path);
        int number = 1;
        for (std::string line; std::getline(source, line); ++number)
            if (line.size() >= mark.size() &&
                line.compare(line.size() - mark.size(), mark.size(), mark) == 0)
                break;
        const std::string name =
            path.substr((text[i] == '@' ? path.rfind('/', file - 1) : file) + 1);
        text.replace(i, end - i, name + ":" + std::to_string(number));
    }
    return text;
}

inline bool reported(const std::string& text, const char* file = __builtin_FILE()) {
    return problem().find(located(text, file)) != std::string::npos;
}

// Demands that this and nothing else was reported, then forgets it. "..." at the end stands for anything.
inline void expect_problem(std::string text, const char* file = __builtin_FILE(),
                           int line = __builtin_LINE()) {
    const testing::ScopedTrace trace(file, line, "");
    text = located(text, file);
    std::string all = problem();
    if (text.size() > 3 && text.compare(text.size() - 3, 3, "...") == 0)
        all = all.substr(0, text.size() - 3) + "...";
    EXPECT_EQ(all, text) << problem();
    emulator::reset_counts();
}
// And that it ended the launch, with this error.
inline void expect_error(cudaError_t error, const std::string& text,
                         const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    EXPECT_EQ(cudaGetLastError(), error) << line;
    expect_problem(text, file, line);
}
inline void expect_failure(const std::string& text, const char* file = __builtin_FILE(),
                           int line = __builtin_LINE()) {
    expect_error(cudaErrorLaunchFailure, text, file, line);
}

// Or that the thread waited at this place for lanes that went elsewhere.
inline void expect_lonely(const std::string& place, const std::string& thread = "0",
                          const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    expect_failure("warp divergence: thread " + thread + " of block 0 waits at " + place +
                       " for lanes of its warp that never come there",
                   file, line);
}

// Requests; sectors or wavefronts; the ideal number of wavefronts; bytes.
using Traffic = std::array<uint64_t, 4>;
#define TRAFFIC(name, kind, cost, ideal)                                    \
    inline Traffic name() {                                                 \
        const auto& c = emulator::counts();                                 \
        return {c.kind##_requests, c.kind##_##cost, ideal, c.kind##_bytes}; \
    }
TRAFFIC(global_loads, global_load, sectors, 0)
TRAFFIC(global_stores, global_store, sectors, 0)
TRAFFIC(shared_loads, shared_load, wavefronts, c.shared_load_ideal)
TRAFFIC(shared_stores, shared_store, wavefronts, c.shared_store_ideal)

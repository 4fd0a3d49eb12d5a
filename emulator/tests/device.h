// Shared by the tests of emulated kernels.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
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
        cudaMemcpy(data, from.data(), n * sizeof(T), cudaMemcpyHostToDevice);
    }
    Device(const Device&) = delete;
    ~Device() { cudaFree(data); }
    std::vector<T> host() const {
        std::vector<T> to(n);
        EXPECT_EQ(cudaMemcpy(to.data(), data, n * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
        return to;
    }
};

// Every test starts with nothing counted, forward order and no error, and with zeros in its arrays.
class Base : public testing::Test {
protected:
    Device<int> ints{192, 0};
    Device<float> floats{192, 0.0f};
    void SetUp() override;
};

template <class Test>
void in_every_order(const Test& test) {
    for (const Order order : {Order::forward, Order::reverse, Order::random}) {
        SCOPED_TRACE(int(order));
        emulator::set_order(order);
        emulator::reset_counts();
        test();
    }
    emulator::set_order(Order::forward);
}

// A comment at the end of a line names its place in the tests: with "// @name",
// "tests/races_test.cu:40" becomes "@name" in a report.
std::string named(const std::string& text);
std::string problem();  // everything reported since the last reset, a line each, with named places

// `said` has the parts that a report must contain, in this order, separated by "..": "race in
// shared..@a writes". A list holds alternatives. These functions require that nothing else was
// reported, and then reset the reports.
using Said = std::vector<std::string>;
#define HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()
void expect_problem(const Said& said, HERE);  // and that the launch did not fail
void expect_failure(const Said& said, cudaError_t error = cudaErrorLaunchFailure, HERE);
void expect_silence(HERE);
void expect_some(const Said& said, HERE);  // other problems may be reported, too
// Requires that every mistake that run(mistake) makes is reported in every order of threads.
template <class Mistake, size_t n, class Run>
void expect_each(const std::pair<Mistake, Said> (&all)[n], const Run& run, HERE) {
    for (const auto& [mistake, said] : all) {
        SCOPED_TRACE(said[0]);
        in_every_order([&, mistake = mistake, said = said] {
            run(mistake);
            expect_some(said, file, line);
        });
    }
}
// "@a writes" and "@b reads", in either order.
Said race(const std::string& memory, const std::string& one, const std::string& other);
// Requires that the launch has failed because a thread waits at this place for lanes that are
// elsewhere.
void expect_missing_lanes(const std::string& place, const std::string& thread = "0", HERE);

// Requests; sectors or wavefronts; the ideal number of wavefronts; bytes.
using Traffic = std::array<uint64_t, 4>;
Traffic global_loads(), global_stores(), shared_loads(), shared_stores();

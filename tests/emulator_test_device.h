// What the tests of the emulator's kernels share.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "emulator/emulator.h"

using emulator::Order;

namespace {

// Device memory with n elements, freed at the end of the scope.
template <class T>
struct Device {
    T* data = nullptr;
    size_t n;
    explicit Device(size_t n) : n(n) { EXPECT_EQ(cudaMalloc(&data, n * sizeof(T)), cudaSuccess); }
    Device(size_t n, T value) : Device(n) { upload(std::vector<T>(n, value)); }
    Device(const Device&) = delete;
    ~Device() { cudaFree(data); }
    void upload(const std::vector<T>& from) {
        EXPECT_EQ(cudaMemcpy(data, from.data(), n * sizeof(T), cudaMemcpyHostToDevice), cudaSuccess);
    }
    std::vector<T> host() const {
        std::vector<T> to(n);
        EXPECT_EQ(cudaMemcpy(to.data(), data, n * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
        return to;
    }
};

[[maybe_unused]] const std::vector<Order> kOrders = {Order::forward, Order::reverse, Order::random};

// Every test starts and ends with nothing counted, forward order and no error.
class Base : public testing::Test {
protected:
    void SetUp() override { TearDown(); }
    void TearDown() override {
        emulator::set_order(Order::forward);
        emulator::set_architecture(80);
        emulator::reset_counts();
        cudaGetLastError();
    }
};
// The only problem reported, or all of them in one text if there is not exactly one.
[[maybe_unused]] std::string problem() {
    std::string all;
    for (const std::string& p : emulator::counts().problems) all += (all.empty() ? "" : "\n") + p;
    return all;
}
[[maybe_unused]] bool starts_with(const std::string& text, const std::string& start) {
    return text.compare(0, start.size(), start) == 0;
}

}  // namespace

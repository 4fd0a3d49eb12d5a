// The fast path of tensor_core_multiply(), compiled here so that an int that overflows ends the test:
// the library is optimised as if none did.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "emulator/include/fragments.h"
#include "emulator/include/tensor_core.h"
#include "emulator/include/warp_calls.h"

namespace {

using namespace emulator;
using tensor_core::Type;

class TensorCore : public testing::TestWithParam<Type> {};

// Small exponents and large ones of both signs, zeros, and C from an addition before.
TEST_P(TensorCore, MatchesTheRules) {
    const auto rules = tensor_core::rules(architecture(), GetParam(), false);
    const int m = 4, n = 8, k = 2 * rules.products, top = rules.least_operand < -14 ? 40 : 3;
    std::mt19937 random(1);
    const auto numbers = [&](int count, int exponents) {
        std::vector<float> all(count);
        for (float& each : all) {
            const int significand = int(random() % 15) - 7;  // all types have three bits
            each = std::ldexp(float(significand), int(random() % (2 * exponents)) - exponents - 2);
        }
        return all;
    };
    for (const int exponents : {1, 3, top})
        for (int round = 0; round < 200; ++round) {
            const auto a = numbers(m * k, exponents), b = numbers(k * n, exponents),
                       c = numbers(m * n, exponents);
            std::vector<float> d = c, expected = c;
            tensor_core_multiply(GetParam(), nullptr, m, n, k, a.data(), k, 1, b.data(), n,
                                 d.data(), n);
            for (int i = 0; i < m * n; ++i)
                for (int first = 0; first < k; first += rules.products)
                    expected[i] = tensor_core::add(rules, rules.products, &a[i / n * k + first], 1,
                                                   &b[first * n + i % n], n, expected[i]);
            ASSERT_EQ(d, expected);
        }
}
INSTANTIATE_TEST_SUITE_P(Types, TensorCore,
                         testing::Values(Type::f16, Type::bf16, Type::tf32, Type::e4m3,
                                         Type::e5m2));

}  // namespace

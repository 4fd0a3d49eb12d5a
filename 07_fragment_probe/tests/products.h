// What wgmma computes, by formula. Source: PTX ISA, "Asynchronous Warpgroup Level Matrix
// Multiply-Accumulate Operation", its sections on fragments, on strides and on the matrix descriptor.
#pragma once

#include <random>
#include <vector>

// An operand in shared memory, as a descriptor describes it. All figures are bytes.
struct DescribedOperand {
    int start, swizzle, stride, leading;
    bool transposed = false;  // MN-major

    // Where the element in row r of A (column r of B) and at k lies.
    int at(int r, int k) const {
        const int line = transposed ? k : r, along = transposed ? r : k;
        if (swizzle == 0)
            return start + r / 8 * stride + k / 8 * leading + line % 8 * 16 + along % 8 * 2;
        const int half_row = swizzle / 2;  // elements
        const int place = start + line / 8 * stride + line % 8 * swizzle +
                          along / half_row * leading + along % half_row * 2;
        return place ^ place / 128 % (swizzle / 16) * 16;
    }
};

// Products of 64 x 16 by 16 x n elements, in shared memory that is full of small integers.
struct Products {
    static constexpr int kBytes = 40960;
    int n;
    DescribedOperand a, b;
    std::vector<int> shared;  // two bytes each
    std::vector<int> c;  // 64 x n

    Products(int n, const DescribedOperand& a, const DescribedOperand& b)
        : n(n), a(a), b(b), shared(kBytes / 2), c(64 * n) {
        std::mt19937 random;
        for (int& x : shared) x = int(random() % 17) - 8;
        for (int& x : c) x = int(random() % 201) - 100;
    }
    static int row(int thread, int i) { return thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8; }
    static int column(int thread, int i) { return i / 4 * 8 + thread % 4 * 2 + i % 2; }
    int a_element(int row, int k) const { return shared[a.at(row, k) / 2]; }
    int b_element(int k, int col) const { return shared[b.at(col, k) / 2]; }

    // A as a warpgroup holds it in registers, in the order of threads.
    std::vector<float> a_fragments() const {
        std::vector<float> elements;
        for (int thread = 0; thread < 128; ++thread)
            for (int i = 0; i < 8; ++i)
                elements.push_back(
                    float(a_element(row(thread, i), i / 4 * 8 + thread % 4 * 2 + i % 2)));
        return elements;
    }

    // The accumulators in the order of threads, before the product (C) or after it (D).
    std::vector<float> sums(bool multiplied) const {
        std::vector<float> sums;
        for (int thread = 0; thread < 128; ++thread)
            for (int i = 0; i < n / 2; ++i) {
                const int r = row(thread, i), col = column(thread, i);
                int sum = c[r * n + col];
                for (int k = 0; k < 16 && multiplied; ++k)
                    sum += a_element(r, k) * b_element(k, col);
                sums.push_back(float(sum));
            }
        return sums;
    }
};

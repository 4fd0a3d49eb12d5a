// What bulk tensor copies do, by formula: where each byte of a box is placed. Source: PTX ISA,
// "Tensor", its sections on out-of-boundary accesses and on swizzling modes.
#pragma once

#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

// A matrix of 50 x 70 elements, 80 from row to row, and boxes that begin inside, across each edge,
// outside or anywhere. Each two bytes of the matrix hold a different number.
struct Boxes {
    static constexpr int kMatrixRows = 50, kMatrixColumns = 70, kLeadingDimension = 80, kCount = 48;
    struct Start {
        int x, y;
    };

    bool store;
    int rows, columns, element, swizzle;  // bytes
    std::vector<Start> starts;
    std::vector<unsigned> matrix;

    Boxes(bool store, int rows, int columns, int element, int swizzle)
        : store(store), rows(rows), columns(columns), element(element), swizzle(swizzle),
          matrix(kMatrixRows * kLeadingDimension * element / 4) {
        std::mt19937 random;
        const auto some = [&](int length, int box) {
            const int special[] = {0,      -box / 2, length - box / 2, -box,
                                   length, 1 << 20,  -(1 << 20)};
            const unsigned i = random() % 14;
            return i < 7 ? special[i] : int(random() % unsigned(length + 2 * box)) - box;
        };
        while (starts.size() < kCount) {
            const int x = some(kMatrixColumns, columns) * element / 16 * 16 / element;
            const int y = some(kMatrixRows, rows);
            starts.push_back(store ? Start{std::abs(x), std::abs(y)} : Start{x, y});
        }
        for (unsigned i = 0; i < matrix.size(); ++i) matrix[i] = (2 * i + 1) | (2 * i + 2) << 16;
    }
    // In shared memory, where a row takes the whole width of a swizzle.
    int pitch() const { return swizzle ? swizzle : columns * element; }
    int bytes() const { return rows * pitch(); }

    // Where byte `at` of a box lies, from its beginning.
    int swizzled(int at) const { return swizzle ? at ^ at / 128 % (swizzle / 16) * 16 : at; }

    // Calls visit(the element's byte in shared memory, its byte in the matrix or -1 outside). A box
    // to store may not begin before the matrix, and is cut off after the 16 bytes that hold a row's
    // last element.
    template <class Visit>
    void each_element(const Start& start, Visit visit) const {
        const int in_16 = store ? 16 / element : 1;
        const int width = (kMatrixColumns + in_16 - 1) / in_16 * in_16;
        for (int row = 0; row < rows; ++row)
            for (int col = 0; col < columns; ++col) {
                const int x = start.x + col, y = start.y + row;
                const bool inside = x >= 0 && x < width && y >= 0 && y < kMatrixRows;
                visit(swizzled(row * pitch() + col * element),
                      inside ? (y * kLeadingDimension + x) * element : -1);
            }
    }

    // Boxes to store, as they lie in shared memory; and the matrix, full of ~0, after their stores.
    std::vector<unsigned> some_boxes() const {
        std::vector<unsigned> words(kCount * bytes() / 4);
        for (unsigned i = 0; i < words.size(); ++i) words[i] = i * 2654435761u;
        return words;
    }
    std::vector<unsigned> stored(const std::vector<unsigned>& boxes) const {
        std::vector<unsigned> words(matrix.size(), ~0u);
        for (int i = 0; i < kCount; ++i) {
            const char* const box = reinterpret_cast<const char*>(boxes.data()) + i * bytes();
            each_element(starts[i], [&](int from, int to) {
                if (to < 0) return;
                std::memcpy(reinterpret_cast<char*>(words.data()) + to, box + from, element);
            });
        }
        return words;
    }

    // All boxes, one after the other, as they lie in shared memory.
    std::vector<unsigned> loaded() const {
        std::vector<unsigned> words(kCount * bytes() / 4);
        for (int i = 0; i < kCount; ++i) {
            char* const box = reinterpret_cast<char*>(words.data()) + i * bytes();
            each_element(starts[i], [&](int to, int from) {
                if (from < 0) return;
                std::memcpy(box + to, reinterpret_cast<const char*>(matrix.data()) + from, element);
            });
        }
        return words;
    }
};

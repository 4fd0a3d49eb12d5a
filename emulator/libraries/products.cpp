// Products of matrices on the host: register blocking, as in chapter 02, with vectors of 16 bytes.

#include "emulator/libraries/products.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace emulator::blas {
namespace {

constexpr size_t kRows = 4, kVectors = 2;  // of a tile of R, which stays in registers

template <class T>
void product(size_t rows, size_t columns, size_t depth, const T* P, const T* Q, T* R) {
    typedef T Vector __attribute__((vector_size(16), may_alias));
    constexpr size_t kColumns = kVectors * sizeof(Vector) / sizeof(T);
    std::vector<T> panel(depth * kColumns);  // kColumns columns of Q
    const auto* const q = reinterpret_cast<const Vector*>(panel.data());
    for (size_t column = 0; column < columns; column += kColumns) {
        const size_t width = std::min(kColumns, columns - column);
        for (size_t k = 0; k < depth; ++k)
            std::memcpy(&panel[k * kColumns], &Q[k * columns + column], width * sizeof(T));
        for (size_t row = 0; row < rows; row += kRows) {
            const T* p[kRows];
            for (size_t r = 0; r < kRows; ++r) p[r] = P + std::min(row + r, rows - 1) * depth;
            Vector sums[kRows][kVectors] = {};
            for (size_t k = 0; k < depth; ++k)
                for (size_t r = 0; r < kRows; ++r)
                    for (size_t v = 0; v < kVectors; ++v)
                        sums[r][v] += p[r][k] * q[k * kVectors + v];
            for (size_t r = 0; r < std::min(kRows, rows - row); ++r)
                std::memcpy(&R[(row + r) * columns + column], sums[r], width * sizeof(T));
        }
    }
}

}  // namespace

void multiply(size_t rows, size_t columns, size_t depth, const float* P, const float* Q, float* R) {
    product(rows, columns, depth, P, Q, R);
}
void multiply(size_t rows, size_t columns, size_t depth, const double* P, const double* Q,
              double* R) {
    product(rows, columns, depth, P, Q, R);
}

}  // namespace emulator::blas

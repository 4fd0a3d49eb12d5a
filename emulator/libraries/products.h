// Products of matrices on the host, for the emulator's version of cuBLAS.
#pragma once

#include <cstddef>

namespace emulator::blas {

// R = P Q, all of them row-major and without gaps: P has rows x depth elements, Q depth x columns.
// Sums are in T, along the depth in ascending order.
void multiply(size_t rows, size_t columns, size_t depth, const float* P, const float* Q, float* R);
void multiply(size_t rows, size_t columns, size_t depth, const double* P, const double* Q,
              double* R);

}  // namespace emulator::blas

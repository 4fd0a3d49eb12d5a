// A program that passes row-major matrices to cuBLAS as if cuBLAS read such matrices: the only sign
// of it is that another result of the program is the product that was meant.
#pragma once

#include <string>

#include "emulator/include/cublas_v2.h"

namespace emulator::blas {

constexpr char kRowMajorAdvice[] =
    "cuBLAS matrices are column-major. For a row-major C = A B swap A and B, and m and n (C^T = B^T "
    "A^T), with CUBLAS_OP_N for both; the leading dimensions are then n (B), k (A) and n (C)";
constexpr char kExchangedAdvice[] =
    "cuBLAS matrices are column-major. B before A, and n before m, is right for a row-major C = A B; "
    "pass CUBLAS_OP_N for both, with the leading dimensions n (B), k (A) and n (C)";

// Looks at a product A B = D, with no batch and no C, that has been computed. Reports a note if what
// the program has copied to the host, or copies later, is the product of the same arrays as
// row-major matrices, and D is not.
// place: "cublasSgemm at mine.cu:31".
void compare_with_row_major(const Product& product, const void* A, const void* B, const void* D,
                            const std::string& place);

}  // namespace emulator::blas

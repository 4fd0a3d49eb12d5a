// A program that passes row-major matrices to cuBLAS as if it read such: the only sign of it is that
// another result of the program is the product which was meant.
#pragma once

#include <string>

#include "emulator/include/cublas_v2.h"

namespace emulator::blas {

// Looks at a product A B = D, with no batch and no C, that has been computed: a note if what the program has copied to the host, or
// copies later, is the product of the same arrays as row-major matrices, and D is not.
// place: "cublasSgemm at mine.cu:31".
void compare_with_row_major(const Product& product, const void* A, const void* B, const void* D,
                            const std::string& place);

}  // namespace emulator::blas

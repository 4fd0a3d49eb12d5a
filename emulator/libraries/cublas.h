// What cuBLAS and cuBLASLt share.
#pragma once

#include <string>

#include "emulator/include/cublas_v2.h"

namespace emulator::blas {

// Whether there are products of such types.
bool supported(const Product& product);
// Reports a call that fails, and returns the status.
cublasStatus_t refuse(const char* call, const char* file, int line, cublasStatus_t status,
                      const std::string& why);
bool is_handle(const void* handle);  // of cuBLAS
// Checks the product, and computes it in the stream. on_host: alpha and beta are the host's.
cublasStatus_t multiply(cudaStream_t stream, bool on_host, const Product& product, const char* file,
                        int line);

}  // namespace emulator::blas

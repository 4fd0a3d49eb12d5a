// What every stage includes, with the headers of C++ that stages use. A stage hands a launcher and
// facts to run_stage(), which does the rest.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "common/errors.h"
#include "common/facts.h"

// The number of tiles of `size` that cover `length`. length and size >= 1.
__host__ __device__ constexpr int ceil_div(int length, int size) { return (length - 1) / size + 1; }

// How many streaming multiprocessors (SMs) the GPU in use has.
inline int sm_count() {
    int device, count = 1;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
    return count;
}

// Lets a block of the kernel take `bytes` of dynamic shared memory. More than 48 KiB, which every
// GPU allows, needs this opt-in. Throws Failure(kNoGpu) if the GPU in use allows less.
template <class... Arguments>
void allow_shared_memory(void (*kernel)(Arguments...), int bytes) {
    const cudaError_t error =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    constexpr int kMax = 227 << 10;  // the most that any GPU allows
    if (error == cudaErrorInvalidValue && bytes <= kMax)
        throw Failure(kNoGpu,
                      format("a block takes %d KiB of dynamic shared memory, more than this "
                             "GPU allows",
                             (bytes + 1023) / 1024));
}

// The name of the configuration that a launcher must use (--config); empty: the fastest.
inline std::string only_config;

// Thrown by a launcher for a shape that only_config does not take.
struct NotTaken : Failure {
    NotTaken()
        : Failure(kBadCommandLine, "the configuration " + only_config + " takes no such shape") {}
};

// The configuration with the shortest predicted time, or only_config. time(config) is infinite if
// the configuration does not take the shape, and may be a std::array, whose second number decides
// where the first ones are equal. Throws NotTaken if no configuration takes the shape.
template <class Configs, class Time>
const auto& fastest(const Configs& configs, Time time) {
    auto best = std::end(configs);
    decltype(time(*best)) least = {std::numeric_limits<double>::infinity()};
    for (auto config = std::begin(configs); config != std::end(configs); ++config) {
        if (!only_config.empty() && only_config != config->name()) continue;
        const auto its = time(*config);
        if (its < least) {
            best = config;
            least = its;
        }
    }
    if (best == std::end(configs)) throw NotTaken();
    return *best;
}

// Runs a stage as the command line says: verifies, then times or counts. Returns the program's exit
// code (see errors.h). `source` names the stage: 05_double_buffer/matmul.cu is 05_double_buffer.
// A and B are of float or half, C is of float or, with halves, of half.
template <class In, class Out>
int run_stage(Launcher<In, Out> launch, const Facts& facts, int argc, char** argv,
              const char* source = __builtin_FILE());

// A stage's launch on operands in device memory, and its verification.
#pragma once

#include <cuda_runtime.h>

#include "common/device.h"
#include "common/operands.h"

// Flop per byte of the traffic that the stage asks for, with no cache in between. C is written once.
template <class In, class Out>
Intensity intensity_of(const StageOf<In, Out>& stage, Shape s) {
    const double M = s.M, N = s.N, K = s.K, flop = 2 * M * N * K;
    return {flop / (sizeof(In) * stage.loaded_elements(M, N, K) + sizeof(Out) * M * N),
            stage.shared_loaded_bytes ? flop / stage.shared_loaded_bytes(M, N, K) : 0};
}

template <class In, class Out>
using Operands = OperandsIn<DeviceArray<In>, DeviceArray<Out>>;

// Launches the stage on x once, and waits. Throws Failure.
template <class In, class Out>
void launch_once(const StageOf<In, Out>& stage, Operands<In, Out>& x) {
    stage.launch(x.shape.M, x.shape.N, x.shape.K, x.A_device.data(), x.B_device.data(),
                 x.C.device());
    check_cuda(cudaGetLastError(), "launching the kernel");
    check_cuda(cudaDeviceSynchronize(), "running the kernel");
}

// C must equal A * B on integers.
template <class In, class Out>
void verify_exact(const StageOf<In, Out>& stage, Operands<In, Out>& x, uint32_t seed) {
    verify_exact(x, stage.arithmetic, seed, [&] { launch_once(stage, x); });
}

// On reals: returns the largest error as a fraction of its bound.
template <class In, class Out>
double verify_accuracy(const StageOf<In, Out>& stage, Operands<In, Out>& x, uint32_t seed) {
    return verify_accuracy(x, stage.arithmetic, seed, [&] { launch_once(stage, x); });
}

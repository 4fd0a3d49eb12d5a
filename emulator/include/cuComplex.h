// CUDA's complex numbers.
#pragma once

#include "cuda_runtime.h"  // from this folder, wherever this file is included

using cuFloatComplex = float2;
using cuDoubleComplex = double2;
using cuComplex = cuFloatComplex;
// clang-format off
#define EMULATOR_COMPLEX(C, T, f, Name)                                                                                  \
    inline C make_##Name(T x, T y) { return C(x, y); }                                                                   \
    inline T cuCreal##f(C a) { return a.x; }                                                                             \
    inline T cuCimag##f(C a) { return a.y; }                                                                             \
    inline T cuCabs##f(C a) { return std::hypot(a.x, a.y); }                                                             \
    inline C cuConj##f(C a) { return C(a.x, -a.y); }                                                                     \
    inline C cuCadd##f(C a, C b) { return C(a.x + b.x, a.y + b.y); }                                                     \
    inline C cuCsub##f(C a, C b) { return C(a.x - b.x, a.y - b.y); }                                                     \
    inline C cuCmul##f(C a, C b) { return C(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }                             \
    inline C cuCdiv##f(C a, C b) {                                                                                       \
        const T norm = b.x * b.x + b.y * b.y;                                                                            \
        return C((a.x * b.x + a.y * b.y) / norm, (a.y * b.x - a.x * b.y) / norm);                                        \
    }                                                                                                                    \
    inline C cuCfma##f(C a, C b, C c) { return cuCadd##f(cuCmul##f(a, b), c); }
EMULATOR_COMPLEX(cuFloatComplex, float, f, cuFloatComplex)
EMULATOR_COMPLEX(cuDoubleComplex, double, , cuDoubleComplex)
// clang-format on
inline cuComplex make_cuComplex(float x, float y) { return cuComplex(x, y); }
inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex a) {
    return cuFloatComplex(float(a.x), float(a.y));
}
inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex a) {
    return cuDoubleComplex(a.x, a.y);
}

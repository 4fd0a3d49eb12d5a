// CUDA's FP8 types, for storage only: the emulator has neither their conversions nor their
// arithmetic.
#pragma once

#include "cuda_fp16.h"  // which CUDA's header includes, too

using __nv_fp8_storage_t = unsigned char;
struct __nv_fp8_e4m3 {
    __nv_fp8_storage_t __x;
};
struct __nv_fp8_e5m2 {
    __nv_fp8_storage_t __x;
};

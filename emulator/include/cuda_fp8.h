// The 8-bit floats of cuda_fp8.h as they lie in memory. Nothing converts them or computes with them.
#pragma once

#include "cuda_fp16.h"

using __nv_fp8_storage_t = unsigned char;
struct __nv_fp8_e4m3 {
    __nv_fp8_storage_t __x;
};
struct __nv_fp8_e5m2 {
    __nv_fp8_storage_t __x;
};

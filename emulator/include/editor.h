// Lets an editor's clang read a .cu file as CUDA. /.clangd includes it first; nothing else includes
// it.
//
// clang parses <<<>>> only in CUDA. There a kernel must really be __global__ and may call only
// device functions, so everything after the standard library counts as both host and device code.
#pragma once

#define __host__ __attribute__((host))  // for clang's own additions to <new> and <algorithm>
#define __device__ __attribute__((device))
#include <bits/stdc++.h>
#include <cxxabi.h>
__device__ int printf(const char* format, ...);
__device__ float fmaf(float a, float b, float c);
#undef __host__
#undef __device__

#pragma clang force_cuda_host_device begin
#include <cuda_runtime.h>
size_t __cvta_generic_to_shared(const void*), __cvta_generic_to_global(const void*);
int cudaConfigureCall(dim3 grid, dim3 block, size_t shared_bytes = 0,
                      cudaStream_t stream = nullptr);  // called by <<<>>>
#undef __global__
#define __global__ __attribute__((global))
#undef __shared__
#define __shared__  // clang takes neither `__shared__ alignas(16)` nor `extern static`

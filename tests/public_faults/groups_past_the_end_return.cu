// Whole groups of the last block have no data and return before the barriers: a deadlock on AMD. On NVIDIA, too?
// Seen: harmless
// Cause: no error on sm_70 and later: a barrier counts the threads that have not exited. Without the return it is portable.
// Source: https://github.com/pytorch/FBGEMM/pull/5857
#include <cstdio>
constexpr int kGroup = 32, kGroups = 8;
__global__ void shared_exponents(const float* in, unsigned char* out, int n) {
    extern __shared__ int exponents[];
    int* const own = exponents + threadIdx.y * kGroup;
    const int i = (blockIdx.x * kGroups + threadIdx.y) * kGroup + threadIdx.x;
    const bool active = i < n;
#ifndef FIXED
    if (!active) return;
#endif
    own[threadIdx.x] = active ? (__float_as_int(in[i]) >> 23) & 255 : 0;
    __syncthreads();
    for (int half = kGroup / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) own[threadIdx.x] = max(own[threadIdx.x], own[threadIdx.x + half]);
        __syncthreads();
    }
    if (active && threadIdx.x == 0) out[i / kGroup] = static_cast<unsigned char>(own[0]);
}
int main() {
    const int n = 10 * kGroup;
    float h[n], *in;
    unsigned char result[n / kGroup], *out;
    for (int i = 0; i < n; ++i) h[i] = i % kGroup == 5 ? 8.0f : 1.0f;
    cudaMalloc(&in, sizeof h), cudaMalloc(&out, sizeof result);
    cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
    const dim3 block(kGroup, kGroups);
    shared_exponents<<<2, block, kGroup * kGroups * sizeof(int)>>>(in, out, n);
    cudaMemcpy(result, out, sizeof result, cudaMemcpyDeviceToHost);
    cudaFree(in), cudaFree(out);
    printf("%d %d\n", result[0], result[9]);
    return result[0] != 130 || result[9] != 130;
}

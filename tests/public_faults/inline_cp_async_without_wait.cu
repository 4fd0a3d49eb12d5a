// The barrier comes right after cp.async and its commit, and the tile holds old values now and then.
// Seen: cp_async
// Cause: a barrier does not wait for asynchronous copies; cp.async.wait_group has to precede it.
// Source: https://github.com/xlite-dev/LeetCUDA/pull/75
// Says: has not written yet
// Says: no wait follows the copy
#include <cstdint>
#include <cstdio>
#define CP_ASYNC(to, from, bytes) \
    asm volatile("cp.async.cg.shared.global [%0], [%1], %2;\n" ::"r"(to), "l"(from), "n"(bytes))
__global__ void reversed(const float* in, float* out) {
    __shared__ __align__(16) float s[128];
    const uint32_t to = (uint32_t)__cvta_generic_to_shared(&s[threadIdx.x * 4]);
    CP_ASYNC(to, in + threadIdx.x * 4, 16);  // <- here
    asm volatile("cp.async.commit_group;\n" ::);
#ifdef FIXED
    asm volatile("cp.async.wait_group 0;\n" ::: "memory");
#endif
    __syncthreads();
    for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = s[127 - threadIdx.x * 4 - i];  // <- here
}
int main() {
    float h[128], *a, *b;
    for (int i = 0; i < 128; ++i) h[i] = i;
    cudaMalloc(&a, 512), cudaMalloc(&b, 512);
    cudaMemcpy(a, h, 512, cudaMemcpyHostToDevice);
    reversed<<<1, 32>>>(a, b);
    cudaMemcpy(h, b, 512, cudaMemcpyDeviceToHost);
    std::printf("%g\n", h[0]);
    cudaFree(a), cudaFree(b);
}

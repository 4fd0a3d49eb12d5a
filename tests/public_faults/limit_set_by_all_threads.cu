// Every thread of the block sets the shared variable that its loop counts down: may they, or must one thread do it?
// Seen: harmless
// Cause: no error: all of them store the same value, and a barrier follows before anyone reads it.
// Source: https://github.com/ROCm/hip/issues/2298
// Hint: as both store the same value, their order does not matter
#include <cstdio>
template <int kThreads>
__global__ void sum_downwards(const int* in, int size, int* out) {
    __shared__ int end, total;
#ifdef FIXED
    if (threadIdx.x == 0)
#endif
        end = size;  // <- here
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    while (end > 0) {
        const int i = end - 1 - threadIdx.x;
        if (i >= 0) atomicAdd(&total, in[i]);
        __syncthreads();
        if (threadIdx.x == 0) end -= kThreads;
        __syncthreads();
    }
    if (threadIdx.x == 0) *out = total;
}
int main() {
    int h[150], *in, *out, total;
    for (int& x : h) x = 2;
    cudaMalloc(&in, sizeof h), cudaMalloc(&out, sizeof(int));
    cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
    sum_downwards<64><<<1, 64>>>(in, 150, out);
    cudaMemcpy(&total, out, sizeof total, cudaMemcpyDeviceToHost);
    cudaFree(in), cudaFree(out);
    printf("%d\n", total);
    return total != 300;
}

// A __managed__ counter still has its old value after the launch that counts.
// Seen: stale
// Cause: the host reads it while the kernel may still add to it.
// Source: own
// Says: may still be adding to, in the launch
// Says: cudaStreamSynchronize(s) is missing
#include <cstdio>
__managed__ int count = 0;
__global__ void find(const int* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] % 7 == 0) atomicAdd(&count, 1);  // <- here
}
int main() {
    int h[256], *x;
    for (int i = 0; i < 256; ++i) h[i] = i;
    cudaStream_t s;
    cudaStreamCreate(&s);
    cudaMalloc(&x, sizeof h);
    cudaMemcpyAsync(x, h, sizeof h, cudaMemcpyHostToDevice, s);  // pageable, so this call waits
    find<<<2, 128, 0, s>>>(x, 256);
#ifdef FIXED
    cudaStreamSynchronize(s);
#endif
    if (count) std::printf("%d found\n", count);  // <- here
    cudaFree(x), cudaStreamDestroy(s);
}

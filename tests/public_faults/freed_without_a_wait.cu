// Since the buffers come from cudaMallocAsync(), results are wrong now and then. cudaFree() waits for the kernels, doesn't it?
// Seen: stale
// Cause: cudaFree() does not wait where the memory is cudaMallocAsync()'s; the host has to, or cudaFreeAsync() frees it.
// Source: https://github.com/kokkos/kokkos/issues/9307
// Says: missing wait: cudaFree() at
// Says: cudaStreamSynchronize(stream) is missing
#include <cstdio>
__global__ void fill(int* a) { a[threadIdx.x] = threadIdx.x; }
__global__ void scan(const int* a, int* sums) {
    int sum = 0;
    for (int i = 0; i <= threadIdx.x; ++i) sum += a[i];  // <- here
    sums[threadIdx.x] = sum;
}
int main() {
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    int *sums, *a, h[64];
    cudaMalloc(&sums, sizeof h);
    cudaMallocAsync(&a, sizeof h, stream);
    fill<<<1, 64, 0, stream>>>(a);
    scan<<<1, 64, 0, stream>>>(a, sums);  // <- here
#ifdef FIXED
    cudaFreeAsync(a, stream);
#else
    cudaFree(a);  // <- here
#endif
    cudaMemcpyAsync(h, sums, sizeof h, cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    printf("%d\n", h[63]);
    cudaFree(sums), cudaStreamDestroy(stream);
}

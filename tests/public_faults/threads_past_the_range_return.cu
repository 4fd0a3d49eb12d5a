// A thread whose index is past the range returns, and barriers follow. Do the others wait for it forever?
// Seen: harmless
// Cause: no error on sm_70 and later, where __syncthreads() waits for the threads that have not exited. AMD and Intel differ.
// Source: https://github.com/acts-project/traccc/pull/137
#include <cstdio>
__global__ void count_pairs(const float* z, int n, int* pairs) {
    __shared__ float tile[64];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIXED
    if (i < n) tile[threadIdx.x] = z[i];
    __syncthreads();
    if (i >= n) return;
#else
    if (i >= n) return;
    tile[threadIdx.x] = z[i];
    __syncthreads();
#endif
    const int have = min(64, n - int(blockIdx.x) * 64);
    int count = 0;
    for (int k = 0; k < have; ++k) count += k != threadIdx.x && fabsf(tile[k] - z[i]) < 1.5f;
    pairs[i] = count;
}
int main() {
    const int n = 100;
    float h[n], *z;
    int counts[n], *pairs;
    for (int i = 0; i < n; ++i) h[i] = float(i);
    cudaMalloc(&z, sizeof h), cudaMalloc(&pairs, sizeof counts);
    cudaMemcpy(z, h, sizeof h, cudaMemcpyHostToDevice);
    count_pairs<<<2, 64>>>(z, n, pairs);
    cudaMemcpy(counts, pairs, sizeof counts, cudaMemcpyDeviceToHost);
    cudaFree(z), cudaFree(pairs);
    printf("%d %d %d\n", counts[0], counts[1], counts[n - 1]);
    return counts[0] != 1 || counts[1] != 2 || counts[n - 1] != 1;
}

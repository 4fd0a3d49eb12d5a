// A thread's array of 8 floats should begin as zeros, and the sum is NaN.
// Seen: unset
// Cause: nothing sets the local array before the thread adds to its elements.
// Source: https://github.com/beehive-lab/TornadoVM/issues/1088
// Says: uninitialised variable
#include <cstdio>
__global__ void histogram(const int* bins, int n, float* out) {
#ifdef FIXED
    float counts[8] = {};
#else
    float counts[8];
#endif
    for (int i = 0; i < n; ++i) counts[bins[i]] += 1;
    for (int bin = 0; bin < 8; ++bin) out[threadIdx.x * 8 + bin] = counts[bin];  // <- here
}
int main() {
    int bins[32], *d_bins;
    float counts[8], *d_counts;
    for (int i = 0; i < 32; ++i) bins[i] = i * i % 8;
    cudaMalloc(&d_bins, sizeof bins), cudaMalloc(&d_counts, sizeof counts);
    cudaMemcpy(d_bins, bins, sizeof bins, cudaMemcpyHostToDevice);
    histogram<<<1, 1>>>(d_bins, 32, d_counts);
    cudaMemcpy(counts, d_counts, sizeof counts, cudaMemcpyDeviceToHost);
    printf("%g\n", counts[1]);
    cudaFree(d_bins), cudaFree(d_counts);
}

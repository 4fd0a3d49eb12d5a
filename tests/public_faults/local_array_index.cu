// A histogram of a few classes changes numbers that the kernel never writes.
// Seen: wrong_result
// Cause: the data hold one class more than a thread's local array has counters.
// Source: own
// Says: index 4 of 'int [4]' in counts[classes[i]]
#include <cstdio>
#ifdef FIXED
constexpr int kClasses = 5;
#else
constexpr int kClasses = 4;
#endif
__global__ void histogram(const int* classes, int n, int* out) {
    int counts[kClasses] = {};
    for (int i = 0; i < n; ++i) counts[classes[i]]++;  // <- here
    for (int c = 0; c < kClasses; ++c) out[c] = counts[c];
}
int main() {
    int classes[8] = {0, 1, 4, 3, 1, 2, 2, 0}, counts[kClasses], *d_classes, *d_counts;
    cudaMalloc(&d_classes, sizeof classes);
    cudaMalloc(&d_counts, sizeof counts);
    cudaMemcpy(d_classes, classes, sizeof classes, cudaMemcpyHostToDevice);
    histogram<<<1, 1>>>(d_classes, 8, d_counts);
    cudaMemcpy(counts, d_counts, sizeof counts, cudaMemcpyDeviceToHost);
    for (int count : counts) printf("%d ", count);
    cudaFree(d_classes), cudaFree(d_counts);
}

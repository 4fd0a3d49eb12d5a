// The exercise on atomics crashes as soon as ARRAY_SIZE is large, before the kernel starts.
// Seen: crashes
// Cause: the host's copy is a local array of main(), which is larger than the stack.
// Source: https://github.com/udacity/cs344/pull/26
// Says: overflows the host's stack
// Says: take at least 16.0 MiB
#include <cstdio>
#include <cstdlib>
constexpr int kSize = 1 << 22;
__global__ void increment(int* counts, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&counts[i % n], 1);
}
#ifdef FIXED
int main() {
    int* const counts = static_cast<int*>(malloc(kSize * sizeof(int)));
#else
int main() {
    int counts[kSize];  // <- here
#endif
    int* d;
    cudaMalloc(&d, kSize * sizeof(int));
    cudaMemset(d, 0, kSize * sizeof(int));
    increment<<<4, 128>>>(d, 16);
    cudaMemcpy(counts, d, kSize * sizeof(int), cudaMemcpyDeviceToHost);
    printf("%d\n", counts[3]);
    cudaFree(d);
#ifdef FIXED
    free(counts);
#endif
}

// A grid-stride loop crashes, but only for arrays of about 2^31 elements.
// Seen: crashes
// Cause: the last i + stride exceeds the largest int before it is compared with n, and becomes negative.
// Source: https://github.com/pytorch/pytorch/pull/24818
// Says: because an index has overflowed at
// Says: does not fit in 'int': compute a large index with size_t
#include <cstdio>
#ifdef FIXED
using Index = long long;
#else
using Index = int;
#endif
__global__ void fill(signed char* a, Index n) {
    const Index stride = 1 << 30;  // as if the grid had so many threads
    for (Index i = 100 * threadIdx.x; i < n; i += stride)  // <- here
        a[i] = 1;  // <- here
}
int main() {
    const int n = 2147483000;
    signed char* a;
    cudaMalloc(&a, n);
    fill<<<1, 32>>>(a, n);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(a);
}

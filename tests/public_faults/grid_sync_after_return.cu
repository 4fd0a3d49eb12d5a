// The kernel hangs at grid.sync() as soon as the grid has more blocks than the data need.
// Seen: hangs
// Cause: blocks without data return before grid.sync(), which waits for all blocks of the grid.
// Source: own
// Says: deadlock: grid.sync() at
// Says: waits for all blocks of the grid, but 1 of 3 have returned, the last one block 2 at
#include <cooperative_groups.h>
#include <cstdio>
__global__ void reverse(int* a, int* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIXED
    if (i < n) a[i] = i;
#else
    if (i >= n) return;  // <- here
    a[i] = i;
#endif
    cooperative_groups::this_grid().sync();  // <- here
    if (i < n) b[i] = a[n - 1 - i];
}
int main() {
    int *a, *b, n = 128;
    cudaMalloc(&a, n * sizeof(int)), cudaMalloc(&b, n * sizeof(int));
    void* arguments[] = {&a, &b, &n};
    cudaLaunchCooperativeKernel((void*)reverse, dim3(3), dim3(64), arguments);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(a), cudaFree(b);
}

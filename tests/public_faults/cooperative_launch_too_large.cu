// cudaLaunchCooperativeKernel returns "too many blocks in cooperative launch".
// Seen: fails
// Cause: more blocks than the GPU holds at once. Launch as many as fit; the kernel's loop takes the rest.
// Source: https://github.com/cupy/cupy/pull/3894
// Says: an H100 SXM has room for 1056 at once
#include <cooperative_groups.h>
#include <cstdio>
__global__ void fill_and_sum(int* a, int* sum, int n) {
    auto grid = cooperative_groups::this_grid();
    for (int i = grid.thread_rank(); i < n; i += grid.size()) a[i] = 1;
    grid.sync();
    if (grid.thread_rank() == 0)
        for (int i = 0; i < n; i += 1000) *sum += a[i];
}
int main() {
    int *a, *sum, n = 500000, blocks = n / 256;
    cudaMalloc(&a, n * sizeof(int)), cudaMalloc(&sum, sizeof(int));
    cudaMemset(sum, 0, sizeof(int));
#ifdef FIXED
    int multiprocessors, each;
    cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, fill_and_sum, 256, 0);
    blocks = multiprocessors * each;
#endif
    void* all[] = {&a, &sum, &n};
    const dim3 grid(blocks), block(256);
    cudaError_t e = cudaLaunchCooperativeKernel((void*)fill_and_sum, grid, block, all);  // <- here
    printf("%s %s\n", cudaGetErrorString(e), cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(a), cudaFree(sum);
}

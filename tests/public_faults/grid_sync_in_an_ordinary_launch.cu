// The kernel with grid.sync() stops with "unspecified launch failure".
// Seen: fails
// Cause: it is launched by <<<>>>, and grid.sync() needs a cooperative launch.
// Source: https://github.com/inducer/pycuda/issues/253
// Says: grid.sync() in an ordinary launch
// Says: cudaLaunchCooperativeKernel()
#include <cooperative_groups.h>
#include <cstdio>
__global__ void reverse(int* a, int* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = i;
    cooperative_groups::this_grid().sync();  // <- here
    b[i] = a[n - 1 - i];
}
int main() {
    int *a, *b, n = 128, first;
    cudaMalloc(&a, n * sizeof(int)), cudaMalloc(&b, n * sizeof(int));
#ifdef FIXED
    void* arguments[] = {&a, &b, &n};
    cudaLaunchCooperativeKernel((void*)reverse, dim3(2), dim3(64), arguments);
#else
    reverse<<<2, 64>>>(a, b, n);  // <- here
#endif
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
#ifdef FIXED
    cudaMemcpy(&first, b, sizeof first, cudaMemcpyDeviceToHost);
    printf("%d\n", first);
#endif
    (void)first;
    cudaFree(a), cudaFree(b);
}

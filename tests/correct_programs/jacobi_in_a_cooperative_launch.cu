// One launch iterates a stencil, with grid.sync() between the steps, and swaps its pointers itself.
#include <cooperative_groups.h>

#include <cstdio>
__global__ void jacobi(float* a, float* b, int n, int steps) {
    const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    for (int step = 0; step < steps; ++step) {
        for (int i = grid.thread_rank(); i < n; i += grid.size())
            b[i] = i == 0 || i == n - 1 ? a[i] : 0.5f * (a[i - 1] + a[i + 1]);
        grid.sync();
        float* const swapped = a;
        a = b;
        b = swapped;
    }
}
int main() {
    int n = 300, steps = 8;
    float h[300] = {}, expected[2][300] = {}, *a, *b;
    h[0] = expected[0][0] = 64;
    for (int step = 0; step < steps; ++step)
        for (int i = 0; i < n; ++i) {
            const float* before = expected[step % 2];
            expected[1 - step % 2][i] =
                i == 0 || i == n - 1 ? before[i] : 0.5f * (before[i - 1] + before[i + 1]);
        }
    cudaMalloc(&a, sizeof h), cudaMalloc(&b, sizeof h);
    cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
    int blocks = 0;
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, jacobi, 64, 0);
    void* arguments[] = {&a, &b, &n, &steps};
    cudaLaunchCooperativeKernel((void*)jacobi, dim3(blocks < 3 ? blocks : 3), dim3(64), arguments,
                                0, nullptr);
    cudaMemcpy(h, a, sizeof h, cudaMemcpyDeviceToHost);
    cudaFree(a), cudaFree(b);
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += h[i] != expected[0][i];
    std::printf("%d wrong\n", wrong);
    return wrong != 0;
}

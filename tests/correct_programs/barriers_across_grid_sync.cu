// A cooperative launch whose blocks use a cuda::barrier before grid.sync() and after it.
#include <cooperative_groups.h>
#include <cuda/barrier>

#include <cstdio>
namespace cg = cooperative_groups;
constexpr int kThreads = 64;
// The first warp waits for the others' values, and adds them up.
__device__ float sum_of_block(float value, cuda::barrier<cuda::thread_scope_block>& barrier,
                              float* values) {
    values[threadIdx.x] = value;
    float sum = 0;
    if (threadIdx.x < 32) {
        barrier.arrive_and_wait();
        sum = values[threadIdx.x] + values[threadIdx.x + 32];
        for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    } else {
        (void)barrier.arrive();
    }
    return sum;
}
__global__ void normalize(float* vector, double* squares) {
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ float values[kThreads];
    const cg::grid_group grid = cg::this_grid();
    if (threadIdx.x == 0) init(&barrier, kThreads);
    __syncthreads();
    const int i = int(grid.thread_rank());
    for (int round = 0; round < 2; ++round) {
        const float sum = sum_of_block(vector[i] * vector[i], barrier, values);
        if (threadIdx.x == 0) atomicAdd(&squares[round], double(sum));
        grid.sync();
        vector[i] /= sqrtf(float(squares[round]));
    }
}
int main() {
    constexpr int kBlocks = 3, kElements = kBlocks * kThreads;
    float h[kElements], *vector;
    double sums[2] = {}, *squares;
    for (float& each : h) each = 2;
    cudaMalloc(&vector, sizeof h), cudaMalloc(&squares, sizeof sums);
    cudaMemcpy(vector, h, sizeof h, cudaMemcpyHostToDevice);
    cudaMemset(squares, 0, sizeof sums);
    void* arguments[] = {&vector, &squares};
    cudaLaunchCooperativeKernel((void*)normalize, dim3(kBlocks), dim3(kThreads), arguments, 0,
                                nullptr);
    cudaMemcpy(h, vector, sizeof h, cudaMemcpyDeviceToHost);
    cudaMemcpy(sums, squares, sizeof sums, cudaMemcpyDeviceToHost);
    cudaFree(vector), cudaFree(squares);
    std::printf("%g %g, then %g\n", h[0], sums[0], sums[1]);
    return sums[0] != 4 * kElements || sums[1] < 0.999 || sums[1] > 1.001;
}

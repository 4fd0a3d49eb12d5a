// Blocks take work items from an atomic counter until none is left; thread 0 broadcasts the number through shared memory.
#include <cstdio>
__global__ void work(int* counter, const int* lengths, int items, int* sums) {
    __shared__ int item, sum;
    for (;;) {
        if (threadIdx.x == 0) {
            item = atomicAdd(counter, 1);
            sum = 0;
        }
        __syncthreads();
        const int mine = item;
        if (mine >= items) return;
        for (int i = threadIdx.x; i < lengths[mine]; i += blockDim.x) atomicAdd(&sum, i);
        __syncthreads();
        if (threadIdx.x == 0) sums[mine] = sum;
        __syncthreads();
    }
}
int main() {
    const int items = 20;
    int h[items], *lengths, *sums, *counter, wrong = 0;
    for (int i = 0; i < items; ++i) h[i] = i * 13 % 90;
    cudaMalloc(&lengths, sizeof h), cudaMalloc(&sums, sizeof h), cudaMalloc(&counter, sizeof(int));
    cudaMemcpy(lengths, h, sizeof h, cudaMemcpyHostToDevice);
    cudaMemset(counter, 0, sizeof(int));
    work<<<3, 64>>>(counter, lengths, items, sums);
    cudaMemcpy(h, sums, sizeof h, cudaMemcpyDeviceToHost);
    for (int i = 0; i < items; ++i) {
        const int n = i * 13 % 90;
        wrong += h[i] != n * (n - 1) / 2;
    }
    cudaFree(lengths), cudaFree(sums), cudaFree(counter);
    std::printf("%d wrong\n", wrong);
    return wrong != 0;
}

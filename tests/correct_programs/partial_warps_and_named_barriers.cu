// Shuffles in a warp that is not full, with a mask from __ballot_sync(), and a barrier of two warps in inline PTX.
#include <cstdio>
__device__ void sync_two_warps(int id) { asm volatile("bar.sync %0, 64;" ::"r"(id) : "memory"); }
__global__ void ranks(const int* values, int n, int* prefix, int* pairs) {
    __shared__ int sums[4];
    const int i = threadIdx.x, lane = i % 32, warp = i / 32;
    const unsigned mask = __ballot_sync(0xffffffff, i < n);
    int sum = 0;
    if (i < n) {
        sum = values[i];
        for (int d = 1; d < 32; d *= 2) {
            const int other = __shfl_up_sync(mask, sum, d);
            if (lane >= d) sum += other;
        }
        if (lane == 31 || i == n - 1) sums[warp] = sum;
        prefix[i] = sum;
    }
    sync_two_warps(1 + warp / 2);  // warps 0 and 1, 2 and 3
    if (lane == 0 && warp % 2 == 0) pairs[warp / 2] = sums[warp] + sums[warp + 1];
}
int main() {
    const int n = 110;
    int h[n], result[n], both[2], *values, *prefix, *pairs;
    for (int i = 0; i < n; ++i) h[i] = i % 4;
    cudaMalloc(&values, sizeof h), cudaMalloc(&prefix, sizeof h), cudaMalloc(&pairs, sizeof both);
    cudaMemcpy(values, h, sizeof h, cudaMemcpyHostToDevice);
    ranks<<<1, 128>>>(values, n, prefix, pairs);
    cudaMemcpy(result, prefix, sizeof h, cudaMemcpyDeviceToHost);
    cudaMemcpy(both, pairs, sizeof both, cudaMemcpyDeviceToHost);
    cudaFree(values), cudaFree(prefix), cudaFree(pairs);
    std::printf("%d %d %d\n", result[n - 1], both[0], both[1]);
    return result[31] != 48 || result[n - 1] != 19 || both[0] != 96 || both[1] != 67;
}

// The last block adds up all blocks' sums, and misses some of them in rare runs.
// Seen: differs
// Cause: no __threadfence() between a block's sum and the counter, nor between the counter and the reads.
// Source: own, after the sum in NVIDIA's sample threadFenceReduction
// Says: race in global memory
__device__ unsigned arrived;
__global__ void sum(float* sums, float* total) {
    if (threadIdx.x) return;
    sums[blockIdx.x] = 1;  // <- here
#ifdef FIXED
    __threadfence();
#endif
    if (atomicAdd(&arrived, 1u) != gridDim.x - 1) return;
#ifdef FIXED
    __threadfence();
#endif
    float all = 0;
    for (int i = 0; i < gridDim.x; ++i) all += sums[i];  // <- here
    *total = all;
}
int main() {
    float *sums, *total;
    cudaMalloc(&sums, 4 * sizeof(float)), cudaMalloc(&total, sizeof(float));
    sum<<<4, 32>>>(sums, total);
    cudaDeviceSynchronize();
    cudaFree(sums), cudaFree(total);
}

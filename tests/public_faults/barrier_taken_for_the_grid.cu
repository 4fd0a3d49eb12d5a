// The total of all blocks is too small now and then, though a __syncthreads() comes before the addition.
// Seen: differs
// Cause: __syncthreads() waits for the threads of its block alone, and a block reads what another one writes.
// Source: own
// Says: race in global memory
__global__ void add_blocks(float* sums, float* total) {
    if (threadIdx.x == 0) sums[blockIdx.x] = 64;  // <- here
#ifndef FIXED
    __syncthreads();
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0)
        for (int i = 0; i < gridDim.x; ++i) *total += sums[i];  // <- here
#endif
}
__global__ void add_up(const float* sums, float* total, int n) {
    for (int i = 0; i < n; ++i) *total += sums[i];
}
int main() {
    float *sums, *total;
    cudaMalloc(&sums, 8 * sizeof(float)), cudaMalloc(&total, sizeof(float));
    cudaMemset(total, 0, sizeof(float));
    add_blocks<<<8, 64>>>(sums, total);
#ifdef FIXED
    add_up<<<1, 1>>>(sums, total, 8);
#endif
    cudaDeviceSynchronize();
    cudaFree(sums), cudaFree(total);
}

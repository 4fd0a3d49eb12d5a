// racecheck reports nothing, but the mean that all threads divide by differs from run to run.
// Seen: differs
// Cause: no barrier between the write and the reads; racecheck misses it if the compiler moves these past the next one.
// Source: https://github.com/ORNL/HeCBench/issues/254
// Says: race in shared memory
__global__ void normalise(float* row, int n) {
    __shared__ float mean;
    if (threadIdx.x == 0) {
        float sum = 0;
        for (int i = 0; i < n; ++i) sum += row[i];
        mean = sum / n;  // <- here
    }
#ifdef FIXED
    __syncthreads();
#endif
    float value = row[threadIdx.x] - mean;  // <- here
    __syncthreads();
    row[threadIdx.x] = value;
}
int main() {
    float* row;
    cudaMalloc(&row, 64 * sizeof(float));
    cudaMemset(row, 0, 64 * sizeof(float));
    normalise<<<1, 64>>>(row, 64);
    cudaDeviceSynchronize();
    cudaFree(row);
}

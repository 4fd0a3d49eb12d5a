// With a larger problem, new in a kernel returns a null pointer, and the kernel fails.
// Seen: fails
// Cause: What kernels allocate at once is more than their heap's 8 MiB, which cudaDeviceSetLimit() could enlarge.
// Source: https://github.com/celeritas-project/celeritas/pull/554
// Hint: bytes are allocated by kernels at once
__global__ void sum_of_scratch(float* sums, int count) {
    auto* scratch = new float[count];
    for (int i = 0; i < count; i += 1024) scratch[i] = threadIdx.x;
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < count; i += 1024) sum += scratch[i];
    sums[threadIdx.x] = sum;
    delete[] scratch;
}

int main() {
#ifdef FIXED
    cudaDeviceSetLimit(cudaLimitMallocHeapSize, 32 << 20);
#endif
    float* sums;
    cudaMalloc(&sums, 32 * sizeof(float));
    sum_of_scratch<<<1, 32>>>(sums, 1 << 17);
    cudaDeviceSynchronize();
    cudaFree(sums);
}

// The sums are wrong now and then since the second kernel uses programmatic dependent launch.
// Seen: stale
// Cause: it reads where its slice begins before cudaGridDependencySynchronize(), when the kernel before may not have written it.
// Source: https://github.com/NVIDIA/cccl/pull/5456
// Says: race between launches
// Says: cudaGridDependencySynchronize() is missing before the access
#include <cstdio>
__global__ void cut(int* begins, int length) {
    begins[threadIdx.x] = threadIdx.x * length;  // <- here
}
__global__ void add_slice(const int* begins, const float* values, float* sums) {
#ifdef FIXED
    cudaGridDependencySynchronize();
    int begin = begins[threadIdx.x], end = begins[threadIdx.x + 1];
#else
    int begin = begins[threadIdx.x], end = begins[threadIdx.x + 1];  // <- here
    cudaGridDependencySynchronize();
#endif
    float sum = 0;
    for (int i = begin; i < end; ++i) sum += values[i];
    sums[threadIdx.x] = sum;
}
int main() {
    int* begins;
    float *values, *sums, first;
    cudaMalloc(&begins, 33 * sizeof(int)), cudaMalloc(&values, 32 * 8 * 4),
        cudaMalloc(&sums, 32 * 4);
    cudaMemset(values, 0, 32 * 8 * 4);
    cut<<<1, 33>>>(begins, 8);  // <- here
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = 1;
    config.blockDim = 32;
    config.attrs = &attribute;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, add_slice, begins, values, sums);  // <- here
    cudaMemcpy(&first, sums, 4, cudaMemcpyDeviceToHost);
    std::printf("%g\n", first);
    cudaFree(begins), cudaFree(values), cudaFree(sums);
}

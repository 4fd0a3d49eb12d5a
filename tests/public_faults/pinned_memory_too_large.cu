// Segmentation fault in code of the host that fills a buffer.
// Seen: crashes
// Cause: cudaMallocHost() fails because so much memory cannot be pinned, and the null pointer is used.
// Source: own
// Says: crash: host code
// Says: a null pointer
// Says: cudaMallocHost
__global__ void twice(float* values) { values[threadIdx.x] *= 2; }

int main() {
#ifdef FIXED
    const size_t bytes = 32 * sizeof(float);
#else
    const size_t bytes = size_t(1) << 50;
#endif
    float *staging, *values;
    cudaMallocHost(&staging, bytes);  // <- here
    cudaMalloc(&values, 32 * sizeof(float));
    for (int i = 0; i < 32; ++i) staging[i] = i;  // <- here
    cudaMemcpy(values, staging, 32 * sizeof(float), cudaMemcpyHostToDevice);
    twice<<<1, 32>>>(values);
    cudaDeviceSynchronize();
    cudaFree(values);
    cudaFreeHost(staging);
}

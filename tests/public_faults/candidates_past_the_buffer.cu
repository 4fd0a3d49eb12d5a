// The top k of a row are sometimes not its largest values, if many values are alike. There is no error.
// Seen: wrong_result
// Cause: more candidates fall into one bin than the buffer in shared memory has room for.
// Source: https://github.com/sgl-project/sglang/issues/36807
// Says: index 128 of 'int [128]'
#include <cstdio>
constexpr int kBuffer = 128, kThreads = 64;
__global__ void candidates(const float* row, int n, float threshold, int* out, int* count) {
    __shared__ int buffer[kBuffer], size;
    if (threadIdx.x == 0) size = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += kThreads) {
        if (row[i] < threshold) continue;
        const int place = atomicAdd(&size, 1);
#ifdef FIXED
        if (place >= kBuffer) continue;
#endif
        buffer[place] = i;  // <- here
    }
    __syncthreads();
    for (int i = threadIdx.x; i < min(size, kBuffer); i += kThreads) out[i] = buffer[i];
    if (threadIdx.x == 0) *count = size;
}
int main() {
    const int n = 1000;
    float h[n], *row;
    int *out, *count, found;
    for (int i = 0; i < n; ++i) h[i] = float(i % 6);
    cudaMalloc(&row, sizeof h);
    cudaMalloc(&out, kBuffer * sizeof(int)), cudaMalloc(&count, sizeof(int));
    cudaMemcpy(row, h, sizeof h, cudaMemcpyHostToDevice);
    candidates<<<1, kThreads>>>(row, n, 5, out, count);
    cudaMemcpy(&found, count, sizeof found, cudaMemcpyDeviceToHost);
    printf("%d of %d\n", found, kBuffer);
    cudaFree(row), cudaFree(out), cudaFree(count);
}

// My dot product returns a different number in each run.
// Seen: differs
// Cause: all threads add to one shared variable without atomicAdd(), so that additions are lost.
// Source: http://pullrequest.ru/11529102/produkt-cuda-dot-daet-nepravilnye-rezultaty
// Says: race in shared memory
#include <cstdio>
__global__ void dot(const float* a, const float* b, float* result) {
    __shared__ float sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
#ifdef FIXED
    atomicAdd(&sum, a[threadIdx.x] * b[threadIdx.x]);
#else
    sum += a[threadIdx.x] * b[threadIdx.x];  // <- here
#endif
    __syncthreads();
    if (threadIdx.x == 0) *result = sum;
}
int main() {
    float ones[128], *a, *result;
    for (float& one : ones) one = 1;
    cudaMalloc(&a, sizeof ones), cudaMalloc(&result, sizeof(float));
    cudaMemcpy(a, ones, sizeof ones, cudaMemcpyHostToDevice);
    dot<<<1, 128>>>(a, a, result);
    cudaMemcpy(ones, result, sizeof(float), cudaMemcpyDeviceToHost);
    printf("%g of 128\n", ones[0]);
    cudaFree(a), cudaFree(result);
}

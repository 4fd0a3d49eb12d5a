// The backward pass of a loss runs out of resources, but only if a sample has many labels.
// Seen: fails
// Cause: the number of threads grows with the labels up to 1024, and a thread takes more than 64 registers.
// Source: https://github.com/pytorch/pytorch/pull/11934
// Needs: nvcc
// Says: too many resources requested for launch
// Says: launches blocks of 1024 threads, but nvcc gives each thread of backward()
#include <cstdio>
constexpr int kSteps = 48;
__global__ void
#ifdef FIXED
__launch_bounds__(1024)
#endif
    backward(const float* alpha, const float* beta, float* gradient, int labels) {
    const int label = threadIdx.x;
    if (label >= labels) return;
    float a[kSteps], b[kSteps];
#pragma unroll
    for (int t = 0; t < kSteps; ++t)
        a[t] = alpha[t * labels + label], b[t] = beta[(kSteps - 1 - t) * labels + label];
#pragma unroll
    for (int t = 1; t < kSteps; ++t) a[t] += 0.5f * a[t - 1], b[t] += 0.25f * b[t - 1];
#pragma unroll
    for (int t = 0; t < kSteps; ++t) gradient[t * labels + label] = a[t] * b[kSteps - 1 - t];
}
int main() {
    for (const int labels : {100, 1000}) {
        const size_t bytes = kSteps * labels * sizeof(float);
        float *alpha, *beta, *gradient;
        cudaMalloc(&alpha, bytes), cudaMalloc(&beta, bytes), cudaMalloc(&gradient, bytes);
        cudaMemset(alpha, 0, bytes), cudaMemset(beta, 0, bytes);
        const int threads = labels <= 128 ? 128 : 1024;
        backward<<<1, threads>>>(alpha, beta, gradient, labels);  // <- here
        printf("%d labels: %s\n", labels, cudaGetErrorString(cudaDeviceSynchronize()));
        cudaFree(alpha), cudaFree(beta), cudaFree(gradient);
    }
}

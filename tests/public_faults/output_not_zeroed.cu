// My kernel is correct on one machine and wrong on another one, and sometimes it prints nan.
// Seen: unset
// Cause: it adds to an array that comes from cudaMalloc and was never set to zero.
// Source: https://github.com/NVIDIA/cuda-quantum/pull/2475
// Says: reads what nothing has written
#include <cstdio>

__global__ void kron(int n, const float* a, const float* b, float* c) {
    const int row = threadIdx.y, col = threadIdx.x;
    c[row * n + col] += a[row / 4 * 4 + col / 4] * b[row % 4 * 4 + col % 4];  // <- here
}

int main() {
    const int n = 16;
    float h[n * n], *a, *b, *c;
    for (float& f : h) f = 1;
    cudaMalloc(&a, 16 * sizeof(float));
    cudaMalloc(&b, 16 * sizeof(float));
    cudaMalloc(&c, sizeof h);  // <- here
    cudaMemcpy(a, h, 16 * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(b, h, 16 * sizeof(float), cudaMemcpyHostToDevice);
#ifdef FIXED
    cudaMemset(c, 0, sizeof h);
#endif
    kron<<<1, dim3(n, n)>>>(n, a, b, c);
    cudaMemcpy(h, c, sizeof h, cudaMemcpyDeviceToHost);
    std::printf("%g\n", h[n * n - 1]);
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
}

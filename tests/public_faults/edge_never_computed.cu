// The last rows and columns of C are never correct if the size is not a multiple of 16.
// Seen: wrong_product
// Cause: the number of blocks is rounded down, so that no block computes the edge.
// Source: https://github.com/NVIDIA/cuda-samples/issues/411
// Says: reads on the host what nothing has written
#include <cstdio>
#include <vector>

__global__ void matmul(int n, const float* a, const float* b, float* c) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= n || col >= n) return;
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] = sum;
}

int main() {
    const int n = 100;
    const size_t bytes = n * n * sizeof(float);
    std::vector<float> ones(n * n, 1), result(n * n);
    float *a, *c;
    cudaMalloc(&a, bytes);
    cudaMalloc(&c, bytes);
    cudaMemcpy(a, ones.data(), bytes, cudaMemcpyHostToDevice);
#ifdef FIXED
    const int blocks = (n + 15) / 16;
#else
    const int blocks = n / 16;
#endif
    matmul<<<dim3(blocks, blocks), dim3(16, 16)>>>(n, a, a, c);
    cudaMemcpy(result.data(), c, bytes, cudaMemcpyDeviceToHost);  // <- here
    int wrong = 0;
    for (int i = 0; i < n * n; ++i)
        if (!(result[i] == n)) ++wrong;  // <- here
    std::printf("%d elements are wrong\n", wrong);
    cudaFree(a);
    cudaFree(c);
}

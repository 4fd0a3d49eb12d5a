// A matrix product whose tiles are copied by __pipeline_memcpy_async() one step ahead, in two buffers.
#include <cuda_pipeline.h>

#include <cstdio>
#include <vector>
constexpr int kTile = 16;
__global__ void multiply(const float* A, const float* B, float* C, int n) {
    __shared__ float a[2][kTile][kTile], b[2][kTile][kTile];
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * kTile + y, column = blockIdx.x * kTile + x, tiles = n / kTile;
    const auto fetch = [&](int tile) {
        const int s = tile & 1;
        __pipeline_memcpy_async(&a[s][y][x], &A[row * n + tile * kTile + x], sizeof(float));
        __pipeline_memcpy_async(&b[s][y][x], &B[(tile * kTile + y) * n + column], sizeof(float));
        __pipeline_commit();
    };
    float sum = 0;
    fetch(0);
    for (int tile = 0; tile < tiles; ++tile) {
        if (tile + 1 < tiles) {
            fetch(tile + 1);
            __pipeline_wait_prior(1);
        } else {
            __pipeline_wait_prior(0);
        }
        __syncthreads();
        for (int k = 0; k < kTile; ++k) sum += a[tile & 1][y][k] * b[tile & 1][k][x];
        __syncthreads();
    }
    C[row * n + column] = sum;
}
int main() {
    const int n = 64;
    std::vector<float> a(n * n), b(n * n), c(n * n);
    for (int i = 0; i < n * n; ++i) a[i] = float(i % 7), b[i] = float(i % 5);
    const size_t bytes = n * n * sizeof(float);
    float *A, *B, *C;
    cudaMalloc(&A, bytes), cudaMalloc(&B, bytes), cudaMalloc(&C, bytes);
    cudaMemcpy(A, a.data(), bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(B, b.data(), bytes, cudaMemcpyHostToDevice);
    multiply<<<dim3(n / kTile, n / kTile), dim3(kTile, kTile)>>>(A, B, C, n);
    cudaMemcpy(c.data(), C, bytes, cudaMemcpyDeviceToHost);
    cudaFree(A), cudaFree(B), cudaFree(C);
    int wrong = 0;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            float sum = 0;
            for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
            wrong += c[i * n + j] != sum;
        }
    std::printf("%d wrong\n", wrong);
    return wrong != 0;
}

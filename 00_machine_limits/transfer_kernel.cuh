// The Zenn article's kernel: a thread computes one element of C. transfer.cu compiles it with
// size_t, cuda_python.py also with int, as in the article, where indices overflow from 2^31
// elements on.
#pragma once

constexpr int kBlock = 16;  // a block is 16 x 16 threads

template <class Index>
__global__ void __launch_bounds__(kBlock* kBlock)
    matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    const int row = blockIdx.y * kBlock + threadIdx.y;
    const int col = blockIdx.x * kBlock + threadIdx.x;
    if (row >= M || col >= N) return;
    float acc = 0.0f;
    for (int k = 0; k < K; ++k) acc += A[Index(row) * K + k] * B[Index(k) * N + col];
    C[Index(row) * N + col] = acc;
}

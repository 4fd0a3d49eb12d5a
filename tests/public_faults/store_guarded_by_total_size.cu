// The product is correct for multiples of the tile only; otherwise the first columns of some rows are wrong.
// Seen: wrong_product
// Cause: the store is guarded by C's total size, so that columns past N land in the next row.
// Source: https://github.com/AyakaGEMM/Hands-on-GEMM/issues/8
// Says: race in global memory
__global__ void multiply(int M, int N, int K, const float* A, const float* B, float* C) {
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    if (row < M && column < N)
        for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
#ifdef FIXED
    if (row < M && column < N) C[row * N + column] = sum;
#else
    if (row * N + column < M * N) C[row * N + column] = sum;  // <- here
#endif
}
void launch_matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    multiply<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(M, N, K, A, B, C);
}

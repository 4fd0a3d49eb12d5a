// The product is correct, but transposed.
// Seen: wrong_product
// Cause: C is stored column by column, as cuBLAS would, and read row by row.
// Source: https://github.com/siboehm/SGEMM_CUDA/issues/15
// Says: C is transposed: it is written at [col * M + row]
__global__ void multiply(int M, int N, int K, const float* A, const float* B, float* C) {
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || column >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
#ifdef FIXED
    C[row * N + column] = sum;
#else
    C[column * M + row] = sum;  // <- here
#endif
}
void launch_matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    dim3 grid((N + 15) / 16, (M + 15) / 16);
    multiply<<<grid, dim3(16, 16)>>>(M, N, K, A, B, C);
}

// My product is correct for square matrices, and wrong as soon as m, n and k differ.
// Seen: wrong_product
// Cause: rows of B are N elements long, and the kernel takes them to be K long.
// Source: https://github.com/tpoisonooo/how-to-optimize-gemm/issues/19
// Says: B is read at [row * K + col], not at [row * N + col]
// Says: it is correct at 16 x 16 x 16
__global__ void multiply(int M, int N, int K, const float* A, const float* B, float* C) {
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || column >= N) return;
#ifdef FIXED
    int ldb = N;
#else
    int ldb = K;
#endif
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * ldb + column];  // <- here
    C[row * N + column] = sum;
}
void launch_matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    dim3 grid((N + 15) / 16, (M + 15) / 16);
    multiply<<<grid, dim3(16, 16)>>>(M, N, K, A, B, C);
}

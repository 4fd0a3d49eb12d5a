// The last columns and rows of C stay empty unless its size is a multiple of the block's.
// Seen: wrong_product
// Cause: the grid has N / 16 x M / 16 blocks, rounded down.
// Source: https://github.com/NVIDIA/cuda-samples/issues/411
// Says: was not written
__global__ void multiply(int M, int N, int K, const float* A, const float* B, float* C) {
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || column >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
    C[row * N + column] = sum;
}
void launch_matmul(int M, int N, int K, const float* A, const float* B, float* C) {
#ifdef FIXED
    dim3 grid((N + 15) / 16, (M + 15) / 16);
#else
    dim3 grid(N < 16 ? 1 : N / 16, M < 16 ? 1 : M / 16);
#endif
    multiply<<<grid, dim3(16, 16)>>>(M, N, K, A, B, C);
}

// The product is wrong for 100 x 100 matrices, and correct for large ones.
// Seen: wrong_product
// Cause: the guard of C's row and column is used for the loads of A and B, whose index along K has none.
// Source: https://github.com/Cjkkkk/CUDA_gemm/issues/6
// Says: out of bounds
// Says: past the end
#define T 16
__global__ void multiply(int M, int N, int K, const float* A, const float* B, float* C) {
    __shared__ float a[T][T], b[T][T];
    int y = threadIdx.y, x = threadIdx.x, row = blockIdx.y * T + y, column = blockIdx.x * T + x;
    float sum = 0;
    for (int k = 0; k < K; k += T) {
#ifdef FIXED
        a[y][x] = row < M && k + x < K ? A[row * K + k + x] : 0;
        b[y][x] = k + y < K && column < N ? B[(k + y) * N + column] : 0;
#else
        a[y][x] = row < M && column < N ? A[row * K + k + x] : 0;
        b[y][x] = row < M && column < N ? B[(k + y) * N + column] : 0;  // <- here
#endif
        __syncthreads();
        for (int i = 0; i < T; ++i) sum += a[y][i] * b[i][x];
        __syncthreads();
    }
    if (row < M && column < N) C[row * N + column] = sum;
}
void launch_matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    multiply<<<dim3((N + T - 1) / T, (M + T - 1) / T), dim3(T, T)>>>(M, N, K, A, B, C);
}

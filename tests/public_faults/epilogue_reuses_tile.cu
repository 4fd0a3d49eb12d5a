// The result has inf and NaN as soon as the k-tile gets larger.
// Seen: differs
// Cause: the epilogue stores C in the shared memory of A's tile, and no barrier keeps it from threads that still read.
// Source: https://github.com/KnowingNothing/MatmulTutorial/issues/13
// Says: race in shared memory
#define T 16
__global__ void multiply(int M, int N, int K, const float* A, const float* B, float* C) {
    __shared__ float memory[2][T][T];
    int y = threadIdx.y, x = threadIdx.x, row = blockIdx.y * T + y, column = blockIdx.x * T + x;
    float sum = 0;
    for (int k = 0; k < K; k += T) {
        if (k) __syncthreads();
        memory[0][y][x] = row < M && k + x < K ? A[row * K + k + x] : 0;
        memory[1][y][x] = k + y < K && column < N ? B[(k + y) * N + column] : 0;
        __syncthreads();
        for (int i = 0; i < T; ++i) sum += memory[0][y][i] * memory[1][i][x];  // <- here
    }
#ifdef FIXED
    __syncthreads();
#endif
    memory[0][x][y] = sum;  // <- here
    __syncthreads();
    if (row < M && column < N) C[row * N + column] = memory[0][x][y];
}
void launch_matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    multiply<<<dim3((N + T - 1) / T, (M + T - 1) / T), dim3(T, T)>>>(M, N, K, A, B, C);
}

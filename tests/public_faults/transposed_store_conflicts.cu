// The profiler shows bank conflicts in the stores of As.
// Seen: slow
// Cause: A's tile is stored transposed, so that all lanes of a warp write to one bank; a column of padding helps.
// Source: https://github.com/siboehm/SGEMM_CUDA/pull/23
// Hint: a warp's store takes 32.0 wavefronts
#define T 32
#ifdef FIXED
#define ROW 33
#else
#define ROW 32
#endif
__global__ void multiply(int M, int N, int K, const float* A, const float* B, float* C) {
    __shared__ float a[T][ROW], b[T][T];
    int y = threadIdx.y, x = threadIdx.x, row = blockIdx.y * T + y, column = blockIdx.x * T + x;
    float sum = 0;
    for (int k = 0; k < K; k += T) {
        a[x][y] = row < M && k + x < K ? A[row * K + k + x] : 0;  // <- here
        b[y][x] = k + y < K && column < N ? B[(k + y) * N + column] : 0;
        __syncthreads();
        for (int i = 0; i < T; ++i) sum += a[i][y] * b[i][x];
        __syncthreads();
    }
    if (row < M && column < N) C[row * N + column] = sum;
}
void launch_matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    multiply<<<dim3((N + T - 1) / T, (M + T - 1) / T), dim3(T, T)>>>(M, N, K, A, B, C);
}

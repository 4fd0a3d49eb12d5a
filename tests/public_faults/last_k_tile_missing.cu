// After I had prefetched the next tile into registers, the product was a little wrong everywhere.
// Seen: wrong_product
// Cause: the loop ends one tile early, so that the tile that was loaded last is never multiplied.
// Source: own
// Says: the products with k from 16 on are missing
#define MULTIPLES 8, 8, 8
__global__ void multiply(int N, int K, const float* A, const float* B, float* C) {
    __shared__ float a[8][8], b[8][8];
    int y = threadIdx.y, x = threadIdx.x, row = blockIdx.y * 8 + y, column = blockIdx.x * 8 + x;
    float sum = 0, next_a = A[row * K + x], next_b = B[y * N + column];  // <- here
#ifdef FIXED
    for (int k = 0; k < K; k += 8) {
#else
    for (int k = 0; k < K - 8 || k == 0; k += 8) {
#endif
        a[y][x] = next_a, b[y][x] = next_b;
        __syncthreads();
        if (k + 8 < K) {
            next_a = A[row * K + k + 8 + x];
            next_b = B[(k + 8 + y) * N + column];
        }
        for (int i = 0; i < 8; ++i) sum += a[y][i] * b[i][x];
        __syncthreads();
    }
    C[row * N + column] = sum;
}
void launch_matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    multiply<<<dim3(N / 8, M / 8), dim3(8, 8)>>>(N, K, A, B, C);
}

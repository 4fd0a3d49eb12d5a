// The product is wrong for K = 24, with no error and no warning; multiples of 16 are correct.
// Seen: wrong_product
// Cause: the loop runs over K / 16 whole tiles, and leaves out the remainder of K.
// Source: https://github.com/tile-ai/tilelang/issues/2381
// Says: each of these sums has no product at all
// Says: wrong unless K is a multiple of 16
#define TILE 16
__global__ void multiply(int M, int N, int K, const float* A, const float* B, float* C) {
    __shared__ float a[TILE][TILE], b[TILE][TILE];
    int y = threadIdx.y, x = threadIdx.x, row = blockIdx.y * TILE + y,
        column = blockIdx.x * TILE + x;
    float sum = 0;
#ifdef FIXED
    int tiles = (K + TILE - 1) / TILE;
#else
    int tiles = K / TILE;
#endif
    for (int k = 0; k < tiles * TILE; k += TILE) {
        a[y][x] = row < M && k + x < K ? A[row * K + k + x] : 0;
        b[y][x] = column < N && k + y < K ? B[(k + y) * N + column] : 0;
        __syncthreads();
        for (int i = 0; i < TILE; ++i) sum += a[y][i] * b[i][x];
        __syncthreads();
    }
    if (row < M && column < N) C[row * N + column] = sum;
}
void launch_matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    multiply<<<grid, dim3(TILE, TILE)>>>(M, N, K, A, B, C);
}

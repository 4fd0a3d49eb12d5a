// The tiled product is wrong as soon as the tile is larger than the block.
// Seen: wrong_product
// Cause: each thread loads one element of a tile, so that 16 x 16 threads fill half of a tile of 16 x 32.
// Source: own
// Says: uninitialised shared memory
#define TILE 32
#define BLOCK 16
__global__ void multiply(int M, int N, int K, const float* A, const float* B, float* C) {
    __shared__ float a[BLOCK][TILE], b[TILE][BLOCK];
    int y = threadIdx.y, x = threadIdx.x, row = blockIdx.y * BLOCK + y,
        column = blockIdx.x * BLOCK + x;
    float sum = 0;
    for (int k = 0; k < K; k += TILE) {
#ifdef FIXED
        for (int i = 0; i < TILE; i += BLOCK) {
#else
        for (int i = 0; i < BLOCK; i += BLOCK) {
#endif
            a[y][x + i] = row < M && k + x + i < K ? A[row * K + k + x + i] : 0;
            b[y + i][x] = k + y + i < K && column < N ? B[(k + y + i) * N + column] : 0;
        }
        __syncthreads();
        for (int i = 0; i < TILE; ++i) sum += a[y][i] * b[i][x];  // <- here
        __syncthreads();
    }
    if (row < M && column < N) C[row * N + column] = sum;
}
void launch_matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    dim3 grid((N + BLOCK - 1) / BLOCK, (M + BLOCK - 1) / BLOCK);
    multiply<<<grid, dim3(BLOCK, BLOCK)>>>(M, N, K, A, B, C);
}

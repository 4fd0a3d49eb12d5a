// With two extern __shared__ arrays for the tiles of A and B, the product is garbage.
// Seen: wrong_product
// Cause: all extern __shared__ arrays of a block begin at the same address, so the two are one.
// Source: https://forums.developer.nvidia.com/t/shared-memory-acces/1475
// Says: overwrites a value
// Says: are the same memory, as all extern __shared__ arrays of a block are
#define MULTIPLES 16, 16, 16
#define TILE 16
__global__ void multiply(int N, int K, const float* A, const float* B, float* C) {
    extern __shared__ float a[];  // <- here
#ifdef FIXED
    float* b = a + TILE * TILE;
#else
    extern __shared__ float b[];  // <- here
#endif
    int y = threadIdx.y, x = threadIdx.x, row = blockIdx.y * TILE + y, col = blockIdx.x * TILE + x;
    float sum = 0;
    for (int k = 0; k < K; k += TILE) {
        a[y * TILE + x] = A[row * K + k + x];  // <- here
        b[y * TILE + x] = B[(k + y) * N + col];  // <- here
        __syncthreads();
        for (int i = 0; i < TILE; ++i) sum += a[y * TILE + i] * b[i * TILE + x];
        __syncthreads();
    }
    C[row * N + col] = sum;
}
void launch_matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    int bytes = 2 * TILE * TILE * sizeof(float);
    multiply<<<dim3(N / TILE, M / TILE), dim3(TILE, TILE), bytes>>>(N, K, A, B, C);
}

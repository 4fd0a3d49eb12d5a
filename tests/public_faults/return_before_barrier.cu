// The last rows and columns are wrong unless the size is a multiple of the tile: is a return before __syncthreads() safe?
// Seen: wrong_product
// Cause: threads outside C return before they load their part of the tiles; only threads with nothing left to load may.
// Source: http://stackoverflow.com/questions/6666382
// Says: uninitialised shared memory
// Says: have returned at
__global__ void matmul(const float* A, const float* B, float* C, int n) {
    __shared__ float a[16][16], b[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
#ifndef FIXED
    if (x >= n || y >= n) return;  // <- here
#endif
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        a[ty][tx] = y < n && k + tx < n ? A[y * n + k + tx] : 0;
        b[ty][tx] = x < n && k + ty < n ? B[(k + ty) * n + x] : 0;
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += a[ty][i] * b[i][tx];  // <- here
        __syncthreads();
    }
    if (x < n && y < n) C[y * n + x] = sum;
}
int main() {
    const int n = 20, bytes = n * n * sizeof(float);
    float *a, *b, *c;
    cudaMalloc(&a, bytes), cudaMalloc(&b, bytes), cudaMalloc(&c, bytes);
    cudaMemset(a, 0, bytes), cudaMemset(b, 0, bytes);
    matmul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n);
    cudaFree(a), cudaFree(b), cudaFree(c);
    return cudaDeviceSynchronize() != cudaSuccess;
}

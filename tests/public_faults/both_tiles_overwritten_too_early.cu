// The tiled product is correct for one step of K and wrong, differently each time, for more.
// Seen: differs
// Cause: the second barrier of the loop is missing: fast threads load the next tiles while slow ones still read.
// Source: https://github.com/csarofeen/pytorch/issues/380
// Says: race in shared memory
// Says: more like it; the same between
__global__ void matmul(const float* A, const float* B, float* C, int n) {
    __shared__ float a[16][16], b[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        a[ty][tx] = A[y * n + k + tx];  // <- here
        b[ty][tx] = B[(k + ty) * n + x];  // <- here
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += a[ty][i] * b[i][tx];  // <- here
#ifdef FIXED
        __syncthreads();
#endif
    }
    C[y * n + x] = sum;
}
int main() {
    const int n = 48, bytes = n * n * sizeof(float);
    float *a, *b, *c;
    cudaMalloc(&a, bytes), cudaMalloc(&b, bytes), cudaMalloc(&c, bytes);
    cudaMemset(a, 0, bytes), cudaMemset(b, 0, bytes);
    matmul<<<dim3(3, 3), dim3(16, 16)>>>(a, b, c, n);
    cudaFree(a), cudaFree(b), cudaFree(c);
    return cudaDeviceSynchronize() != cudaSuccess;
}

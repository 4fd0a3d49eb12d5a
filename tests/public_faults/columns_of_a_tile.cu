// Why is my transpose through shared memory slow, and why does a tile of 32 x 33 help?
// Seen: slow
// Cause: a warp reads a column of a tile whose rows have 32 words: all lanes use the same bank.
// Source: https://forums.developer.nvidia.com/t/question-about-shared-memory-banking-and-conflicting-reading/37307
// Hint: takes 32.0 wavefronts of shared memory where 1.0 would do
__global__ void transpose(const float* in, float* out, int n) {
#ifdef FIXED
    __shared__ float tile[32][33];
#else
    __shared__ float tile[32][32];
#endif
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 32, y = blockIdx.y * 32;
    tile[ty][tx] = in[(y + ty) * n + x + tx];
    __syncthreads();
    out[(x + ty) * n + y + tx] = tile[tx][ty];  // <- here
}
int main() {
    const int n = 64, bytes = n * n * sizeof(float);
    float *in, *out;
    cudaMalloc(&in, bytes), cudaMalloc(&out, bytes);
    cudaMemset(in, 0, bytes);
    transpose<<<dim3(2, 2), dim3(32, 32)>>>(in, out, n);
    cudaFree(in), cudaFree(out);
    return cudaDeviceSynchronize() != cudaSuccess;
}

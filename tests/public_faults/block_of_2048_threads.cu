// The kernel does nothing, and C keeps what was in it before.
// Seen: fails
// Cause: a block has 2048 threads; at most 1024 are allowed, and the launch's error is not checked.
// Source: https://deadends.dev/cuda/too-many-threads/cuda12-linux
// Says: a block has 1 to 1024
__global__ void add(const float* a, const float* b, float* c, int width) {
    int i = (blockIdx.y * blockDim.y + threadIdx.y) * width + threadIdx.x;
    c[i] = a[i] + b[i];
}
int main() {
    const int width = 64, height = 64;
    float* m;
    cudaMalloc(&m, 3 * width * height * sizeof(float));
    cudaMemset(m, 0, 3 * width * height * sizeof(float));
#ifdef FIXED
    dim3 block(width, 16);
#else
    dim3 block(width, 32);
#endif
    dim3 grid(1, height / block.y);
    add<<<grid, block>>>(m, m + width * height, m + 2 * width * height, width);  // <- here
    cudaDeviceSynchronize();
    cudaFree(m);
}

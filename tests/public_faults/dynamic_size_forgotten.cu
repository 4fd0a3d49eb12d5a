// A kernel with an extern __shared__ array reads wrong values, or fails in a debug build only.
// Seen: crashes
// Cause: the kernel uses extern __shared__ memory, but the launch has no third argument.
// Source: https://github.com/alicevision/popsift/pull/109
// Says: out of bounds
// Says: the launch's third argument gives it 0 bytes
__global__ void reverse(float* data) {
    extern __shared__ float copy[];
    copy[threadIdx.x] = data[threadIdx.x];  // <- here
    __syncthreads();
    data[threadIdx.x] = copy[blockDim.x - 1 - threadIdx.x];
}
int main() {
    float* data;
    cudaMalloc(&data, 64 * sizeof(float));
    cudaMemset(data, 0, 64 * sizeof(float));
#ifdef FIXED
    reverse<<<1, 64, 64 * sizeof(float)>>>(data);
#else
    reverse<<<1, 64>>>(data);
#endif
    cudaDeviceSynchronize();
    cudaFree(data);
}

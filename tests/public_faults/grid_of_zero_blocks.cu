// Nothing happens for small inputs, and I see no error.
// Seen: fails
// Cause: the number of blocks is rounded down to 0, so that the launch fails, and its error is not checked.
// Source: https://github.com/JuliaGPU/GemmKernels.jl/issues/97
// Says: 0 x 1 x 1 blocks
__global__ void fill(float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 1;
}
int main() {
    const int n = 100;
    float* out;
    cudaMalloc(&out, n * sizeof(float));
#ifdef FIXED
    int blocks = (n + 127) / 128;
#else
    int blocks = n / 128;
#endif
    fill<<<blocks, 128>>>(out, n);  // <- here
    cudaDeviceSynchronize();
    cudaFree(out);
}

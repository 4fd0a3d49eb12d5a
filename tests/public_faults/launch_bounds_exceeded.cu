// The launch fails with larger blocks: too many resources requested for launch.
// Seen: fails
// Cause: the kernel declares __launch_bounds__(256), and is launched with 512 threads.
// Source: own
// Says: __launch_bounds__ says 256
__global__ void __launch_bounds__(256) fill(float* out) {  // <- here
    out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}
int main() {
    float* out;
    cudaMalloc(&out, 512 * sizeof(float));
#ifdef FIXED
    fill<<<2, 256>>>(out);
#else
    fill<<<1, 512>>>(out);
#endif
    cudaDeviceSynchronize();
    cudaFree(out);
}

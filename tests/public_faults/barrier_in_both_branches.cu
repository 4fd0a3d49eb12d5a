// The kernel hangs on some GPUs, though every thread reaches a __syncthreads().
// Seen: hangs
// Cause: the barrier stands in both branches of an if: some threads of a block take one, the others the other.
// Source: http://stackoverflow.com/questions/14340938
// Says: barrier divergence
__global__ void smooth(const float* in, float* out, int n) {
    __shared__ float tile[32];
    int i = blockIdx.x * 30 + threadIdx.x - 1;
    if (i < 0 || i >= n) {
        tile[threadIdx.x] = 0;
#ifndef FIXED
        __syncthreads();  // <- here
#endif
    } else {
        tile[threadIdx.x] = in[i];
#ifndef FIXED
        __syncthreads();  // <- here
#endif
    }
#ifdef FIXED
    __syncthreads();
#endif
    if (threadIdx.x % 31 && i < n) out[i] = (tile[threadIdx.x - 1] + tile[threadIdx.x + 1]) / 2;
}
int main() {
    float *in, *out;
    cudaMalloc(&in, 60 * sizeof(float)), cudaMalloc(&out, 60 * sizeof(float));
    cudaMemset(in, 0, 60 * sizeof(float));
    smooth<<<2, 32>>>(in, out, 60);
    cudaFree(in), cudaFree(out);
    return cudaDeviceSynchronize() != cudaSuccess;
}

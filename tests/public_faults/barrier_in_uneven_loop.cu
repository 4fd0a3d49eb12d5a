// The kernel hangs as soon as n is not a multiple of the block.
// Seen: hangs
// Cause: a __syncthreads() stands in a loop that some threads of the block run once more than others.
// Source: https://github.com/csarofeen/pytorch/issues/893
// Says: barrier divergence
__global__ void spread(const float* in, float* out, int n) {
    __shared__ float s[64];
#ifdef FIXED
    for (int first = 0; first < n; first += 64) {
        int i = first + threadIdx.x;
        if (i < n) s[threadIdx.x] = in[i];
#else
    for (int i = threadIdx.x; i < n; i += 64) {
        s[threadIdx.x] = in[i];
#endif
        __syncthreads();  // <- here
        if (i < n && i > 0) out[i] = s[threadIdx.x] - s[(threadIdx.x + 63) % 64];
        __syncthreads();
    }
    s[threadIdx.x] = n;
    __syncthreads();  // <- here
    if (threadIdx.x == 0) out[0] = s[63];
}
int main() {
    float *in, *out;
    cudaMalloc(&in, 100 * sizeof(float)), cudaMalloc(&out, 100 * sizeof(float));
    cudaMemset(in, 0, 100 * sizeof(float));
    spread<<<1, 64>>>(in, out, 100);
    cudaFree(in), cudaFree(out);
    return cudaDeviceSynchronize() != cudaSuccess;
}

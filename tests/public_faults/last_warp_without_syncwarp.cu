// My sum leaves out __syncthreads() for its last 32 threads: it is wrong on Volta and later, in some builds.
// Seen: differs
// Cause: no __syncwarp() between the steps of the last warp. volatile alone does not order its lanes.
// Source: https://forums.developer.nvidia.com/t/possible-bug-in-reduction-routine-from-the-cuda-7-sdk/53338
// Says: race in shared memory
// Says: 16 more pairs of lines
__global__ void sum(const float* in, float* out) {
    __shared__ volatile float s[64];
    int t = threadIdx.x;
    s[t] = in[t];
    __syncthreads();
    if (t < 32) {
#ifdef FIXED
        for (int n = 32; n > 0; n /= 2) {
            float other = s[t + n];
            __syncwarp();
            s[t] += other;
            __syncwarp();
        }
#else
        s[t] += s[t + 32];
        s[t] += s[t + 16];  // <- here
        s[t] += s[t + 8];  // <- here
        s[t] += s[t + 4];
        s[t] += s[t + 2];
        s[t] += s[t + 1];
#endif
    }
    if (t == 0) *out = s[0];
}
int main() {
    float *in, *out;
    cudaMalloc(&in, 64 * sizeof(float)), cudaMalloc(&out, sizeof(float));
    cudaMemset(in, 0, 64 * sizeof(float));
    sum<<<1, 64>>>(in, out);
    cudaFree(in), cudaFree(out);
    return cudaDeviceSynchronize() != cudaSuccess;
}

// A sum by shuffles hangs on Volta and later GPUs, and worked on the ones before.
// Seen: hangs
// Cause: only the lanes with data call __shfl_down_sync(), and its mask names all 32.
// Source: https://github.com/uzh-rpg/vilib/pull/5
// Says: warp divergence
// Says: threads 20 to 31 wait at
__global__ void sums(const float* in, float* out, int n) {
    __shared__ float s[2];
    int t = threadIdx.x;
    float x = t < n ? in[t] : 0;
#ifndef FIXED
    if (t < n)
#endif
        for (int d = 16; d > 0; d /= 2) x += __shfl_down_sync(0xffffffff, x, d);  // <- here
    if (t % 32 == 0) s[t / 32] = x;
    __syncthreads();  // <- here
    if (t == 0) *out = s[0] + s[1];
}
int main() {
    float *in, *out;
    cudaMalloc(&in, 64 * sizeof(float)), cudaMalloc(&out, sizeof(float));
    cudaMemset(in, 0, 64 * sizeof(float));
    sums<<<1, 64>>>(in, out, 20);
    cudaFree(in), cudaFree(out);
    return cudaDeviceSynchronize() != cudaSuccess;
}

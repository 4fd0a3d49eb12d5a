// The kernel hangs at bar.sync when the block has fewer rows than warps.
// Seen: hangs
// Cause: a warp without work returns, but bar.sync 1, 64 still waits for its 32 threads.
// Source: own
// Says: a barrier at which 32 of 64 threads have arrived: threads 0 to 31
// Says: have returned at
#include "common/ptx/ptx.cuh"
__global__ void rows(const float* in, float* out, int n) {
    __shared__ float s[64];
    int warp = threadIdx.x / 32;
#ifdef FIXED
    bool works = warp < n;
#else
    if (warp >= n) return;  // <- here
    bool works = true;
#endif
    s[threadIdx.x] = works ? in[threadIdx.x] : 0;
    ptx::named_barrier_sync(1, 64);  // <- here
    if (works) out[threadIdx.x] = s[warp * 32 + 31 - threadIdx.x % 32];
}
int main() {
    float *in, *out;
    cudaMalloc(&in, 64 * sizeof(float)), cudaMalloc(&out, 64 * sizeof(float));
    cudaMemset(in, 0, 64 * sizeof(float));
    rows<<<1, 64>>>(in, out, 1);
    cudaFree(in), cudaFree(out);
    return cudaDeviceSynchronize() != cudaSuccess;
}

// The block hangs at a named barrier that stands in the branch of one warpgroup.
// Seen: hangs
// Cause: bar.sync is given the block's 256 threads, and only the 128 of the branch ever come.
// Source: https://github.com/deepseek-ai/FlashMLA/pull/57
// Says: a barrier at which 128 of 256 threads have arrived: threads 0 to 127
// Says: threads 128 to 255 have returned
#include "common/ptx/ptx.cuh"
__global__ void softmax_scale(const float* in, float* out) {
    __shared__ float largest[128];
    if (threadIdx.x < 128) {
        largest[threadIdx.x] = in[threadIdx.x];
#ifdef FIXED
        ptx::named_barrier_sync(1, 128);
#else
        ptx::named_barrier_sync(1, 256);  // <- here
#endif
        out[threadIdx.x] = largest[127 - threadIdx.x];
    } else {
        out[threadIdx.x] = 1;
    }
}
int main() {
    float *in, *out;
    cudaMalloc(&in, 128 * sizeof(float)), cudaMalloc(&out, 256 * sizeof(float));
    cudaMemset(in, 0, 128 * sizeof(float));
    softmax_scale<<<1, 256>>>(in, out);
    cudaDeviceSynchronize();
    cudaFree(in), cudaFree(out);
}

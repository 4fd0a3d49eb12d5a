// Zeros appear now and then in the output that the epilogue passes through shared memory.
// Seen: cp_async
// Cause: after the last tile the loop goes on to issue copies, which only store zeros. They are still in flight.
// Source: https://github.com/NVIDIA/Fuser/pull/2005
// Says: has yet to write
// Says: leaves the last group in flight, and the copy is in it
#include <cuda_pipeline.h>

#include <cstdio>
constexpr int kSteps = 4;
__global__ void smooth(const float* in, float* out) {
    __shared__ float s[2][64];
    const int t = threadIdx.x;
    float sum = 0;
    __pipeline_memcpy_async(&s[0][t], &in[t], 4);
    __pipeline_commit();
    for (int i = 0; i < kSteps; ++i) {
        const bool more = i + 1 < kSteps;
        __pipeline_memcpy_async(&s[(i + 1) % 2][t], &in[more ? (i + 1) * 64 + t : 0], 4,  // <- here
                                more ? 0 : 4);
        __pipeline_commit();
        __pipeline_wait_prior(1);  // <- here
        __syncthreads();
        sum += s[i % 2][63 - t];
        __syncthreads();
    }
#ifdef FIXED
    __pipeline_wait_prior(0);
    __syncthreads();
#endif
    s[0][63 - t] = sum;  // <- here
    __syncthreads();
    out[t] = s[0][t];
}
int main() {
    float *in, *out, h;
    cudaMalloc(&in, kSteps * 256), cudaMalloc(&out, 256);
    cudaMemset(in, 0, kSteps * 256);
    smooth<<<1, 64>>>(in, out);
    cudaMemcpy(&h, out, sizeof h, cudaMemcpyDeviceToHost);
    std::printf("%g\n", h);
    cudaFree(in), cudaFree(out);
}

// cuda::pipeline with two stages: every tile is processed one iteration too early.
// Seen: cp_async
// Cause: consumer_wait() waits for the oldest stage, and the loop then reads the one that it has just submitted.
// Source: own
// Says: has not written yet
#include <cuda/pipeline>

#include <cstdio>
constexpr int kSteps = 4;
__global__ void add_up(const float* in, float* out) {
    __shared__ float s[2][32];
    auto pipe = cuda::make_pipeline();
    const int t = threadIdx.x;
    float sum = 0;
    const auto load = [&](int step) {
        pipe.producer_acquire();
        cuda::memcpy_async(&s[step % 2][t], &in[step * 32 + t], sizeof(float), pipe);  // <- here
        pipe.producer_commit();
    };
    load(0);
    for (int i = 0; i < kSteps; ++i) {
        if (i + 1 < kSteps) load(i + 1);
        pipe.consumer_wait();
#ifdef FIXED
        sum += s[i % 2][t];
#else
        sum += s[(i + 1) % 2][t];  // <- here
#endif
        pipe.consumer_release();
    }
    out[t] = sum;
}
int main() {
    float *in, *out, h;
    cudaMalloc(&in, kSteps * 128), cudaMalloc(&out, 128);
    cudaMemset(in, 0, kSteps * 128);
    add_up<<<1, 32>>>(in, out);
    cudaMemcpy(&h, out, sizeof h, cudaMemcpyDeviceToHost);
    std::printf("%g\n", h);
    cudaFree(in), cudaFree(out);
}

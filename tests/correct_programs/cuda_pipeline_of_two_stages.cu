// Each block copies the next piece by a cuda::pipeline while it adds up the current one.
#include <cooperative_groups.h>
#include <cuda/pipeline>

#include <cstdio>
constexpr int kPiece = 128, kStages = 2;
__global__ void sums(const float* in, float* out, int pieces) {
    __shared__ float stage[kStages][kPiece];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
    const auto block = cooperative_groups::this_thread_block();
    auto pipeline = cuda::make_pipeline(block, &state);
    const auto fetch = [&](int piece) {
        pipeline.producer_acquire();
        cuda::memcpy_async(block, stage[piece % kStages], in + piece * kPiece, sizeof stage[0],
                           pipeline);
        pipeline.producer_commit();
    };
    float total = 0;
    fetch(0);
    for (int piece = 0; piece < pieces; ++piece) {
        if (piece + 1 < pieces) fetch(piece + 1);
        pipeline.consumer_wait();
        total += stage[piece % kStages][kPiece - 1 - threadIdx.x];
        pipeline.consumer_release();
    }
    out[threadIdx.x] = total;
}
int main() {
    const int pieces = 5;
    float h[pieces * kPiece], result[kPiece], *in, *out;
    for (int i = 0; i < pieces * kPiece; ++i) h[i] = float(i % kPiece);
    cudaMalloc(&in, sizeof h), cudaMalloc(&out, sizeof result);
    cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
    sums<<<1, kPiece>>>(in, out, pieces);
    cudaMemcpy(result, out, sizeof result, cudaMemcpyDeviceToHost);
    cudaFree(in), cudaFree(out);
    std::printf("%g\n", result[3]);
    return result[3] != pieces * (kPiece - 4);
}

// Each block copies the next tile by a cuda::pipeline while it adds up the current one.
#include <cooperative_groups.h>
#include <cuda/pipeline>

#include <cstdio>
constexpr int kTile = 128, kStages = 2;
__global__ void sums(const float* in, float* out, int tiles) {
    __shared__ float stage[kStages][kTile];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
    const auto block = cooperative_groups::this_thread_block();
    auto pipeline = cuda::make_pipeline(block, &state);
    const auto fetch = [&](int tile) {
        pipeline.producer_acquire();
        cuda::memcpy_async(block, stage[tile % kStages], in + tile * kTile, sizeof stage[0],
                           pipeline);
        pipeline.producer_commit();
    };
    float total = 0;
    fetch(0);
    for (int tile = 0; tile < tiles; ++tile) {
        if (tile + 1 < tiles) fetch(tile + 1);
        pipeline.consumer_wait();
        total += stage[tile % kStages][kTile - 1 - threadIdx.x];
        pipeline.consumer_release();
    }
    out[threadIdx.x] = total;
}
int main() {
    const int tiles = 5;
    float h[tiles * kTile], result[kTile], *in, *out;
    for (int i = 0; i < tiles * kTile; ++i) h[i] = float(i % kTile);
    cudaMalloc(&in, sizeof h), cudaMalloc(&out, sizeof result);
    cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
    sums<<<1, kTile>>>(in, out, tiles);
    cudaMemcpy(result, out, sizeof result, cudaMemcpyDeviceToHost);
    cudaFree(in), cudaFree(out);
    std::printf("%g\n", result[3]);
    return result[3] != tiles * (kTile - 4);
}

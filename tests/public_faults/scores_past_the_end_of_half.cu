// A score is inf, although all elements of the query and of the key are about 30.
// Seen: precision
// Cause: the sum of the products is kept in half, which ends at 65504, and is scaled only after that.
// Source: https://github.com/tracel-ai/burn/issues/4109
// Hint: infinite, because half ends at 65504: keep the sum in float
#include <cuda_fp16.h>

#include <cstdio>
#include <vector>
#ifdef FIXED
using Sum = float;
#else
using Sum = half;
#endif
const int kChannels = 128;
__global__ void scores(const half* query, const half* key, half* score, float scale) {
    Sum sum = 0.0f;
    for (int i = 0; i < kChannels; ++i)
        sum += Sum(query[i]) * Sum(key[threadIdx.x * kChannels + i]);  // <- here
    score[threadIdx.x] = float(sum) * scale;
}
int main() {
    const std::vector<half> ones(32 * kChannels, half(30));
    half *query, *key, *score, first;
    cudaMalloc(&query, kChannels * 2), cudaMalloc(&key, ones.size() * 2), cudaMalloc(&score, 64);
    cudaMemcpy(query, ones.data(), kChannels * 2, cudaMemcpyHostToDevice);
    cudaMemcpy(key, ones.data(), ones.size() * 2, cudaMemcpyHostToDevice);
    scores<<<1, 32>>>(query, key, score, 1.0f / 64);
    cudaMemcpy(&first, score, 2, cudaMemcpyDeviceToHost);
    std::printf("%g\n", float(first));
    cudaFree(query), cudaFree(key), cudaFree(score);
}

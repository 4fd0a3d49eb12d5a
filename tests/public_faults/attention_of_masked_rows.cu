// Attention is NaN for the queries to which the mask leaves no key.
// Seen: precision
// Cause: the maximum of a row that is masked everywhere is -inf, and -inf - -inf is NaN.
// Source: https://github.com/flashinfer-ai/flashinfer/pull/1178
// Hint: stores NaN
#include <cmath>
#include <cstdio>
const int kKeys = 24;
__global__ void weights(const float* score, const int* keys, float* weight) {
    const int query = blockIdx.x * blockDim.x + threadIdx.x;
    const auto masked = [&](int key) {
        return key < keys[query] ? score[query * kKeys + key] : -INFINITY;
    };
    float most = -INFINITY, sum = 0;
    for (int key = 0; key < kKeys; ++key) most = fmaxf(most, masked(key));
#ifdef FIXED
    if (most == -INFINITY) most = 0;
#endif
    for (int key = 0; key < kKeys; ++key) sum += expf(masked(key) - most);
#ifdef FIXED
    if (sum == 0) sum = 1;
#endif
    for (int key = 0; key < kKeys; ++key)
        weight[query * kKeys + key] = expf(masked(key) - most) / sum;  // <- here
}
int main() {
    const int queries = 64;
    static float score[queries * kKeys], weight[queries * kKeys];
    int keys[queries], *d_keys;
    for (int i = 0; i < queries * kKeys; ++i) score[i] = float(i % 7);
    for (int i = 0; i < queries; ++i) keys[i] = i % (kKeys + 1);
    float *d_score, *d_weight;
    cudaMalloc(&d_score, sizeof score), cudaMalloc(&d_weight, sizeof weight);
    cudaMalloc(&d_keys, sizeof keys);
    cudaMemcpy(d_score, score, sizeof score, cudaMemcpyHostToDevice);
    cudaMemcpy(d_keys, keys, sizeof keys, cudaMemcpyHostToDevice);
    weights<<<2, 32>>>(d_score, d_keys, d_weight);
    cudaMemcpy(weight, d_weight, sizeof weight, cudaMemcpyDeviceToHost);
    std::printf("%g %g\n", weight[0], weight[kKeys]);
    cudaFree(d_score), cudaFree(d_weight), cudaFree(d_keys);
}

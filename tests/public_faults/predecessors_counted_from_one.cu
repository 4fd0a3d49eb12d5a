// The kernel stops with a memory access fault, always at nodes with many predecessors.
// Seen: crashes
// Cause: the predecessors are counted from 1, so that their counter is one more than there are, and the last is not set.
// Source: https://github.com/ORNL/HeCBench/pull/251
// Says: index 8 of 'int [8]' in before[i]
#include <cstdio>
constexpr int kNodes = 8;
__global__ void best_score(const int* edges, const float* scores, float* best) {
    int before[kNodes], n = 1;
    before[0] = 0;
    for (int node = 0; node < kNodes - 1; ++node)
        if (edges[threadIdx.x * kNodes + node]) before[n++] = node;
    float most = 0;
#ifdef FIXED
    for (int i = 1; i < n; ++i) most = fmaxf(most, scores[before[i]]);
#else
    for (int i = 1; i <= n; ++i) most = fmaxf(most, scores[before[i]]);  // <- here
#endif
    best[threadIdx.x] = most;
}
int main() {
    int edges[kNodes * kNodes], *d_edges;
    float scores[kNodes], *d_scores, *d_best;
    for (int& edge : edges) edge = 1;
    for (int i = 0; i < kNodes; ++i) scores[i] = float(i);
    cudaMalloc(&d_edges, sizeof edges);
    cudaMalloc(&d_scores, sizeof scores), cudaMalloc(&d_best, sizeof scores);
    cudaMemcpy(d_edges, edges, sizeof edges, cudaMemcpyHostToDevice);
    cudaMemcpy(d_scores, scores, sizeof scores, cudaMemcpyHostToDevice);
    best_score<<<1, kNodes>>>(d_edges, d_scores, d_best);
    cudaMemcpy(scores, d_best, sizeof scores, cudaMemcpyDeviceToHost);
    printf("%g\n", scores[kNodes - 1]);
    cudaFree(d_edges), cudaFree(d_scores), cudaFree(d_best);
}

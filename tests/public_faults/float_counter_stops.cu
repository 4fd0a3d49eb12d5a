// The number of hits never exceeds 16777216.
// Seen: precision
// Cause: the hits are counted in a float, to which 1 is added: 16777216 + 1 is rounded to 16777216.
// Source: https://github.com/CUDA-Tutorial/CodeSamples/issues/1
// Hint: changes nothing, because float has 24 significant bits: count in unsigned
#include <cstdio>
#ifdef FIXED
using Count = unsigned;
#else
using Count = float;
#endif
__global__ void count(Count* hits) {
    if (threadIdx.x % 2 == 0) atomicAdd(hits, Count(1));  // <- here
}
int main() {
    Count *hits, so_far = 16777216 - 100;  // of the batches before
    cudaMalloc(&hits, sizeof(Count));
    cudaMemcpy(hits, &so_far, sizeof so_far, cudaMemcpyHostToDevice);
    count<<<8, 128>>>(hits);
    cudaMemcpy(&so_far, hits, sizeof so_far, cudaMemcpyDeviceToHost);
    std::printf("%.0f, expected %d\n", double(so_far), 16777216 - 100 + 8 * 64);
    cudaFree(hits);
}

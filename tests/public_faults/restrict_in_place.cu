// The function works in place in the debug build, and is wrong in the release build.
// Seen: wrong_result
// Cause: both arguments are one array, but the parameters are __restrict__, so that the compiler may read an element only once, before the store.
// Source: https://github.com/vortex-data/vortex/pull/6567
// Says: declares in, out as __restrict__, but two of them are the same array
#include <cstdio>
__global__ void add_ends(const float* __restrict__ in, float* __restrict__ out, int n) {  // <- here
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = in[i] + 1;
    out[i] += in[i];
}
int main() {
    float a[200] = {}, *from, *to;
    cudaMalloc(&from, sizeof a), cudaMalloc(&to, sizeof a);
    cudaMemcpy(from, a, sizeof a, cudaMemcpyHostToDevice);
#ifdef FIXED
    add_ends<<<2, 128>>>(from, to, 200);
    cudaMemcpy(a, to, sizeof a, cudaMemcpyDeviceToHost);
#else
    add_ends<<<2, 128>>>(from, from, 200);
    cudaMemcpy(a, from, sizeof a, cudaMemcpyDeviceToHost);
#endif
    std::printf("%g\n", a[0]);
    cudaFree(from), cudaFree(to);
}

// Split-K with a counter for each tile is correct once, and with the same workspace never again.
// Seen: wrong_result
// Cause: the counters keep the value of the launch before, so that no slice of a tile is the last one.
// Source: https://github.com/ROCm/aiter/pull/2877
// Hint: where the launch before has left it, so that no block gets 3 as the last one did then
#include <cstdio>
#include <vector>
// c[tile] is the sum of `slices` partial sums; the block that ends last adds them up.
__global__ void multiply(const float* a, const float* b, float* parts, unsigned* ended, float* c) {
    const unsigned tile = blockIdx.x, slice = blockIdx.y, slices = gridDim.y;
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        float sum = 0;
        for (unsigned k = slice * 16; k < slice * 16 + 16; ++k) sum += a[tile * 64 + k] * b[k];
        parts[tile * slices + slice] = sum;
        __threadfence();
        is_last = atomicAdd(&ended[tile], 1) == slices - 1;  // <- here
    }
    __syncthreads();
    if (!is_last || threadIdx.x > 0) return;
    __threadfence();
    float sum = 0;
    for (unsigned s = 0; s < slices; ++s) sum += parts[tile * slices + s];
    c[tile] = sum;  // <- here
}
int main() {
    const int tiles = 6, slices = 4, k = 64;
    float *a, *b, *parts, *c;
    unsigned* ended;
    cudaMalloc(&a, tiles * k * sizeof(float)), cudaMalloc(&b, k * sizeof(float));
    cudaMalloc(&parts, tiles * slices * sizeof(float)), cudaMalloc(&c, tiles * sizeof(float));
    cudaMalloc(&ended, tiles * sizeof(unsigned));
    cudaMemset(ended, 0, tiles * sizeof(unsigned));
    cudaMemcpy(b, std::vector<float>(k, 1).data(), k * sizeof(float), cudaMemcpyDefault);
    for (int step = 1; step <= 2; ++step) {
        std::vector<float> result(tiles), from(tiles * k, step);
        cudaMemcpy(a, from.data(), tiles * k * sizeof(float), cudaMemcpyDefault);
#ifdef FIXED
        cudaMemset(ended, 0, tiles * sizeof(unsigned));
#endif
        multiply<<<dim3(tiles, slices), 32>>>(a, b, parts, ended, c);
        cudaMemcpy(result.data(), c, tiles * sizeof(float), cudaMemcpyDeviceToHost);
        std::printf("%g, expected %d\n", result[0], k * step);
    }
    cudaFree(a), cudaFree(b), cudaFree(parts), cudaFree(c), cudaFree(ended);
}

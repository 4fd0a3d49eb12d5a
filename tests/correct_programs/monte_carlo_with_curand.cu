// Each thread has its own generator, whose state it keeps between two launches; a hash overflows on purpose.
#include <curand_kernel.h>

#include <cstdio>
__global__ void set_up(curandState* states) {
    curand_init(1234, threadIdx.x, 0, &states[threadIdx.x]);
}
__global__ void throw_darts(curandState* states, int darts, unsigned* hits, int* hashes) {
    curandState own = states[threadIdx.x];
    unsigned mine = 0;
    int hash = int(threadIdx.x) + 1;
    for (int i = 0; i < darts; ++i) {
        const float x = curand_uniform(&own), y = curand_uniform(&own);
        mine += x * x + y * y <= 1;
        hash = hash * 1103515245 + 12345;
    }
    states[threadIdx.x] = own;
    hits[threadIdx.x] += mine;
    hashes[threadIdx.x] = hash;
}
int main() {
    const int threads = 64, darts = 100;
    curandState* states;
    unsigned *hits, h[threads], all = 0;
    int* hashes;
    cudaMalloc(&states, threads * sizeof(curandState)), cudaMalloc(&hits, sizeof h);
    cudaMalloc(&hashes, threads * sizeof(int));
    cudaMemset(hits, 0, sizeof h);
    set_up<<<1, threads>>>(states);
    for (int i = 0; i < 2; ++i) throw_darts<<<1, threads>>>(states, darts, hits, hashes);
    cudaMemcpy(h, hits, sizeof h, cudaMemcpyDeviceToHost);
    for (unsigned x : h) all += x;
    cudaFree(states), cudaFree(hits), cudaFree(hashes);
    const double pi = 4.0 * all / (2 * threads * darts);
    std::printf("%g\n", pi);
    return pi < 3 || pi > 3.3;
}

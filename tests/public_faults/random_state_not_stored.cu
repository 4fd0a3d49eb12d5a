// Each step of the random walk goes the same way.
// Seen: wrong_result
// Cause: the kernel draws from a copy of the state and does not store it again, so that each launch begins with the same one.
// Source: own
// Hint: draws random numbers that an earlier launch has drawn
#include <curand_kernel.h>

#include <cstdio>
__global__ void begin(curandState* state, float* place) {
    curand_init(11, threadIdx.x, 0, &state[threadIdx.x]);
    place[threadIdx.x] = 0;
}
__global__ void step(curandState* state, float* place) {
    curandState mine = state[threadIdx.x];
    place[threadIdx.x] += curand_uniform(&mine) < 0.5f ? -1 : 1;  // <- here
#ifdef FIXED
    state[threadIdx.x] = mine;
#endif
}
int main() {
    curandState* state;
    float place[32], *d_place;
    cudaMalloc(&state, 32 * sizeof *state), cudaMalloc(&d_place, sizeof place);
    begin<<<1, 32>>>(state, d_place);
    for (int i = 0; i < 100; ++i) step<<<1, 32>>>(state, d_place);
    cudaMemcpy(place, d_place, sizeof place, cudaMemcpyDeviceToHost);
    std::printf("%g\n", place[0]);
    cudaFree(state), cudaFree(d_place);
}

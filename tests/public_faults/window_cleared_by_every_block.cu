// All blocks clear the same window in global memory before the fit begins: is that a race condition?
// Seen: harmless
// Cause: no error as long as nothing but these zeros is stored. It is wasted traffic, and a cudaMemset() is simpler.
// Source: https://github.com/ComputationalRadiationPhysics/cracen/issues/14
// Hint: as both store the same value, their order does not matter
#include <cstdio>
struct Window {
    int samples[32];
    float offset;
};
__global__ void prepare(Window* window, const int* data, int* peaks) {
#ifndef FIXED
    for (int i = threadIdx.x; i < 32; i += blockDim.x) window->samples[i] = 0;  // <- here
    if (threadIdx.x == 0) window->offset = 0;
#endif
    int peak = 0;
    for (int i = threadIdx.x; i < 128; i += 32) peak = max(peak, data[blockIdx.x * 128 + i]);
    peak = __reduce_max_sync(0xffffffffu, peak);
    if (threadIdx.x == 0) peaks[blockIdx.x] = peak;
}
int main() {
    Window w, *window;
    int h[4 * 128], *data, *peaks, found[4];
    for (int i = 0; i < 4 * 128; ++i) h[i] = i;
    cudaMalloc(&window, sizeof w), cudaMalloc(&data, sizeof h), cudaMalloc(&peaks, sizeof found);
    cudaMemset(window, 0, sizeof w);
    cudaMemcpy(data, h, sizeof h, cudaMemcpyHostToDevice);
    prepare<<<4, 32>>>(window, data, peaks);
    cudaMemcpy(found, peaks, sizeof found, cudaMemcpyDeviceToHost);
    cudaMemcpy(&w, window, sizeof w, cudaMemcpyDeviceToHost);
    cudaFree(window), cudaFree(data), cudaFree(peaks);
    return found[3] != 511 || w.samples[31] != 0 || w.offset != 0;
}

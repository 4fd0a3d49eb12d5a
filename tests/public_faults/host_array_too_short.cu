// The program aborts at its end: corrupted size vs. prev_size.
// Seen: crashes
// Cause: the result is copied to an array of the host that is too short, and overwrites what follows it.
// Source: own
// Says: writes 256 bytes of the host's memory, but the array there has 128
#include <cstdio>
#include <cstdlib>

__global__ void fill(float* p) { p[threadIdx.x] = 1; }

int main() {
#ifdef FIXED
    const int n = 64;
#else
    const int n = 32;
#endif
    float *d, *h = (float*)malloc(n * sizeof(float));
    cudaMalloc(&d, 64 * sizeof(float));
    fill<<<1, 64>>>(d);
    cudaMemcpy(h, d, 64 * sizeof(float), cudaMemcpyDeviceToHost);  // <- here
    std::printf("%g\n", h[0]);
    cudaFree(d);
    free(h);
}

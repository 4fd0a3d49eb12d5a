// The simulation runs for small systems, and a function of the host crashes for millions of atoms.
// Seen: crashes
// Cause: the function's local array has as many elements as there are atoms, more than the stack has room for.
// Source: https://github.com/brucefan1983/GPUMD/pull/82
// Says: overflows the host's stack
// Says: take at least 11.4 MiB
#include <cstdio>
#include <vector>
__global__ void move(float* x, float step, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        x[i] += step;
}
float last_position(const float* x, int n) {
#ifdef FIXED
    std::vector<float> host(n);
    cudaMemcpy(host.data(), x, n * sizeof(float), cudaMemcpyDeviceToHost);
#else
    float host[n];  // <- here
    cudaMemcpy(host, x, n * sizeof(float), cudaMemcpyDeviceToHost);
#endif
    return host[n - 1];
}
int main() {
    const int sizes[] = {1000, 3000000};
    for (const int n : sizes) {
        float* x;
        cudaMalloc(&x, n * sizeof(float));
        cudaMemset(x, 0, n * sizeof(float));
        move<<<2, 64>>>(x, 0.5f, 128);
        printf("%g\n", last_position(x, n));
        cudaFree(x);
    }
}

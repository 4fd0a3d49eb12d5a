// The program crashes before it prints anything: segmentation fault.
// Seen: crashes
// Cause: two matrices of 8 MiB each are local variables of main(), whose stack has 8 MiB in all.
// Source: own
// Says: overflows the host's stack
// Says: take at least 16.0 MiB
#include <cstdio>
#include <vector>

__global__ void fill(double* a) { a[threadIdx.x] = 1; }

#ifdef FIXED
int main() {
    std::vector<double> a(1024 * 1024), b(1024 * 1024);
#else
int main() {
    double a[1024 * 1024], b[1024 * 1024];  // <- here
#endif
    for (int i = 0; i < 1024 * 1024; ++i) a[i] = b[i] = i;
    double* d;
    cudaMalloc(&d, 1024 * 1024 * sizeof(double));
    cudaMemcpy(d, &a[0], 1024 * 1024 * sizeof(double), cudaMemcpyHostToDevice);
    fill<<<1, 32>>>(d);
    cudaMemcpy(&b[0], d, 1024 * 1024 * sizeof(double), cudaMemcpyDeviceToHost);
    std::printf("%g\n", b[5]);
    cudaFree(d);
}

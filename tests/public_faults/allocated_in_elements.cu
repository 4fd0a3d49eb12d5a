// The bodies beyond the first eighth never move, or the kernel stops.
// Seen: crashes
// Cause: cudaMalloc() and cudaMemcpy() take bytes, and get the number of elements.
// Source: https://github.com/bokesyo/CSC4005_2022Fall_Demo/issues/31
// Says: just past the end of 64 bytes of device memory
#include <cstdio>
__global__ void move(double* x, const double* v, int n) {
    const int i = threadIdx.x;
    if (i < n) x[i] += 0.1 * v[i];  // <- here
}
int main() {
    const int n = 64;
#ifdef FIXED
    const int bytes = n * sizeof(double);
#else
    const int bytes = n;
#endif
    double x[n], *d_x, *d_v;
    for (int i = 0; i < n; ++i) x[i] = i;
    cudaMalloc(&d_x, bytes), cudaMalloc(&d_v, bytes);
    cudaMemcpy(d_x, x, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(d_v, x, bytes, cudaMemcpyHostToDevice);
    move<<<1, 64>>>(d_x, d_v, n);
    cudaMemcpy(x, d_x, bytes, cudaMemcpyDeviceToHost);
    printf("%g\n", x[n - 1]);
    cudaFree(d_x), cudaFree(d_v);
}

// The copy to my std::vector crashes, or the numbers in it are wrong.
// Seen: crashes
// Cause: the vector has elements for half of the matrix: it was made before the matrix grew.
// Source: own
// Says: bytes of the host's memory, but the array there has
#include <cstdio>
#include <vector>

__global__ void fill(float* p) { p[blockIdx.x * 64 + threadIdx.x] = 1; }

int main() {
    int rows = 32;
    std::vector<float> h(rows * 64);
    rows = 64;
#ifdef FIXED
    h.resize(rows * 64);
#endif
    float* d;
    cudaMalloc(&d, rows * 64 * sizeof(float));
    fill<<<rows, 64>>>(d);
    cudaMemcpy(h.data(), d, rows * 64 * sizeof(float), cudaMemcpyDeviceToHost);  // <- here
    std::printf("%g\n", h[5]);
    cudaFree(d);
}

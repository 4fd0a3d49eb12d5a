// An illegal memory access was encountered, at an address far past the array.
// Seen: crashes
// Cause: i - 1 of an unsigned i = 0 is 4294967295.
// Source: own
// Says: as if an unsigned index had gone below 0
#include <cstdio>
#include <vector>

__global__ void smooth(const float* in, float* out, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIXED
    if (i >= 1 && i < n) out[i] = (in[i - 1] + in[i]) / 2;
    if (i == 0) out[0] = in[0];
#else
    if (i < n) out[i] = (in[i - 1] + in[i]) / 2;  // <- here
#endif
}

int main() {
    const unsigned n = 1000;
    std::vector<float> h(n, 1);
    float *in, *out;
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    cudaMemcpy(in, h.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    smooth<<<4, 256>>>(in, out, n);
    cudaMemcpy(h.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost);
    std::printf("%g\n", h[3]);
    cudaFree(in);
    cudaFree(out);
}

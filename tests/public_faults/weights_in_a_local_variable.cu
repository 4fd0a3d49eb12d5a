// A second computation with the same parameters stops with an illegal address such as 0x7fffffffc320.
// Seen: crashes
// Cause: the object for the kernel holds a pointer to the parameters, a local variable of the host.
// Source: https://github.com/GridTools/gridtools/issues/607
// Says: out of bounds
// Says: not in device memory, but in the host's, which kernels cannot touch
#include <cstdio>
struct Weights {
    float left, centre, right;
};
struct Stencil {
#ifdef FIXED
    Weights weights;
    __device__ const Weights& get() const { return weights; }
#else
    const Weights* weights;
    __device__ const Weights& get() const { return *weights; }
#endif
};
__global__ void smooth(Stencil stencil, const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    if (i >= n - 1) return;
    const Weights& w = stencil.get();
    out[i] = w.left * in[i - 1] + w.centre * in[i] + w.right * in[i + 1];  // <- here
}
void compute(const float* in, float* out, int n) {
    Weights weights = {0.25f, 0.5f, 0.25f};
#ifdef FIXED
    Stencil stencil{weights};
#else
    Stencil stencil{&weights};
#endif
    smooth<<<(n + 63) / 64, 64>>>(stencil, in, out, n);
}
int main() {
    const int n = 150;
    float *in, *out;
    cudaMalloc(&in, n * sizeof(float)), cudaMemset(in, 0, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float)), cudaMemset(out, 0, n * sizeof(float));
    compute(in, out, n), compute(out, in, n);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(in), cudaFree(out);
}

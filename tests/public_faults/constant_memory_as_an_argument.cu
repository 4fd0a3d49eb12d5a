// The filter in constant memory is zero, or the kernel stops, though cudaMemcpyToSymbol() succeeds.
// Seen: crashes
// Cause: the host passes the filter's name to the kernel. Kernels use the name themselves.
// Source: own
// Says: passes to the kernel the host's name of the __constant__ variable filter
#include <cstdio>
__constant__ float filter[3];
#ifdef FIXED
__global__ void blur(const float* in, float* out) {
    const float* f = filter;
#else
__global__ void blur(const float* in, float* out, const float* f) {
#endif
    const int i = threadIdx.x + 1;
    out[i] = f[0] * in[i - 1] + f[1] * in[i] + f[2] * in[i + 1];
}
int main() {
    float *in, *out;
    const float weights[3] = {0.25f, 0.5f, 0.25f};
    cudaMemcpyToSymbol(filter, weights, sizeof weights);
    cudaMalloc(&in, 66 * sizeof(float)), cudaMalloc(&out, 66 * sizeof(float));
    cudaMemset(in, 0, 66 * sizeof(float));
#ifdef FIXED
    blur<<<1, 64>>>(in, out);
#else
    blur<<<1, 64>>>(in, out, filter);  // <- here
#endif
    cudaDeviceSynchronize();
    cudaFree(in), cudaFree(out);
}

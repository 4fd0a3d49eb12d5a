// Segmentation fault after the kernel, where the result is printed.
// Seen: crashes
// Cause: the host reads through the pointer from cudaMalloc(), without cudaMemcpy().
// Source: https://github.com/ComputationalRadiationPhysics/picongpu/pull/4029
// Says: accesses device memory, which only kernels can
#include <cstdio>
__global__ void fill(int* out) { *out = 7; }
int main() {
    int* out;
    cudaMalloc(&out, sizeof(int));
    fill<<<1, 1>>>(out);
    cudaDeviceSynchronize();
#ifdef FIXED
    int value;
    cudaMemcpy(&value, out, sizeof(int), cudaMemcpyDeviceToHost);
    printf("%d\n", value);
#else
    printf("%d\n", *out);  // <- here
#endif
    cudaFree(out);
}

// cp.async.cg ends with a misaligned address, but only if the rows are not a multiple of four floats.
// Seen: crashes
// Cause: .cg copies 16 bytes from multiples of 16; rows of 6 floats begin at multiples of 8.
// Source: https://github.com/csarofeen/pytorch/pull/2482
// Says: cp.async: an address is not aligned to 16 bytes
#include <cstdint>
#include <cstdio>
__global__ void first_four(const float* in, int columns, float* out) {
    __shared__ __align__(16) float s[32][4];
    const int row = threadIdx.x;
    const float* from = in + row * columns;
    const uint32_t to = (uint32_t)__cvta_generic_to_shared(s[row]);
#ifdef FIXED
    for (int i = 0; i < 4; i += 2)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(to + 4 * i), "l"(from + i));
#else
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from));  // <- here
#endif
    asm volatile("cp.async.wait_all;" ::: "memory");
    for (int i = 0; i < 4; ++i) out[row * 4 + i] = s[row][i];
}
int main() {
    float h[32 * 6], *a, *b;
    for (int i = 0; i < 32 * 6; ++i) h[i] = i;
    cudaMalloc(&a, sizeof h), cudaMalloc(&b, 512);
    cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
    first_four<<<1, 32>>>(a, 6, b);
    cudaMemcpy(h, b, 512, cudaMemcpyDeviceToHost);
    std::printf("%g\n", h[5]);
    cudaFree(a), cudaFree(b);
}

// ldmatrix in inline PTX ends with an illegal address, though the pointer is correct.
// Seen: crashes
// Cause: ldmatrix takes an address of shared memory, and gets the lower half of a generic pointer.
// Source: own
// Says: ldmatrix.sync: that is not a shared-memory address: __cvta_generic_to_shared(pointer) gives it
#include <cuda_fp16.h>

#include <cstdint>
#include <cstdio>
__global__ void tile(uint32_t* out) {
    __shared__ __align__(16) half s[8][8];
    const int lane = threadIdx.x;
    for (int i = lane; i < 64; i += 32) s[i / 8][i % 8] = __float2half(i);
    __syncwarp();
#ifdef FIXED
    const uint32_t row = (uint32_t)__cvta_generic_to_shared(s[lane % 8]);
#else
    const uint32_t row = (uint32_t)(uintptr_t)s[lane % 8];
#endif
    uint32_t pair;
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"  // <- here
                 : "=r"(pair)
                 : "r"(row));
    out[lane] = pair;
}
int main() {
    uint32_t h[32], *d;
    cudaMalloc(&d, sizeof h);
    tile<<<1, 32>>>(d);
    cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
    std::printf("%g\n", __half2float(__ushort_as_half(h[1] & 0xffff)));
    cudaFree(d);
}

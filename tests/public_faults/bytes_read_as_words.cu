// Some threads read words that are shifted by a byte or more.
// Seen: wrong_result
// Cause: a pointer to bytes is cast to one of 32-bit words at an address that is not a multiple of 4.
// Source: https://forums.developer.nvidia.com/t/char-to-uint32-t-pointer-recasting-oddity-single-thread-exhibits-different-behavior-then-others/25769
// Says: misaligned
#include <cstdint>
__global__ void words(const uint8_t* bytes, uint32_t* out) {
    const uint8_t* mine = bytes + threadIdx.x * 7;
#ifdef FIXED
    out[threadIdx.x] = mine[0] | mine[1] << 8 | mine[2] << 16 | uint32_t(mine[3]) << 24;
#else
    out[threadIdx.x] = *reinterpret_cast<const uint32_t*>(mine);  // <- here
#endif
}
int main() {
    uint8_t* bytes;
    uint32_t* out;
    cudaMalloc(&bytes, 256), cudaMalloc(&out, 32 * sizeof(uint32_t));
    cudaMemset(bytes, 1, 256);
    words<<<1, 32>>>(bytes, out);
    cudaDeviceSynchronize();
    cudaFree(bytes), cudaFree(out);
}

// The first lines that a kernel prints are missing as soon as many threads print.
// Seen: wrong_result
// Cause: printf() writes to a buffer of 1 MiB, whose oldest lines are overwritten before the host prints them.
// Source: https://github.com/voxcraft/voxcraft-sim/pull/52
// Hint: bytes, and a GPU's buffer for them has 1048576: the first ones are overwritten and never printed
#include <cstdio>
__global__ void trace(int step) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    printf("%u %u %u %d\n", i, blockIdx.x, threadIdx.x, step);  // <- here
}
int main() {
#ifdef FIXED
    cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 8 << 20);
#endif
    trace<<<128, 256>>>(1);
    cudaDeviceSynchronize();
}

// The records of a full survey are written with an illegal memory access; a few receivers less, and all is fine.
// Seen: crashes
// Cause: (shot * receivers + receiver) * times + time is computed in 32 bits, and exceeds 2^31.
// Source: https://github.com/DeepWave-KAUST/sweep/pull/76
// Says: because an index has overflowed at
// Says: 46000 * 47397 does not fit in 'int'
#include <cstdio>
#ifdef FIXED
using Index = long long;
#else
using Index = int;
#endif
__device__ Index place(Index receiver, Index times) {
    return receiver * times;  // <- here
}
__global__ void record(signed char* records, int receiver, int times) {
    const Index at = place(receiver, times) + threadIdx.x;
    records[at] = 1;  // <- here
}
int main() {
    const int receivers = 46400, times = 47397;
    signed char* records;
    cudaMalloc(&records, size_t(receivers) * times);
    record<<<1, 64>>>(records, 46000, times);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(records);
}

// The kernel calls a function by its pointer: an illegal instruction, or an invalid program counter.
// Seen: crashes
// Cause: the host takes the address of a __device__ function, but gets one that is valid on the host alone.
// Source: https://github.com/eyalroz/cuda-kat/issues/94
// Says: the host's address of larger(), which is not its address on the device
#include <cstdio>
using Combine = int (*)(int, int);
__host__ __device__ int larger(int a, int b) { return a < b ? b : a; }
__device__ Combine d_larger = larger;
__global__ void combine(Combine combine, int* a, const int* b) {
    a[threadIdx.x] = combine(a[threadIdx.x], b[threadIdx.x]);
}
int main() {
    int a[64], *d_a, *d_b;
    for (int i = 0; i < 64; ++i) a[i] = i * 5 % 64;
    cudaMalloc(&d_a, sizeof a), cudaMalloc(&d_b, sizeof a);
    cudaMemcpy(d_a, a, sizeof a, cudaMemcpyHostToDevice);
    cudaMemset(d_b, 0, sizeof a);
    Combine chosen = larger;
#ifdef FIXED
    cudaMemcpyFromSymbol(&chosen, d_larger, sizeof chosen);
#endif
    combine<<<1, 64>>>(chosen, d_a, d_b);  // <- here
    cudaMemcpy(a, d_a, sizeof a, cudaMemcpyDeviceToHost);
    std::printf("%d\n", a[1]);
    cudaFree(d_a), cudaFree(d_b);
}

// A sum by shuffles is correct on an A100 and wrong on an H100.
// Seen: wrong_result
// Cause: 0x1f is 31, the last lane's number. A mask has a bit for each lane: 0x1f names lanes 0 to 4.
// Source: https://github.com/NVIDIA/cutlass/issues/1094
// Says: not in the mask 0x1f
__global__ void sum(float* v) {
    float x = v[threadIdx.x];
#ifdef FIXED
    const unsigned mask = 0xffffffff;
#else
    const unsigned mask = 0x1f;
#endif
    for (int d = 16; d > 0; d /= 2) x += __shfl_down_sync(mask, x, d);  // <- here
    if (threadIdx.x == 0) v[0] = x;
}
int main() {
    float* v;
    cudaMalloc(&v, 32 * sizeof(float));
    cudaMemset(v, 0, 32 * sizeof(float));
    sum<<<1, 32>>>(v);
    cudaFree(v);
    return cudaDeviceSynchronize() != cudaSuccess;
}

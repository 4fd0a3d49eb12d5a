// The sum of a warp is wrong on newer GPUs.
// Seen: wrong_result
// Cause: lanes 24 to 31 are not in the mask of __shfl_xor_sync(), and have returned, but others read their values.
// Source: https://github.com/catboost/catboost/issues/2339
// Says: reads lane 24, which is not in the mask 0xffffff
__global__ void sum(const int* in, int* out) {
    int value = in[threadIdx.x];
#ifndef FIXED
    if (threadIdx.x >= 24) return;
#endif
    for (int lane = 16; lane; lane /= 2)
#ifdef FIXED
        value += __shfl_xor_sync(0xFFFFFFFF, value, lane);
#else
        value += __shfl_xor_sync(0xFFFFFF, value, lane);  // <- here
#endif
    if (threadIdx.x == 0) *out = value;
}
int main() {
    int *in, *out;
    cudaMalloc(&in, 32 * sizeof(int)), cudaMalloc(&out, sizeof(int));
    cudaMemset(in, 0, 32 * sizeof(int));
    sum<<<1, 32>>>(in, out);
    cudaDeviceSynchronize();
    cudaFree(in), cudaFree(out);
}

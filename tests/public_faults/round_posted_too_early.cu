// A kernel with barriers in a loop hangs now and then; with one barrier more in the loop it does not.
// Seen: hangs
// Cause: a fast thread posts its value for the next round while others still read the last, and they leave the loop early.
// Source: https://github.com/yelhousni/zprize-GPU-MSM-harness/pull/1
// Says: race in shared memory
// Says: barrier divergence
#include <cstdio>
__global__ void rounds(const int* digits, int* sum) {
    __shared__ int posted[64], total;
    const int t = threadIdx.x;
    if (t == 0) total = 0;
    for (int round = 0;; ++round) {
        posted[t] = digits[round * 64 + t];  // <- here
        __syncthreads();  // <- here
        bool all_alike = true;
        for (int i = 0; i < 64; ++i) all_alike = all_alike && posted[i] == posted[t];  // <- here
        if (all_alike) break;
#ifdef FIXED
        __syncthreads();
#endif
    }
    atomicAdd(&total, posted[t]);
    __syncthreads();  // <- here
    if (t == 0) *sum = total;
}
int main() {
    int h[192], *digits, *sum;
    for (int i = 0; i < 192; ++i) h[i] = i % 64 || i == 128 ? 5 : 4;
    cudaMalloc(&digits, sizeof h), cudaMalloc(&sum, sizeof(int));
    cudaMemcpy(digits, h, sizeof h, cudaMemcpyHostToDevice);
    rounds<<<1, 64>>>(digits, sum);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(digits), cudaFree(sum);
}

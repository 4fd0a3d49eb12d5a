// The sum of a warp is wrong, or differs between runs, if n is not a multiple of 32.
// Seen: wrong_result
// Cause: lanes without data return first, and __shfl_xor_sync() reads the value of a lane that has returned.
// Source: own
// Says: reads lane 18, which has returned at
__global__ void norm(float* v, int n) {
    int i = blockIdx.x * 32 + threadIdx.x;
#ifdef FIXED
    float x = i < n ? v[i] : 0, sum = x * x;
#else
    if (i >= n) return;  // <- here
    float x = v[i], sum = x * x;
#endif
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);  // <- here
    if (i < n) v[i] = x / sqrtf(sum);
}
int main() {
    float h[50], *v;
    for (float& x : h) x = 1;
    cudaMalloc(&v, sizeof h);
    cudaMemcpy(v, h, sizeof h, cudaMemcpyHostToDevice);
    norm<<<2, 32>>>(v, 50);
    cudaFree(v);
    return cudaDeviceSynchronize() != cudaSuccess;
}

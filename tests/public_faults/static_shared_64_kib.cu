// ptxas error: entry function uses too much shared data.
// Seen: fails
// Cause: more than 48 KiB of __shared__ arrays, which nvcc takes for sm_90a only. They must be smaller, or dynamic.
// Source: own
// Says: 65536 bytes of static shared memory
// Says: at most 49152
#ifdef FIXED
#define N 4096
#else
#define N 8192
#endif
__global__ void add(float* out) {
    __shared__ float a[N], b[N];
    for (int i = threadIdx.x; i < N; i += 256) a[i] = i, b[i] = 2 * i;
    __syncthreads();
    out[threadIdx.x] = a[threadIdx.x] + b[N - 1 - threadIdx.x];
}
int main() {
    float* out;
    cudaMalloc(&out, 256 * sizeof(float));
    add<<<1, 256>>>(out);  // <- here
    cudaDeviceSynchronize();
    cudaFree(out);
}

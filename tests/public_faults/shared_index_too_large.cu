// The histogram is wrong, and another kernel's shared memory seems to change.
// Seen: wrong_result
// Cause: the shared array has 32 x 128 bins, and the index goes up to 63 * 128 + 127.
// Source: https://github.com/ORNL/HeCBench/issues/83
// Says: out of bounds
// Says: index 4096 of 'unsigned char [4096]'
#ifdef FIXED
#define ROWS 64
#else
#define ROWS 32
#endif
__global__ void count(const unsigned char* in, unsigned char* out) {
    __shared__ unsigned char bins[ROWS * 128];
    for (int i = 0; i < 128; ++i) bins[threadIdx.x * 128 + i] = 0;  // <- here
    ++bins[threadIdx.x * 128 + in[threadIdx.x]];
    out[threadIdx.x] = bins[threadIdx.x * 128];
}
int main() {
    unsigned char *in, *out;
    cudaMalloc(&in, 64), cudaMalloc(&out, 64);
    cudaMemset(in, 0, 64);
    count<<<1, 64>>>(in, out);
    cudaDeviceSynchronize();
    cudaFree(in), cudaFree(out);
}

// A union gives the same shared memory to the tiles and, after a barrier, to the sums; another one reads bits.
#include <cstdio>
union Scratch {
    float tile[2][64];
    double sums[64];
};
union Bits {
    float value;
    unsigned bits;
};
__global__ void norm(const float* a, const float* b, double* out, unsigned* signs) {
    __shared__ Scratch scratch;
    const int t = threadIdx.x;
    scratch.tile[0][t] = a[t], scratch.tile[1][t] = b[t];
    __syncthreads();
    const double product = double(scratch.tile[0][63 - t]) * scratch.tile[1][63 - t];
    __syncthreads();
    scratch.sums[t] = product;
    __syncthreads();
    for (int half = 32; half > 0; half >>= 1) {
        if (t < half) scratch.sums[t] += scratch.sums[t + half];
        __syncthreads();
    }
    if (t == 0) *out = scratch.sums[0];
    Bits value;
    value.value = a[t];
    const unsigned negative = __ballot_sync(0xffffffff, value.bits >> 31);
    if (t % 32 == 0) signs[t / 32] = negative;
}
int main() {
    float h[2][64], *d;
    double* out;
    unsigned *signs, mask[2];
    double result, expected = 0;
    for (int i = 0; i < 64; ++i) {
        h[0][i] = i % 3 ? float(i) : float(-i - 1);
        h[1][i] = 2;
        expected += h[0][i] * h[1][i];
    }
    cudaMalloc(&d, sizeof h), cudaMalloc(&out, sizeof result), cudaMalloc(&signs, sizeof mask);
    cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
    norm<<<1, 64>>>(d, d + 64, out, signs);
    cudaMemcpy(&result, out, sizeof result, cudaMemcpyDeviceToHost);
    cudaMemcpy(mask, signs, sizeof mask, cudaMemcpyDeviceToHost);
    cudaFree(d), cudaFree(out), cudaFree(signs);
    std::printf("%g %g %x\n", result, expected, mask[0]);
    return result != expected || (mask[0] & 15) != 9;
}

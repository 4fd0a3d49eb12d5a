// Looking up rows of an embedding table stops with an illegal address, for tokens above some number only.
// Seen: crashes
// Cause: the table has more than 2^31 elements, and token * width is computed as an int.
// Source: https://github.com/microsoft/onnxruntime/issues/28107
// Says: because an index has overflowed at
// Says: 250000 * 8960 does not fit in 'int': compute a large index with size_t
#include <cstdio>
constexpr int kTokens = 262144, kWidth = 8960;
__global__ void gather(const signed char* table, int token, signed char* out) {
#ifdef FIXED
    size_t row = size_t(token) * kWidth;
#else
    int row = token * kWidth;  // <- here
#endif
    for (int i = 0; i < 32; ++i) out[i] = table[row + i];  // <- here
}
int main() {
    signed char *table, *out;
    cudaMalloc(&table, size_t(kTokens) * kWidth), cudaMalloc(&out, 32);
    cudaMemset(table + size_t(250000) * kWidth, 1, kWidth);
    gather<<<1, 1>>>(table, 250000, out);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(table), cudaFree(out);
}

// Misaligned address, but only if the matrix has an odd number of columns.
// Seen: crashes
// Cause: pairs of halves are loaded from rows of odd length, so that every second row starts in the middle of a pair.
// Source: https://github.com/NVIDIA/cutlass/issues/49
// Says: misaligned
#include <cuda_fp16.h>
__global__ void sum_rows(const half* in, float* out, int columns) {
    float sum = 0;
    const half* row = in + threadIdx.x * columns;
#ifdef FIXED
    for (int i = 0; i < columns; ++i) sum += __half2float(row[i]);
#else
    for (int i = 0; i + 1 < columns; i += 2) {
        float2 pair = __half22float2(*reinterpret_cast<const half2*>(row + i));  // <- here
        sum += pair.x + pair.y;
    }
    if (columns % 2) sum += __half2float(row[columns - 1]);
#endif
    out[threadIdx.x] = sum;
}
int main() {
    half* in;
    float* out;
    cudaMalloc(&in, 32 * 33 * sizeof(half)), cudaMalloc(&out, 32 * sizeof(float));
    cudaMemset(in, 0, 32 * 33 * sizeof(half));
    sum_rows<<<1, 32>>>(in, out, 33);
    cudaDeviceSynchronize();
    cudaFree(in), cudaFree(out);
}

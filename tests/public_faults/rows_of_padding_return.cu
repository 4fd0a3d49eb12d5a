// The rows that only pad the batch return at once, but the sum over a row has barriers: safe, if a row is whole warps?
// Seen: harmless
// Cause: no error: the other rows' barriers do not wait for exited warps, and no row reads the sums of another.
// Source: https://github.com/LeelaChessZero/lc0/pull/2420
#include <cstdio>
constexpr int kColumns = 64, kRows = 4;
__device__ float row_sum(float value) {
    __shared__ float halves[kRows][kColumns / 32];
    for (int lane = 16; lane > 0; lane /= 2) value += __shfl_down_sync(0xffffffff, value, lane);
    if (threadIdx.x % 32 == 0) halves[threadIdx.y][threadIdx.x / 32] = value;
    __syncthreads();
    const float sum = halves[threadIdx.y][0] + halves[threadIdx.y][1];
    __syncthreads();
    return sum;
}
__global__ void layer_norm(const float* in, float* out, int rows) {
    const int row = blockIdx.x * kRows + threadIdx.y, at = row * kColumns + threadIdx.x;
#ifdef FIXED
    const bool inside = row < rows;
#else
    if (row >= rows) return;
    const bool inside = true;
#endif
    const float value = inside ? in[at] : 0;
    const float centred = value - row_sum(value) / kColumns;
    const float variance = row_sum(centred * centred) / kColumns;
    if (inside) out[at] = centred * rsqrtf(variance + 1e-6f);
}
int main() {
    const int rows = 6;
    float h[rows * kColumns], *in, *out;
    for (int i = 0; i < rows * kColumns; ++i) h[i] = i % 2 ? 3.0f : 1.0f;
    cudaMalloc(&in, sizeof h), cudaMalloc(&out, sizeof h);
    cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
    layer_norm<<<2, dim3(kColumns, kRows)>>>(in, out, rows);
    cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
    cudaFree(in), cudaFree(out);
    printf("%g %g\n", h[0], h[rows * kColumns - 1]);
    return !(h[0] < -0.99f && h[rows * kColumns - 1] > 0.99f);
}

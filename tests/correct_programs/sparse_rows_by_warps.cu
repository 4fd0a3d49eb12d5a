// A sparse matrix in CSR form times a vector: a warp for each row, whose lanes add up by shuffles.
#include <cstdio>
#include <vector>
#define CHECK(call)                                                                             \
    do {                                                                                        \
        const cudaError_t status = (call);                                                      \
        if (status != cudaSuccess) {                                                            \
            std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            return 2;                                                                           \
        }                                                                                       \
    } while (0)
__global__ void multiply(int rows, const int* __restrict__ begin, const int* __restrict__ column,
                         const float* __restrict__ value, const float* __restrict__ x, float* y) {
    const int lane = threadIdx.x & 31, row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    if (row >= rows) return;
    float sum = 0;
    for (int i = begin[row] + lane; i < begin[row + 1]; i += 32)
        sum += __ldg(&value[i]) * __ldg(&x[column[i]]);
#pragma unroll
    for (int offset = 16; offset; offset >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if (lane == 0) y[row] = sum;
}
template <class T>
cudaError_t upload(T** device, const std::vector<T>& host) {
    const cudaError_t status = cudaMalloc(device, host.size() * sizeof(T));
    if (status != cudaSuccess) return status;
    return cudaMemcpy(*device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice);
}
int main() {
    const int rows = 45;
    std::vector<int> begin(1, 0), column;
    std::vector<float> value, x(rows, 2), y(rows);
    for (int row = 0; row < rows; ++row) {
        for (int c = 0; c <= row; ++c) column.push_back(c), value.push_back(1);
        begin.push_back(int(column.size()));
    }
    int *dBegin, *dColumn;
    float *dValue, *dX, *dY;
    CHECK(upload(&dBegin, begin));
    CHECK(upload(&dColumn, column));
    CHECK(upload(&dValue, value));
    CHECK(upload(&dX, x));
    CHECK(cudaMalloc(&dY, rows * sizeof(float)));
    multiply<<<(rows * 32 + 127) / 128, 128>>>(rows, dBegin, dColumn, dValue, dX, dY);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(y.data(), dY, rows * sizeof(float), cudaMemcpyDeviceToHost));
    for (void* p : std::vector<void*>{dBegin, dColumn, dValue, dX, dY}) CHECK(cudaFree(p));
    for (int row = 0; row < rows; ++row)
        if (y[row] != 2.0f * (row + 1)) return 1;
    std::puts("correct");
}

// A block of 32 x 8 threads transposes a tile of 32 x 32, padded by a column; the matrix is no multiple of the tile.
#include <cstdio>
#include <vector>
constexpr int kTile = 32, kRows = 8;
template <typename T>
__global__ void transpose(const T* __restrict__ in, T* __restrict__ out, int width, int height) {
    __shared__ T tile[kTile][kTile + 1];
    int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
    for (int j = 0; j < kTile && y + j < height; j += kRows)
        if (x < width) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * kTile + threadIdx.x, y = blockIdx.x * kTile + threadIdx.y;
    for (int j = 0; j < kTile && y + j < width; j += kRows)
        if (x < height) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}
int main() {
    const int width = 100, height = 77;
    std::vector<double> h(width * height), t(h.size());
    for (size_t i = 0; i < h.size(); ++i) h[i] = double(i);
    const size_t bytes = h.size() * sizeof(double);
    double *in, *out;
    cudaMalloc(&in, bytes), cudaMalloc(&out, bytes);
    cudaMemcpy(in, h.data(), bytes, cudaMemcpyHostToDevice);
    const dim3 grid((width + kTile - 1) / kTile, (height + kTile - 1) / kTile), block(kTile, kRows);
    transpose<<<grid, block>>>(in, out, width, height);
    cudaMemcpy(t.data(), out, bytes, cudaMemcpyDeviceToHost);
    cudaFree(in), cudaFree(out);
    int wrong = 0;
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) wrong += t[x * height + y] != h[y * width + x];
    std::printf("%d wrong\n", wrong);
    return wrong != 0;
}

// The game of life on bytes: a halo that wraps round is loaded by some threads, and two boards are swapped on the host.
#include <cstdio>
#include <utility>
constexpr int kBlock = 8;
__global__ void generation(const unsigned char* from, unsigned char* to, int width, int height) {
    __shared__ unsigned char cell[kBlock + 2][kBlock + 2];
    for (int i = threadIdx.y * kBlock + threadIdx.x; i < (kBlock + 2) * (kBlock + 2);
         i += kBlock * kBlock) {
        const int y = i / (kBlock + 2), x = i % (kBlock + 2);
        const int atY = (blockIdx.y * kBlock + y - 1 + height) % height;
        const int atX = (blockIdx.x * kBlock + x - 1 + width) % width;
        cell[y][x] = from[atY * width + atX];
    }
    __syncthreads();
    const int x = blockIdx.x * kBlock + threadIdx.x, y = blockIdx.y * kBlock + threadIdx.y;
    if (x >= width || y >= height) return;
    int alive = -cell[threadIdx.y + 1][threadIdx.x + 1];
    for (int dy = 0; dy < 3; ++dy)
        for (int dx = 0; dx < 3; ++dx) alive += cell[threadIdx.y + dy][threadIdx.x + dx];
    to[y * width + x] = alive == 3 || (alive == 2 && cell[threadIdx.y + 1][threadIdx.x + 1]);
}
int main() {
    constexpr int width = 20, height = 12, generations = 4 * height;
    unsigned char start[width * height] = {}, end[width * height], *a, *b;
    const int glider[][2] = {{0, 1}, {1, 2}, {2, 0}, {2, 1}, {2, 2}};
    for (const auto& at : glider) start[at[0] * width + at[1]] = 1;
    cudaMalloc(&a, sizeof start), cudaMalloc(&b, sizeof start);
    cudaMemcpy(a, start, sizeof start, cudaMemcpyHostToDevice);
    const dim3 block(kBlock, kBlock),
        grid((width + kBlock - 1) / kBlock, (height + kBlock - 1) / kBlock);
    for (int g = 0; g < generations; ++g) {
        generation<<<grid, block>>>(a, b, width, height);
        std::swap(a, b);
    }
    cudaMemcpy(end, a, sizeof end, cudaMemcpyDeviceToHost);
    cudaFree(a), cudaFree(b);
    int wrong = 0;  // a glider has moved by 12 rows, once round, and by 12 columns
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            wrong += end[y * width + (x + 12) % width] != start[y * width + x];
    std::printf("%d wrong\n", wrong);
    return wrong != 0;
}

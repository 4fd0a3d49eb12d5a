// A pitched array for each of two states, swapped on the host, and rows copied by cudaMemcpy2D.
#include <cstdio>
#include <utility>
__global__ void life(const char* from, size_t from_pitch, char* to, size_t to_pitch, int width,
                     int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const auto cell = [&](int dx, int dy) {
        return from[(y + dy + height) % height * from_pitch + (x + dx + width) % width];
    };
    int neighbours = -cell(0, 0);
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) neighbours += cell(dx, dy);
    to[y * to_pitch + x] = neighbours == 3 || (neighbours == 2 && cell(0, 0));
}
int main() {
    const int width = 19, height = 13;
    char board[height][width] = {}, *now, *next;
    board[0][1] = board[1][2] = board[2][0] = board[2][1] = board[2][2] = 1;  // a glider
    size_t now_pitch, next_pitch;
    cudaMallocPitch(&now, &now_pitch, width, height),
        cudaMallocPitch(&next, &next_pitch, width, height);
    cudaMemcpy2D(now, now_pitch, board, width, width, height, cudaMemcpyHostToDevice);
    for (int step = 0; step < 8; ++step) {
        life<<<dim3(3, 2), dim3(8, 8)>>>(now, now_pitch, next, next_pitch, width, height);
        std::swap(now, next), std::swap(now_pitch, next_pitch);
    }
    cudaMemcpy2D(board, width, now, now_pitch, width, height, cudaMemcpyDeviceToHost);
    cudaFree(now), cudaFree(next);
    const bool moved = board[2][3] && board[3][4] && board[4][2] && board[4][3] && board[4][4];
    std::puts(moved ? "moved" : "wrong");
    return !moved;
}

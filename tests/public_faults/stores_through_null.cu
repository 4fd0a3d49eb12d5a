// The program runs to its end, but the kernel has stored nothing, and I check no errors.
// Seen: fails
// Cause: the kernel's pointer is null, because nothing was allocated for it.
// Source: own
// Says: a null pointer
#include <cstdio>

struct Grid {
    float* cells = nullptr;
};

__global__ void fill() {
    Grid grid;
#ifdef FIXED
    __shared__ float cells[1];
    grid.cells = cells;
#endif
    *grid.cells = 1;  // <- here
}

int main() {
    fill<<<1, 1>>>();
    cudaDeviceSynchronize();
    std::printf("done\n");
}

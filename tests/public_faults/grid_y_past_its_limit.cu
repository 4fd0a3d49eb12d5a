// The result is silently wrong for tall matrices only.
// Seen: fails
// Cause: gridDim.y is 65536, one more than a grid may have, and the launch's error is not checked.
// Source: https://github.com/spcl/dace/issues/1266
// Says: a grid has 1 x 1 x 1 up to 2147483647 x 65535 x 65535
__global__ void clear(char* out, int rows) {
#ifdef FIXED
    int row = blockIdx.x;
#else
    int row = blockIdx.y;
#endif
    if (row < rows) out[row] = 0;
}
int main() {
    const int rows = 65536;
    char* out;
    cudaMalloc(&out, rows);
#ifdef FIXED
    dim3 grid(rows);
#else
    dim3 grid(1, rows);
#endif
    clear<<<grid, 1>>>(out, rows);  // <- here
    cudaDeviceSynchronize();
    cudaFree(out);
}

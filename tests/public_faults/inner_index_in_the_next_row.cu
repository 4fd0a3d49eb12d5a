// The right column of each tile is wrong, and no sanitizer says anything.
// Seen: wrong_result
// Cause: the guard tests y, not x, so that tile[y][x + 1] is read with x = 15: in the array, but in the next row.
// Source: own
// Says: index 16 of 'float [16]' in tile[y][x + 1]
#include <cstdio>
__global__ void slope(const float* in, float* out) {
    __shared__ float tile[16][16];
    const int x = threadIdx.x, y = threadIdx.y;
    tile[y][x] = in[y * 16 + x];
    __syncthreads();
#ifdef FIXED
    const bool inside = x < 15;
#else
    const bool inside = y < 15;
#endif
    out[y * 16 + x] = inside ? tile[y][x + 1] - tile[y][x] : 0;  // <- here
}
int main() {
    float image[256], *in, *out;
    for (int i = 0; i < 256; ++i) image[i] = i % 16;
    cudaMalloc(&in, sizeof image), cudaMalloc(&out, sizeof image);
    cudaMemcpy(in, image, sizeof image, cudaMemcpyHostToDevice);
    slope<<<1, dim3(16, 16)>>>(in, out);
    cudaMemcpy(image, out, sizeof image, cudaMemcpyDeviceToHost);
    printf("%g %g\n", image[0], image[15]);
    cudaFree(in), cudaFree(out);
}

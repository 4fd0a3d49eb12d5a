// The shared array has enough elements for the block, and rows overwrite parts of other rows.
// Seen: wrong_result
// Cause: it is declared [width][height] and accessed as [y][x].
// Source: https://github.com/ComputationalRadiationPhysics/picongpu/issues/1927
// Says: index 4 of 'float [4]' in tile[y][x]
#include <cstdio>
constexpr int kWidth = 16, kHeight = 4;
__global__ void flip(const float* in, float* out) {
#ifdef FIXED
    __shared__ float tile[kHeight][kWidth];
#else
    __shared__ float tile[kWidth][kHeight];
#endif
    const int x = threadIdx.x, y = threadIdx.y;
    tile[y][x] = in[y * kWidth + x];  // <- here
    __syncthreads();
    out[y * kWidth + x] = tile[y][kWidth - 1 - x];
}
int main() {
    float image[kHeight * kWidth], *in, *out;
    for (int i = 0; i < kHeight * kWidth; ++i) image[i] = float(i);
    cudaMalloc(&in, sizeof image), cudaMalloc(&out, sizeof image);
    cudaMemcpy(in, image, sizeof image, cudaMemcpyHostToDevice);
    flip<<<1, dim3(kWidth, kHeight)>>>(in, out);
    cudaMemcpy(image, out, sizeof image, cudaMemcpyDeviceToHost);
    printf("%g\n", image[0]);
    cudaFree(in), cudaFree(out);
}

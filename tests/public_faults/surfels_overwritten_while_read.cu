// racecheck has 21 errors for one loop over tiles: where do I begin?
// Seen: differs
// Cause: one barrier is missing, at the end of the loop: the next tile is stored while slow threads still read this one.
// Source: https://github.com/ORNL/HeCBench/issues/253
// Says: race in shared memory
// Says: more like it; the same between
#include <cstdio>
enum { kX, kY, kNormalX, kNormalY, kRadius, kGrey, kWeight, kFields };
constexpr int kTile = 64;
__global__ void render(const float* surfels, int n, float* image) {
    __shared__ float tile[kFields][kTile];
    const float x = threadIdx.x, y = blockIdx.x;
    float grey = 0, weight = 0;
    for (int first = 0; first < n; first += kTile) {
        for (int f = 0; f < kFields; ++f)
            tile[f][threadIdx.x] = surfels[f * n + first + threadIdx.x];  // <- here
        __syncthreads();
        for (int i = 0; i < kTile; ++i) {
            const float dx = x - tile[kX][i];
            const float dy = y - tile[kY][i];
            const float tilt = dx * tile[kNormalX][i] + dy * tile[kNormalY][i];
            if (dx * dx + dy * dy + tilt * tilt > tile[kRadius][i] * tile[kRadius][i]) continue;
            const float w = tile[kWeight][i];
            grey += w * tile[kGrey][i];
            weight += w;
        }
#ifdef FIXED
        __syncthreads();
#endif
    }
    image[blockIdx.x * kTile + threadIdx.x] = weight > 0 ? grey / weight : 0;
}
int main() {
    const int n = 4 * kTile;
    float h[kFields * n], *surfels, *image;
    for (int i = 0; i < kFields * n; ++i) h[i] = float(i % 61);
    cudaMalloc(&surfels, sizeof h), cudaMalloc(&image, 8 * kTile * sizeof(float));
    cudaMemcpy(surfels, h, sizeof h, cudaMemcpyHostToDevice);
    render<<<8, kTile>>>(surfels, n, image);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(surfels), cudaFree(image);
}

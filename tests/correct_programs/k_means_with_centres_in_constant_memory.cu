// k-means: the centres are in constant memory, which the host sets in each iteration; atomics add up coordinates in double.
#include <cstdio>
#include <vector>
constexpr int kCentres = 3;
__constant__ float2 centres[kCentres];
struct Sums {
    double x[kCentres], y[kCentres];
    int count[kCentres];
};
__global__ void assign(const float2* points, int n, int* nearest, Sums* sums) {
    __shared__ Sums own;
    if (threadIdx.x < kCentres)
        own.x[threadIdx.x] = own.y[threadIdx.x] = own.count[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const float2 p = points[i];
        int best = 0;
        float least = 1e30f;
        for (int c = 0; c < kCentres; ++c) {
            const float dx = p.x - centres[c].x, dy = p.y - centres[c].y,
                        distance = dx * dx + dy * dy;
            if (distance < least) least = distance, best = c;
        }
        nearest[i] = best;
        atomicAdd(&own.x[best], double(p.x)), atomicAdd(&own.y[best], double(p.y));
        atomicAdd(&own.count[best], 1);
    }
    __syncthreads();
    if (threadIdx.x >= kCentres) return;
    atomicAdd(&sums->x[threadIdx.x], own.x[threadIdx.x]);
    atomicAdd(&sums->y[threadIdx.x], own.y[threadIdx.x]);
    atomicAdd(&sums->count[threadIdx.x], own.count[threadIdx.x]);
}
int main() {
    const int n = 300;
    std::vector<float2> h(n);
    for (int i = 0; i < n; ++i) h[i] = {10.0f * (i % 3) + (i % 7 - 3) * 0.1f, -5.0f * (i % 3)};
    float2 now[kCentres] = {{1, 1}, {8, -3}, {25, -12}}, *points;
    int* nearest;
    Sums *sums, s;
    cudaMalloc(&points, n * sizeof(float2)), cudaMalloc(&nearest, n * sizeof(int));
    cudaMalloc(&sums, sizeof s);
    cudaMemcpy(points, h.data(), n * sizeof(float2), cudaMemcpyHostToDevice);
    for (int round = 0; round < 4; ++round) {
        cudaMemcpyToSymbol(centres, now, sizeof now);
        cudaMemset(sums, 0, sizeof s);
        assign<<<2, 64>>>(points, n, nearest, sums);
        cudaMemcpy(&s, sums, sizeof s, cudaMemcpyDeviceToHost);
        for (int c = 0; c < kCentres; ++c)
            now[c] = {float(s.x[c] / s.count[c]), float(s.y[c] / s.count[c])};
    }
    cudaFree(points), cudaFree(nearest), cudaFree(sums);
    std::printf("%g %g, %d\n", now[2].x, now[2].y, s.count[2]);
    return s.count[2] != 100 || now[2].y != -10 || now[1].y != -5;
}

// After a change to the detector's type the kernel no longer starts: too many resources requested for launch.
// Seen: fails
// Cause: the new type takes more registers, and nothing tells the compiler how many threads a block will have.
// Source: https://github.com/acts-project/traccc/pull/730
// Needs: nvcc
// Says: too many resources requested for launch
// Says: launches blocks of 512 threads, but nvcc gives each thread of form_points()
#include <cstdio>
template <int kPlanes>
struct Detector {
    double offsets[kPlanes], slopes[kPlanes];
    static constexpr int planes = kPlanes;
};
template <class AnyDetector>
__global__ void
#ifdef FIXED
__launch_bounds__(512)
#endif
    form_points(const AnyDetector* detectors, const double* hits, double* points, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    AnyDetector detector = detectors[i % 2];
    for (int hit = 0; hit < 8; ++hit)
#pragma unroll
        for (int p = 0; p < AnyDetector::planes; ++p) {
            detector.offsets[p] += detector.slopes[p] * hits[hit];
            detector.slopes[p] += detector.offsets[(p + 1) % AnyDetector::planes];
        }
    double sum = 0;
#pragma unroll
    for (int p = 0; p < AnyDetector::planes; ++p) sum += detector.offsets[p] * detector.slopes[p];
    points[i] = sum;
}
int main() {
    const int n = 512;
    Detector<40>* detectors;
    double *hits, *points;
    cudaMalloc(&detectors, 2 * sizeof *detectors), cudaMemset(detectors, 0, 2 * sizeof *detectors);
    cudaMalloc(&hits, 8 * sizeof(double)), cudaMemset(hits, 0, 8 * sizeof(double));
    cudaMalloc(&points, n * sizeof(double));
    form_points<<<1, n>>>(detectors, hits, points, n);  // <- here
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(detectors), cudaFree(hits), cudaFree(points);
}

// After a cudaMemcpy2D only the left part of each row of the image is there.
// Seen: unset
// Cause: The width of cudaMemcpy2D is in bytes, as its pitches are, and the program gives the number of elements.
// Source: https://github.com/alicevision/AliceVision/pull/480
// Says: uninitialised device memory
// Says: reads what nothing has written
#include <vector>

constexpr int kColumns = 200, kRows = 12;

__global__ void sum_rows(const float* image, size_t pitch, float* sums) {
    const char* begin = reinterpret_cast<const char*>(image) + blockIdx.x * pitch;
    const auto* row = reinterpret_cast<const float*>(begin);
    float sum = 0;
    for (int i = threadIdx.x; i < kColumns; i += blockDim.x) sum += row[i];  // <- here
    atomicAdd(&sums[blockIdx.x], sum);
}

int main() {
    const std::vector<float> ones(kColumns * kRows, 1);
#ifdef FIXED
    const size_t width = kColumns * sizeof(float);
#else
    const size_t width = kColumns;
#endif
    float *image, *sums;
    size_t pitch;
    cudaMallocPitch(&image, &pitch, kColumns * sizeof(float), kRows);
    cudaMalloc(&sums, kRows * sizeof(float));
    cudaMemset(sums, 0, kRows * sizeof(float));
    cudaMemcpy2D(image, pitch, ones.data(), kColumns * sizeof(float), width, kRows,
                 cudaMemcpyHostToDevice);
    sum_rows<<<kRows, 32>>>(image, pitch, sums);
    cudaDeviceSynchronize();
    cudaFree(image);
    cudaFree(sums);
}

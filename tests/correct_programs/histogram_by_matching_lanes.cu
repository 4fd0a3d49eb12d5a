// Lanes with the same digit find each other by __match_any_sync(); each warp has counters of its own in shared memory.
#include <cstdio>
#include <vector>
constexpr int kBins = 10;  // decimal digits
constexpr int kWarps = 4;
__global__ void count_digits(const unsigned* numbers, int n, unsigned* bins) {
    __shared__ unsigned warp_bins[kWarps][kBins];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (lane < kBins) warp_bins[warp][lane] = 0;
    __syncwarp();
    const int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; __any_sync(~0u, i < n); i += stride) {
        const unsigned digit = i < n ? numbers[i] % kBins : kBins;
        const unsigned peers = __match_any_sync(~0u, digit);
        if (digit < kBins && lane == __ffs(peers) - 1) warp_bins[warp][digit] += __popc(peers);
        __syncwarp();
    }
    __syncthreads();
    if (threadIdx.x >= kBins) return;
    unsigned sum = 0;
    for (int w = 0; w < kWarps; ++w) sum += warp_bins[w][threadIdx.x];
    atomicAdd(&bins[threadIdx.x], sum);
}
int main() {
    const int n = 1003;
    std::vector<unsigned> h(n);
    unsigned expected[kBins] = {}, counts[kBins], *numbers, *bins;
    for (int i = 0; i < n; ++i) ++expected[(h[i] = unsigned(i * i)) % kBins];
    cudaMalloc(&numbers, n * sizeof(unsigned)), cudaMalloc(&bins, sizeof counts);
    cudaMemcpy(numbers, h.data(), n * sizeof(unsigned), cudaMemcpyHostToDevice);
    cudaMemset(bins, 0, sizeof counts);
    count_digits<<<3, 32 * kWarps>>>(numbers, n, bins);
    cudaMemcpy(counts, bins, sizeof counts, cudaMemcpyDeviceToHost);
    cudaFree(numbers), cudaFree(bins);
    int wrong = 0;
    for (int b = 0; b < kBins; ++b) wrong += counts[b] != expected[b];
    std::printf("%d wrong\n", wrong);
    return wrong != 0;
}

// A histogram whose bins are spread over the shared memory of a cluster's blocks: cooperative groups' cluster_group.
#include <cooperative_groups.h>

#include <cstdio>
#include <vector>
namespace cg = cooperative_groups;
constexpr int kBins = 128, kBlocks = 2, kOwn = kBins / kBlocks;
__global__ void __cluster_dims__(kBlocks, 1, 1)
    count(const unsigned char* a, int n, unsigned* bins) {
    __shared__ unsigned own[kOwn];
    cg::cluster_group cluster = cg::this_cluster();
    for (unsigned i = threadIdx.x; i < kOwn; i += blockDim.x) own[i] = 0;
    cluster.sync();
    for (unsigned i = cluster.thread_rank(); i < unsigned(n); i += cluster.num_threads()) {
        const unsigned bin = a[i] % kBins;
        atomicAdd(cluster.map_shared_rank(own, bin / kOwn) + bin % kOwn, 1u);
    }
    cluster.sync();
    for (unsigned i = threadIdx.x; i < kOwn; i += blockDim.x)
        bins[cluster.block_rank() * kOwn + i] = own[i];
}
int main() {
    const int n = 5000;
    std::vector<unsigned char> a(n);
    for (int i = 0; i < n; ++i) a[i] = (unsigned char)(i * i % 251);
    std::vector<unsigned> expected(kBins), bins(kBins);
    for (const unsigned char x : a) ++expected[x % kBins];
    unsigned char* device_a;
    unsigned* device_bins;
    cudaMalloc(&device_a, n), cudaMalloc(&device_bins, kBins * sizeof(unsigned));
    cudaMemcpy(device_a, a.data(), n, cudaMemcpyHostToDevice);
    count<<<kBlocks, 256>>>(device_a, n, device_bins);
    cudaMemcpy(bins.data(), device_bins, kBins * sizeof(unsigned), cudaMemcpyDeviceToHost);
    cudaFree(device_a), cudaFree(device_bins);
    if (bins != expected) return std::printf("wrong\n"), 1;
    std::printf("right\n");
}

// Sums by cooperative groups: tiles of a warp, tiles of four lanes, and the block.
#include <cooperative_groups.h>

#include <cstdio>
namespace cg = cooperative_groups;
template <class Group>
__device__ int sum(const Group& group, int x) {
    for (int offset = group.size() / 2; offset > 0; offset /= 2) x += group.shfl_down(x, offset);
    return group.shfl(x, 0);
}
__global__ void count(const int* a, int n, int* total, int* of_four) {
    __shared__ int of_warp[8];
    const cg::thread_block block = cg::this_thread_block();
    const auto warp = cg::tiled_partition<32>(block);
    const auto four = cg::tiled_partition<4>(warp);
    int mine = 0;
    for (int i = blockIdx.x * block.size() + block.thread_rank(); i < n;
         i += gridDim.x * block.size())
        mine += a[i];
    const int in_four = sum(four, mine);
    if (four.thread_rank() == 0) atomicAdd(of_four, in_four);
    const int in_warp = sum(warp, mine);
    if (warp.thread_rank() == 0) of_warp[block.thread_rank() / 32] = in_warp;
    block.sync();
    if (block.thread_rank() < 8) {
        const auto active = cg::coalesced_threads();
        int all = of_warp[active.thread_rank()];
        for (int offset = 4; offset; offset /= 2) all += active.shfl_down(all, offset);
        if (active.thread_rank() == 0) atomicAdd(total, all);
    }
}
int main() {
    const int n = 3000;
    int h[n], *a, *sums, result[2], expected = 0;
    for (int i = 0; i < n; ++i) expected += h[i] = i % 7;
    cudaMalloc(&a, sizeof h), cudaMalloc(&sums, sizeof result);
    cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
    cudaMemset(sums, 0, sizeof result);
    count<<<4, 256>>>(a, n, sums, sums + 1);
    cudaMemcpy(result, sums, sizeof result, cudaMemcpyDeviceToHost);
    cudaFree(a), cudaFree(sums);
    std::printf("%d %d %d\n", result[0], result[1], expected);
    return result[0] != expected || result[1] != expected;
}

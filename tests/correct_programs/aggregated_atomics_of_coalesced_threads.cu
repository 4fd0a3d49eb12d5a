// The threads of a warp that keep an element take their places by one atomic, of the group that has got there.
#include <cooperative_groups.h>

#include <cstdio>
#include <vector>
namespace cg = cooperative_groups;
__device__ int take_place(int* counter) {
    const cg::coalesced_group active = cg::coalesced_threads();
    int first = 0;
    if (active.thread_rank() == 0) first = atomicAdd(counter, int(active.size()));
    return active.shfl(first, 0) + int(active.thread_rank());
}
__global__ void keep_multiples(const int* __restrict__ in, int n, int* __restrict__ out,
                               int* count) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        if (in[i] % 3 == 0) out[take_place(count)] = in[i];
}
int main() {
    const int n = 1000;
    std::vector<int> h(n), result(n);
    for (int i = 0; i < n; ++i) h[i] = i;
    int *in, *out, *count, kept = 0;
    cudaMalloc(&in, n * sizeof(int)), cudaMalloc(&out, n * sizeof(int));
    cudaMalloc(&count, sizeof(int)), cudaMemset(count, 0, sizeof(int));
    cudaMemcpy(in, h.data(), n * sizeof(int), cudaMemcpyHostToDevice);
    keep_multiples<<<3, 96>>>(in, n, out, count);
    cudaMemcpy(&kept, count, sizeof kept, cudaMemcpyDeviceToHost);
    cudaMemcpy(result.data(), out, kept * sizeof(int), cudaMemcpyDeviceToHost);
    cudaFree(in), cudaFree(out), cudaFree(count);
    long sum = 0;
    for (int i = 0; i < kept; ++i) sum += result[i];
    std::printf("%d %ld\n", kept, sum);
    return kept != 334 || sum != 999L * 334 / 2;
}

// Distributed shared memory works in small tests, and now and then the kernel ends with an illegal access.
// Seen: crashes
// Cause: a block ends while another one of its cluster still reads its shared memory: the last cluster.sync() is missing.
// Source: https://github.com/facebookexperimental/triton/pull/1105
// Says: leaves its cluster too early: it has not waited for the
#include <cooperative_groups.h>

#include <cstdio>
namespace cg = cooperative_groups;
__global__ void __cluster_dims__(2, 1, 1) exchange(const int* a, int* b) {
    __shared__ int own[64];
    cg::cluster_group cluster = cg::this_cluster();
    const unsigned t = threadIdx.x, i = blockIdx.x * 64 + t;
    own[t] = a[i];
    cluster.sync();
    const int* const other = cluster.map_shared_rank(own, cluster.block_rank() ^ 1);
    b[i] = other[t];  // <- here
#ifdef FIXED
    cluster.sync();
#endif
}
int main() {
    int *a, *b, values[128];
    for (int i = 0; i < 128; ++i) values[i] = i;
    cudaMalloc(&a, sizeof values), cudaMalloc(&b, sizeof values);
    cudaMemcpy(a, values, sizeof values, cudaMemcpyHostToDevice);
    exchange<<<2, 64>>>(a, b);
    cudaMemcpy(values, b, sizeof values, cudaMemcpyDeviceToHost);
    std::printf("%d, expected 64\n", values[0]);
    cudaFree(a), cudaFree(b);
}

// A kernel with a producer warp hangs at the cluster's barrier.
// Seen: hangs
// Cause: barrier.cluster has no thread count: it waits for every thread of the cluster, the producer's, too.
// Source: https://github.com/triton-lang/triton/pull/9456
// Says: for the cluster, of which threads 0 to 31 of rank 0 and 0 to 31 of rank 1 have not arrived
#include "common/ptx/hopper.cuh"
__global__ void CLUSTER_DIMS(2) neighbours(int* out) {
    __shared__ int mine[32];
    __shared__ uint64_t filled;
    if (threadIdx.x == 0) ptx::mbarrier_init(&filled, 32);
    __syncthreads();
    const bool produces = threadIdx.x < 32;
    if (produces) {
        mine[threadIdx.x] = 100 * ptx::get_sreg_cluster_ctarank() + threadIdx.x;
        ptx::mbarrier_arrive(&filled);
    } else {
        ptx::mbarrier_wait_parity(&filled, 0);
    }
#ifndef FIXED
    if (produces) ptx::named_barrier_sync(1, 64);  // <- here
    else
#endif
    {
        ptx::barrier_cluster_arrive();
        ptx::barrier_cluster_wait();  // <- here
    }
    int* const theirs = ptx::mapa(mine, 1 - ptx::get_sreg_cluster_ctarank());
    if (!produces) out[blockIdx.x * 32 + threadIdx.x - 32] = theirs[threadIdx.x - 32];
#ifndef FIXED
    if (!produces) ptx::named_barrier_sync(1, 64);
#endif
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();
}
int main() {
    int* out;
    cudaMalloc(&out, 64 * sizeof(int));
    neighbours<<<2, 64>>>(out);
    cudaDeviceSynchronize();
    cudaFree(out);
}

// The tile that TMA stores has, now and then, the values from before the threads changed them.
// Seen: hopper
// Cause: no fence between the threads' writes to shared memory and the bulk copy that reads them.
// Source: own
// Says: asynchronously, without a fence_proxy_async() between
#include <cstdio>
#include <cuda/barrier>
#include <utility>
using Barrier = cuda::barrier<cuda::thread_scope_block>;
namespace cde = cuda::device::experimental;
__global__ void twice(float* x) {
    __shared__ alignas(16) float tile[256];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ Barrier bar;
    const int t = threadIdx.x;
    if (t == 0) {
        init(&bar, blockDim.x);
        cde::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    if (t == 0) cde::cp_async_bulk_global_to_shared(tile, x, sizeof tile, bar);
    bar.wait(t == 0 ? cuda::device::barrier_arrive_tx(bar, 1, sizeof tile) : bar.arrive());
    tile[t] *= 2;  // <- here
#ifdef FIXED
    cde::fence_proxy_async_shared_cta();
#endif
    __syncthreads();
    if (t == 0) {
        cde::cp_async_bulk_shared_to_global(x, tile, sizeof tile);  // <- here
        cde::cp_async_bulk_commit_group();
        cde::cp_async_bulk_wait_group_read<0>();
    }
}
int main() {
    float host[256], *x;
    for (float& value : host) value = 1;
    cudaMalloc(&x, sizeof host);
    cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
    twice<<<1, 256>>>(x);
    cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);
    printf("%g\n", host[0]);
    cudaFree(x);
}

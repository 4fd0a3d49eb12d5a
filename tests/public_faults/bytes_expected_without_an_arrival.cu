// The copy by TMA has brought its bytes, but the wait for them hangs, even with one iteration.
// Seen: hangs
// Cause: the bytes are expected, but the one arrival that the barrier counts never comes.
// Source: https://github.com/tile-ai/tilelang/issues/2566
// Says: its arrival has not been made
// Says: 1024 of the 1024 bytes that are expected by thread 0
#include <cuda/barrier>
using Barrier = cuda::barrier<cuda::thread_scope_block>;
__global__ void twice(const float* in, float* out) {
    __shared__ __align__(128) float tile[256];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ Barrier full;
    if (threadIdx.x == 0) {
        init(&full, 1);  // <- here
        cuda::device::experimental::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        cuda::device::experimental::cp_async_bulk_global_to_shared(tile, in, sizeof tile, full);
#ifdef FIXED
        (void)cuda::device::barrier_arrive_tx(full, 1, sizeof tile);
#else
        cuda::device::barrier_expect_tx(full, sizeof tile);  // <- here
#endif
    }
    full.wait_parity(false);  // <- here
    out[threadIdx.x] = 2 * tile[threadIdx.x];
}
int main() {
    float *in, *out;
    cudaMalloc(&in, 1024), cudaMalloc(&out, 1024);
    cudaMemset(in, 0, 1024);
    twice<<<1, 256>>>(in, out);
    cudaDeviceSynchronize();
    cudaFree(in), cudaFree(out);
}

// cooperative_groups::memcpy_async, then block.sync(): half of the tile is still old.
// Seen: cp_async
// Cause: sync() is a barrier of the threads; only cooperative_groups::wait() waits for the copies, too.
// Source: https://github.com/NVIDIA/Fuser/pull/3438
// Says: has not written yet
// Says: no wait follows the copy
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>

#include <cstdio>
namespace cg = cooperative_groups;
__global__ void reverse(const int* in, int* out) {
    __shared__ int tile[128];
    const cg::thread_block block = cg::this_thread_block();
    cg::memcpy_async(block, tile, in + blockIdx.x * 128, sizeof tile);  // <- here
#ifdef FIXED
    cg::wait(block);
#else
    block.sync();
#endif
    out[blockIdx.x * 128 + threadIdx.x] = tile[127 - threadIdx.x];  // <- here
}
int main() {
    int h[256], *in, *out;
    for (int i = 0; i < 256; ++i) h[i] = i;
    cudaMalloc(&in, sizeof h), cudaMalloc(&out, sizeof h);
    cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
    reverse<<<2, 128>>>(in, out);
    cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
    std::printf("%d\n", h[0]);
    cudaFree(in), cudaFree(out);
}

// Each warp keeps its positive elements by a ballot, and reserves room for them by one atomic.
#include <cstdio>
__global__ void keep_positive(const int* in, int n, int* out, int* kept) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    const int x = i < n ? in[i] : 0;
    const unsigned chosen = __ballot_sync(0xffffffff, x > 0);
    int begin = 0;
    if (lane == 0 && chosen) begin = atomicAdd(kept, __popc(chosen));
    begin = __shfl_sync(0xffffffff, begin, 0);
    if (x > 0) out[begin + __popc(chosen & ((1u << lane) - 1))] = x;
}
__global__ void running_sum(const int* in, int* out) {  // of one warp
    int x = in[threadIdx.x];
    for (int offset = 1; offset < 32; offset *= 2) {
        const int before = __shfl_up_sync(0xffffffff, x, offset);
        if (threadIdx.x >= offset) x += before;
    }
    out[threadIdx.x] = x;
}
int main() {
    const int n = 500;
    int h[n], *in, *out, *kept, count, expected = 0, sums[32];
    for (int i = 0; i < n; ++i) expected += (h[i] = i % 5 - 2) > 0;
    cudaMalloc(&in, sizeof h), cudaMalloc(&out, sizeof h), cudaMalloc(&kept, sizeof count);
    cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
    cudaMemset(kept, 0, sizeof count);
    keep_positive<<<(n + 127) / 128, 128>>>(in, n, out, kept);
    cudaMemcpy(&count, kept, sizeof count, cudaMemcpyDeviceToHost);
    cudaMemcpy(h, out, count * sizeof(int), cudaMemcpyDeviceToHost);
    int wrong = count != expected, last = 0;
    for (int i = 0; i < count; ++i) wrong += h[i] != 1 && h[i] != 2;
    for (int i = 0; i < 32; ++i) last += h[i];
    running_sum<<<1, 32>>>(out, in);
    cudaMemcpy(sums, in, sizeof sums, cudaMemcpyDeviceToHost);
    wrong += sums[31] != last;
    cudaFree(in), cudaFree(out), cudaFree(kept);
    std::printf("%d wrong\n", wrong);
    return wrong != 0;
}

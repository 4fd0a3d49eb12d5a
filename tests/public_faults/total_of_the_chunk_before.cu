// Lists of several chunks crash now and then, or their places hold garbage. A list of one chunk is always correct.
// Seen: crashes
// Cause: thread 0 adds the next chunk's length to the block's total while others still read it for this chunk.
// Source: https://github.com/AccelerateHS/accelerate-llvm/pull/97
// Says: race in shared memory
// Says: out of bounds
#include <cstdio>
constexpr int kChunk = 64;
__global__ void concatenate(const int* lists, const int* lengths, int chunks, int* out) {
    __shared__ int begin;
    const int t = threadIdx.x;
    for (int chunk = 0; chunk < chunks; ++chunk) {
        if (t == 0) begin = chunk == 0 ? 0 : begin + lengths[chunk - 1];  // <- here
        __syncthreads();
        if (t < lengths[chunk]) out[begin + t] = lists[chunk * kChunk + t];  // <- here
#ifdef FIXED
        __syncthreads();
#endif
    }
}
int main() {
    const int chunks = 3, n = 64 + 50 + 3;
    const int lengths[chunks] = {64, 50, 3};
    int h[chunks * kChunk], *lists, *of_lists, *out;
    for (int i = 0; i < chunks * kChunk; ++i) h[i] = i;
    cudaMalloc(&lists, sizeof h), cudaMalloc(&of_lists, sizeof lengths);
    cudaMalloc(&out, n * sizeof(int));
    cudaMemcpy(lists, h, sizeof h, cudaMemcpyHostToDevice);
    cudaMemcpy(of_lists, lengths, sizeof lengths, cudaMemcpyHostToDevice);
    concatenate<<<1, kChunk>>>(lists, of_lists, chunks, out);
    cudaMemcpy(h, out, n * sizeof(int), cudaMemcpyDeviceToHost);
    printf("%d\n", h[n - 1]);
    cudaFree(lists), cudaFree(of_lists), cudaFree(out);
}

// One warp loads, the others multiply: cuda::barrier objects say which of two buffers is full and which is empty.
#include <cuda/barrier>

#include <cstdio>
using Barrier = cuda::barrier<cuda::thread_scope_block>;
constexpr int kPiece = 64, kConsumers = 64;
__global__ void sum_of_squares(const float* in, int pieces, float* out) {
    __shared__ float buffer[2][kPiece];
    __shared__ Barrier full[2], empty[2];
    if (threadIdx.x == 0)
        for (int s = 0; s < 2; ++s)
            init(&full[s], 32 + kConsumers), init(&empty[s], 32 + kConsumers);
    __syncthreads();
    if (threadIdx.x < 32) {
        for (int p = 0; p < pieces; ++p) {
            empty[p % 2].arrive_and_wait();
            for (int i = threadIdx.x; i < kPiece; i += 32) buffer[p % 2][i] = in[p * kPiece + i];
            (void)full[p % 2].arrive();
        }
    } else {
        const int t = threadIdx.x - 32;
        float sum = 0;
        (void)empty[0].arrive(), (void)empty[1].arrive();
        for (int p = 0; p < pieces; ++p) {
            full[p % 2].arrive_and_wait();
            sum += buffer[p % 2][t] * buffer[p % 2][t];
            (void)empty[p % 2].arrive();
        }
        out[t] = sum;
    }
}
int main() {
    const int pieces = 5;
    float h[pieces * kPiece], result[kConsumers], *in, *out;
    for (int i = 0; i < pieces * kPiece; ++i) h[i] = float(i % kPiece);
    cudaMalloc(&in, sizeof h), cudaMalloc(&out, sizeof result);
    cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
    sum_of_squares<<<1, 32 + kConsumers>>>(in, pieces, out);
    cudaMemcpy(result, out, sizeof result, cudaMemcpyDeviceToHost);
    cudaFree(in), cudaFree(out);
    for (int i = 0; i < kConsumers; ++i)
        if (result[i] != pieces * float(i) * float(i))
            return std::printf("%d: %g\n", i, result[i]), 1;
}

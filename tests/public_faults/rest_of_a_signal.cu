// A signal is processed in four pieces. Three are correct, and the last one, which has the rest, is wrong.
// Seen: wrong_result
// Cause: the rest is longer than the array on the host that it is copied to.
// Source: https://github.com/NVIDIA/cuda-samples/issues/78
// Says: of the host's memory, but the array there has
#include <cstdio>
constexpr int kLength = 1030, kPieces = 4;
#ifdef FIXED
constexpr int kRoom = kLength / kPieces + kLength % kPieces;
#else
constexpr int kRoom = kLength / kPieces;
#endif
struct Sample {
    float re, im;
};
static Sample piece[kRoom], mixed[kLength];
__global__ void shift(Sample* s, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) s[i] = {-s[i].im, s[i].re};
}
int main() {
    Sample* signal;
    for (int i = 0; i < kLength; ++i) mixed[i] = {float(i), 1};
    cudaMalloc(&signal, sizeof mixed);
    cudaMemcpy(signal, mixed, sizeof mixed, cudaMemcpyHostToDevice);
    shift<<<(kLength + 127) / 128, 128>>>(signal, kLength);
    float sum = 0;
    for (int p = 0, begin = 0; p < kPieces; ++p) {
        const int n = p < kPieces - 1 ? kLength / kPieces : kLength - begin;
        cudaMemcpy(piece, signal + begin, n * sizeof(Sample), cudaMemcpyDeviceToHost);  // <- here
        for (int i = 0; i < n && i < kRoom; ++i) sum += piece[i].im;
        begin += n;
    }
    printf("%g\n", sum);
    cudaFree(signal);
}

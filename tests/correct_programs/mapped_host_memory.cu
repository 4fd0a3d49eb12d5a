// The kernel reads and writes the host's pinned memory without a copy; the host waits for the stream.
#include <cstdio>
__global__ void square(const int* in, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * in[i];
}
int main() {
    const int n = 100;
    int *in, *out, *in_there, *out_there, wrong = 0;
    cudaHostAlloc(&in, n * sizeof(int), cudaHostAllocMapped | cudaHostAllocWriteCombined);
    cudaHostAlloc(&out, n * sizeof(int), cudaHostAllocMapped);
    for (int i = 0; i < n; ++i) in[i] = i;
    cudaHostGetDevicePointer((void**)&in_there, in, 0),
        cudaHostGetDevicePointer((void**)&out_there, out, 0);
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    for (int round = 0; round < 2; ++round) {
        square<<<2, 64, 0, stream>>>(in_there, out_there, n);
        cudaStreamSynchronize(stream);
        for (int i = 0; i < n; ++i) wrong += out[i] != (i + round) * (i + round);
        for (int i = 0; i < n; ++i) ++in[i];
    }
    cudaStreamDestroy(stream);
    cudaFreeHost(in), cudaFreeHost(out);
    std::printf("%d wrong\n", wrong);
    return wrong != 0;
}

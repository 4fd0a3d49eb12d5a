// Three streams of different priorities, joined by events without timing, and the host asks until the last one is done.
#include <cstdio>
__global__ void source(float* a, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = float(i);
}
__global__ void combine(const float* a, const float* b, float* c, int n, float scale) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = scale * (a[i] + b[i]);
}
int main() {
    const int n = 300, blocks = 3;
    int least, greatest;
    cudaDeviceGetStreamPriorityRange(&least, &greatest);
    cudaStream_t streams[3];
    cudaEvent_t done[3];
    float *a[2], *c, *h;
    for (int s = 0; s < 3; ++s) {
        cudaStreamCreateWithPriority(&streams[s], cudaStreamNonBlocking, s == 2 ? greatest : least);
        cudaEventCreateWithFlags(&done[s], cudaEventDisableTiming);
    }
    cudaMalloc(&a[0], n * sizeof(float)), cudaMalloc(&a[1], n * sizeof(float));
    cudaMalloc(&c, n * sizeof(float)), cudaMallocHost(&h, n * sizeof(float));
    for (int s = 0; s < 2; ++s) {
        source<<<blocks, 128, 0, streams[s]>>>(a[s], n);
        cudaEventRecord(done[s], streams[s]);
        cudaStreamWaitEvent(streams[2], done[s], 0);
    }
    combine<<<blocks, 128, 0, streams[2]>>>(a[0], a[1], c, n, 0.5f);
    cudaMemcpyAsync(h, c, n * sizeof(float), cudaMemcpyDeviceToHost, streams[2]);
    cudaEventRecord(done[2], streams[2]);
    while (cudaEventQuery(done[2]) == cudaErrorNotReady) {
    }
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += h[i] != float(i);
    for (int s = 0; s < 3; ++s) cudaStreamDestroy(streams[s]), cudaEventDestroy(done[s]);
    cudaFree(a[0]), cudaFree(a[1]), cudaFree(c), cudaFreeHost(h);
    std::printf("%d wrong\n", wrong);
    return wrong != 0;
}

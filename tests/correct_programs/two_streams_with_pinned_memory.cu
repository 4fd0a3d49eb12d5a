// Chunks are copied in, squared and copied back in two streams; an event makes the sum wait for both.
#include <cstdio>
__global__ void square(float* a, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] *= a[i];
}
__global__ void sum(const float* a, int n, float* total) {
    __shared__ float part[256];
    float mine = 0;
    for (int i = threadIdx.x; i < n; i += 256) mine += a[i];
    part[threadIdx.x] = mine;
    for (int half = 128; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0) *total = part[0];
}
int main() {
    const int n = 1 << 12, chunks = 4, each = n / chunks;
    float *h, *d, *total, result;
    cudaMallocHost(&h, n * sizeof(float)), cudaMalloc(&d, n * sizeof(float)),
        cudaMalloc(&total, sizeof(float));
    for (int i = 0; i < n; ++i) h[i] = float(i % 3);
    cudaStream_t streams[2];
    cudaEvent_t done, begin, end;
    for (auto& stream : streams) cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&done, cudaEventDisableTiming), cudaEventCreate(&begin),
        cudaEventCreate(&end);
    cudaEventRecord(begin, streams[0]);
    for (int chunk = 0; chunk < chunks; ++chunk) {
        cudaStream_t stream = streams[chunk % 2];
        const int at = chunk * each;
        cudaMemcpyAsync(d + at, h + at, each * sizeof(float), cudaMemcpyHostToDevice, stream);
        square<<<(each + 255) / 256, 256, 0, stream>>>(d + at, each);
        cudaMemcpyAsync(h + at, d + at, each * sizeof(float), cudaMemcpyDeviceToHost, stream);
    }
    cudaEventRecord(done, streams[1]);
    cudaStreamWaitEvent(streams[0], done, 0);
    sum<<<1, 256, 0, streams[0]>>>(d, n, total);
    cudaEventRecord(end, streams[0]);
    cudaEventSynchronize(end);
    float ms, on_host = 0;
    cudaEventElapsedTime(&ms, begin, end);
    cudaMemcpy(&result, total, sizeof result, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; ++i) on_host += h[i];
    for (auto stream : streams) cudaStreamDestroy(stream);
    for (auto event : {done, begin, end}) cudaEventDestroy(event);
    cudaFreeHost(h), cudaFree(d), cudaFree(total);
    std::printf("%g and %g\n", result, on_host);
    return result != on_host || ms < 0;
}

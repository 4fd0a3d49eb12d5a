// A histogram in shared memory, a largest float by compare-and-swap, and a lock that one thread of each block takes.
#include <cstdio>
__device__ float largest = -1;
__device__ int lock = 0, guarded = 0;
__device__ void raise(float* to, float value) {
    int* const bits = reinterpret_cast<int*>(to);
    int old = *bits, assumed;
    do {
        assumed = old;
        if (__int_as_float(assumed) >= value) return;
        old = atomicCAS(bits, assumed, __float_as_int(value));
    } while (old != assumed);
}
__global__ void histogram(const unsigned char* data, int n, unsigned* bins) {
    __shared__ unsigned own[16];
    if (threadIdx.x < 16) own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[data[i] / 16], 1u);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
__global__ void others(const unsigned char* data, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) raise(&largest, data[i] + 0.5f);
    if (threadIdx.x) return;
    while (atomicCAS(&lock, 0, 1)) {
    }
    __threadfence();
    guarded = guarded + 1;
    __threadfence();
    atomicExch(&lock, 0);
}
int main() {
    const int n = 1000;
    unsigned char h[n], *data;
    unsigned *bins, counts[16], total = 0;
    for (int i = 0; i < n; ++i) h[i] = (unsigned char)(i * 7 % 251);
    cudaMalloc(&data, n), cudaMalloc(&bins, sizeof counts);
    cudaMemcpy(data, h, n, cudaMemcpyHostToDevice);
    cudaMemset(bins, 0, sizeof counts);
    histogram<<<3, 128>>>(data, n, bins);
    others<<<8, 128>>>(data, n);
    cudaMemcpy(counts, bins, sizeof counts, cudaMemcpyDeviceToHost);
    float most;
    int times;
    cudaMemcpyFromSymbol(&most, largest, sizeof most);
    cudaMemcpyFromSymbol(&times, guarded, sizeof times);
    for (unsigned count : counts) total += count;
    cudaFree(data), cudaFree(bins);
    std::printf("%u %g %d\n", total, most, times);
    return total != n || most != 250.5f || times != 8;
}

// One thread places an object with virtual functions in shared memory, and all threads of the block call them.
#include <cstdio>
#include <new>
struct Counter {
    int* of_bin;
    __device__ explicit Counter(int* of_bin) : of_bin(of_bin) {}
    __device__ virtual void add(int bin) { atomicAdd(&of_bin[bin], 1); }
    __device__ virtual int at(int bin) const { return of_bin[bin]; }
};
struct OddCounter : Counter {
    __device__ explicit OddCounter(int* of_bin) : Counter(of_bin) {}
    __device__ void add(int bin) override {
        if (bin % 2) Counter::add(bin);
    }
};
__global__ void count(const int* in, int n, int* out) {
    __shared__ alignas(8) unsigned char place[sizeof(OddCounter)];
    __shared__ int bins[32];
    __shared__ Counter* counter;
    bins[threadIdx.x] = 0;
    if (threadIdx.x == 0) counter = new (place) OddCounter(bins);
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += 32) counter->add(in[i]);
    __syncthreads();
    out[threadIdx.x] = counter->at(threadIdx.x);
}
int main() {
    const int n = 320;
    int h[n], bins[32], *in, *out;
    for (int i = 0; i < n; ++i) h[i] = i * 7 % 32;
    cudaMalloc(&in, sizeof h), cudaMalloc(&out, sizeof bins);
    cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
    count<<<1, 32>>>(in, n, out);
    cudaMemcpy(bins, out, sizeof bins, cudaMemcpyDeviceToHost);
    cudaFree(in), cudaFree(out);
    std::printf("%d %d\n", bins[6], bins[7]);
    return bins[6] != 0 || bins[7] != 10;
}

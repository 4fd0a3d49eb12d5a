// One dynamic array is cut into parts of several types; after the sort its first part holds counters.
#include <cstdio>
__global__ void sort(const int* in, int* out, int* steps, int n) {
    extern __shared__ __align__(16) unsigned char memory[];
    int* const keys = reinterpret_cast<int*>(memory);
    double* const weights = reinterpret_cast<double*>(memory + n * sizeof(int));
    const int t = threadIdx.x;
    keys[t] = in[t];
    weights[t] = in[t] / 2.0;
    __syncthreads();
    for (int size = 2; size <= n; size *= 2)  // bitonic
        for (int apart = size / 2; apart > 0; apart /= 2) {
            const int other = t ^ apart;
            if (other > t && (keys[t] > keys[other]) == !(t & size)) {
                const int key = keys[t];
                keys[t] = keys[other], keys[other] = key;
                const double weight = weights[t];
                weights[t] = weights[other], weights[other] = weight;
            }
            __syncthreads();
        }
    out[t] = int(2 * weights[t]);
    __syncthreads();
    int* const counters = keys;
    if (t < 2) counters[t] = 0;
    __syncthreads();
    atomicAdd(&counters[t % 2], 1);
    __syncthreads();
    if (t == 0) *steps = counters[0] + counters[1];
}
int main() {
    const int n = 128;
    int h[n], *in, *out, *steps, count;
    for (int i = 0; i < n; ++i) h[i] = i * 37 % n;
    cudaMalloc(&in, sizeof h), cudaMalloc(&out, sizeof h), cudaMalloc(&steps, sizeof count);
    cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
    sort<<<1, n, n*(sizeof(int) + sizeof(double))>>>(in, out, steps, n);
    cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
    cudaMemcpy(&count, steps, sizeof count, cudaMemcpyDeviceToHost);
    cudaFree(in), cudaFree(out), cudaFree(steps);
    int wrong = count != n;
    for (int i = 0; i < n; ++i) wrong += h[i] != i;
    std::printf("%d wrong\n", wrong);
    return wrong != 0;
}

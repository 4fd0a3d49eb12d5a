// A prefix sum in one pass: a block takes a ticket, publishes its sum with a flag, and looks back at the blocks before it.
#include <cstdio>
#include <vector>
constexpr int kThreads = 64;
enum : unsigned { kNothing, kSum, kTotal };
struct State {
    unsigned flag;
    int value;
};
__device__ int ticket = 0;
__global__ void scan(const int* in, int* out, int n, volatile State* states) {
    __shared__ int sums[kThreads], part, before;
    const int t = threadIdx.x;
    if (t == 0) part = atomicAdd(&ticket, 1);
    __syncthreads();
    const int i = part * kThreads + t;
    sums[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int d = 1; d < kThreads; d *= 2) {
        const int add = t >= d ? sums[t - d] : 0;
        __syncthreads();
        sums[t] += add;
        __syncthreads();
    }
    if (t == 0) {
        int total = 0;
        states[part].value = sums[kThreads - 1];
        __threadfence();
        atomicExch(const_cast<unsigned*>(&states[part].flag), part ? kSum : kTotal);
        for (int back = part - 1; back >= 0; --back) {
            unsigned flag;
            while ((flag = atomicAdd(const_cast<unsigned*>(&states[back].flag), 0)) == kNothing) {
            }
            __threadfence();
            total += states[back].value;
            if (flag == kTotal) break;  // that of the first part
        }
        before = total;
    }
    __syncthreads();
    if (i < n) out[i] = before + sums[t];
}
int main() {
    const int n = 500, blocks = (n + kThreads - 1) / kThreads;
    std::vector<int> h(n, 3);
    int *in, *out;
    State* states;
    cudaMalloc(&in, n * sizeof(int)), cudaMalloc(&out, n * sizeof(int));
    cudaMalloc(&states, blocks * sizeof(State)), cudaMemset(states, 0, blocks * sizeof(State));
    cudaMemcpy(in, h.data(), n * sizeof(int), cudaMemcpyHostToDevice);
    scan<<<blocks, kThreads>>>(in, out, n, states);
    cudaMemcpy(h.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost);
    cudaFree(in), cudaFree(out), cudaFree(states);
    for (int i = 0; i < n; ++i)
        if (h[i] != 3 * (i + 1)) return std::printf("%d: %d\n", i, h[i]), 1;
}

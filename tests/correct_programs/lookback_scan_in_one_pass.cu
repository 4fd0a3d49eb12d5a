// A single-pass prefix sum with decoupled look-back: a block publishes the sum of its tile, adds up what the blocks before
// it have published, back to the first one whose inclusive prefix is known, and then publishes its own inclusive prefix.
#include <cstdio>
#include <vector>
constexpr int kThreads = 64;
enum : unsigned { kInvalid, kAggregate, kInclusivePrefix };
struct TileState {
    unsigned flag;
    int aggregate, inclusive_prefix;
};
__device__ int tickets = 0;
__global__ void scan(const int* in, int* out, int n, TileState* states) {
    __shared__ int sums[kThreads], tile, exclusive_prefix;
    const int t = threadIdx.x;
    // Tickets number the blocks in the order in which they start, so a block waits only for blocks that already run.
    if (t == 0) tile = atomicAdd(&tickets, 1);
    __syncthreads();
    const int i = tile * kThreads + t;
    sums[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int d = 1; d < kThreads; d *= 2) {
        const int add = t >= d ? sums[t - d] : 0;
        __syncthreads();
        sums[t] += add;
        __syncthreads();
    }
    if (t == 0) {
        const int aggregate = sums[kThreads - 1];
        states[tile].aggregate = aggregate;
        __threadfence();
        atomicExch(&states[tile].flag, kAggregate);
        int prefix = 0;
        for (int before = tile - 1; before >= 0; --before) {
            unsigned flag;
            do flag = atomicAdd(&states[before].flag, 0);
            while (flag == kInvalid);
            __threadfence();
            prefix +=
                flag == kAggregate ? states[before].aggregate : states[before].inclusive_prefix;
            if (flag == kInclusivePrefix) break;
        }
        states[tile].inclusive_prefix = prefix + aggregate;
        __threadfence();
        atomicExch(&states[tile].flag, kInclusivePrefix);
        exclusive_prefix = prefix;
    }
    __syncthreads();
    if (i < n) out[i] = exclusive_prefix + sums[t];
}
int main() {
    const int n = 500, blocks = (n + kThreads - 1) / kThreads;
    const std::vector<int> numbers(n, 3);
    std::vector<int> result(n);
    int *in, *out;
    TileState* states;
    cudaMalloc(&in, n * sizeof(int)), cudaMalloc(&out, n * sizeof(int));
    cudaMalloc(&states, blocks * sizeof(TileState)),
        cudaMemset(states, 0, blocks * sizeof(TileState));
    cudaMemcpy(in, numbers.data(), n * sizeof(int), cudaMemcpyHostToDevice);
    scan<<<blocks, kThreads>>>(in, out, n, states);
    cudaMemcpy(result.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost);
    cudaFree(in), cudaFree(out), cudaFree(states);
    for (int i = 0; i < n; ++i)
        if (result[i] != 3 * (i + 1)) {
            std::printf("out[%d] is %d, expected %d\n", i, result[i], 3 * (i + 1));
            return 1;
        }
}

// A prefix sum of any length: sums of blocks, their scan by recursion, and the result; a macro checks each call.
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>
#define CHECK(call)                                                             \
    do {                                                                        \
        const cudaError_t error = call;                                         \
        if (error != cudaSuccess) {                                             \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error)); \
            std::exit(1);                                                       \
        }                                                                       \
    } while (0)
constexpr int kBlock = 64;
__global__ void scan_block(const int* in, int* out, int* sums, int n) {
    __shared__ int s[2][kBlock];
    const int i = blockIdx.x * kBlock + threadIdx.x;
    int now = 0;
    s[now][threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    for (int offset = 1; offset < kBlock; offset *= 2) {
        int x = s[now][threadIdx.x];
        if (threadIdx.x >= offset) x += s[now][threadIdx.x - offset];
        s[1 - now][threadIdx.x] = x;
        now = 1 - now;
        __syncthreads();
    }
    if (i < n) out[i] = s[now][threadIdx.x];
    if (threadIdx.x == kBlock - 1) sums[blockIdx.x] = s[now][threadIdx.x];
}
__global__ void add_before(int* out, const int* sums, int n) {
    const int i = blockIdx.x * kBlock + threadIdx.x;
    if (blockIdx.x > 0 && i < n) out[i] += sums[blockIdx.x - 1];
}
void scan(const int* in, int* out, int n) {
    const int blocks = (n + kBlock - 1) / kBlock;
    int* sums;
    CHECK(cudaMalloc(&sums, blocks * sizeof(int)));
    scan_block<<<blocks, kBlock>>>(in, out, sums, n);
    CHECK(cudaGetLastError());
    if (blocks > 1) {
        scan(sums, sums, blocks);
        add_before<<<blocks, kBlock>>>(out, sums, n);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaFree(sums));
}
int main() {
    const int n = 5000;
    std::vector<int> h(n), expected(n), result(n);
    for (int i = 0; i < n; ++i) h[i] = i % 11;
    std::partial_sum(h.begin(), h.end(), expected.begin());
    int* d;
    CHECK(cudaMalloc(&d, n * sizeof(int)));
    CHECK(cudaMemcpy(d, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    scan(d, d, n);
    CHECK(cudaMemcpy(result.data(), d, n * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d));
    std::puts(result == expected ? "correct" : "wrong");
    return result != expected;
}

// One head of attention, a block for each query: query, scores and the reduction's scratch are parts of one dynamic array.
#include <cmath>
#include <cstdio>
#include <vector>
template <class Operation>
__device__ float block_reduce(float value, float* scratch, Operation operation) {
    scratch[threadIdx.x] = value;
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s)
            scratch[threadIdx.x] = operation(scratch[threadIdx.x], scratch[threadIdx.x + s]);
        __syncthreads();
    }
    const float all = scratch[0];
    __syncthreads();  // before the next use
    return all;
}
__global__ void attend(const float* Q, const float* K, const float* V, float* O, int n, int d) {
    extern __shared__ __align__(16) unsigned char shared[];
    float* const query = reinterpret_cast<float*>(shared);
    float* const score = query + d;
    float* const scratch = score + n;
    for (int i = threadIdx.x; i < d; i += blockDim.x)
        query[i] = Q[blockIdx.x * d + i] * rsqrtf(float(d));
    __syncthreads();
    float largest = -INFINITY;
    for (int key = threadIdx.x; key < n; key += blockDim.x) {
        float dot = 0;
        for (int i = 0; i < d; ++i) dot += query[i] * K[key * d + i];
        score[key] = key <= int(blockIdx.x) ? dot : -INFINITY;  // causal
        largest = fmaxf(largest, score[key]);
    }
    largest = block_reduce(largest, scratch, [](float a, float b) { return fmaxf(a, b); });
    float sum = 0;
    for (int key = threadIdx.x; key < n; key += blockDim.x)
        sum += score[key] = expf(score[key] - largest);
    sum = block_reduce(sum, scratch, [](float a, float b) { return a + b; });
    for (int i = threadIdx.x; i < d; i += blockDim.x) {
        float out = 0;
        for (int key = 0; key <= int(blockIdx.x); ++key) out += score[key] * V[key * d + i];
        O[blockIdx.x * d + i] = out / sum;
    }
}
int main() {
    const int n = 40, d = 16, threads = 64;
    std::vector<float> h(n * d, 0.5f), v(n * d), o(n * d);
    for (int i = 0; i < n * d; ++i) v[i] = float(i / d);
    const size_t bytes = n * d * sizeof(float);
    float *Q, *V, *O;
    cudaMalloc(&Q, bytes), cudaMalloc(&V, bytes), cudaMalloc(&O, bytes);
    cudaMemcpy(Q, h.data(), bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(V, v.data(), bytes, cudaMemcpyHostToDevice);
    attend<<<n, threads, (d + n + threads) * sizeof(float)>>>(Q, Q, V, O, n, d);
    cudaMemcpy(o.data(), O, bytes, cudaMemcpyDeviceToHost);
    cudaFree(Q), cudaFree(V), cudaFree(O);
    int wrong = 0;
    for (int i = 0; i < n * d; ++i) wrong += !(std::fabs(o[i] - 0.5f * float(i / d)) < 1e-4f);
    std::printf("%d wrong\n", wrong);
    return wrong != 0;
}

// The launch fails for large problems alone, invalid configuration argument.
// Seen: fails
// Cause: The two numbers of a launch are exchanged: <<<threads, blocks>>>.
// Source: https://github.com/acts-project/traccc/pull/194
// Says: threads would fit (<<<blocks, threads>>>)
constexpr int kCount = 200000, kThreads = 128, kBlocks = (kCount + kThreads - 1) / kThreads;

__global__ void fill(float* values) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < kCount) values[i] = 1;
}

int main() {
    float* values;
    cudaMalloc(&values, kCount * sizeof(float));
#ifdef FIXED
    fill<<<kBlocks, kThreads>>>(values);
#else
    fill<<<kThreads, kBlocks>>>(values);  // <- here
#endif
    cudaDeviceSynchronize();
    cudaFree(values);
}

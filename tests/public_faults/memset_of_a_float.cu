// A running maximum that begins at a low value finds nothing above it, or something far below.
// Seen: wrong_result
// Cause: cudaMemset() sets bytes. Of -10000 it takes the lowest byte, and four of these are another float.
// Source: https://github.com/karpathy/llm.c/pull/381
// Says: sets bytes, not elements: of the value -10000 each byte gets the lowest, 0xf0
constexpr int kRows = 32;

__global__ void fill(float* values, float value) { values[threadIdx.x] = value; }
__global__ void take_maximum(float* maxima, const float* values) {
    maxima[threadIdx.x] = fmaxf(maxima[threadIdx.x], values[threadIdx.x]);
}

int main() {
    float *maxima, *values;
    cudaMalloc(&maxima, kRows * sizeof(float));
    cudaMalloc(&values, kRows * sizeof(float));
    fill<<<1, kRows>>>(values, -20000);
#ifdef FIXED
    fill<<<1, kRows>>>(maxima, -10000);
#else
    cudaMemset(maxima, -10000, kRows * sizeof(float));  // <- here
#endif
    take_maximum<<<1, kRows>>>(maxima, values);
    cudaDeviceSynchronize();
    cudaFree(maxima);
    cudaFree(values);
}

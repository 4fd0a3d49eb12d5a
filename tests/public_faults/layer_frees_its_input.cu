// The network gives correct results for a while, and then CUDA_ERROR_ILLEGAL_ADDRESS.
// Seen: crashes
// Cause: each layer frees its input, and that of the first layer is the caller's, who uses it for the next run.
// Source: https://github.com/jcuda/jcuda/issues/21
// Says: in 128 bytes of device memory, freed (cudaFree at
#include <cstdio>
__global__ void layer(const float* in, float* out) {
    out[threadIdx.x] = tanhf(in[threadIdx.x]);  // <- here
}
float* run(float* input) {
    float* now = input;
    for (int i = 0; i < 3; ++i) {
        float* output;
        cudaMalloc(&output, 32 * sizeof(float));
        layer<<<1, 32>>>(now, output);
#ifdef FIXED
        if (now != input) cudaFree(now);
#else
        cudaFree(now);  // <- here
#endif
        now = output;
    }
    return now;
}
int main() {
    float values[32], *input;
    for (int i = 0; i < 32; ++i) values[i] = i / 32.0f;
    cudaMalloc(&input, sizeof values);
    cudaMemcpy(input, values, sizeof values, cudaMemcpyHostToDevice);
    for (int round = 0; round < 2; ++round) {
        float* const result = run(input);
        cudaMemcpy(values, result, sizeof values, cudaMemcpyDeviceToHost);
        cudaFree(result);
    }
    printf("%g\n", values[31]);
#ifdef FIXED
    cudaFree(input);
#endif
}

// A call of CUDA in a callback fails, operation not permitted, or the program hangs.
// Seen: fails
// Cause: A function that a stream calls must not call CUDA: it would wait for the stream that waits for it.
// Source: https://github.com/eyalroz/cuda-api-wrappers/issues/103
// Says: operation not permitted: a function that a stream calls
__global__ void fill(float* values) { values[threadIdx.x] = threadIdx.x; }

void release([[maybe_unused]] void* values) {
#ifndef FIXED
    cudaFree(values);  // <- here
#endif
}

int main() {
    float* values;
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaMalloc(&values, 32 * sizeof(float));
    fill<<<1, 32, 0, stream>>>(values);
    cudaLaunchHostFunc(stream, release, values);
    cudaStreamSynchronize(stream);
#ifdef FIXED
    cudaFree(values);
#endif
    cudaStreamDestroy(stream);
}

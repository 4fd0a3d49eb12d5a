// The measured time of a kernel is almost zero.
// Seen: wrong_result
// Cause: The events are recorded in the default stream, and the kernel runs in a non-blocking one.
// Source: https://github.com/csarofeen/pytorch/pull/2521
// Hint: is in another stream than the two events
__global__ void fill(float* values) { values[blockIdx.x * blockDim.x + threadIdx.x] = 1; }

int main() {
    float* values;
    cudaMalloc(&values, 1024 * sizeof(float));
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaEvent_t begin, end;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
#ifdef FIXED
    const cudaStream_t timed = stream;
#else
    const cudaStream_t timed = nullptr;
#endif
    cudaEventRecord(begin, timed);
    fill<<<8, 128, 0, stream>>>(values);  // <- here
    cudaEventRecord(end, timed);
    cudaEventSynchronize(end);
    float ms;
    cudaEventElapsedTime(&ms, begin, end);  // <- here
    cudaStreamSynchronize(stream);
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    cudaStreamDestroy(stream);
    cudaFree(values);
}

// Every launch of a graph computes with the same old intermediate result.
// Seen: stale
// Cause: While a non-blocking stream is captured, one kernel is launched in the default stream. It is not in the graph.
// Source: https://github.com/spiriMirror/libuipc/pull/472
// Hint: is not captured: it is in the default stream, while another stream is captured
__global__ void halve(const float* x, float* half) { half[threadIdx.x] = x[threadIdx.x] / 2; }
__global__ void subtract(float* x, const float* half) { x[threadIdx.x] -= half[threadIdx.x]; }

int main() {
    float *x, *half;
    cudaMalloc(&x, 32 * sizeof(float));
    cudaMalloc(&half, 32 * sizeof(float));
    cudaMemset(x, 0, 32 * sizeof(float));
    cudaDeviceSynchronize();
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaGraph_t graph;
    cudaGraphExec_t step;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
#ifdef FIXED
    halve<<<1, 32, 0, stream>>>(x, half);
#else
    halve<<<1, 32>>>(x, half);  // <- here
#endif
    subtract<<<1, 32, 0, stream>>>(x, half);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&step, graph, 0);
    cudaDeviceSynchronize();
    for (int i = 0; i < 3; ++i) cudaGraphLaunch(step, stream);
    cudaStreamSynchronize(stream);
    cudaGraphExecDestroy(step);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    cudaFree(x);
    cudaFree(half);
}

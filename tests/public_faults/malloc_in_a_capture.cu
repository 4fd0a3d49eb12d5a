// The graph does nothing: its launch returns an error, or the output stays as it was.
// Seen: fails
// Cause: cudaMalloc() during a stream capture invalidates the capture. Allocate before, or use cudaMallocAsync().
// Source: own
// Says: operation not permitted when stream is capturing
#include <cstdio>

__global__ void fill(float* p) { p[threadIdx.x] = 1; }

int main() {
    float *d, h[32] = {};
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamCreate(&stream);
#ifdef FIXED
    cudaMalloc(&d, sizeof h);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
#else
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    cudaMalloc(&d, sizeof h);  // <- here
#endif
    fill<<<1, 32, 0, stream>>>(d);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
    cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
    std::printf("%g\n", h[3]);
    cudaFree(d);
}

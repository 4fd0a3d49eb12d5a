// Two streams are captured into one graph, which is launched three times.
#include <cstdio>
__global__ void add(int* a, int by) { a[threadIdx.x] += by; }
__global__ void join(const int* a, const int* b, int* c) {
    c[threadIdx.x] += a[threadIdx.x] * b[threadIdx.x];
}
int main() {
    int *a, *b, *c, h[32];
    for (int** p : {&a, &b, &c}) {
        cudaMalloc(p, sizeof h);
        cudaMemset(*p, 0, sizeof h);
    }
    cudaDeviceSynchronize();
    cudaStream_t main_stream, side;
    cudaEvent_t fork, back;
    cudaStreamCreate(&main_stream), cudaStreamCreate(&side);
    cudaEventCreate(&fork), cudaEventCreate(&back);
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamBeginCapture(main_stream, cudaStreamCaptureModeGlobal);
    cudaEventRecord(fork, main_stream);
    cudaStreamWaitEvent(side, fork, 0);
    add<<<1, 32, 0, main_stream>>>(a, 1);
    add<<<1, 32, 0, side>>>(b, 2);
    cudaEventRecord(back, side);
    cudaStreamWaitEvent(main_stream, back, 0);
    join<<<1, 32, 0, main_stream>>>(a, b, c);
    cudaStreamEndCapture(main_stream, &graph);
    cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0);
    for (int i = 0; i < 3; ++i) cudaGraphLaunch(exec, main_stream);
    cudaStreamSynchronize(main_stream);
    cudaMemcpy(h, c, sizeof h, cudaMemcpyDeviceToHost);
    cudaGraphExecDestroy(exec), cudaGraphDestroy(graph);
    cudaStreamDestroy(main_stream), cudaStreamDestroy(side), cudaEventDestroy(fork),
        cudaEventDestroy(back);
    cudaFree(a), cudaFree(b), cudaFree(c);
    std::printf("%d\n", h[31]);
    return h[31] != 2 + 8 + 18;
}

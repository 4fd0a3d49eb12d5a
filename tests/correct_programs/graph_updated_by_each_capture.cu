// Each step is captured anew, with its pointers exchanged. The instantiated graph is updated, or replaced if it can't be.
#include <cstdio>
#include <utility>
__global__ void smooth(const float* in, float* out, int n) {
    const int i = threadIdx.x;
    out[i] = i == 0 || i == n - 1 ? in[i] : (in[i - 1] + in[i + 1]) / 2;
}
int main() {
    const int n = 64, steps = 6;
    float h[n] = {32}, expected[2][n] = {{32}}, *from, *to;
    for (int step = 0; step < steps; ++step)
        for (int i = 0; i < n; ++i) {
            const float* const in = expected[step % 2];
            expected[1 - step % 2][i] = i == 0 || i == n - 1 ? in[i] : (in[i - 1] + in[i + 1]) / 2;
        }
    cudaMalloc(&from, sizeof h), cudaMalloc(&to, sizeof h);
    cudaMemcpy(from, h, sizeof h, cudaMemcpyHostToDevice);
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaGraphExec_t exec = nullptr;
    int instantiated = 0;
    for (int step = 0; step < steps; ++step) {
        cudaGraph_t graph, clone;
        cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
        smooth<<<1, n, 0, stream>>>(from, to, n);
        if (step == steps - 1) cudaMemcpyAsync(h, to, sizeof h, cudaMemcpyDeviceToHost, stream);
        cudaStreamEndCapture(stream, &graph);
        cudaGraphClone(&clone, graph);
        cudaGraphDestroy(graph);
        cudaGraphExecUpdateResultInfo info;
        if (!exec || cudaGraphExecUpdate(exec, clone, &info) != cudaSuccess) {
            if (exec) cudaGetLastError(), cudaGraphExecDestroy(exec);
            cudaGraphInstantiate(&exec, clone, 0);
            ++instantiated;
        }
        cudaGraphDestroy(clone);
        cudaGraphLaunch(exec, stream);
        std::swap(from, to);
    }
    cudaStreamSynchronize(stream);
    cudaGraphExecDestroy(exec), cudaStreamDestroy(stream);
    cudaFree(from), cudaFree(to);
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += h[i] != expected[steps % 2][i];
    std::printf("%d wrong, instantiated %d times\n", wrong, instantiated);
    return wrong != 0 || instantiated != 2;
}

// A captured stream allocates its scratch memory and frees it, and each launch of the graph uses that memory.
#include <cstdio>
#include <vector>
__global__ void squares(int* scratch, const int* in, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) scratch[i] = in[i] * in[i];
}
__global__ void add_neighbour(int* out, const int* scratch, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] += scratch[i] + scratch[(i + 1) % n];
}
int main() {
    const int n = 300, launches = 3;
    std::vector<int> numbers(n), result(n);
    for (int i = 0; i < n; ++i) numbers[i] = i;
    int *in, *out, *scratch;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamCreate(&stream);
    cudaMalloc(&in, n * sizeof(int)), cudaMalloc(&out, n * sizeof(int));
    cudaMemcpy(in, numbers.data(), n * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemset(out, 0, n * sizeof(int));
    cudaDeviceSynchronize();
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    cudaMallocAsync(reinterpret_cast<void**>(&scratch), n * sizeof(int), stream);
    squares<<<(n + 127) / 128, 128, 0, stream>>>(scratch, in, n);
    add_neighbour<<<(n + 127) / 128, 128, 0, stream>>>(out, scratch, n);
    cudaFreeAsync(scratch, stream);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    for (int i = 0; i < launches; ++i) cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
    cudaMemcpy(result.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost);
    cudaFree(in), cudaFree(out);
    for (int i = 0; i < n; ++i) {
        const int next = (i + 1) % n, expected = launches * (i * i + next * next);
        if (result[i] != expected) {
            std::printf("out[%d] is %d, expected %d\n", i, result[i], expected);
            return 1;
        }
    }
}

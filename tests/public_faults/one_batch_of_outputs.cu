// The network with one output works, the one with two ends in malloc(): memory corruption.
// Seen: crashes
// Cause: the host's buffer for the second output has the size of the first one.
// Source: https://github.com/enazoe/yolo-tensorrt/issues/122
// Says: writes 1280 bytes of the host's memory, but the array there has 512
#include <cstdio>
#include <memory>
#include <vector>
__global__ void layer(float* boxes, float* scores) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 128) boxes[i] = 0.5f * i;
    scores[i] = 1.0f / (1 + i);
}
int main() {
    const std::vector<size_t> sizes = {128, 320};
    std::vector<float*> buffers;
    std::vector<std::unique_ptr<float[]>> outputs;
    for (const size_t size : sizes) {
        buffers.push_back(nullptr);
        cudaMalloc(&buffers.back(), size * sizeof(float));
#ifdef FIXED
        outputs.emplace_back(new float[size]);
#else
        outputs.emplace_back(new float[sizes[0]]);
#endif
    }
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    layer<<<5, 64, 0, stream>>>(buffers[0], buffers[1]);
    for (size_t i = 0; i < sizes.size(); ++i) {
        const size_t bytes = sizes[i] * sizeof(float);
        float* const to = outputs[i].get();
        cudaMemcpyAsync(to, buffers[i], bytes, cudaMemcpyDeviceToHost, stream);  // <- here
    }
    cudaStreamSynchronize(stream);
    printf("%g %g\n", outputs[0][100], outputs[1][100]);
    cudaStreamDestroy(stream);
    for (float* buffer : buffers) cudaFree(buffer);
}

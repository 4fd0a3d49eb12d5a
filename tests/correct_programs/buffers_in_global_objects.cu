// Global objects allocate device memory in their constructors and free it in their destructors.
#include <cstdio>

struct Buffer {
    static constexpr int kNumbers = 1000;
    int* data = nullptr;
    explicit Buffer(int byte) {
        cudaMalloc(&data, kNumbers * sizeof(int));
        cudaMemset(data, byte, kNumbers * sizeof(int));
    }
    ~Buffer() { cudaFree(data); }
};

Buffer zeros(0), ones(0xff);

struct Results {
    int* data = nullptr;
    void reserve() { cudaMalloc(&data, Buffer::kNumbers * sizeof(int)); }
    ~Results() { cudaFree(data); }
} results;

__global__ void subtract(const int* a, const int* b, int* difference) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < Buffer::kNumbers) difference[i] = a[i] - b[i];
}

int main() {
    results.reserve();
    subtract<<<(Buffer::kNumbers + 255) / 256, 256>>>(zeros.data, ones.data, results.data);
    int host[Buffer::kNumbers], sum = 0;
    const cudaError_t error = cudaMemcpy(host, results.data, sizeof host, cudaMemcpyDeviceToHost);
    for (const int number : host) sum += number;
    std::printf("%s: the sum is %d\n", cudaGetErrorString(error), sum);
    return sum != Buffer::kNumbers;
}

// A batched product of cuBLAS gives the right result for the last matrix at most.
// Seen: wrong_product
// Cause: The strides of the batch are the matrices' edge. They are the elements from one matrix to the next.
// Source: https://github.com/mratsim/Arraymancer/issues/35
// Says: the matrices C of the batch overlap
#include <cublas_v2.h>

constexpr int kEdge = 16, kBatch = 4, kAll = kEdge * kEdge * kBatch;

__global__ void fill(float* values, float value) {
    values[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

int main() {
    float *a, *b, *c;
    cudaMalloc(&a, kAll * sizeof(float));
    cudaMalloc(&b, kAll * sizeof(float));
    cudaMalloc(&c, kAll * sizeof(float));
    fill<<<kAll / 64, 64>>>(a, 1);
    fill<<<kAll / 64, 64>>>(b, 2);
    cublasHandle_t cublas;
    cublasCreate(&cublas);
    const float one = 1, zero = 0;
#ifdef FIXED
    const long long stride = kEdge * kEdge;
#else
    const long long stride = kEdge;
#endif
    const auto n = CUBLAS_OP_N;
    cublasSgemmStridedBatched(cublas, n, n, kEdge, kEdge, kEdge, &one, a, kEdge, stride,  // <- here
                              b, kEdge, stride, &zero, c, kEdge, stride, kBatch);
    cudaDeviceSynchronize();
    cublasDestroy(cublas);
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
}

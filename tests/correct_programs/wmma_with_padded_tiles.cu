// WMMA with operands from padded tiles in shared memory, four warps per block, compared with cuBLAS.
#include <cublas_v2.h>
#include <cuda_fp16.h>
#include <mma.h>

#include <cstdio>
#include <vector>
using namespace nvcuda;
constexpr int kTile = 32, kPad = 8;
__global__ void multiply(const half* A, const half* B, float* C, int M, int N, int K) {
    __shared__ __align__(32) half a[kTile][16 + kPad], b[16][kTile + kPad];
    const int warp = threadIdx.x / 32, row = blockIdx.y * kTile, column = blockIdx.x * kTile;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < K; k += 16) {
        for (int i = threadIdx.x; i < kTile * 16; i += blockDim.x) {
            a[i / 16][i % 16] = A[(row + i / 16) * K + k + i % 16];
            b[i / kTile][i % kTile] = B[(k + i / kTile) * N + column + i % kTile];
        }
        __syncthreads();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> right;
        wmma::load_matrix_sync(left, &a[warp / 2 * 16][0], 16 + kPad);
        wmma::load_matrix_sync(right, &b[0][warp % 2 * 16], kTile + kPad);
        wmma::mma_sync(sum, left, right, sum);
        __syncthreads();
    }
    float* const to = C + (row + warp / 2 * 16) * N + column + warp % 2 * 16;
    wmma::store_matrix_sync(to, sum, N, wmma::mem_row_major);
}
int main() {
    const int M = 64, N = 96, K = 48;
    std::vector<half> a(M * K), b(K * N);
    for (int i = 0; i < M * K; ++i) a[i] = __float2half(float(i % 5 - 2));
    for (int i = 0; i < K * N; ++i) b[i] = __float2half(float(i % 7 - 3));
    half *A, *B;
    float *C, *D;
    cudaMalloc(&A, M * K * sizeof(half)), cudaMalloc(&B, K * N * sizeof(half));
    cudaMalloc(&C, M * N * sizeof(float)), cudaMalloc(&D, M * N * sizeof(float));
    cudaMemcpy(A, a.data(), M * K * sizeof(half), cudaMemcpyHostToDevice);
    cudaMemcpy(B, b.data(), K * N * sizeof(half), cudaMemcpyHostToDevice);
    multiply<<<dim3(N / kTile, M / kTile), 128>>>(A, B, C, M, N, K);
    cublasHandle_t handle;
    cublasCreate(&handle);
    const float one = 1, zero = 0;
    cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, M, K, &one, B, CUDA_R_16F, N, A, CUDA_R_16F,
                 K, &zero, D, CUDA_R_32F, N, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    std::vector<float> c(M * N), d(M * N);
    cudaMemcpy(c.data(), C, M * N * sizeof(float), cudaMemcpyDeviceToHost);
    cudaMemcpy(d.data(), D, M * N * sizeof(float), cudaMemcpyDeviceToHost);
    cublasDestroy(handle);
    cudaFree(A), cudaFree(B), cudaFree(C), cudaFree(D);
    std::puts(c == d ? "correct" : "wrong");
    return c != d;
}

// A warp multiplies tiles of 16 x 8 x 16 by ldmatrix and mma.sync, written as inline PTX.
#include <cuda_fp16.h>

#include <cstdint>
#include <cstdio>
#include <vector>
__device__ __forceinline__ unsigned shared_address(const void* p) {
    return static_cast<unsigned>(__cvta_generic_to_shared(p));
}
__global__ void multiply(const half* A, const half* B, float* C, int n, int k) {
    __shared__ __align__(16) half a[16][16 + 8], b[8][16 + 8];  // b: column by column
    const int lane = threadIdx.x;
    float c[4] = {0, 0, 0, 0};
    for (int k0 = 0; k0 < k; k0 += 16) {
        for (int i = lane; i < 256; i += 32) a[i / 16][i % 16] = A[i / 16 * k + k0 + i % 16];
        for (int i = lane; i < 128; i += 32)
            b[i % 8][i / 8] = B[(k0 + i / 8) * n + blockIdx.x * 8 + i % 8];
        __syncwarp();
        uint32_t x[4], y[2];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                     : "r"(shared_address(&a[lane % 16][lane / 16 * 8])));
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];\n"
                     : "=r"(y[0]), "=r"(y[1])
                     : "r"(shared_address(&b[lane % 8][lane / 8 % 2 * 8])));
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
        __syncwarp();
    }
    const int row = lane / 4, column = blockIdx.x * 8 + lane % 4 * 2;
    *reinterpret_cast<float2*>(&C[row * n + column]) = make_float2(c[0], c[1]);
    *reinterpret_cast<float2*>(&C[(row + 8) * n + column]) = make_float2(c[2], c[3]);
}
int main() {
    const int m = 16, n = 24, k = 48;
    std::vector<half> a(m * k), b(k * n);
    std::vector<float> c(m * n);
    for (int i = 0; i < m * k; ++i) a[i] = float(i % 5 - 2);
    for (int i = 0; i < k * n; ++i) b[i] = float(i % 7 - 3);
    half *A, *B;
    float* C;
    cudaMalloc(&A, m * k * 2), cudaMalloc(&B, k * n * 2), cudaMalloc(&C, m * n * 4);
    cudaMemcpy(A, a.data(), m * k * 2, cudaMemcpyHostToDevice);
    cudaMemcpy(B, b.data(), k * n * 2, cudaMemcpyHostToDevice);
    multiply<<<n / 8, 32>>>(A, B, C, n, k);
    cudaMemcpy(c.data(), C, m * n * 4, cudaMemcpyDeviceToHost);
    cudaFree(A), cudaFree(B), cudaFree(C);
    int wrong = 0;
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
            float sum = 0;
            for (int l = 0; l < k; ++l) sum += float(a[i * k + l]) * float(b[l * n + j]);
            wrong += c[i * n + j] != sum;
        }
    std::printf("%d wrong\n", wrong);
    return wrong != 0;
}

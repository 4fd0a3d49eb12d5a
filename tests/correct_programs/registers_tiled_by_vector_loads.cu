// A product with 4 x 4 elements a thread: float4 loads to a transposed and a plain tile, two barriers a step, float4 stores.
#include <cstdio>
#include <vector>
constexpr int kM = 32, kN = 32, kK = 8;
__global__ void __launch_bounds__(64)
    sgemm(int M, int N, int K, float alpha, const float* __restrict__ A,
          const float* __restrict__ B, float beta, float* __restrict__ C) {
    __shared__ float As[kK * kM], Bs[kK * kN];
    const int t = threadIdx.x, tr = t / 8, tc = t % 8;
    A += blockIdx.y * kM * K, B += blockIdx.x * kN, C += blockIdx.y * kM * N + blockIdx.x * kN;
    float sums[4][4] = {{0}};
    for (int k0 = 0; k0 < K; k0 += kK, A += kK, B += kK * N) {
        const float4 a = *reinterpret_cast<const float4*>(&A[t / 2 * K + t % 2 * 4]);
        As[(t % 2 * 4 + 0) * kM + t / 2] = a.x, As[(t % 2 * 4 + 1) * kM + t / 2] = a.y;
        As[(t % 2 * 4 + 2) * kM + t / 2] = a.z, As[(t % 2 * 4 + 3) * kM + t / 2] = a.w;
        *reinterpret_cast<float4*>(&Bs[t / 8 * kN + t % 8 * 4]) =
            *reinterpret_cast<const float4*>(&B[t / 8 * N + t % 8 * 4]);
        __syncthreads();
        for (int k = 0; k < kK; ++k) {
            float a4[4], b4[4];
            for (int i = 0; i < 4; ++i)
                a4[i] = As[k * kM + tr * 4 + i], b4[i] = Bs[k * kN + tc * 4 + i];
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j) sums[i][j] += a4[i] * b4[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i) {
        float4& c = *reinterpret_cast<float4*>(&C[(tr * 4 + i) * N + tc * 4]);
        c.x = alpha * sums[i][0] + beta * c.x, c.y = alpha * sums[i][1] + beta * c.y;
        c.z = alpha * sums[i][2] + beta * c.z, c.w = alpha * sums[i][3] + beta * c.w;
    }
}
int main() {
    const int M = 64, N = 96, K = 40;
    std::vector<float> a(M * K), b(K * N), c(M * N, 2);
    for (int i = 0; i < M * K; ++i) a[i] = float(i % 9 - 4);
    for (int i = 0; i < K * N; ++i) b[i] = float(i % 11 - 5);
    float *A, *B, *C;
    cudaMalloc(&A, a.size() * 4), cudaMalloc(&B, b.size() * 4), cudaMalloc(&C, c.size() * 4);
    cudaMemcpy(A, a.data(), a.size() * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(B, b.data(), b.size() * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(C, c.data(), c.size() * 4, cudaMemcpyHostToDevice);
    sgemm<<<dim3(N / kN, M / kM), 64>>>(M, N, K, 2, A, B, 0.5f, C);
    cudaMemcpy(c.data(), C, c.size() * 4, cudaMemcpyDeviceToHost);
    cudaFree(A), cudaFree(B), cudaFree(C);
    int wrong = 0;
    for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j) {
            float sum = 0;
            for (int k = 0; k < K; ++k) sum += a[i * K + k] * b[k * N + j];
            wrong += c[i * N + j] != 2 * sum + 1;
        }
    std::printf("%d wrong\n", wrong);
    return wrong != 0;
}

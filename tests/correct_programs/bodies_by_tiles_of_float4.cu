// All pairs of bodies: tiles of float4 in shared memory, a grid that is too large, and two launches for each step.
#include <cmath>
#include <cstdio>
constexpr int kThreads = 64;
__global__ void accelerate(const float4* __restrict__ body, float3* __restrict__ velocity, int n) {
    __shared__ float4 tile[kThreads];
    const int i = blockIdx.x * kThreads + threadIdx.x;
    const float4 me = i < n ? body[i] : make_float4(0, 0, 0, 0);
    float3 a = make_float3(0, 0, 0);
    for (int first = 0; first < n; first += kThreads) {
        const int j = first + threadIdx.x;
        tile[threadIdx.x] = j < n ? body[j] : make_float4(0, 0, 0, 0);
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < kThreads; ++k) {
            const float4 other = tile[k];
            const float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
            const float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            const float s = other.w * r * r * r;
            a.x += s * dx, a.y += s * dy, a.z += s * dz;
        }
        __syncthreads();
    }
    if (i < n) velocity[i].x += a.x, velocity[i].y += a.y, velocity[i].z += a.z;
}
__global__ void advance(float4* body, const float3* velocity, float dt, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 b = body[i];
    b.x += dt * velocity[i].x, b.y += dt * velocity[i].y, b.z += dt * velocity[i].z;
    body[i] = b;
}
int main() {
    const int n = 100, blocks = 2;
    float4 h[n], *body;
    float3* velocity;
    for (int i = 0; i < n; ++i)
        h[i] = make_float4(i % 5 - 2.0f, i / 5 % 5 - 2.0f, i / 25 - 1.5f, 1);
    cudaMalloc(&body, sizeof h), cudaMalloc(&velocity, n * sizeof(float3));
    cudaMemcpy(body, h, sizeof h, cudaMemcpyHostToDevice);
    cudaMemset(velocity, 0, n * sizeof(float3));
    for (int step = 0; step < 2; ++step) {
        accelerate<<<blocks, kThreads>>>(body, velocity, n);
        advance<<<blocks, kThreads>>>(body, velocity, 0.001f, n);
    }
    cudaMemcpy(h, body, sizeof h, cudaMemcpyDeviceToHost);
    cudaFree(body), cudaFree(velocity);
    double x = 0, y = 0, z = 0;  // the centre of mass stays where it is
    for (const float4& b : h) x += b.x, y += b.y, z += b.z;
    std::printf("%g %g %g\n", x, y, z);
    return std::fabs(x) + std::fabs(y) + std::fabs(z) > 1e-3;
}

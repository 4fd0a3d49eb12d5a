// A 3D grid of 3D blocks, cudaMemset for bytes, cudaFuncSetAttribute for a large tile, and cudaDeviceReset().
#include <cstdio>
__global__ void blur(const float* in, float* out, int nx, int ny, int nz) {
    extern __shared__ float tile[];
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    const int t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    const bool inside = x < nx && y < ny && z < nz;
    tile[t] = inside ? in[(z * ny + y) * nx + x] : 0;
    __syncthreads();
    if (!inside) return;
    float sum = tile[t];
    if (threadIdx.x > 0) sum += tile[t - 1];
    if (threadIdx.x + 1 < blockDim.x) sum += tile[t + 1];
    out[(z * ny + y) * nx + x] = sum;
}
int run() {
    const int nx = 10, ny = 6, nz = 5, n = nx * ny * nz;
    float h[n], *in, *out;
    for (float& x : h) x = 1;
    cudaMalloc(&in, sizeof h), cudaMalloc(&out, sizeof h);
    cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
    cudaMemset(out, 0xff, sizeof h);
    cudaFuncSetAttribute(blur, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10);
    blur<<<dim3(2, 2, 2), dim3(8, 4, 4), 64 << 10>>>(in, out, nx, ny, nz);
    cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
    std::printf("%g %g %g\n", h[0], h[1], h[9]);
    return h[0] != 2 || h[1] != 3 || h[9] != 2;
}
int main() {
    const int first = run();
    cudaDeviceReset();
    const int second = run();
    cudaDeviceReset();
    return first + second;
}

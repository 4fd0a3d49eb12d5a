// cudaMalloc3D, cudaMemset3D and cudaMemcpy3D of a volume and of a part of it, and a kernel's argument in braces.
#include <cstdio>
#include <vector>
struct Size {
    int x, y, z;
};
__global__ void sums_of_slices(cudaPitchedPtr volume, Size size, float* sums) {
    const int z = blockIdx.x;
    float sum = 0;
    const char* const slice = static_cast<const char*>(volume.ptr) + z * volume.pitch * size.y;
    for (int y = threadIdx.x; y < size.y; y += blockDim.x) {
        const auto* const row = reinterpret_cast<const float*>(slice + y * volume.pitch);
        for (int x = 0; x < size.x; ++x) sum += row[x];
    }
    atomicAdd(&sums[z], sum);
}
int main() {
    constexpr int nx = 150, ny = 7, nz = 5;
    std::vector<float> host(nx * ny * nz), part(50 * 3 * 2), sums(nz);
    for (size_t i = 0; i < host.size(); ++i) host[i] = float(i % 13);
    const cudaExtent extent = make_cudaExtent(nx * sizeof(float), ny, nz);
    cudaPitchedPtr volume;
    float* device_sums;
    cudaMalloc3D(&volume, extent), cudaMalloc(&device_sums, nz * sizeof(float));
    cudaMemset3D(volume, 0, extent), cudaMemset(device_sums, 0, nz * sizeof(float));
    cudaMemcpy3DParms in = {};
    in.srcPtr = make_cudaPitchedPtr(host.data(), nx * sizeof(float), nx, ny);
    in.dstPtr = volume;
    in.extent = extent;
    in.kind = cudaMemcpyHostToDevice;
    cudaMemcpy3D(&in);
    sums_of_slices<<<nz, 32>>>(volume, {nx, ny, nz}, device_sums);
    cudaMemcpy(sums.data(), device_sums, nz * sizeof(float), cudaMemcpyDeviceToHost);
    cudaMemcpy3DParms out = {};
    out.srcPtr = volume;
    out.srcPos = make_cudaPos(100 * sizeof(float), 4, 3);
    out.dstPtr = make_cudaPitchedPtr(part.data(), 50 * sizeof(float), 50, 3);
    out.extent = make_cudaExtent(50 * sizeof(float), 3, 2);
    out.kind = cudaMemcpyDeviceToHost;
    cudaMemcpy3D(&out);
    cudaFree(volume.ptr), cudaFree(device_sums);
    bool right = true;
    for (int z = 0; z < nz; ++z) {
        float sum = 0;
        for (int i = 0; i < nx * ny; ++i) sum += host[z * nx * ny + i];
        right &= sums[z] == sum;
    }
    for (int z = 0; z < 2; ++z)
        for (int y = 0; y < 3; ++y)
            for (int x = 0; x < 50; ++x)
                right &= part[(z * 3 + y) * 50 + x] == host[((z + 3) * ny + y + 4) * nx + x + 100];
    std::printf(right ? "right\n" : "wrong\n");
    return !right;
}

// Of each row of the volume only the first quarter arrives, and the rest is garbage.
// Seen: unset
// Cause: the width of a cudaExtent for memory that is no cudaArray is in bytes, and it gets elements.
// Source: https://github.com/alpaka-group/alpaka/pull/150
// Says: uninitialised device memory
#include <cstdio>
#include <vector>
constexpr int kX = 40, kY = 3, kZ = 2;
__global__ void double_all(cudaPitchedPtr volume) {
    char* const slice = static_cast<char*>(volume.ptr) + blockIdx.x * kY * volume.pitch;
    for (int y = 0; y < kY; ++y)
        reinterpret_cast<float*>(slice + y * volume.pitch)[threadIdx.x] *= 2;  // <- here
}
int main() {
    std::vector<float> host(kX * kY * kZ, 1);
#ifdef FIXED
    const size_t width = kX * sizeof(float);
#else
    const size_t width = kX;
#endif
    cudaPitchedPtr volume;
    cudaMalloc3D(&volume, make_cudaExtent(kX * sizeof(float), kY, kZ));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(host.data(), kX * sizeof(float), kX, kY);
    copy.dstPtr = volume;
    copy.extent = make_cudaExtent(width, kY, kZ);
    copy.kind = cudaMemcpyHostToDevice;
    cudaMemcpy3D(&copy);
    double_all<<<kZ, kX>>>(volume);
    cudaDeviceSynchronize();
    cudaFree(volume.ptr);
}

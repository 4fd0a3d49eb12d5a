// Pitched memory works for some widths, and for others the kernel writes to wrong rows.
// Seen: wrong_result
// Cause: cudaMallocPitch() returns the pitch in bytes, and the kernel uses it as a number of elements.
// Source: https://forums.developer.nvidia.com/t/understanding-memory-pitch-alignment/39738
// Says: just past the end of 10240 bytes of device memory
__global__ void fill(float* image, size_t pitch) {
#ifdef FIXED
    float* row = reinterpret_cast<float*>(reinterpret_cast<char*>(image) + blockIdx.x * pitch);
    row[threadIdx.x] = 1;
#else
    image[blockIdx.x * pitch + threadIdx.x] = 1;  // <- here
#endif
}
int main() {
    float* image;
    size_t pitch;
    cudaMallocPitch(&image, &pitch, 100 * sizeof(float), 20);
    fill<<<20, 100>>>(image, pitch);
    cudaDeviceSynchronize();
    cudaFree(image);
}

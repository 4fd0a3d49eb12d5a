// A struct is copied to the kernel, and what its pointer points to is not there.
// Seen: crashes
// Cause: the struct is copied, but its member still points to memory of the host (a shallow copy).
// Source: https://github.com/stephen-hqxu/superterrainplus/issues/2
// Says: out of bounds
// Says: not in device memory, but in the host's, which kernels cannot touch
struct Vector {
    int size;
    float* values;
};
__global__ void scale(Vector v) {
    if (threadIdx.x < v.size) v.values[threadIdx.x] *= 2;  // <- here
}
int main() {
    Vector v = {32, new float[32]()};
    float* host = v.values;
    float* on_device;
    cudaMalloc(&on_device, 32 * sizeof(float));
    cudaMemcpy(on_device, host, 32 * sizeof(float), cudaMemcpyHostToDevice);
#ifdef FIXED
    v.values = on_device;
#endif
    scale<<<1, 32>>>(v);
    cudaDeviceSynchronize();
    cudaFree(on_device);
    delete[] host;
}

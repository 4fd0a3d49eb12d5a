// An illegal memory access was encountered, in the simplest of kernels.
// Seen: crashes
// Cause: the kernel gets a pointer of the host, from new or malloc(), in place of one from cudaMalloc().
// Source: https://github.com/deepmodeling/abacus-develop/pull/6862
// Says: out of bounds
// Says: not in device memory, but in the host's, which kernels cannot touch
__global__ void scale(float* values) { values[threadIdx.x] *= 2; }  // <- here
int main() {
    float *values = new float[32](), *on_device;
    cudaMalloc(&on_device, 32 * sizeof(float));
    cudaMemcpy(on_device, values, 32 * sizeof(float), cudaMemcpyHostToDevice);
#ifdef FIXED
    scale<<<1, 32>>>(on_device);
#else
    scale<<<1, 32>>>(values);
#endif
    cudaDeviceSynchronize();
    cudaFree(on_device);
    delete[] values;
}

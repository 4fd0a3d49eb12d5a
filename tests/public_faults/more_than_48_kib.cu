// The launch fails with a large tile, though the GPU has enough shared memory.
// Seen: fails
// Cause: more than 48 KiB of dynamic shared memory need a call of cudaFuncSetAttribute() first.
// Source: https://github.com/punica-ai/punica/pull/20
// Says: bytes of dynamic shared memory; this kernel may have 49152, more after cudaFuncSetAttribute(
__global__ void fill(float* out) {
    extern __shared__ float tile[];
    for (int i = threadIdx.x; i < 16384; i += 256) tile[i] = i;
    __syncthreads();
    out[threadIdx.x] = tile[16383 - threadIdx.x];
}
int main() {
    float* out;
    cudaMalloc(&out, 256 * sizeof(float));
    const int bytes = 16384 * sizeof(float);
#ifdef FIXED
    cudaFuncSetAttribute(fill, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
#endif
    fill<<<1, 256, bytes>>>(out);  // <- here
    cudaDeviceSynchronize();
    cudaFree(out);
}

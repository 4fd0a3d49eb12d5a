// I call __any_sync() in thread 0 only, and the kernel hangs.
// Seen: hangs
// Cause: one thread votes, and the mask of the vote names all lanes of the warp.
// Source: https://github.com/brucefan1983/CUDA-Programming/issues/44
// Says: warp divergence: thread 0 calls __any_sync
__global__ void any(const int* in, int* out) {
    int mine = in[threadIdx.x];
#ifdef FIXED
    int found = __any_sync(0xffffffff, mine > 9);
    if (threadIdx.x == 0) *out = found;
#else
    if (threadIdx.x == 0) *out = __any_sync(0xffffffff, mine > 9);  // <- here
#endif
    __syncwarp();  // <- here
    if (threadIdx.x == 31) out[1] = *out;
}
int main() {
    int *in, *out;
    cudaMalloc(&in, 32 * sizeof(int)), cudaMalloc(&out, 2 * sizeof(int));
    cudaMemset(in, 0, 32 * sizeof(int));
    any<<<1, 32>>>(in, out);
    cudaFree(in), cudaFree(out);
    return cudaDeviceSynchronize() != cudaSuccess;
}

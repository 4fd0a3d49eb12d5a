// Lane 0 of each warp stores an offset in shared memory, and now and then the other lanes use an old one.
// Seen: differs
// Cause: no __syncwarp() between lane 0's write and the other lanes' reads on the very next line.
// Source: https://github.com/ORNL/HeCBench/pull/221
// Says: race in shared memory
__global__ void spread(const int* first, int* out) {
    __shared__ int offset[2];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (lane == 0) offset[warp] = first[warp];  // <- here
#ifdef FIXED
    __syncwarp();
#endif
    out[threadIdx.x] = offset[warp] + lane;  // <- here
}
int main() {
    int *first, *out;
    cudaMalloc(&first, 2 * sizeof(int)), cudaMalloc(&out, 64 * sizeof(int));
    cudaMemset(first, 0, 2 * sizeof(int));
    spread<<<1, 64>>>(first, out);
    cudaFree(first), cudaFree(out);
    return cudaDeviceSynchronize() != cudaSuccess;
}

// A copy that transposes is wrong in rare elements, and never in the debugger.
// Seen: differs
// Cause: the loop over tiles has one barrier; the second, before the tile is filled anew, is missing.
// Source: https://github.com/ggml-org/llama.cpp/pull/20507
// Says: race in shared memory
__global__ void transpose(const float* in, float* out, int n) {
    __shared__ float tile[16][17];
    for (int first = 0; first < n; first += 16) {
        int x = first + threadIdx.x, y = blockIdx.x * 16 + threadIdx.y;
        tile[threadIdx.y][threadIdx.x] = in[y * n + x];  // <- here
        __syncthreads();
        out[(first + threadIdx.y) * n + blockIdx.x * 16 + threadIdx.x] =
            tile[threadIdx.x][threadIdx.y];  // <- here
#ifdef FIXED
        __syncthreads();
#endif
    }
}
int main() {
    const int n = 64;
    float *in, *out;
    cudaMalloc(&in, n * n * sizeof(float)), cudaMalloc(&out, n * n * sizeof(float));
    cudaMemset(in, 0, n * n * sizeof(float));
    transpose<<<n / 16, dim3(16, 16)>>>(in, out, n);
    cudaDeviceSynchronize();
    cudaFree(in), cudaFree(out);
}

// Unspecified launch failure, in a kernel that compares neighbours.
// Seen: crashes
// Cause: the last thread reads element k + 1, one past the end.
// Source: https://forums.developer.nvidia.com/t/launch-failure-due-to-call-by-reference/451
// Says: out of bounds
// Says: past the end of 160 bytes
__global__ void differences(const float* t, float* out, int n) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIXED
    if (k + 1 < n) out[k] = t[k + 1] - t[k];
#else
    if (k < n) out[k] = t[k + 1] - t[k];  // <- here
#endif
}
int main() {
    float *t, *out;
    cudaMalloc(&t, 40 * sizeof(float)), cudaMalloc(&out, 40 * sizeof(float));
    cudaMemset(t, 0, 40 * sizeof(float));
    differences<<<2, 32>>>(t, out, 40);
    cudaDeviceSynchronize();
    cudaFree(t), cudaFree(out);
}

// All coefficients in constant memory are zero.
// Seen: fails
// Cause: cudaMemcpyToSymbol() gets twice as many bytes as the variable has, and its error is not checked.
// Source: own
// Says: 64 bytes at offset 0 exceed the variable's 32
__constant__ float coefficients[8];
__global__ void apply(float* out) { out[threadIdx.x] = coefficients[threadIdx.x % 8]; }
int main() {
    float host[16] = {1, 2, 3, 4, 5, 6, 7, 8}, *out;
#ifdef FIXED
    cudaMemcpyToSymbol(coefficients, host, sizeof coefficients);
#else
    cudaMemcpyToSymbol(coefficients, host, sizeof host);  // <- here
#endif
    cudaMalloc(&out, 32 * sizeof(float));
    apply<<<1, 32>>>(out);
    cudaDeviceSynchronize();
    cudaFree(out);
}

// One memory fault, chosen by the argument; run by emulator_test.cpp, which looks for AddressSanitizer's report.
#include <cstdio>
#include <cstdlib>

__global__ void read_global(const float* in, float* out, int i) { *out = in[i]; }
__global__ void write_global(float* out, int i) { out[i] = 1; }
__global__ void write_shared(float* out, int i) {
    __shared__ float s[10];
    s[i] = 1;
    *out = s[i - 1];
}
__global__ void write_dynamic(float* out, int i) {
    extern __shared__ float s[];
    s[i] = 1;
    __syncthreads();
    *out = s[i];
}

int main(int argc, char** argv) {
    const int kind = argc > 1 ? std::atoi(argv[1]) : 0, index = argc > 2 ? std::atoi(argv[2]) : 0;
    float *in, *out;
    cudaMalloc(&in, 10 * sizeof(float));
    cudaMalloc(&out, 10 * sizeof(float));
    if (kind == 0) read_global<<<1, 1>>>(in, out, index);
    if (kind == 1) write_global<<<1, 1>>>(out, index);
    if (kind == 2) write_shared<<<1, 1>>>(out, index);
    if (kind == 3) write_dynamic<<<1, 1, 10 * sizeof(float)>>>(out, index);
    if (kind == 4) {
        cudaFree(in);
        read_global<<<1, 1>>>(in, out, index);
    }
    cudaFree(in);
    cudaFree(out);
    return cudaGetLastError();
}

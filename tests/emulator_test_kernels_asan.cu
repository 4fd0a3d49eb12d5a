// One memory fault, chosen by the argument; run by emulator_test.cpp, which looks for AddressSanitizer's report.
#include <cuda_pipeline.h>
#include <mma.h>

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
__global__ void load_matrix(const half* in, int ldm) {
    nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, half, nvcuda::wmma::row_major> a;
    nvcuda::wmma::load_matrix_sync(a, in, ldm);
}
__global__ void store_matrix(float* out, int ldm) {
    nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> c;
    nvcuda::wmma::fill_fragment(c, 0.0f);
    nvcuda::wmma::store_matrix_sync(out, c, ldm, nvcuda::wmma::mem_row_major);
}
__global__ void copy_async(const float* in, int i) {
    __shared__ float s[10];
    __pipeline_memcpy_async(&s[9], &in[i], 4);
}
__global__ void copy_async_shared(const float* in, int i) {
    __shared__ float s[10];
    __pipeline_memcpy_async(&s[i], in, 4);
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
    half* halves;
    float* floats;
    cudaMalloc(&halves, 15 * 24 * sizeof(half) + 16 * sizeof(half));  // 16 rows of 16, 24 apart
    cudaMalloc(&floats, 15 * 24 * sizeof(float) + 16 * sizeof(float));
    if (kind == 5) load_matrix<<<1, 32>>>(halves, index == 9 ? 24 : 32);
    if (kind == 6) store_matrix<<<1, 32>>>(floats, index == 9 ? 24 : 28);
    if (kind == 7) copy_async<<<1, 1>>>(in, index);
    if (kind == 8) copy_async_shared<<<1, 1>>>(in, index);
    cudaFree(halves);
    cudaFree(floats);
    cudaFree(in);
    cudaFree(out);
    return cudaGetLastError();
}

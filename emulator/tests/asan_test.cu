// One memory fault, chosen by the arguments. test_asan.py runs it and checks AddressSanitizer's
// report.
#include <cuda_pipeline.h>
#include <mma.h>

#include <cstdlib>

__global__ void read_global(const float* in, float* out, int i) { *out = in[i]; }
__global__ void write_global(float* out, int i) { out[i] = 1; }
template <class T>
__global__ void write_shared(T* out, int i) {
    __shared__ T s[10];
    s[i] = 1;  // static
    *out = s[i - 1];
}
__global__ void write_dynamic(float* out, int i) {
    extern __shared__ float s[];
    s[i] = 1;  // dynamic
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
__global__ void copy_async(const float* in, int to, int from) {
    __shared__ float s[10];
    __pipeline_memcpy_async(&s[to], &in[from], 4);
}

int main(int, char** argv) {
    const int kind = std::atoi(argv[1]), i = std::atoi(argv[2]);
    float *in, *out, *floats;
    half* halves;
    cudaMalloc(&in, 10 * sizeof(float));
    cudaMalloc(&out, 10 * sizeof(float));
    cudaMalloc(&halves, (15 * 24 + 16) * sizeof(half));  // 16 rows of 16, 24 apart
    cudaMalloc(&floats, (15 * 24 + 16) * sizeof(float));
    if (kind == 4) cudaFree(in);
    if (kind == 0 || kind == 4) read_global<<<1, 1>>>(in, out, i);
    if (kind == 1) write_global<<<1, 1>>>(out, i);
    if (kind == 2) write_shared<<<1, 1>>>(out, i);
    if (kind == 3) write_dynamic<<<1, 1, 10 * sizeof(float)>>>(out, i);
    if (kind == 5) load_matrix<<<1, 32>>>(halves, i == 9 ? 24 : 32);
    if (kind == 6) store_matrix<<<1, 32>>>(floats, i == 9 ? 24 : 28);
    if (kind == 7) copy_async<<<1, 1>>>(in, 9, i);
    if (kind == 8) copy_async<<<1, 1>>>(in, i, 0);
    for (void* p : {(void*)(kind == 4 ? nullptr : in), (void*)out, (void*)halves, (void*)floats})
        cudaFree(p);
    return cudaGetLastError();
}

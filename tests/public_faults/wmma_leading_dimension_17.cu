// Bank conflicts are gone with rows of 17 elements, and so are the correct results of WMMA.
// Seen: wrong_product
// Cause: ldm must be a multiple of 8 for half; with a padding of one element it is not.
// Source: own
// Says: ldm is 17, not a multiple of 8
#include <mma.h>
#ifdef FIXED
#define ROW 24
#else
#define ROW 17
#endif
__global__ void square(const half* in, float* out) {
    using namespace nvcuda::wmma;
    __shared__ __align__(32) half tile[16 * ROW];
    for (int i = threadIdx.x; i < 256; i += 32) tile[i / 16 * ROW + i % 16] = in[i];
    __syncwarp();
    fragment<matrix_a, 16, 16, 16, half, row_major> a;
    fragment<matrix_b, 16, 16, 16, half, row_major> b;
    fragment<accumulator, 16, 16, 16, float> c;
    fill_fragment(c, 0.0f);
    load_matrix_sync(a, tile, ROW);  // <- here
    load_matrix_sync(b, tile, ROW);
    mma_sync(c, a, b, c);
    store_matrix_sync(out, c, 16, mem_row_major);
}
int main() {
    half* in;
    float* out;
    cudaMalloc(&in, 256 * sizeof(half)), cudaMalloc(&out, 256 * sizeof(float));
    cudaMemset(in, 0, 256 * sizeof(half));
    square<<<1, 32>>>(in, out);
    cudaDeviceSynchronize();
    cudaFree(in), cudaFree(out);
}

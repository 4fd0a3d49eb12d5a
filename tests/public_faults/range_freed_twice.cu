// A kernel with malloc() and free() works alone; what later kernels allocate overlaps, or they crash.
// Seen: crashes
// Cause: the branch for an empty row frees the object, and the common end frees it again.
// Source: own
// Says: freed twice: at
// Says: a kernel frees 8 bytes that it has allocated, freed at
#include <cstdio>
#include <cstdlib>
struct Range {
    int begin, end;
};
__global__ void lengths_of_rows(const int* begins, int* lengths) {
    const int row = threadIdx.x;
    Range* range = static_cast<Range*>(malloc(sizeof(Range)));
    range->begin = begins[row], range->end = begins[row + 1];
    lengths[row] = range->end - range->begin;
#ifndef FIXED
    if (lengths[row] == 0) free(range);  // <- here
#endif
    free(range);  // <- here
}
int main() {
    const int rows = 32;
    int h[rows + 1], *begins, *lengths;
    for (int i = 0; i <= rows; ++i) h[i] = i / 3 * 3;
    cudaMalloc(&begins, sizeof h), cudaMalloc(&lengths, rows * sizeof(int));
    cudaMemcpy(begins, h, sizeof h, cudaMemcpyHostToDevice);
    lengths_of_rows<<<1, rows>>>(begins, lengths);
    cudaMemcpy(h, lengths, rows * sizeof(int), cudaMemcpyDeviceToHost);
    printf("%d %d\n", h[0], h[2]);
    cudaFree(begins), cudaFree(lengths);
}

// K is sometimes filled with values of V, though both copies are in one stream.
// Seen: stale
// Cause: one pinned buffer stages both; the host refills it while the first copy may still read it.
// Source: https://github.com/1bit-MONSTER/1bit-MONSTER/pull/2436
// Says: the host writes staging, which the copy
// Says: may still be reading
// Says: cudaStreamSynchronize(stream) is missing
#include <cstdio>
constexpr int n = 256;
__global__ void scale(int* k, const int* v) { k[threadIdx.x] *= v[threadIdx.x]; }
int main() {
    int *staging, *k, *v, result;
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaHostAlloc(&staging, n * sizeof(int), cudaHostAllocDefault);
    cudaMalloc(&k, n * sizeof(int)), cudaMalloc(&v, n * sizeof(int));
    for (int i = 0; i < n; ++i) staging[i] = i;
    cudaMemcpyAsync(k, staging, n * sizeof(int), cudaMemcpyHostToDevice, stream);  // <- here
#ifdef FIXED
    cudaStreamSynchronize(stream);
#endif
    for (int i = 0; i < n; ++i) staging[i] = -i;  // <- here
    cudaMemcpyAsync(v, staging, n * sizeof(int), cudaMemcpyHostToDevice, stream);
    scale<<<1, n, 0, stream>>>(k, v);
    cudaStreamSynchronize(stream);
    cudaMemcpy(&result, k + 7, sizeof(int), cudaMemcpyDeviceToHost);
    std::printf("%d\n", result);
    cudaFree(k), cudaFree(v), cudaFreeHost(staging), cudaStreamDestroy(stream);
}

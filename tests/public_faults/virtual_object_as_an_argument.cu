// The kernel gets the object as an argument, and its virtual function crashes.
// Seen: crashes
// Cause: an argument of a kernel may have no virtual functions, because their table is the host's.
// Source: https://kokkos.org/kokkos-core-wiki/ProgrammingGuide/Kokkos-and-Virtual-Functions.html
// Says: passes to the kernel a Doubled, which has virtual functions
#include <cstdio>
#ifdef FIXED
#define VIRTUAL
#else
#define VIRTUAL virtual
#endif
struct Doubled {
    __host__ __device__ VIRTUAL float of(float x) const { return 2 * x; }
};
__global__ void apply(Doubled function, float* f) {
    const Doubled& same = function;
    f[threadIdx.x] = same.of(threadIdx.x);
}
int main() {
    float f[32], *d_f;
    cudaMalloc(&d_f, sizeof f);
    apply<<<1, 32>>>(Doubled(), d_f);  // <- here
    cudaMemcpy(f, d_f, sizeof f, cudaMemcpyDeviceToHost);
    std::printf("%g\n", f[2]);
    cudaFree(d_f);
}

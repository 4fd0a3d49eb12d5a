// curandGenerateNormal fails with error 105 when the size of a layer is odd.
// Seen: fails
// Cause: normally distributed pseudorandom values come in pairs, so their number must be even; the array stays unwritten.
// Source: https://github.com/microsoft/CNTK/issues/441
// Says: 15 values; normally and log-normally distributed pseudorandom values come in pairs, so their number must be even
#include <curand.h>
#include <cstdio>
int main() {
    const int n = 15, even = (n + 1) / 2 * 2;
    float* x;
    cudaMalloc(&x, even * sizeof(float));
    cudaMemset(x, 0, even * sizeof(float));
    curandGenerator_t g;
    curandCreateGenerator(&g, CURAND_RNG_PSEUDO_DEFAULT);
    curandSetPseudoRandomGeneratorSeed(g, 1);
#ifdef FIXED
    curandGenerateNormal(g, x, even, 0, 1);
#else
    curandGenerateNormal(g, x, n, 0, 1);  // <- here
#endif
    float first;
    cudaMemcpy(&first, x, sizeof first, cudaMemcpyDeviceToHost);
    printf("%g\n", first);
    curandDestroyGenerator(g);
    cudaFree(x);
}

// The kernel takes 5 microseconds whatever the size, and a copy after it takes seconds.
// Seen: slow
// Cause: a launch returns at once, and the clock is read before the host has waited for the kernel.
// Source: https://github.com/heiwang1997/DenseCRF/pull/5
// Hint: the clock is read while the kernel of
// Hint: cudaDeviceSynchronize() is missing before the clock is read
#include <chrono>
#include <cstdio>
__global__ void square(float* a) { a[threadIdx.x] *= a[threadIdx.x]; }
int main() {
    float* a;
    cudaMalloc(&a, 256 * sizeof(float)), cudaMemset(a, 0, 256 * sizeof(float));
    square<<<1, 256>>>(a);  // warm up
    const auto begin = std::chrono::steady_clock::now();  // <- here
    square<<<1, 256>>>(a);  // <- here
#ifdef FIXED
    cudaDeviceSynchronize();
#endif
    const auto end = std::chrono::steady_clock::now();  // <- here
    std::printf("%.3f ms\n", std::chrono::duration<double, std::milli>(end - begin).count());
    cudaFree(a);
}

// The test that counts with atomicAdd fails only now and then.
// Seen: unset
// Cause: the counter in device memory was never set to zero.
// Source: https://github.com/llvm/llvm-project/pull/216788
// Says: adds to what nothing has written
#include <cstdio>

__global__ void count(int* counter) {
    atomicAdd(counter, 1);  // <- here
}

int main() {
    int *counter, n = 0;
    cudaMalloc(&counter, sizeof(int));  // <- here
#ifdef FIXED
    cudaMemcpy(counter, &n, sizeof(int), cudaMemcpyHostToDevice);
#endif
    count<<<7, 6>>>(counter);
    cudaMemcpy(&n, counter, sizeof(int), cudaMemcpyDeviceToHost);
    std::printf("%d\n", n);
    cudaFree(counter);
}

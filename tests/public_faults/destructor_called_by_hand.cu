// The program works, and at its end cudaFree() returns an error.
// Seen: fails
// Cause: a destructor is called by hand, for an object that is destroyed at the end of its scope anyway.
// Source: https://github.com/vernamlab/cuHE/pull/11
// Says: fails, invalid argument: memory that was freed (cudaFree at
#include <cstdio>
__global__ void square(int* x) { x[threadIdx.x] *= x[threadIdx.x]; }
struct Numbers {
    int* data;
    explicit Numbers(const int (&from)[32]) {
        cudaMalloc(&data, sizeof from);
        cudaMemcpy(data, from, sizeof from, cudaMemcpyHostToDevice);
    }
    ~Numbers() { cudaFree(data); }  // <- here
};
int main() {
    int values[32];
    for (int i = 0; i < 32; ++i) values[i] = i;
    Numbers numbers(values);
    square<<<1, 32>>>(numbers.data);
    cudaMemcpy(values, numbers.data, sizeof values, cudaMemcpyDeviceToHost);
    printf("%d\n", values[31]);
#ifndef FIXED
    numbers.~Numbers();
#endif
}

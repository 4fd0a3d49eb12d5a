// The minimum by atomicMin() is right for positive values, and never negative.
// Seen: wrong_result
// Cause: the floats are compared as unsigned numbers, of which those with a sign bit are the largest.
// Source: https://github.com/NVIDIA/libcudacxx/issues/279
// Hint: atomicMin() compares floats as unsigned numbers, of which those of negative floats are the largest
#include <cmath>
#include <cstdio>
__device__ void take_smaller(float* minimum, float value) {
    const unsigned bits = __float_as_uint(value);
#ifdef FIXED
    if (value < 0) atomicMax(reinterpret_cast<unsigned*>(minimum), bits);
    else atomicMin(reinterpret_cast<int*>(minimum), int(bits));
#else
    atomicMin(reinterpret_cast<unsigned*>(minimum), bits);  // <- here
#endif
}
__global__ void find_minimum(const float* a, float* minimum) {
    take_smaller(minimum, a[threadIdx.x]);
}
int main() {
    float *a, *minimum, values[64], result = INFINITY;
    for (int i = 0; i < 64; ++i) values[i] = float(i * 37 % 64 - 32);
    cudaMalloc(&a, sizeof values), cudaMalloc(&minimum, sizeof(float));
    cudaMemcpy(a, values, sizeof values, cudaMemcpyHostToDevice);
    cudaMemcpy(minimum, &result, sizeof result, cudaMemcpyHostToDevice);
    find_minimum<<<1, 64>>>(a, minimum);
    cudaMemcpy(&result, minimum, sizeof result, cudaMemcpyDeviceToHost);
    std::printf("%g, expected -32\n", result);
    cudaFree(a), cudaFree(minimum);
}

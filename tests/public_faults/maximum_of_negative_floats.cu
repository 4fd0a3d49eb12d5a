// The maximum by atomicMax() is right as long as one value is positive, and else it is the minimum.
// Seen: wrong_result
// Cause: the floats are compared as ints, which have the reverse order where both are negative.
// Source: https://github.com/lattice/quda/pull/844
// Hint: atomicMax() compares floats as ints, and of
// Hint: because ints have the reverse order of negative floats
#include <cmath>
#include <cstdio>
__device__ void take_larger(float* maximum, float value) {
#ifdef FIXED
    if (!(value >= 0)) {
        atomicMin(reinterpret_cast<unsigned*>(maximum), __float_as_uint(value));
        return;
    }
#endif
    atomicMax(reinterpret_cast<int*>(maximum), __float_as_int(value));  // <- here
}
__global__ void find_maximum(const float* a, float* maximum) {
    take_larger(maximum, a[threadIdx.x]);
}
int main() {
    float *a, *maximum, values[64], result = -INFINITY;
    for (int i = 0; i < 64; ++i) values[i] = -1.0f - float(i * 37 % 64);
    cudaMalloc(&a, sizeof values), cudaMalloc(&maximum, sizeof(float));
    cudaMemcpy(a, values, sizeof values, cudaMemcpyHostToDevice);
    cudaMemcpy(maximum, &result, sizeof result, cudaMemcpyHostToDevice);
    find_maximum<<<1, 64>>>(a, maximum);
    cudaMemcpy(&result, maximum, sizeof result, cudaMemcpyDeviceToHost);
    std::printf("%g, expected -1\n", result);
    cudaFree(a), cudaFree(maximum);
}

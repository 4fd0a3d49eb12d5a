// A kernel template takes the operation as an object, and the block's size as a number.
#include <cstdio>
struct Scale {
    float by;
    __device__ float operator()(float x) const { return by * x; }
};
struct Clamp {
    float low, high;
    __device__ float operator()(float x) const { return x < low ? low : x > high ? high : x; }
};
template <class First, class Second>
struct Both {
    First first;
    Second second;
    __device__ float operator()(float x) const { return second(first(x)); }
};
template <int kThreads, class Operation>
__global__ void __launch_bounds__(kThreads) transform(float* a, int n, Operation operation) {
    for (int i = blockIdx.x * kThreads + threadIdx.x; i < n; i += gridDim.x * kThreads)
        a[i] = operation(a[i]);
}
template <class Operation>
void apply(float* a, int n, Operation operation) {
    transform<128><<<3, 128>>>(a, n, operation);
}
int main() {
    const int n = 1000;
    float h[n], *a;
    for (int i = 0; i < n; ++i) h[i] = float(i);
    cudaMalloc(&a, sizeof h);
    cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
    apply(a, n, Both<Scale, Clamp>{{0.5f}, {10, 200}});
    cudaMemcpy(h, a, sizeof h, cudaMemcpyDeviceToHost);
    cudaFree(a);
    const bool correct = h[0] == 10 && h[100] == 50 && h[999] == 200;
    std::puts(correct ? "correct" : "wrong");
    return !correct;
}

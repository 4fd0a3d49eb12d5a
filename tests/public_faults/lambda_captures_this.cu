// A class launches a kernel with a lambda that uses its members: an error at run time, and none with a local copy of them.
// Seen: crashes
// Cause: [=] copies the pointer "this", not the member: the GPU reads the member in the object on the host's stack.
// Source: https://github.com/kokkos/kokkos/issues/695
// Says: out of bounds
// Says: not in device memory, but in the host's, which kernels cannot touch
#include <cstdio>
template <class Body>
__global__ void for_each_index(int n, Body body) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) body(i);
}
class Sequence {
    int* values_ = nullptr;
    int size_;

public:
    explicit Sequence(int size) : size_(size) { cudaMalloc(&values_, size * sizeof(int)); }
    ~Sequence() { cudaFree(values_); }
    void fill() {
#ifdef FIXED
        int* const values = values_;
        for_each_index<<<2, 32>>>(size_, [=] __device__(int i) { values[i] = i; });
#else
        for_each_index<<<2, 32>>>(size_, [=] __device__(int i) { values_[i] = i; });  // <- here
#endif
    }
};
int main() {
    Sequence sequence(100);
    sequence.fill();
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}

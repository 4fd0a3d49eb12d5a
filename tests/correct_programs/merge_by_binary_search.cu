// Two sorted lists are merged: each thread finds where its part begins on a diagonal, and merges that in order.
#include <algorithm>
#include <cstdio>
#include <vector>
template <class T, class Less>
__device__ int begin_on_diagonal(const T* a, int aCount, const T* b, int bCount, int diagonal,
                                 Less less) {
    int low = max(0, diagonal - bCount), high = min(diagonal, aCount);
    while (low < high) {
        const int middle = (low + high) >> 1;
        if (!less(b[diagonal - 1 - middle], a[middle])) low = middle + 1;
        else high = middle;
    }
    return low;
}
struct Less {
    template <class T>
    __host__ __device__ bool operator()(const T& x, const T& y) const {
        return x < y;
    }
};
template <int kEach, class T>
__global__ void merge(const T* a, int aCount, const T* b, int bCount, T* out) {
    const int from = (blockIdx.x * blockDim.x + threadIdx.x) * kEach, all = aCount + bCount;
    if (from >= all) return;
    int i = begin_on_diagonal(a, aCount, b, bCount, from, Less{}), j = from - i;
    for (int k = from; k < min(from + kEach, all); ++k)
        out[k] = j >= bCount || (i < aCount && !Less{}(b[j], a[i])) ? a[i++] : b[j++];
}
int main() {
    std::vector<long long> a(130), b(77), merged(a.size() + b.size()), result(merged.size());
    for (size_t i = 0; i < a.size(); ++i) a[i] = 3 * (long long)i;
    for (size_t i = 0; i < b.size(); ++i) b[i] = 5 * (long long)i;
    long long *dA, *dB, *out;
    cudaMalloc(&dA, a.size() * sizeof *dA), cudaMalloc(&dB, b.size() * sizeof *dB);
    cudaMalloc(&out, result.size() * sizeof *out);
    cudaMemcpy(dA, a.data(), a.size() * sizeof *dA, cudaMemcpyHostToDevice);
    cudaMemcpy(dB, b.data(), b.size() * sizeof *dB, cudaMemcpyHostToDevice);
    merge<4><<<2, 32>>>(dA, int(a.size()), dB, int(b.size()), out);
    cudaMemcpy(result.data(), out, result.size() * sizeof *out, cudaMemcpyDeviceToHost);
    cudaFree(dA), cudaFree(dB), cudaFree(out);
    std::merge(a.begin(), a.end(), b.begin(), b.end(), merged.begin());
    std::puts(result == merged ? "correct" : "wrong");
    return result != merged;
}

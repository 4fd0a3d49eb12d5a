// A bitonic sort of pairs in shared memory, with a barrier after each step of each stage.
#include <climits>
#include <cstdio>
struct Pair {
    int key, index;
};
__device__ inline void exchange(Pair& a, Pair& b, bool ascending) {
    if ((a.key > b.key) == ascending) {
        const Pair c = a;
        a = b, b = c;
    }
}
__global__ void sort(const int* keys, int n, Pair* out) {
    extern __shared__ Pair pairs[];
    const unsigned size = 2 * blockDim.x, t = threadIdx.x;
    for (unsigned i = t; i < size; i += blockDim.x)
        pairs[i] = i < unsigned(n) ? Pair{keys[i], int(i)} : Pair{INT_MAX, -1};
    __syncthreads();
    for (unsigned stage = 2; stage <= size; stage *= 2)
        for (unsigned step = stage / 2; step > 0; step /= 2) {
            const unsigned at = 2 * t - (t & (step - 1));
            exchange(pairs[at], pairs[at + step], (at & stage) == 0);
            __syncthreads();
        }
    for (int i = t; i < n; i += blockDim.x) out[i] = pairs[i];
}
int main() {
    const int n = 200;
    int h[n], *keys;
    Pair sorted[n], *out;
    for (int i = 0; i < n; ++i) h[i] = i * 37 % 211;
    cudaMalloc(&keys, sizeof h), cudaMalloc(&out, sizeof sorted);
    cudaMemcpy(keys, h, sizeof h, cudaMemcpyHostToDevice);
    sort<<<1, 128, 256 * sizeof(Pair)>>>(keys, n, out);
    cudaMemcpy(sorted, out, sizeof sorted, cudaMemcpyDeviceToHost);
    cudaFree(keys), cudaFree(out);
    int wrong = 0;
    for (int i = 0; i < n; ++i) {
        wrong += h[sorted[i].index] != sorted[i].key;
        wrong += i > 0 && sorted[i - 1].key > sorted[i].key;
    }
    std::printf("%d wrong\n", wrong);
    return wrong != 0;
}

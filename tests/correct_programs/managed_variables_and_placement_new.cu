// __device__ and __managed__ in either order; placement new and memory orders with no header but <cuda/atomic>.
#include <cuda/atomic>

struct Pair {
    int left, right;
    __device__ Pair(int left, int right) : left(left), right(right) {}
};

__device__ __managed__ int first[32];
__managed__ __device__ int second[32];
__device__ static __managed__ unsigned total;

__global__ void split() {
    __shared__ alignas(Pair) char memory[32 * sizeof(Pair)];
    const int i = threadIdx.x;
    const Pair* pair = new (memory + i * sizeof(Pair)) Pair(i, 2 * i);
    first[i] = pair->left;
    second[i] = pair->right;
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> sum(total);
    sum.fetch_add(1, cuda::std::memory_order_relaxed);
}

int main() {
    split<<<1, 32>>>();
    cudaDeviceSynchronize();
    bool correct = total == 32;
    for (int i = 0; i < 32; ++i) correct = correct && first[i] == i && second[i] == 2 * i;
    return correct ? 0 : 1;
}

// The search in a tree stops with an illegal memory access at its very first node, though building the tree worked.
// Seen: crashes
// Cause: the kernel's parameter is a reference, so that the GPU gets the address of the host's local variable.
// Source: https://github.com/ingowald/cudaKDTree/issues/34
// Says: the parameter tree is a reference
// Says: take it by value
#include <cstdio>
template <typename T>
struct SortedTree {
    const T* nodes;
    int size;
};
template <typename T>
#ifdef FIXED
__global__ void ranks(const SortedTree<T> tree, const T* queries, int* out) {
#else
__global__ void ranks(const SortedTree<T>& tree, const T* queries, int* out) {  // <- here
#endif
    const T query = queries[threadIdx.x];
    int low = 0;
    for (int high = tree.size; low < high;) {
        const int middle = (low + high) / 2;
        if (tree.nodes[middle] < query) low = middle + 1;
        else high = middle;
    }
    out[threadIdx.x] = low;
}
int main() {
    int h[64], *nodes, *out;
    for (int i = 0; i < 64; ++i) h[i] = 2 * i;
    cudaMalloc(&nodes, sizeof h), cudaMalloc(&out, sizeof h);
    cudaMemcpy(nodes, h, sizeof h, cudaMemcpyHostToDevice);
    SortedTree<int> tree{nodes, 64};
    ranks<<<1, 64>>>(tree, nodes, out);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(nodes), cudaFree(out);
}

// An array of row pointers, and a struct that holds pointers, are built on the host and copied to the device.
#include <cstdio>
#include <vector>
struct Tree {
    int *left, *right;
    float* value;
};
__global__ void add_rows(float** rows, int n, int length, float* sums) {
    const int i = threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int j = 0; j < length; ++j) sum += rows[i][j];
    sums[i] = sum;
}
__global__ void deepest(const Tree* tree, float* out) {
    int node = 0;
    while (tree->left[node] >= 0) node = threadIdx.x ? tree->right[node] : tree->left[node];
    out[threadIdx.x] = tree->value[node];
}
template <class T>
T* on_device(const std::vector<T>& h) {
    T* d;
    cudaMalloc(&d, h.size() * sizeof(T));
    cudaMemcpy(d, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice);
    return d;
}
int main() {
    std::vector<float*> rows;
    for (int i = 0; i < 5; ++i) rows.push_back(on_device(std::vector<float>(10, float(i))));
    float** const all = on_device(rows);
    float *sums, h[5];
    cudaMalloc(&sums, sizeof h);
    add_rows<<<1, 32>>>(all, 5, 10, sums);
    cudaMemcpy(h, sums, sizeof h, cudaMemcpyDeviceToHost);
    const Tree tree = {on_device<int>({1, -1, -1}), on_device<int>({2, -1, -1}),
                       on_device<float>({0, 7, 9})};
    Tree* const there = on_device<Tree>({tree});
    float ends[2];
    deepest<<<1, 2>>>(there, sums);
    cudaMemcpy(ends, sums, sizeof ends, cudaMemcpyDeviceToHost);
    for (float* row : rows) cudaFree(row);
    cudaFree(all), cudaFree(sums), cudaFree(tree.left), cudaFree(tree.right), cudaFree(tree.value),
        cudaFree(there);
    std::printf("%g %g %g\n", h[4], ends[0], ends[1]);
    return h[4] != 40 || ends[0] != 7 || ends[1] != 9;
}

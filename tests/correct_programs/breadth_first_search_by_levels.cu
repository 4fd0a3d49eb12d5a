// A breadth-first search: a vertex is claimed by atomicCAS(), joins the next level's queue, and the host swaps the queues.
#include <cstdio>
#include <utility>
#include <vector>
__global__ void expand(const int* edges, const int* begin, const int* queue, int size, int level,
                       int* distance, int* next, int* next_size) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size) return;
    const int vertex = queue[i];
    for (int e = begin[vertex]; e < begin[vertex + 1]; ++e)
        if (atomicCAS(&distance[edges[e]], -1, level) == -1)
            next[atomicAdd(next_size, 1)] = edges[e];
}
int main() {
    const int side = 12, n = side * side;
    std::vector<int> edges, begin(1, 0), distance(n, -1);
    for (int v = 0; v < n; ++v) {
        if (v % side) edges.push_back(v - 1);
        if (v % side < side - 1) edges.push_back(v + 1);
        if (v >= side) edges.push_back(v - side);
        if (v < n - side) edges.push_back(v + side);
        begin.push_back(int(edges.size()));
    }
    const size_t bytes = n * sizeof(int);
    int *dEdges, *dBegin, *dDistance, *queue, *next, *dSize, size = 1;
    cudaMalloc(&dEdges, edges.size() * sizeof(int)), cudaMalloc(&dBegin, bytes + sizeof(int));
    cudaMalloc(&dDistance, bytes), cudaMalloc(&queue, bytes), cudaMalloc(&next, bytes);
    cudaMalloc(&dSize, sizeof(int));
    cudaMemcpy(dEdges, edges.data(), edges.size() * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemcpy(dBegin, begin.data(), bytes + sizeof(int), cudaMemcpyHostToDevice);
    cudaMemset(dDistance, 0xff, bytes);
    cudaMemset(dDistance, 0, sizeof(int)), cudaMemset(queue, 0, sizeof(int));
    for (int level = 1; size > 0; ++level) {
        cudaMemset(dSize, 0, sizeof(int));
        expand<<<(size + 63) / 64, 64>>>(dEdges, dBegin, queue, size, level, dDistance, next,
                                         dSize);
        cudaMemcpy(&size, dSize, sizeof size, cudaMemcpyDeviceToHost);
        std::swap(queue, next);
    }
    cudaMemcpy(distance.data(), dDistance, bytes, cudaMemcpyDeviceToHost);
    for (int* p : {dEdges, dBegin, dDistance, queue, next, dSize}) cudaFree(p);
    int wrong = 0;
    for (int v = 0; v < n; ++v) wrong += distance[v] != v % side + v / side;
    std::printf("%d wrong, the last vertex is at distance %d\n", wrong, distance[n - 1]);
    return wrong != 0;
}

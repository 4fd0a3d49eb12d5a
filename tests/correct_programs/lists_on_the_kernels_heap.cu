// Threads build linked lists with new, a second kernel adds them up, and a third deletes them.
#include <cstdio>
struct Node {
    int value;
    Node* next;
};
__global__ void build(Node** heads, int lists) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= lists) return;
    Node* head = nullptr;
    for (int k = 0; k <= i % 4; ++k) head = new Node{i + k, head};
    heads[i] = head;
}
__global__ void add_up(Node* const* heads, int lists, int* total) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
    if (i < lists)
        for (const Node* node = heads[i]; node; node = node->next) sum += node->value;
    sum = __reduce_add_sync(0xffffffff, sum);
    if (threadIdx.x % 32 == 0) atomicAdd(total, sum);
}
__global__ void clear(Node** heads, int lists) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= lists) return;
    while (Node* const node = heads[i]) {
        heads[i] = node->next;
        delete node;
    }
}
int main() {
    const int lists = 50;
    Node** heads;
    int *total, sum = 0, expected = 0;
    cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 20);
    cudaMalloc(&heads, lists * sizeof(Node*)), cudaMalloc(&total, sizeof(int));
    cudaMemset(total, 0, sizeof(int));
    build<<<2, 32>>>(heads, lists);
    add_up<<<2, 32>>>(heads, lists, total);
    clear<<<2, 32>>>(heads, lists);
    cudaMemcpy(&sum, total, sizeof sum, cudaMemcpyDeviceToHost);
    cudaFree(heads), cudaFree(total);
    for (int i = 0; i < lists; ++i)
        for (int k = 0; k <= i % 4; ++k) expected += i + k;
    std::printf("%d %d\n", sum, expected);
    return sum != expected;
}

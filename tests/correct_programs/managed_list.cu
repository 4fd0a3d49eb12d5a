// A linked list in managed memory, with a class that allocates itself there, and a __managed__ counter.
#include <cstdio>
#include <new>
struct Managed {
    void* operator new(size_t bytes) {
        void* p = nullptr;
        if (cudaMallocManaged(&p, bytes) != cudaSuccess) throw std::bad_alloc();
        return p;
    }
    void operator delete(void* p) {
        cudaDeviceSynchronize();
        cudaFree(p);
    }
};
struct Node : Managed {
    int value = 0;
    Node* next = nullptr;
};
__managed__ int visited;
__global__ void walk(Node* first, int* sum) {
    for (Node* node = first; node; node = node->next) {
        *sum += node->value;
        node->value = -node->value;
        ++visited;
    }
}
int main() {
    Node* first = nullptr;
    int* sum;
    cudaMallocManaged(&sum, sizeof *sum);
    *sum = visited = 0;
    for (int i = 1; i <= 5; ++i) {
        Node* const node = new Node;
        node->value = i, node->next = first;
        first = node;
    }
    walk<<<1, 1>>>(first, sum);
    cudaDeviceSynchronize();
    int negated = 0;
    while (first) {
        negated += first->value;
        Node* const next = first->next;
        delete first;
        first = next;
    }
    const bool correct = *sum == 15 && negated == -15 && visited == 5;
    cudaFree(sum);
    std::puts(correct ? "correct" : "wrong");
    return !correct;
}

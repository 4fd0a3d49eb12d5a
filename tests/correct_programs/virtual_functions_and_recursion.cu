// Objects with virtual functions are local to a thread; a function calls itself, and one is chosen by pointer.
#include <cstdio>
struct Shape {
    __device__ virtual float area() const = 0;
};
struct Square : Shape {
    float side;
    __device__ explicit Square(float side) : side(side) {}
    __device__ float area() const override { return side * side; }
};
struct Rectangle : Square {
    float other;
    __device__ Rectangle(float side, float other) : Square(side), other(other) {}
    __device__ float area() const override { return side * other; }
};
__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ int twice(int n) { return 2 * n; }
using Function = int (*)(int);
__device__ Function functions[2] = {fibonacci, twice};
__global__ void compute(float* areas, int* numbers) {
    const int t = threadIdx.x;
    Square square = Square(float(t));
    Rectangle rectangle = Rectangle(float(t), 3);
    const Shape* const shapes[2] = {&rectangle, &square};
    areas[t] = shapes[t % 2]->area();
    numbers[t] = functions[t % 2](t);
}
int main() {
    float areas[12], *a;
    int numbers[12], *b;
    cudaMalloc(&a, sizeof areas), cudaMalloc(&b, sizeof numbers);
    compute<<<1, 12>>>(a, b);
    cudaMemcpy(areas, a, sizeof areas, cudaMemcpyDeviceToHost);
    cudaMemcpy(numbers, b, sizeof numbers, cudaMemcpyDeviceToHost);
    cudaFree(a), cudaFree(b);
    std::printf("%g %g %d %d\n", areas[5], areas[4], numbers[10], numbers[11]);
    return areas[5] != 25 || areas[4] != 12 || numbers[10] != 55 || numbers[11] != 22;
}

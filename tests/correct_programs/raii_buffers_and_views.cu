// Classes own the memory, and views of it, with an operator() for host and device, are passed to the kernel by value.
#include <cstdio>
#include <vector>
template <class T>
class Buffer {
public:
    explicit Buffer(size_t n) : n_(n) { cudaMalloc(&data_, n * sizeof(T)); }
    explicit Buffer(const std::vector<T>& from) : Buffer(from.size()) {
        cudaMemcpy(data_, from.data(), n_ * sizeof(T), cudaMemcpyHostToDevice);
    }
    Buffer(Buffer&& other) noexcept : data_(other.data_), n_(other.n_) { other.data_ = nullptr; }
    ~Buffer() { cudaFree(data_); }
    T* get() const { return data_; }
    std::vector<T> host() const {
        std::vector<T> to(n_);
        cudaMemcpy(to.data(), data_, n_ * sizeof(T), cudaMemcpyDeviceToHost);
        return to;
    }

private:
    T* data_ = nullptr;
    size_t n_;
};
template <class T>
struct View {
    T* data;
    int rows, columns;
    __host__ __device__ T& operator()(int i, int j) const { return data[i * columns + j]; }
};
template <class T>
__global__ void transpose(View<const T> from, View<T> to) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < from.rows && j < from.columns) to(j, i) = from(i, j);
}
Buffer<double> made(const std::vector<double>& values) { return Buffer<double>(values); }
int main() {
    const int rows = 19, columns = 37;
    std::vector<double> values(rows * columns);
    for (size_t i = 0; i < values.size(); ++i) values[i] = double(i);
    const Buffer<double> in = made(values), out(values.size());
    transpose<<<dim3(3, 2), dim3(16, 16)>>>(View<const double>{in.get(), rows, columns},
                                            View<double>{out.get(), columns, rows});
    std::vector<double> result = out.host();
    int wrong = 0;
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j) wrong += result[j * rows + i] != values[i * columns + j];
    std::printf("%d wrong\n", wrong);
    return wrong != 0;
}

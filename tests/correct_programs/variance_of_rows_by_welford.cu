// Mean and variance of rows: each thread's own by Welford's method, joined as structs by shuffles and shared memory.
#include <cmath>
#include <cstdio>
#include <vector>
template <typename T>
struct Moments {
    T mean = 0, m2 = 0;
    int count = 0;
    __device__ void add(T x) {
        const T delta = x - mean;
        mean += delta / ++count;
        m2 += delta * (x - mean);
    }
    __device__ void join(const Moments& other) {
        if (other.count == 0) return;
        const T delta = other.mean - mean;
        const int all = count + other.count;
        mean += delta * other.count / all;
        m2 += other.m2 + delta * delta * count * other.count / all;
        count = all;
    }
    __device__ Moments from_lane(int offset) const {
        Moments other;
        other.mean = __shfl_down_sync(0xffffffff, mean, offset);
        other.m2 = __shfl_down_sync(0xffffffff, m2, offset);
        other.count = __shfl_down_sync(0xffffffff, count, offset);
        return other;
    }
};
template <typename T, int kThreads>
__global__ void moments(const T* in, int columns, T* mean, T* variance) {
    __shared__ T means[kThreads / 32], m2s[kThreads / 32];
    __shared__ int counts[kThreads / 32];
    Moments<T> m;
    for (int c = threadIdx.x; c < columns; c += kThreads) m.add(in[blockIdx.x * columns + c]);
    for (int offset = 16; offset > 0; offset >>= 1) m.join(m.from_lane(offset));
    const int warp = threadIdx.x / 32;
    if (threadIdx.x % 32 == 0) means[warp] = m.mean, m2s[warp] = m.m2, counts[warp] = m.count;
    __syncthreads();
    if (threadIdx.x > 0) return;
    for (int w = 1; w < kThreads / 32; ++w) {
        Moments<T> other;
        other.mean = means[w], other.m2 = m2s[w], other.count = counts[w];
        m.join(other);
    }
    mean[blockIdx.x] = m.mean, variance[blockIdx.x] = m.m2 / m.count;
}
int main() {
    const int rows = 3, columns = 101;
    std::vector<double> h(rows * columns), result(2 * rows);
    for (int i = 0; i < rows * columns; ++i) h[i] = 1e6 + i % columns;
    double *in, *out;
    cudaMalloc(&in, h.size() * sizeof(double)), cudaMalloc(&out, 2 * rows * sizeof(double));
    cudaMemcpy(in, h.data(), h.size() * sizeof(double), cudaMemcpyHostToDevice);
    moments<double, 64><<<rows, 64>>>(in, columns, out, out + rows);
    cudaMemcpy(result.data(), out, 2 * rows * sizeof(double), cudaMemcpyDeviceToHost);
    cudaFree(in), cudaFree(out);
    const double mean = result[2] - 1e6, variance = result[rows + 2];
    std::printf("%g %g\n", mean, variance);
    return std::fabs(mean - 50) > 1e-6 || std::fabs(variance - 850) > 1e-6;
}

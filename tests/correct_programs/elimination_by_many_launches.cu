// Gauss elimination: two small kernels for each column, which work in place on a part of the matrix.
#include <cmath>
#include <cstdio>
#include <vector>
__global__ void factors(double* a, int n, int column) {
    const int row = column + 1 + blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n) a[row * (n + 1) + column] /= a[column * (n + 1) + column];
}
__global__ void subtract(double* a, int n, int column) {
    const int row = column + 1 + blockIdx.y * blockDim.y + threadIdx.y;
    const int k = column + 1 + blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n && k <= n)
        a[row * (n + 1) + k] -= a[row * (n + 1) + column] * a[column * (n + 1) + k];
}
int main() {
    const int n = 20;
    std::vector<double> a(n * (n + 1)), x(n);
    for (int row = 0; row < n; ++row)
        for (int k = 0; k <= n; ++k) {
            if (k < n) a[row * (n + 1) + k] = row == k ? 2 * n : 1.0 / (1 + row + k);
            if (k < n) a[row * (n + 1) + n] += a[row * (n + 1) + k] * (k + 1);
        }
    double* d;
    const size_t bytes = a.size() * sizeof(double);
    cudaMalloc(&d, bytes);
    cudaMemcpy(d, a.data(), bytes, cudaMemcpyHostToDevice);
    const dim3 block(16, 4);
    for (int column = 0; column < n - 1; ++column) {
        const unsigned left = n - 1 - column;
        factors<<<(left + 31) / 32, 32>>>(d, n, column);
        subtract<<<dim3((left + 1 + block.x - 1) / block.x, (left + block.y - 1) / block.y),
                   block>>>(d, n, column);
    }
    cudaMemcpy(a.data(), d, bytes, cudaMemcpyDeviceToHost);
    cudaFree(d);
    double worst = 0;
    for (int row = n - 1; row >= 0; --row) {
        x[row] = a[row * (n + 1) + n];
        for (int k = row + 1; k < n; ++k) x[row] -= a[row * (n + 1) + k] * x[k];
        x[row] /= a[row * (n + 1) + row];
        worst = std::fmax(worst, std::fabs(x[row] - (row + 1)));
    }
    std::printf("%g\n", worst);
    return !(worst < 1e-9);
}

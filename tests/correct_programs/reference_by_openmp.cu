// The host computes the reference by OpenMP, and takes the time with it.
#include <omp.h>

#include <cstdio>
#include <vector>
__global__ void axpy(float a, const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
int main() {
    const int n = 1000;
    std::vector<float> x(n), y(n), result(n);
    for (int i = 0; i < n; ++i) x[i] = float(i % 17), y[i] = float(i % 5);
    float *dx, *dy;
    cudaMalloc(&dx, n * sizeof(float)), cudaMalloc(&dy, n * sizeof(float));
    cudaMemcpy(dx, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dy, y.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    axpy<<<(n + 127) / 128, 128>>>(2, dx, dy, n);
    cudaMemcpy(result.data(), dy, n * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(dx), cudaFree(dy);
    omp_set_num_threads(omp_get_num_procs());
    const double begin = omp_get_wtime();
    int wrong = 0;
#pragma omp parallel reduction(+ : wrong)
    {
        const int threads = omp_get_num_threads();
        for (int i = omp_get_thread_num(); i < n; i += threads)
            wrong += result[i] != y[i] + 2 * x[i];
    }
    const double seconds = omp_get_wtime() - begin;
    std::printf("%d wrong\n", wrong);
    return wrong || seconds < 0 || seconds > 60;
}

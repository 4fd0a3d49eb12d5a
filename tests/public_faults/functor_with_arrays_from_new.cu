// Coordinates written into the code work, and the same ones in arrays give cudaErrorIllegalAddress.
// Seen: crashes
// Cause: the functor that the kernel calls for each cell reads arrays that the host made by new.
// Source: https://github.com/ComputationalRadiationPhysics/picongpu/issues/4645
// Says: out of bounds
// Says: not in device memory, but in the host's, which kernels cannot touch
#include <cstdio>
#include <memory>
struct Tubes {
    int count;
    const double *x, *y;
    __device__ double operator()(double atX, double atY) const {
        for (int i = 0; i < count; ++i)
            if (hypot(atX - x[i], atY - y[i]) < 1) return 1;  // <- here
        return 0;
    }
};
template <class Density>
__global__ void sample(Density density, double* cells) {
    cells[blockIdx.x * blockDim.x + threadIdx.x] = density(threadIdx.x, blockIdx.x);
}
int main() {
    const int count = 3;
    const size_t bytes = count * sizeof(double);
    std::unique_ptr<double[]> x(new double[count]), y(new double[count]);
    for (int i = 0; i < count; ++i) x[i] = 4 * i, y[i] = 2 * i;
    double *cells, *deviceX, *deviceY;
    cudaMalloc(&cells, 16 * 8 * sizeof *cells);
    cudaMalloc(&deviceX, bytes), cudaMalloc(&deviceY, bytes);
    cudaMemcpy(deviceX, x.get(), bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(deviceY, y.get(), bytes, cudaMemcpyHostToDevice);
#ifdef FIXED
    sample<<<8, 16>>>(Tubes{count, deviceX, deviceY}, cells);
#else
    sample<<<8, 16>>>(Tubes{count, x.get(), y.get()}, cells);
#endif
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(cells), cudaFree(deviceX), cudaFree(deviceY);
}

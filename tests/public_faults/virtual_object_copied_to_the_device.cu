// A virtual function works on the host, and crashes in the kernel.
// Seen: crashes
// Cause: the object was constructed on the host, so that it has the host's table of virtual functions.
// Source: https://kokkos.org/kokkos-core-wiki/ProgrammingGuide/Kokkos-and-Virtual-Functions.html
// Says: calls virtual functions of an object that the host has copied to the device: a Spring
#include <cstdio>
#include <new>
struct Force {
    __host__ __device__ virtual float at(float x) const = 0;
};
struct Spring : Force {
    float stiffness;
    __host__ __device__ explicit Spring(float stiffness) : stiffness(stiffness) {}
    __host__ __device__ float at(float x) const override { return -stiffness * x; }
};
__global__ void construct(Spring* spring, float stiffness) { new (spring) Spring(stiffness); }
__global__ void pull(const Force* force, float* f) { f[threadIdx.x] = force->at(threadIdx.x); }
int main() {
    const Spring spring(3);
    Spring* d_spring;
    float f[32], *d_f;
    cudaMalloc(&d_spring, sizeof spring), cudaMalloc(&d_f, sizeof f);
#ifdef FIXED
    construct<<<1, 1>>>(d_spring, spring.stiffness);
#else
    cudaMemcpy(d_spring, &spring, sizeof spring, cudaMemcpyHostToDevice);
#endif
    pull<<<1, 32>>>(d_spring, d_f);  // <- here
    cudaMemcpy(f, d_f, sizeof f, cudaMemcpyDeviceToHost);
    std::printf("%g\n", f[2]);
    cudaFree(d_spring), cudaFree(d_f);
}

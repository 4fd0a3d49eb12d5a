// cudaMemcpyToSymbol fails with "invalid device symbol".
// Seen: fails
// Cause: it is passed a pointer to the variable, but takes the variable itself.
// Source: https://github.com/bakks/virginian/issues/1
// Says: takes a __device__ or __constant__ variable, not its address or name
#include <cstdio>
struct Machine {
    int registers[16];
};
__constant__ Machine machine;
__global__ void run(int* out) { out[threadIdx.x] = machine.registers[threadIdx.x]; }
int main() {
    Machine m = {{1, 2, 3}};
    int* out;
    cudaMalloc(&out, sizeof m);
#ifdef FIXED
    cudaMemcpyToSymbol(machine, &m, sizeof m);
#else
    cudaMemcpyToSymbol(&machine, &m, sizeof m);  // <- here
#endif
    run<<<1, 16>>>(out);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(out);
}

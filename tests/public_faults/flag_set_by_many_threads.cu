// racecheck says that many threads write one flag: is that an error, if all of them write 1?
// Seen: harmless
// Cause: no error: whichever thread is last, the flag is 1. racecheck reports it as INFO only.
// Source: https://github.com/ComputationalRadiationPhysics/picongpu/issues/1044
// Hint: as both store the same value, their order does not matter
__global__ void any_negative(const float* v, int* out) {
    __shared__ int found;
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
#ifdef FIXED
    if (v[threadIdx.x] < 0) atomicOr(&found, 1);
#else
    if (v[threadIdx.x] < 0) found = 1;  // <- here
#endif
    __syncthreads();
    if (threadIdx.x == 0) *out = found;
}
int main() {
    float h[64], *v;
    int* out;
    for (int i = 0; i < 64; ++i) h[i] = i % 3 - 1;
    cudaMalloc(&v, sizeof h), cudaMalloc(&out, sizeof(int));
    cudaMemcpy(v, h, sizeof h, cudaMemcpyHostToDevice);
    any_negative<<<1, 64>>>(v, out);
    cudaFree(v), cudaFree(out);
    return cudaDeviceSynchronize() != cudaSuccess;
}

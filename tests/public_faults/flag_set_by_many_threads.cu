// racecheck says that many threads write one flag: is that an error, if all of them write 1?
// Cause: none in practice: whichever thread is last, the flag is 1. racecheck has it as an information, too.
// Source: https://github.com/ComputationalRadiationPhysics/picongpu/issues/1044
// Hint: as both store the same value, their order does not matter
__global__ void any_negative(const float* v, int* found) {
#ifdef FIXED
    if (v[threadIdx.x] < 0) atomicOr(found, 1);
#else
    if (v[threadIdx.x] < 0) *found = 1;  // <- here
#endif
}
int main() {
    float h[64], *v;
    int* found;
    for (int i = 0; i < 64; ++i) h[i] = i % 3 - 1;
    cudaMalloc(&v, sizeof h), cudaMalloc(&found, sizeof(int));
    cudaMemcpy(v, h, sizeof h, cudaMemcpyHostToDevice), cudaMemset(found, 0, sizeof(int));
    any_negative<<<1, 64>>>(v, found);
    cudaFree(v), cudaFree(found);
    return cudaDeviceSynchronize() != cudaSuccess;
}

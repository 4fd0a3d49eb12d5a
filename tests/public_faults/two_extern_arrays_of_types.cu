// Sorting pairs in shared memory: the values come out correct, and the keys are the values' bits.
// Seen: wrong_result
// Cause: keys and values are two extern __shared__ arrays of different types, which both begin at 0.
// Source: https://doc.qt.io/axivion/reference/analysis_configuration/CUDA-3.4.html
// Says: overwrites a value
// Says: are the same memory
extern __shared__ float keys[];  // <- here
#ifndef FIXED
extern __shared__ int values[];  // <- here
#endif
__global__ void swap_pairs(float* k, int* v) {
    int i = threadIdx.x;
#ifdef FIXED
    int* values = (int*)&keys[blockDim.x];
#endif
    keys[i] = k[i];  // <- here
    values[i] = v[i];  // <- here
    __syncthreads();
    k[i] = keys[i ^ 1], v[i] = values[i ^ 1];
}
int main() {
    float* k;
    int* v;
    cudaMalloc(&k, 256), cudaMalloc(&v, 256);
    cudaMemset(k, 0, 256), cudaMemset(v, 0, 256);
    swap_pairs<<<1, 64, 64 * (sizeof(float) + sizeof(int))>>>(k, v);
    cudaDeviceSynchronize();
    cudaFree(k), cudaFree(v);
}

// The matrix-vector product is wrong now and then, with large matrices only.
// Seen: differs
// Cause: one thread still adds up the partial sums while the others already overwrite them for the next row.
// Source: https://github.com/NVIDIA/cuml/pull/6578
// Says: race in shared memory
__global__ void product(const float* matrix, const float* vector, float* result, int rows) {
    __shared__ float part[128];
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        part[threadIdx.x] = matrix[row * 128 + threadIdx.x] * vector[threadIdx.x];  // <- here
        __syncthreads();
        if (threadIdx.x == 0) {
            float sum = 0;
            for (int i = 0; i < 128; ++i) sum += part[i];  // <- here
            result[row] = sum;
        }
#ifdef FIXED
        __syncthreads();
#endif
    }
}
int main() {
    float *matrix, *vector, *result;
    cudaMalloc(&matrix, 8 * 512), cudaMalloc(&vector, 512), cudaMalloc(&result, 8 * sizeof(float));
    cudaMemset(matrix, 0, 8 * 512), cudaMemset(vector, 0, 512);
    product<<<2, 128>>>(matrix, vector, result, 8);
    cudaDeviceSynchronize();
    cudaFree(matrix), cudaFree(vector), cudaFree(result);
}

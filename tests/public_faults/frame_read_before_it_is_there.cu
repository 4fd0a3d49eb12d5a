// After a restart the particles of a cell stop with an illegal memory access, now and then.
// Seen: crashes
// Cause: no barrier between the thread that fetches the block's frame and the others, which use an old pointer or none.
// Source: https://github.com/ComputationalRadiationPhysics/picongpu/pull/2351
// Says: race in shared memory
// Says: out of bounds
#include <cstdio>
struct Frame {
    float x[32];
};
__global__ void push(Frame* const* cells) {
    __shared__ Frame* frame;
    if (threadIdx.x == blockDim.x - 1) frame = cells[blockIdx.x];  // <- here
#ifdef FIXED
    __syncthreads();
#endif
    frame->x[threadIdx.x] += 1;  // <- here
}
int main() {
    Frame *frames, *of_cell[4], **cells;
    cudaMalloc(&frames, sizeof(Frame) * 4), cudaMemset(frames, 0, sizeof(Frame) * 4);
    for (int i = 0; i < 4; ++i) of_cell[i] = &frames[3 - i];
    cudaMalloc(&cells, sizeof of_cell);
    cudaMemcpy(cells, of_cell, sizeof of_cell, cudaMemcpyHostToDevice);
    push<<<4, 32>>>(cells);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(frames), cudaFree(cells);
}

// Batches come out with results of the next one, only under load.
// Seen: stale
// Cause: the host waits for the event of the upload, and not for the one recorded after the copy to the host.
// Source: own
// Says: the host reads out.data(), which the copy
// Says: may still be writing
#include <cstdio>
#include <vector>
__global__ void square(int* x) { x[threadIdx.x] *= x[threadIdx.x]; }
int main() {
    std::vector<int> in(64, 3), out(64);
    cudaHostRegister(in.data(), 256, 0), cudaHostRegister(out.data(), 256, 0);
    int* d;
    cudaMalloc(&d, 256);
    cudaStream_t s;
    cudaEvent_t up, down;
    cudaStreamCreate(&s), cudaEventCreate(&up), cudaEventCreate(&down);
    cudaMemcpyAsync(d, in.data(), 256, cudaMemcpyHostToDevice, s);
    cudaEventRecord(up, s);
    square<<<1, 64, 0, s>>>(d);
    cudaMemcpyAsync(out.data(), d, 256, cudaMemcpyDeviceToHost, s);  // <- here
    cudaEventRecord(down, s);
#ifdef FIXED
    while (cudaEventQuery(down) == cudaErrorNotReady) {
    }
#else
    cudaEventSynchronize(up);
#endif
    in[0] = 4;  // the upload is over
    int sum = 0;
    for (int i = 0; i < 64; ++i) sum += out[i];  // <- here
    std::printf("%d\n", sum);
    cudaHostUnregister(in.data()), cudaHostUnregister(out.data());
    cudaFree(d), cudaStreamDestroy(s), cudaEventDestroy(up), cudaEventDestroy(down);
}

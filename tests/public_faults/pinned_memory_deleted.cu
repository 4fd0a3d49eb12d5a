// The results are right, and the program crashes in a destructor.
// Seen: crashes
// Cause: Memory from cudaMallocHost() is freed by delete[], and not by cudaFreeHost().
// Source: https://github.com/OPM/opm-simulators/pull/2720
// Says: freed by the wrong function
// Says: cudaMallocHost's, which cudaFreeHost() frees
class Staging {
public:
    explicit Staging(int count) { cudaMallocHost(&values_, count * sizeof(float)); }
    ~Staging() {
#ifdef FIXED
        cudaFreeHost(values_);
#else
        delete[] values_;  // <- here
#endif
    }
    Staging(const Staging&) = delete;
    float* values() { return values_; }

private:
    float* values_;
};

__global__ void count_up(float* values) { values[threadIdx.x] = threadIdx.x; }

int main() {
    Staging staging(64);
    float* values;
    cudaMalloc(&values, 64 * sizeof(float));
    count_up<<<1, 64>>>(values);
    cudaMemcpy(staging.values(), values, 64 * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(values);
}

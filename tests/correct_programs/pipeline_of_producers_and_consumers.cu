// Threads of one warp copy by cuda::memcpy_async to four stages of a cuda::pipeline, and the others consume them.
#include <cooperative_groups.h>
#include <cuda/pipeline>

#include <cstdio>
constexpr int kConsumers = 64, kProducers = 32, kStages = 4;
__global__ void add_rows(const float* in, int rows, bool by_count, float* out) {
    __shared__ float row[kStages][kConsumers];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
    const auto block = cooperative_groups::this_thread_block();
    const int t = int(threadIdx.x) - kProducers;
    auto pipe = by_count ? cuda::make_pipeline(block, &state, size_t(kProducers))
                         : cuda::make_pipeline(block, &state,
                                               t < 0 ? cuda::pipeline_role::producer
                                                     : cuda::pipeline_role::consumer);
    float sum = 0;
    for (int r = 0; r < rows; ++r) {
        if (t < 0) {
            pipe.producer_acquire();
            for (int i = threadIdx.x; i < kConsumers; i += kProducers)
                cuda::memcpy_async(&row[r % kStages][i], &in[r * kConsumers + i], sizeof(float),
                                   pipe);
            pipe.producer_commit();
        } else {
            pipe.consumer_wait();
            sum += row[r % kStages][kConsumers - 1 - t];
            pipe.consumer_release();
        }
    }
    if (t >= 0) out[t] = sum;
}
int main() {
    const int rows = 11;
    float h[rows * kConsumers], sums[kConsumers], *in, *out;
    for (int i = 0; i < rows * kConsumers; ++i) h[i] = float(i % kConsumers);
    cudaMalloc(&in, sizeof h), cudaMalloc(&out, sizeof sums);
    cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
    for (const bool by_count : {false, true}) {
        add_rows<<<1, kProducers + kConsumers>>>(in, rows, by_count, out);
        cudaMemcpy(sums, out, sizeof sums, cudaMemcpyDeviceToHost);
        for (int t = 0; t < kConsumers; ++t)
            if (sums[t] != float(rows * (kConsumers - 1 - t)))
                return std::printf("%d: %g\n", t, sums[t]), 1;
    }
    cudaFree(in), cudaFree(out);
}

// A radix-2 Fourier transform in shared memory, out of place, by two pointers that are swapped after each barrier.
#include <cmath>
#include <cstdio>
template <int kPoints>
__global__ void fft(const float2* in, float2* out) {
    __shared__ float2 memory[2][kPoints];
    float2 *from = memory[0], *to = memory[1];
    const int t = threadIdx.x;
    in += blockIdx.x * kPoints, out += blockIdx.x * kPoints;
    from[t] = in[t], from[t + kPoints / 2] = in[t + kPoints / 2];
    __syncthreads();
    for (int span = 1; span < kPoints; span *= 2) {
        const int k = t & (span - 1);
        float sine, cosine;
        sincospif(-float(k) / span, &sine, &cosine);
        const float2 a = from[t], b = from[t + kPoints / 2];
        const float2 rotated = {b.x * cosine - b.y * sine, b.x * sine + b.y * cosine};
        const int at = 2 * t - k;
        to[at] = {a.x + rotated.x, a.y + rotated.y};
        to[at + span] = {a.x - rotated.x, a.y - rotated.y};
        __syncthreads();
        float2* const swapped = from;
        from = to, to = swapped;
    }
    out[t] = from[t], out[t + kPoints / 2] = from[t + kPoints / 2];
}
int main() {
    constexpr int n = 256, batch = 3;
    static float2 h[batch * n];
    for (int b = 0; b < batch; ++b)
        for (int i = 0; i < n; ++i) h[b * n + i] = {float(std::cos(2 * M_PI * (b + 1) * i / n)), 0};
    float2 *in, *out;
    cudaMalloc(&in, sizeof h), cudaMalloc(&out, sizeof h);
    cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
    fft<n><<<batch, n / 2>>>(in, out);
    cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
    cudaFree(in), cudaFree(out);
    int wrong = 0;
    for (int b = 0; b < batch; ++b)
        for (int i = 0; i < n; ++i) {
            const float expected = i == b + 1 || i == n - b - 1 ? n / 2 : 0;
            wrong += !(std::fabs(h[b * n + i].x - expected) < 0.01f);
        }
    std::printf("%d wrong\n", wrong);
    return wrong != 0;
}

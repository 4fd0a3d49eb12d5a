// Products of four bytes by __dp4a(), and functions of bits: count, reverse, find, funnel shift, byte permutation.
#include <cstdint>
#include <cstdio>
__global__ void dot(const char4* a, const char4* b, int n, int* out) {
    int sum = 0;
    for (int i = threadIdx.x; i < n; i += 32)
        sum = __dp4a(reinterpret_cast<const int*>(a)[i], reinterpret_cast<const int*>(b)[i], sum);
    for (int lane = 16; lane; lane /= 2) sum += __shfl_down_sync(0xffffffff, sum, lane);
    if (threadIdx.x == 0) *out = sum;
}
__global__ void bits(const uint32_t* in, uint32_t* out) {
    const uint32_t x = in[threadIdx.x];
    uint32_t* const o = out + threadIdx.x * 6;
    o[0] = __popc(x);
    o[1] = __brev(x);
    o[2] = __clz(int(x));
    o[3] = __ffs(int(x));
    o[4] = __funnelshift_l(x, x, 8);
    o[5] = __byte_perm(x, 0, 0x0123);
}
int main() {
    const int n = 40;
    char4 a[n], b[n], *dA, *dB;
    int *dDot, product, expected = 0;
    for (int i = 0; i < n; ++i) {
        a[i] = make_char4(i, -i, 3, 1), b[i] = make_char4(2, 1, -1, i);
        expected += 2 * i - i - 3 + i;
    }
    cudaMalloc(&dA, sizeof a), cudaMalloc(&dB, sizeof b), cudaMalloc(&dDot, sizeof(int));
    cudaMemcpy(dA, a, sizeof a, cudaMemcpyHostToDevice);
    cudaMemcpy(dB, b, sizeof b, cudaMemcpyHostToDevice);
    dot<<<1, 32>>>(dA, dB, n, dDot);
    cudaMemcpy(&product, dDot, sizeof product, cudaMemcpyDeviceToHost);
    const uint32_t h[2] = {0x01020380, 0x80000001};
    uint32_t result[2][6], *in, *out;
    cudaMalloc(&in, sizeof h), cudaMalloc(&out, sizeof result);
    cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
    bits<<<1, 2>>>(in, out);
    cudaMemcpy(result, out, sizeof result, cudaMemcpyDeviceToHost);
    cudaFree(dA), cudaFree(dB), cudaFree(dDot), cudaFree(in), cudaFree(out);
    const uint32_t right[2][6] = {{5, 0x01c04080, 7, 8, 0x02038001, 0x80030201},
                                  {2, 0x80000001, 0, 1, 0x00000180, 0x01000080}};
    int wrong = product != expected;
    for (int i = 0; i < 2; ++i)
        for (int k = 0; k < 6; ++k) wrong += result[i][k] != right[i][k];
    std::printf("%d %d, %d wrong\n", product, expected, wrong);
    return wrong != 0;
}

// Interval arithmetic: each bound is rounded in its own direction.
#include <cstdio>
template <class T>
struct Interval {
    T low, high;
};
__device__ Interval<float> add(Interval<float> a, Interval<float> b) {
    return {__fadd_rd(a.low, b.low), __fadd_ru(a.high, b.high)};
}
__device__ Interval<double> add(Interval<double> a, Interval<double> b) {
    return {__dadd_rd(a.low, b.low), __dadd_ru(a.high, b.high)};
}
__device__ Interval<float> divide(float a, float b) { return {__fdiv_rd(a, b), __fdiv_ru(a, b)}; }
__device__ Interval<double> divide(double a, double b) {
    return {__ddiv_rd(a, b), __ddiv_ru(a, b)};
}
template <class T>
__global__ void tenths(int n, Interval<T>* out) {
    const Interval<T> tenth = divide(T(1), T(10));
    Interval<T> sum = {0, 0};
    for (int i = 0; i < n; ++i) sum = add(sum, tenth);
    out[0] = tenth;
    out[1] = sum;
}
__global__ void others(float* out) {
    out[0] = __fsqrt_rd(2.0f), out[1] = __fsqrt_ru(2.0f);
    out[2] = __fmaf_rz(-1.0f / 3, 0.1f, 1e-9f), out[3] = __fmaf_rd(-1.0f / 3, 0.1f, 1e-9f);
    out[4] = __frcp_rz(-3.0f), out[5] = __frcp_ru(-3.0f), out[6] = __frcp_rd(-3.0f);
    out[7] = __fmul_rz(0.1f, 0.1f), out[8] = __fmul_ru(0.1f, 0.1f);
    out[9] = __double2float_rd(0.1), out[10] = __double2float_ru(0.1);
}
// Whether the two are neighbours, with the exact value strictly between them.
bool enclose(float low, float high, double exact) {
    return low < exact && exact < high && nextafterf(low, high) == high;
}
template <class T>
bool run(int n) {
    Interval<T> result[2], *out;
    cudaMalloc(&out, sizeof result);
    tenths<<<1, 1>>>(n, out);
    cudaMemcpy(result, out, sizeof result, cudaMemcpyDeviceToHost);
    cudaFree(out);
    const T sum = T(n / 10), width = result[1].high - result[1].low;
    std::printf("%.17g to %.17g\n", double(result[1].low), double(result[1].high));
    return nextafter(result[0].low, T(1)) == result[0].high && result[1].low < sum &&
           sum < result[1].high && width < T(1e-4);
}
int main() {
    const bool floats = run<float>(100), doubles = run<double>(1000);
    float r[11], *out;
    cudaMalloc(&out, sizeof r);
    others<<<1, 1>>>(out);
    cudaMemcpy(r, out, sizeof r, cudaMemcpyDeviceToHost);
    cudaFree(out);
    const bool rest = enclose(r[0], r[1], sqrt(2.0)) && r[3] == nextafterf(r[2], -1) &&
                      r[4] == r[5] && enclose(r[6], r[5], -1.0 / 3) &&
                      enclose(r[7], r[8], double(0.1f) * double(0.1f)) && enclose(r[9], r[10], 0.1);
    return !floats || !doubles || !rest;
}

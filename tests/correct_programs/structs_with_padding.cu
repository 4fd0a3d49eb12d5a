// Structs with padding between their members are written member by member, and copied whole.
#include <cstdio>
#include <vector>
struct Particle {
    char kind;
    double mass;
    float3 at;
    short charge;
};
__global__ void make(Particle* all, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Particle p;
    p.kind = char('a' + i % 3);
    p.mass = 0.5 * i;
    p.at = make_float3(float(i), float(-i), 1);
    p.charge = short(i % 2 ? 1 : -1);
    all[i] = p;
}
__global__ void reverse(const Particle* from, Particle* to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = from[n - 1 - i];
}
int main() {
    const int n = 100;
    Particle *a, *b;
    cudaMalloc(&a, n * sizeof(Particle)), cudaMalloc(&b, n * sizeof(Particle));
    make<<<2, 64>>>(a, n);
    reverse<<<2, 64>>>(a, b, n);
    std::vector<Particle> h(n);
    cudaMemcpy(h.data(), b, n * sizeof(Particle), cudaMemcpyDeviceToHost);
    cudaFree(a), cudaFree(b);
    const std::vector<Particle> copy = h;
    const bool correct = copy[0].mass == 49.5 && copy[99].kind == 'a' && copy[10].at.y == -89 &&
                         copy[10].charge == 1;
    std::puts(correct ? "correct" : "wrong");
    return !correct;
}

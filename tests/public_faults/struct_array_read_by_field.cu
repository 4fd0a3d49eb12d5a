// Summing one field of an array of particles takes as long as reading whole particles.
// Seen: slow
// Cause: neighbouring threads read fields that are a whole struct apart, so each uses a sector of its own.
// Source: own
// Hint: sectors of global memory where 4.0 would do
struct Particle {
    float x, y, z, mass, pad[4];
};
__global__ void weigh(const Particle* p, const float* masses, float* out, int n) {
    int i = blockIdx.x * 64 + threadIdx.x;
#ifdef FIXED
    if (i < n) out[i] = 2 * masses[i];
#else
    if (i < n) out[i] = 2 * p[i].mass;  // <- here
#endif
}
int main() {
    const int n = 256;
    Particle* p;
    float *masses, *out;
    cudaMalloc(&p, n * sizeof(Particle)), cudaMalloc(&masses, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    cudaMemset(p, 0, n * sizeof(Particle)), cudaMemset(masses, 0, n * sizeof(float));
    weigh<<<n / 64, 64>>>(p, masses, out, n);
    cudaFree(p), cudaFree(masses), cudaFree(out);
    return cudaDeviceSynchronize() != cudaSuccess;
}

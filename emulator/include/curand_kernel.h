// curand's generators for kernels. Each of them is Philox 4x32-10 here, so that the numbers are not
// those of a GPU, but depend on a state's type, seed, sequence and offset alone, too.
#pragma once

#include "cuda_runtime.h"
#include "curand.h"
#include "emulator/include/philox.h"

namespace emulator {
template <curandRngType type>
struct RandomState {
    Philox philox;
    uint32_t initialised;  // by the launch of this number
};
uint32_t launch_number();
void note_draw(const Philox& state, uint32_t initialised, const void* pc);
// Two states with the same numbers are noticed where they begin. Untraced, as it is not the program
// that reads the state here.
template <curandRngType type>
__attribute__((noinline)) EMULATOR_UNTRACED Philox* drawn_from(RandomState<type>* state) {
    if (state->philox.position % 1024 == 0)
        note_draw(state->philox, state->initialised, __builtin_return_address(0));
    return &state->philox;
}
}  // namespace emulator
using curandStateXORWOW_t = emulator::RandomState<CURAND_RNG_PSEUDO_XORWOW>;
using curandStateMRG32k3a_t = emulator::RandomState<CURAND_RNG_PSEUDO_MRG32K3A>;
using curandStatePhilox4_32_10_t = emulator::RandomState<CURAND_RNG_PSEUDO_PHILOX4_32_10>;
using curandStateXORWOW = curandStateXORWOW_t;
using curandStateMRG32k3a = curandStateMRG32k3a_t;
using curandStatePhilox4_32_10 = curandStatePhilox4_32_10_t;
using curandState_t = curandStateXORWOW_t;
using curandState = curandStateXORWOW_t;

// clang-format off
template <curandRngType t> void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset,
                                            emulator::RandomState<t>* state) {
    state->philox = {seed, sequence, offset, t - CURAND_RNG_PSEUDO_XORWOW};
    state->initialised = emulator::launch_number();
}
template <curandRngType t> void skipahead(unsigned long long n, emulator::RandomState<t>* state) { state->philox.position += n; }
template <curandRngType t> void skipahead_sequence(unsigned long long n, emulator::RandomState<t>* state) {
    state->philox.sequence += n;
}
template <curandRngType t> __forceinline__ unsigned curand(emulator::RandomState<t>* state) { return drawn_from(state)->next(); }
template <curandRngType t> __forceinline__ float curand_uniform(emulator::RandomState<t>* state) { return drawn_from(state)->uniform(); }
template <curandRngType t> __forceinline__ double curand_uniform_double(emulator::RandomState<t>* state) { return drawn_from(state)->uniform_double(); }
template <curandRngType t> __forceinline__ float2 curand_normal2(emulator::RandomState<t>* state) {
    float pair[2];
    drawn_from(state)->normal(pair);
    return float2(pair[0], pair[1]);
}
template <curandRngType t> __forceinline__ double2 curand_normal2_double(emulator::RandomState<t>* state) {
    double pair[2];
    drawn_from(state)->normal(pair);
    return double2(pair[0], pair[1]);
}
template <curandRngType t> __forceinline__ float curand_normal(emulator::RandomState<t>* state) { return curand_normal2(state).x; }
template <curandRngType t> __forceinline__ double curand_normal_double(emulator::RandomState<t>* state) { return curand_normal2_double(state).x; }
template <curandRngType t> __forceinline__ float curand_log_normal(emulator::RandomState<t>* state, float mean, float deviation) {
    return std::exp(mean + deviation * curand_normal(state));
}

__forceinline__ uint4 curand4(curandStatePhilox4_32_10_t* s) {
    const unsigned a = curand(s), b = curand(s), c = curand(s);
    return uint4(a, b, c, curand(s));
}
__forceinline__ float4 curand_uniform4(curandStatePhilox4_32_10_t* s) {
    const float a = curand_uniform(s), b = curand_uniform(s), c = curand_uniform(s);
    return float4(a, b, c, curand_uniform(s));
}
__forceinline__ double2 curand_uniform2_double(curandStatePhilox4_32_10_t* s) {
    const double a = curand_uniform_double(s);
    return double2(a, curand_uniform_double(s));
}
__forceinline__ float4 curand_normal4(curandStatePhilox4_32_10_t* s) {
    const float2 a = curand_normal2(s), b = curand_normal2(s);
    return float4(a.x, a.y, b.x, b.y);
}
// clang-format on

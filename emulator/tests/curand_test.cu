// curand: numbers for the host and in kernels.
#include <curand.h>
#include <curand_kernel.h>

#include "device.h"

#ifndef CURAND_H_
#error "headers such as NVIDIA's helper_cuda.h test for cuRAND by this name"
#endif

namespace {

class Curand : public Base {};

// The known answers of Random123, the generator's own library.
TEST_F(Curand, Philox) {
    uint32_t four[4];
    emulator::Philox::numbers({0, 0, 0, 0}, 0, four);
    EXPECT_EQ(std::vector<uint32_t>(four, four + 4),
              (std::vector<uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    emulator::Philox::numbers({~0u, ~0u, ~0u, ~0u}, ~uint64_t(0), four);
    EXPECT_EQ(std::vector<uint32_t>(four, four + 4),
              (std::vector<uint32_t>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

struct Moments {
    double mean = 0, variance = 0;
    float least = INFINITY, most = -INFINITY;
    explicit Moments(const std::vector<float>& x) {
        for (const float value : x) {
            mean += value / x.size();
            variance += double(value) * value / x.size();
            least = std::min(least, value);
            most = std::max(most, value);
        }
        variance -= mean * mean;
    }
};

TEST_F(Curand, Distributions) {
    curandGenerator_t generator;
    EXPECT_EQ(curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_DEFAULT), CURAND_STATUS_SUCCESS);
    curandSetPseudoRandomGeneratorSeed(generator, 7);
    const Device<float> x(20000), y(20000);
    EXPECT_EQ(curandGenerateUniform(generator, x.data, 20000), CURAND_STATUS_SUCCESS);
    const Moments uniform(x.host());
    EXPECT_NEAR(uniform.mean, 0.5, 0.01);
    EXPECT_NEAR(uniform.variance, 1.0 / 12, 0.005);
    EXPECT_GT(uniform.least, 0);
    EXPECT_LE(uniform.most, 1);
    EXPECT_EQ(curandGenerateNormal(generator, y.data, 20000, 3, 2), CURAND_STATUS_SUCCESS);
    const Moments normal(y.host());
    EXPECT_NEAR(normal.mean, 3, 0.1);
    EXPECT_NEAR(normal.variance, 4, 0.2);
    const std::vector<float> before = x.host();
    curandGenerateUniform(generator, x.data, 20000);
    EXPECT_NE(x.host(), before);
    curandSetPseudoRandomGeneratorSeed(generator, 7);
    curandGenerateUniform(generator, x.data, 20000);
    EXPECT_EQ(x.host(), before) << "the same seed";
    expect_silence();

    EXPECT_EQ(curandGenerateNormal(generator, x.data, 191, 0, 1),
              CURAND_STATUS_LENGTH_NOT_MULTIPLE);
    expect_some({"curandGenerateNormal at ..191 values; normally..must be even"});
    EXPECT_EQ(curandGenerateUniform(generator, floats.data, 193), CURAND_STATUS_LAUNCH_FAILURE);
    expect_some({"out of bounds: curandGenerateUniform at ..writes 193 numbers, 772 bytes..768"});
    EXPECT_EQ(curandDestroyGenerator(generator), CURAND_STATUS_SUCCESS);
    EXPECT_EQ(curandGenerateUniform(generator, x.data, 8), CURAND_STATUS_NOT_INITIALIZED);
    expect_some({"not from curandCreateGenerator()"});

    curandCreateGeneratorHost(&generator, CURAND_RNG_PSEUDO_MT19937);
    double host[2] = {};
    EXPECT_EQ(curandGenerateUniformDouble(generator, host, 2), CURAND_STATUS_SUCCESS);
    EXPECT_TRUE(host[0] > 0 && host[1] > 0 && host[0] != host[1]);
    curandDestroyGenerator(generator);
    EXPECT_EQ(curandCreateGenerator(&generator, CURAND_RNG_QUASI_SOBOL32),
              CURAND_STATUS_TYPE_ERROR);
    expect_some({"no quasirandom numbers"});
    expect_silence();
}

template <class State>
__global__ void set_up(State* states) {
    curand_init(1, threadIdx.x, 0, &states[threadIdx.x]);
}
template <class State>
__global__ void draw(State* states, float* uniform, float* normal) {
    State state = states[threadIdx.x];
    for (int i = threadIdx.x; i < 20000; i += blockDim.x) {
        uniform[i] = curand_uniform(&state);
        normal[i] = curand_normal(&state);
    }
    states[threadIdx.x] = state;
}
template <class State>
void expect_kernel_numbers() {
    const Device<State> states(64);
    const Device<float> x(20000), y(20000);
    set_up<<<1, 64>>>(states.data);
    draw<<<1, 64>>>(states.data, x.data, y.data);
    const Moments uniform(x.host()), normal(y.host());
    EXPECT_NEAR(uniform.mean, 0.5, 0.01);
    EXPECT_NEAR(normal.mean, 0, 0.05);
    EXPECT_NEAR(normal.variance, 1, 0.05);
    const std::vector<float> before = x.host();
    draw<<<1, 64>>>(states.data, x.data, y.data);
    EXPECT_NE(x.host(), before) << "the states go on";
    expect_silence();
}
struct OneOfEach {
    curandStateXORWOW_t xorwow;
    curandStateMRG32k3a_t mrg;
    curandStatePhilox4_32_10_t philox;
};
__global__ void set_up_each(OneOfEach* states) {
    curand_init(1, 0, 0, &states->xorwow);
    curand_init(1, 0, 0, &states->mrg);
    curand_init(1, 0, 0, &states->philox);
}
template <class State>
__global__ void draw_one(State* state, float* number) {
    *number = curand_uniform(state);
}
// The numbers of different generators differ, so that equal seeds and sequences are no mistake.
TEST_F(Curand, GeneratorsDiffer) {
    const Device<OneOfEach> states(1);
    const Device<float> x(3);
    set_up_each<<<1, 1>>>(states.data);
    draw_one<<<1, 1>>>(&states.data->xorwow, x.data);
    draw_one<<<1, 1>>>(&states.data->mrg, x.data + 1);
    draw_one<<<1, 1>>>(&states.data->philox, x.data + 2);
    const std::vector<float> numbers = x.host();
    EXPECT_NE(numbers[0], numbers[1]);
    EXPECT_NE(numbers[1], numbers[2]);
    EXPECT_NE(numbers[0], numbers[2]);
    expect_silence();
}
TEST_F(Curand, Kernels) {
    expect_kernel_numbers<curandState>();
    expect_kernel_numbers<curandStatePhilox4_32_10_t>();
    curandStatePhilox4_32_10_t one, other;
    curand_init(5, 3, 2, &one);
    curand_init(5, 3, 0, &other);
    skipahead(2, &other);
    const uint4 four = curand4(&one);
    EXPECT_EQ(four.x, curand(&other));
    EXPECT_EQ(four.y, curand(&other));
}

}  // namespace

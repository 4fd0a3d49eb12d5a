// cuRAND's host API.

#include "emulator/include/curand.h"

#include <cmath>
#include <set>
#include <string>

#include "emulator/api/memory.h"
#include "emulator/include/philox.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/report.h"

struct curandGenerator_st {
    emulator::Philox philox{};
    cudaStream_t stream = nullptr;
    bool to_host = false;  // a host generator: writes to the host's memory
};

namespace emulator::random {
namespace {

// Never destroyed.
std::set<curandGenerator_t>& generators = *new std::set<curandGenerator_t>;

curandStatus_t refuse(const char* call, const char* file, int line, curandStatus_t status,
                      const std::string& why) {
    report_and_print(std::string(call) + " at " + short_place(file, line) + " fails: " + why);
    return status;
}

curandStatus_t create(const char* call, curandGenerator_t* generator, curandRngType_t type,
                      bool to_host, const char* file, int line) {
    if (type >= CURAND_RNG_QUASI_DEFAULT)
        return refuse(call, file, line, CURAND_STATUS_TYPE_ERROR,
                      "the emulator has no quasirandom numbers");
    generators.insert(*generator = new curandGenerator_st);
    (*generator)->to_host = to_host;
    return CURAND_STATUS_SUCCESS;
}

template <class Change>
curandStatus_t with(curandGenerator_t generator, const Change& change) {
    if (!generators.count(generator)) return CURAND_STATUS_NOT_INITIALIZED;
    change(*generator);
    return CURAND_STATUS_SUCCESS;
}

// Writes n numbers: write(philox, out) writes the next `step` of them.
template <size_t step, class T, class Write>
curandStatus_t generate(const char* call, curandGenerator_t generator, T* out, size_t n,
                        const char* file, int line, const Write& write) {
    if (!generators.count(generator))
        return refuse(call, file, line, CURAND_STATUS_NOT_INITIALIZED,
                      "the generator is not from curandCreateGenerator()");
    // Source: cuRAND's documentation, "Generation functions".
    if (n % step)
        return refuse(call, file, line, CURAND_STATUS_LENGTH_NOT_MULTIPLE,
                      std::to_string(n) +
                          " values; normally and log-normally distributed pseudorandom values "
                          "come in pairs, so their number must be even");
    const auto all = [=] {
        for (size_t i = 0; i < n; i += step) write(generator->philox, out + i);
    };
    if (generator->to_host) {
        all();
        return CURAND_STATUS_SUCCESS;
    }
    const std::vector<Region> region = {
        {std::to_string(n) + " numbers", out, n * sizeof(T), n * sizeof(T), 1, true}};
    const cudaError_t error = in_stream(
        generator->stream, [=] { return call_library(call, region, all); }, file, line);
    return error ? CURAND_STATUS_LAUNCH_FAILURE : CURAND_STATUS_SUCCESS;
}

template <class T>
auto normal(T mean, T stddev) {
    return [=](Philox& philox, T* out) {
        T pair[2];
        philox.normal(pair);
        for (int i = 0; i < 2; ++i) out[i] = mean + stddev * pair[i];
    };
}

}  // namespace
}  // namespace emulator::random

using namespace emulator;
using namespace emulator::random;

curandStatus_t curandCreateGenerator(curandGenerator_t* generator, curandRngType_t type,
                                     const char* file, int line) {
    return create("curandCreateGenerator", generator, type, false, file, line);
}
curandStatus_t curandCreateGeneratorHost(curandGenerator_t* generator, curandRngType_t type,
                                         const char* file, int line) {
    return create("curandCreateGeneratorHost", generator, type, true, file, line);
}
curandStatus_t curandDestroyGenerator(curandGenerator_t generator) {
    if (!generators.erase(generator)) return CURAND_STATUS_NOT_INITIALIZED;
    delete generator;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator,
                                                  unsigned long long seed) {
    return with(generator, [=](curandGenerator_st& g) { g.philox = {seed, 0, 0}; });
}
curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset) {
    return with(generator, [=](curandGenerator_st& g) { g.philox.position = offset; });
}
curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream) {
    return with(generator, [=](curandGenerator_st& g) { g.stream = stream; });
}

curandStatus_t curandGenerate(curandGenerator_t generator, unsigned* out, size_t n,
                              const char* file, int line) {
    return generate<1>("curandGenerate", generator, out, n, file, line,
                       [](Philox& philox, unsigned* to) { *to = philox.next(); });
}
curandStatus_t curandGenerateUniform(curandGenerator_t generator, float* out, size_t n,
                                     const char* file, int line) {
    return generate<1>("curandGenerateUniform", generator, out, n, file, line,
                       [](Philox& philox, float* to) { *to = philox.uniform(); });
}
curandStatus_t curandGenerateUniformDouble(curandGenerator_t generator, double* out, size_t n,
                                           const char* file, int line) {
    return generate<1>("curandGenerateUniformDouble", generator, out, n, file, line,
                       [](Philox& philox, double* to) { *to = philox.uniform_double(); });
}
curandStatus_t curandGenerateNormal(curandGenerator_t generator, float* out, size_t n, float mean,
                                    float stddev, const char* file, int line) {
    return generate<2>("curandGenerateNormal", generator, out, n, file, line, normal(mean, stddev));
}
curandStatus_t curandGenerateNormalDouble(curandGenerator_t generator, double* out, size_t n,
                                          double mean, double stddev, const char* file, int line) {
    return generate<2>("curandGenerateNormalDouble", generator, out, n, file, line,
                       normal(mean, stddev));
}
curandStatus_t curandGenerateLogNormal(curandGenerator_t generator, float* out, size_t n,
                                       float mean, float stddev, const char* file, int line) {
    return generate<2>("curandGenerateLogNormal", generator, out, n, file, line,
                       [write = normal(mean, stddev)](Philox& philox, float* to) {
                           write(philox, to);
                           for (int i = 0; i < 2; ++i) to[i] = std::exp(to[i]);
                       });
}

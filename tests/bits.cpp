// Prints a digest of the bits of C, of real numbers, with each configuration of a stage that takes
// the shape. A GPU and the emulator print the same lines if the emulator adds as that GPU's tensor
// cores do, and a stage splits K alike on both.
//
// The program is a stage's own object, linked with this one: this run_stage() replaces the harness's.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "common/build.h"
#include "common/device.h"
#include "common/device_operands.h"
#include "common/errors.h"
#include "common/facts.h"
#include "common/options.h"
#include "common/stage.h"

template <class In, class Out>
static void print_bits(Launcher<In, Out> launch, Shape s, const char* data, Operands<In, Out>& x) {
    x.clear();
    launch(s.M, s.N, s.K, x.A_device.data(), x.B_device.data(), x.C_device());
    finish_launch();
    x.fetch();
    uint64_t digest = 14695981039346656037u;  // FNV-1a
    const auto* bytes = reinterpret_cast<const unsigned char*>(x.C());
    for (size_t i = 0; i < size_t(s.M) * s.N * sizeof(Out); ++i)
        digest = (digest ^ bytes[i]) * 1099511628211u;
    std::printf("%s, %s, %s: %016llx\n", only_config.empty() ? "the kernel" : only_config.c_str(),
                to_string(s).c_str(), data, static_cast<unsigned long long>(digest));
}

template <class In, class Out>
int run_stage(Launcher<In, Out> launch, const Facts& facts, int argc, char** argv, const char*) {
    std::vector<Shape> sizes;
    int device = 0;
    const OptionTable options = {
        {"--bits", "SIZES", "must be given: a stage's own program does not take it",
         shape_list(sizes)},
        device_option(device)};
    const Program program = {"bits",  "prints a digest of the bits of C",
                             options, "Example:\n  bits --bits 256x256x512,130x264x1000",
                             "stage", kBuild};
    return run_program(program, argc, argv, [&] {
        if (sizes.empty()) throw Failure(kBadCommandLine, "needs --bits");
        select_device(device);
        std::vector<std::string> configs = {""};
        for (const ConfigFacts& config : facts.configs) configs.push_back(config.name);
        if (configs.size() > 1) configs.erase(configs.begin());
        for (const Shape& s : sizes) {
            Operands<In, Out> x(s);
            for (const std::string& config : configs) try {
                    only_config = config;
                    x.set_reals(1, facts.arithmetic);
                    print_bits(launch, s, "positive", x);
                    x.set_timed(1);
                    print_bits(launch, s, "both signs", x);
                } catch (const NotTaken&) {
                }
        }
    });
}

template int run_stage(Launcher<float, float>, const Facts&, int, char**, const char*);
template int run_stage(Launcher<half, float>, const Facts&, int, char**, const char*);
template int run_stage(Launcher<half, half>, const Facts&, int, char**, const char*);

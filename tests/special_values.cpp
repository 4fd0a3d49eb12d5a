// Tests what a program that takes operands of any range makes of infinities, NaN, zeros, subnormal
// floats and of rows and columns that span most of FP32's range. The table is by the sum in FP64, in
// which nothing overflows or becomes 0:
//
//    FP64's sum            C
//    NaN                   NaN
//    infinity              the same, or NaN where the infinite element meets a lo of another sign than
//                          its hi, or a lo of 0
//    beyond FP32's range   infinity of its sign
//    only of zeros         +0, as from a sum in FP32 that begins with +0
//    else                  the sum within the error bound
//
// The test program is a stage's own object, linked with this one, for a GPU or on the emulator: this
// run_stage() replaces the harness's. The test passes --special-values, which the ordinary stage
// rejects.
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>

#include "common/build.h"
#include "common/device.h"
#include "common/device_operands.h"
#include "common/errors.h"
#include "common/facts.h"
#include "common/options.h"
#include "common/stage.h"
#include "common/verify.h"

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// A row of A or a column of B.
struct Line {
    float* first;
    size_t step;
    int length;
    float& operator[](int k) const { return first[k * step]; }
};

// Changes a line of positive reals from 1/4 to 1 into one of these.
static const struct {
    const char* name;
    void (*change)(Line line);
} kKinds[] = {
    {"ordinary", [](Line) {}},
    {"both signs",
     [](Line line) {
         for (int k = 0; k < line.length; k += 2) line[k] = -line[k];
     }},
    {"zeros",
     [](Line line) {
         for (int k = 0; k < line.length; ++k) line[k] = 0;
     }},
    {"zeros, and -0",
     [](Line line) {
         for (int k = 0; k < line.length; ++k) line[k] = k % 3 ? -0.0f : 0.0f;
     }},
    {"subnormal",
     [](Line line) {
         for (int k = 0; k < line.length; ++k) line[k] = line[k] * 0x1p-127f;
     }},
    {"the smallest float",
     [](Line line) {
         for (int k = 0; k < line.length; ++k) line[k] = 0x1p-149f;
     }},
    {"the largest floats",
     [](Line line) {
         for (int k = 0; k < line.length; ++k) line[k] = line[k] * 0x1.fffffep127f;
     }},
    {"from subnormal to large",
     [](Line line) {
         for (int k = 0; k < line.length; ++k) line[k] = std::ldexp(line[k], 250 * k / 69 - 149);
     }},
    // The large element meets a zero of the next kind.
    {"one large element", [](Line line) { line[7] = 0x1p20f; }},
    {"one zero", [](Line line) { line[7] = 0; }},
    {"NaN", [](Line line) { line[0] = kNaN; }},
    {"NaN and infinity",
     [](Line line) {
         line[3] = kNaN;
         line[66] = kInfinity;
     }},
    {"infinity", [](Line line) { line[line.length - 1] = kInfinity; }},
    {"-infinity", [](Line line) { line[2] = -kInfinity; }},
    {"infinity, and -infinity",
     [](Line line) {
         line[2] = kInfinity;
         line[68] = -kInfinity;
     }},
    // lo is positive, or 0.
    {"a positive lo",
     [](Line line) {
         for (int k = 0; k < line.length; ++k) line[k] = 0x1.001p-1f;
     }},
    {"no lo",
     [](Line line) {
         for (int k = 0; k < line.length; ++k) line[k] = 0.5f + k % 3 * 0x1p-6f;
     }},
};
constexpr int kLines = std::size(kKinds);

// The largest element is scaled to 2^14 or more, but by 2^127 at most.
static int exponent_of_scale(Line line) {
    float most = 0;
    for (int k = 0; k < line.length; ++k) most = std::max(most, std::fabs(line[k]));
    return most > 0 && std::isfinite(most) ? std::min(14 - std::ilogb(most), 127) : 0;
}
// The least magnitude that becomes a normal half.
static double least_normal(Line line) { return std::ldexp(1.0, -14 - exponent_of_scale(line)); }

// Whether the sum's infinity may be lost: whether the infinite products of halves have both signs, or
// infinity meets 0. A line with an infinity is not scaled.
static bool loses_infinity(Line a, Line b) {
    const int of_a = exponent_of_scale(a), of_b = exponent_of_scale(b);
    float infinite = 0;
    for (int k = 0; k < a.length; ++k) {
        const float x = std::ldexp(a[k], of_a), y = std::ldexp(b[k], of_b);
        const auto lo_of = [](float z, float hi) {
            return std::isinf(z) ? 0 : float(half(z - hi));
        };
        const float hi[2] = {half(x), half(y)}, lo[2] = {lo_of(x, hi[0]), lo_of(y, hi[1])};
        for (const float product : {hi[0] * hi[1], hi[0] * lo[1], lo[0] * hi[1]})
            if (!std::isfinite(product)) infinite += product;
    }
    return std::isnan(infinite);
}

// Throws Failure unless C is what the table above says.
static void check(float got, Line a, Line b, const Arithmetic& arithmetic) {
    const auto expect = [&](bool holds, const std::string& expected) {
        if (!holds)
            throw Failure(kWrongResult,
                          format("C %s, expected %s", found(got).c_str(), expected.c_str()));
    };
    double sum = 0;
    bool zeros = true;
    for (int k = 0; k < a.length; ++k) {
        const double product = double(a[k]) * b[k];
        sum += product;
        zeros = zeros && product == 0;
    }
    if (std::isnan(sum)) return expect(std::isnan(got), "NaN");
    if (std::isinf(sum)) {
        const bool lost = loses_infinity(a, b) && std::isnan(got);
        return expect(got == sum || lost, format("%f", sum));
    }
    if (zeros) return expect(got == 0 && !std::signbit(got), "0 without a sign");
    // Halves below the least normal one end at 2^-24, and a tensor core truncates their products as it
    // does those of the least normal one.
    const double least_a = least_normal(a), least_b = least_normal(b);
    double truncated = 0, ended = 0;
    for (int k = 0; k < a.length; ++k) {
        const double x = std::fabs(a[k]), y = std::fabs(b[k]);
        truncated += std::max(x, least_a) * std::max(y, least_b);
        ended += 0x1p-11 * (x * least_b + y * least_a);
    }
    const double bound = error_bound(arithmetic, a.length, a.length) * truncated + ended + 0x1p-150;
    const double most = std::numeric_limits<float>::max();
    if (std::fabs(sum) - bound > most)
        return expect(got == std::copysign(kInfinity, sum), "an infinity of the sum's sign");
    expect(std::fabs(got - sum) <= bound, format("%.9g within %.3g", sum, bound));
}

// Every kind of row of A meets every kind of column of B, in a whole k-tile and a part of one.
static void verify(Launcher<float, float> launch, const Facts& facts, int extra) {
    const Shape s = {kLines + extra, kLines + extra, 70};
    Operands<float, float> x(s);
    x.A = random_reals(size_t(s.M) * s.K, 1, 0.25f);
    x.B = random_reals(size_t(s.K) * s.N, 2, 0.25f);
    const auto row = [&](int i) { return Line{&x.A[size_t(i) * s.K], 1, s.K}; };
    const auto column = [&](int i) { return Line{&x.B[i], size_t(s.N), s.K}; };
    for (int i = 0; i < s.M; ++i) kKinds[i % kLines].change(row(i));
    for (int i = 0; i < s.N; ++i) kKinds[i % kLines].change(column(i));
    x.A_device.upload(x.A);
    x.B_device.upload(x.B);
    x.clear();
    launch(s.M, s.N, s.K, x.A_device.data(), x.B_device.data(), x.C_device());
    finish_launch();
    x.fetch();
    for (int i = 0; i < s.M; ++i)
        for (int j = 0; j < s.N; ++j)
            with_context(
                format("C[%d][%d], a row of \"%s\" times a column of \"%s\"", i, j,
                       kKinds[i % kLines].name, kKinds[j % kLines].name),
                [&] { check(x.C()[size_t(i) * s.N + j], row(i), column(j), facts.arithmetic); });
}

// A program that is not said to take such operands is not tried.
static void verify_all(Launcher<float, float> launch, const Facts& facts) {
    if (!facts.arithmetic.any_range) throw Failure(kNoGpu, "not tried: it takes no such values");
    std::vector<std::string> configs;
    for (const ConfigFacts& config : facts.configs) configs.push_back(config.name);
    if (configs.empty()) configs = {""};
    for (const std::string& config : configs) {
        only_config = config;
        // An even number of columns, whose rows can be stored by 8 bytes, and an odd one.
        for (const int extra : {3, 0}) with_context(config, [&] { verify(launch, facts, extra); });
    }
    std::printf("infinities, NaN, zeros and subnormal floats are as expected\n");
}

template <class In, class Out>
int run_stage(Launcher<In, Out> launch, const Facts& facts, int argc, char** argv, const char*) {
    bool special_values = false;
    int device = 0;
    const OptionTable options = {
        {"--special-values", "", "must be given: a stage's own program does not take it",
         flag(special_values)},
        device_option(device)};
    const Program program = {"special_values", "verifies a stage on infinities, NaN and zeros",
                             options,          "",
                             "stage",          kBuild};
    return run_program(program, argc, argv, [&] {
        if (!special_values) throw Failure(kBadCommandLine, "needs --special-values");
        select_device(device);
        if constexpr (sizeof(In) == 4) verify_all(launch, facts);
        else throw Failure(kNoGpu, "not tried: halves have no such range");
    });
}

template int run_stage(Launcher<float, float>, const Facts&, int, char**, const char*);
template int run_stage(Launcher<half, float>, const Facts&, int, char**, const char*);
template int run_stage(Launcher<half, half>, const Facts&, int, char**, const char*);

// What the sweeps on the GPU (roofline.cu) and on the CPU (roofline_host.cpp) have in common: the
// points, the data, the reference, the table.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "common/errors.h"
#include "common/table.h"

// A step is x = kFactor x + kAddend. It takes x from [1, 2) to (3, 4] and back, each time 2^-20 of
// the way nearer to 2.5. So in 256 steps, and in 100000, nothing overflows, becomes subnormal or
// reaches a fixed point, and one or two steps fewer show in the last bits.
constexpr float kFactor = -1 + 0x1p-20f, kAddend = 5;

// The points of the sweep: how many steps each element takes between 4 bytes that are read and 4
// that are written.
constexpr int kSteps[] = {1, 2, 4, 8, 16, 32, 64, 128, 256};
constexpr double flop_per_byte(int steps) { return 2.0 * steps / (4 + 4); }

// Attainable GFLOP/s by the roofline. peak: GFLOP/s. gbs: GB/s, of bytes read and written.
inline double attainable(double peak, double gbs, int steps) {
    return std::min(peak, gbs * flop_per_byte(steps));
}

// The columns of a table of limits. That of a CPU has no clocks and no cycles.
inline Columns limit_columns() {
    return {{"what", "what", -21},
            {"flop_per_byte", "flop/|byte", 7},
            {"gbs", "GB/s", 9},
            {"gflops", "GFLOP/s", 11},
            {"limit", "limit", 10},
            {"percent_of_limit", "of|limit", 8, as_percent},
            {"median_ms", "time", 10, as_time},
            {"sm_mhz", "MHz", 6},
            {"cycles_per_instruction", "cycles|each", 9}};
}

// Prints how close to the roofline the points came, and whether some lie so far above it that it must
// have been measured too low. fractions: of the roofline, one for each point.
inline void print_fractions(const std::vector<double>& fractions, double peak, double gbs) {
    const auto [least, most] = std::minmax_element(fractions.begin(), fractions.end());
    std::printf(
        "The points of the sweep lie at %.1f%% to %.1f%% of the roofline, whose ridge is at %.1f flop/byte.\n",
        100 * *least, 100 * *most, peak / gbs);
    const auto above =
        std::count_if(fractions.begin(), fractions.end(), [](double s) { return s > 1.1; });
    if (above > 0)
        std::printf(
            "%d above 110%%: something disturbed copy or fp32_fma, which make the roofline. Run it again on "
            "an idle machine.\n",
            int(above));
}

// The data repeats after this many elements, so that the reference takes little time. The period is
// a prime number, which no tile or stride divides.
constexpr size_t kPeriod = 16411;

// kPeriod random floats in [1, 2).
inline std::vector<float> random_period(uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<float> x(kPeriod);
    for (float& each : x) each = 1 + float(random() >> 9) * 0x1p-23f;
    return x;
}

// kFused: each step is rounded once, as by an FMA instruction; otherwise the product is rounded,
// too.
template <bool kFused>
void advance(std::vector<float>& x, int steps) {
    for (float& each : x)
        for (int s = 0; s < steps; ++s)
            each = kFused ? std::fma(each, kFactor, kAddend) : each * kFactor + kAddend;
}

// `got` is the part of a result that starts at element `first`. Throws Failure(kWrongResult) unless
// the whole is `period` over and over, bit for bit.
template <class T>
void check_periodic(const std::string& what, const T* got, size_t first, size_t count,
                    const std::vector<T>& period) {
    for (size_t done = 0; done < count;) {
        const size_t at = (first + done) % period.size(),
                     length = std::min(count - done, period.size() - at);
        if (std::memcmp(got + done, &period[at], length * sizeof(T)) != 0)
            for (size_t i = 0; i < length; ++i)
                if (std::memcmp(&got[done + i], &period[at + i], sizeof(T)) != 0)
                    throw Failure(
                        kWrongResult,
                        what + format(": element %zu is %.9g, expected %.9g", first + done + i,
                                      double(got[done + i]), double(period[at + i])));
        done += length;
    }
}

// Philox 4x32-10, the counter-based generator of Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3" (SC11).
#pragma once

#include <cmath>
#include <cstdint>

namespace emulator {

struct Philox {
    uint64_t seed, sequence, position;
    uint32_t generator = 0;  // one for each type of generator: their numbers differ

    // The four numbers of a counter.
    static void numbers(const uint32_t (&counter)[4], uint64_t key, uint32_t (&out)[4]) {
        uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
        uint32_t k0 = uint32_t(key), k1 = uint32_t(key >> 32);
        for (int round = 0; round < 10; ++round) {
            const uint64_t a = uint64_t(0xd2511f53u) * c0, b = uint64_t(0xcd9e8d57u) * c2;
            c0 = uint32_t(b >> 32) ^ c1 ^ k0;
            c1 = uint32_t(b);
            c2 = uint32_t(a >> 32) ^ c3 ^ k1;
            c3 = uint32_t(a);
            k0 += 0x9e3779b9u;
            k1 += 0xbb67ae85u;
        }
        out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
    }
    uint32_t next() {
        const uint64_t block = position / 4;
        uint32_t four[4];
        numbers(
            {uint32_t(block), uint32_t(block >> 32), uint32_t(sequence), uint32_t(sequence >> 32)},
            seed ^ generator * 0x9e3779b97f4a7c15u, four);
        return four[position++ % 4];
    }
    // Above 0, and up to 1.
    float uniform() { return float(next()) * 0x1p-32f + 0x1p-33f; }
    double uniform_double() {
        const uint64_t low = next();
        return double((uint64_t(next()) << 32 | low) >> 11) * 0x1p-53 + 0x1p-54;
    }
    // Two numbers with mean 0 and deviation 1, by the method of Box and Muller.
    template <class T>
    void normal(T (&pair)[2]) {
        const double radius = std::sqrt(-2 * std::log(uniform_double())),
                     angle = 2 * M_PI * uniform_double();
        pair[0] = T(radius * std::cos(angle));
        pair[1] = T(radius * std::sin(angle));
    }
};

}  // namespace emulator

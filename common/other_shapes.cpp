#include "common/other_shapes.h"

#include <algorithm>
#include <string>
#include <utility>

namespace {

int multiple_from(int least, int of) { return (least + of - 1) / of * of; }
int odd_multiple_from(int least, int of) { return multiple_from(least - of, 2 * of) + of; }

// The smallest power of two up to `most` whose odd multiples are taken; `most` if none are.
int smallest(int most, const std::function<bool(int of)>& taken) {
    int of = 1;
    while (of < most && !taken(of)) of *= 2;
    return of;
}

}  // namespace

Failure with_other_shapes(Shape wrong, const Failure& failure, const std::vector<Shape>& others,
                          const Trial& trial) {
    const auto with = [&](const std::string& cause) {
        return Failure(failure.code, failure.what() + ("\n  " + cause));
    };
    constexpr double kMax = 0x1p25;  // products, which the emulator traces in a second
    const auto [M, N, K] = wrong;
    const auto correct = [&](int m, int n, int k) { return !trial({m, n, k}); };
    std::string elsewhere;  // what is wrong at the first shape that can be launched
    for (const int tile : {1, 2, 4, 8, 16, 32, 64, 128, 256, 512}) {
        const int tile_k = std::min(tile, 64);
        Shape s = {multiple_from(M, tile), multiple_from(N, tile), multiple_from(K, tile_k)};
        if (s.N == s.M) s.N += tile;  // not square, where a leading dimension may be any
        while (s.K == s.M || s.K == s.N) s.K += tile_k;
        if (double(s.M) * s.N * s.K > kMax) break;
        if (const auto failed = trial(s)) {
            if (failed->code == kWrongResult && elsewhere.empty()) elsewhere = failed->what();
            continue;
        }
        const int of_k =
            smallest(tile_k, [&](int of) { return correct(s.M, s.N, odd_multiple_from(K, of)); });
        s.K = odd_multiple_from(K, of_k);
        const int of_m =
            smallest(tile, [&](int of) { return correct(odd_multiple_from(M, of), s.N, s.K); });
        s.M = odd_multiple_from(M, of_m);
        const int of_n =
            smallest(tile, [&](int of) { return correct(s.M, odd_multiple_from(N, of), s.K); });
        s.N = odd_multiple_from(N, of_n);
        if (trial(s)) continue;  // N, which is not M, was a multiple of more than this tile
        std::string said = "it is correct at " + to_string(s);
        std::vector<std::string> limits;
        for (const auto& [name, of] : {std::pair("M", of_m), {"N", of_n}, {"K", of_k}})
            if (of > 1) limits.push_back(format("%s is a multiple of %d", name, of));
        if (!limits.empty())
            said += ", and wrong unless " + joined(limits, " and ") +
                    format(
                        "; if it need not take other shapes, say so: #define MULTIPLES %d, %d, "
                        "%d",
                        of_m, of_n, of_k);
        for (const Shape& other : others)
            if (const auto failed =
                    trial({multiple_from(other.M, of_m), multiple_from(other.N, of_n),
                           multiple_from(other.K, of_k)})) {
                said += std::string("\n  it is wrong at ") + failed->what();
                break;
            }
        if (limits.empty() || failure.code != kDeviceFailed) return with(said);
        return {failure.code, to_string(wrong) + " is no multiple of the kernel's tile: " + said +
                                  "\n  " + failure.what()};
    }
    for (const int edge : {16, 64, 256})
        if (correct(edge, edge, edge))
            return with(
                format("it is correct at %d x %d x %d: is one of M, N and K taken for another one?",
                       edge, edge, edge));
    return failure.code == kDeviceFailed && !elsewhere.empty() ? with("it is wrong at " + elsewhere)
                                                               : failure;
}

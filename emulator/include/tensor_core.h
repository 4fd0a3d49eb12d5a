// What a tensor core computes: D = C + A * B, of floating-point numbers, bit for bit.
//
// A tensor core does not add numbers one by one. It adds a group of products and C at once, as
// fixed-point numbers:
//
//   1. A product keeps all bits of its significand, which is below 4, and its exponent is the sum
//      of its factors' exponents. It is not normalised: 1.5 * 1.5 has exponent 0 and significand
//      2.25. The exponent of a subnormal number is that of the smallest normal one.
//   2. The largest exponent of the group's products and of C counts; a zero has no exponent.
//      Every addend is shifted right until it has this exponent, and what falls off below
//      `fraction` bits is lost: each is truncated, toward zero.
//   3. The sum is exact. A float D truncates it to 24 bits (to 14 for wgmma of FP8), toward zero; a
//      half D rounds it once, to nearest even. D may be subnormal. A sum of zero is +0, even if all
//      addends are -0.
//   4. D is the C of the next group; groups follow in the order of k.
//   5. A NaN, inf * 0, and inf - inf give NaN, with all bits of exponent and significand set and
//      the sign clear; an infinite addend otherwise gives an infinite D.
//
// Sources: for sm_90, an H100 (driver 580.159.04, CUDA 13.0), of which
// 07_fragment_probe/tests/tensor_core_check.cu compares each instruction with this file. For older
// ones the published models, F. A. Khattak, M. Mikaitis, "Accurate Models of NVIDIA Tensor Cores",
// arXiv 2512.07004, and M. Fasi, N. Higham, M. Mikaitis, S. Pranesh, "Numerical behavior of NVIDIA
// tensor cores", PeerJ Computer Science 7, 2021. These leave open the sign of a sum of zeros, and the
// floor() of TF32.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace emulator::tensor_core {

enum class Type { f16, bf16, tf32, e4m3, e5m2 };  // of A and B

struct Rules {
    int products;  // that are added at once, together with C
    int fraction;  // bits of an addend that are kept below the leading bit of the largest exponent
    int least_operand;  // the exponent of a subnormal element of A or B
    bool half;  // C and D are of half, else of float
    int integer;  // bits of the sum's integer part: room for f16's products and C, each below 4

    // D's: fraction bits of the significand, the exponents of a subnormal one and of the
    // largest one.
    int kept() const { return half ? 10 : std::min(fraction, 23); }
    int least() const { return half ? -14 : -126; }
    int most() const { return half ? 15 : 127; }
    // Exponents below this count as this one: the uppermost bit of the sum's integer part has at
    // least the weight of D's smallest normal number. On an H100 that is -133 for bf16 and TF32, and
    // -21 for halves. With f16 and float sums, and with FP8, it never matters.
    int floor() const { return least() - integer; }
};

// The rules of an architecture: 70, 75, 80 (also 86, 89), 90. FP8: those of wgmma.
inline Rules rules(int sm, Type type, bool half) {
    const bool bytes = type == Type::e4m3 || type == Type::e5m2;
    const int f16 = sm < 80 ? 4 : sm < 90 ? 8 : 16;
    const int extra = sm < 80 ? 0 : sm < 90 ? 1 : 2;
    return {bytes                ? 32
            : type == Type::tf32 ? f16 / 2
                                 : f16,
            bytes ? 13 : 23 + extra,
            type == Type::e4m3                        ? -6
            : type == Type::f16 || type == Type::e5m2 ? -14
                                                      : -126,
            half, 5 + extra};
}

// A finite number as significand * 2^(exponent - 23).
struct Number {
    bool negative;
    int64_t significand;
    int exponent;
};
inline uint32_t bits_of(float x) {
    uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}
inline float float_of(uint32_t bits) {
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}
// least: the exponent that a subnormal number of x's type has.
inline Number number(float x, int least) {
    const uint32_t bits = bits_of(x), field = bits >> 23 & 255;
    const int64_t significand = (bits & 0x7fffff) | (field ? 1 << 23 : 0);
    const int exponent = std::max(int(field), 1) - 127;
    if (exponent >= least) return {bits >> 31 != 0, significand, exponent};
    return {bits >> 31 != 0, significand >> std::min(least - exponent, 63), least};
}

// sum * 2^unit as D.
inline float rounded(const Rules& r, int64_t sum, int unit) {
    const uint64_t magnitude = uint64_t(std::llabs(sum));
    if (!magnitude) return 0;
    const int top = 63 - __builtin_clzll(magnitude) + unit;
    const int last = std::max(top, r.least()) - r.kept();  // the exponent of D's last bit
    const int drop = std::max(last - unit, 0);
    uint64_t kept = drop < 64 ? magnitude >> drop : 0;
    if (r.half && drop > 0 && drop < 64) {
        const uint64_t rest = magnitude - (kept << drop), tie = uint64_t(1) << (drop - 1);
        kept += rest > tie || (rest == tie && kept % 2);
    }
    const double d = std::ldexp(double(kept), unit + drop);
    const double overflow = std::ldexp(1.0, r.most() + 1);
    return float(d == 0 ? 0 : std::copysign(d < overflow ? d : HUGE_VAL, double(sum)));
}

// C and the products of n elements of A and B, added at once. step: from one k to the next.
inline float add(const Rules& r, int n, const float* a, int a_step, const float* b, int b_step,
                 float c) {
    constexpr int kMax = 33;
    struct Addend {
        bool negative;
        int64_t significand;
        int exponent, unit;  // significand * 2^unit
    } addends[kMax];
    int count = 0;
    float special = 0;  // the sum of what is not finite
    const auto include = [&](bool negative, int64_t significand, int exponent, int fraction) {
        addends[count++] = {negative, significand, exponent, exponent - fraction};
    };
    for (int k = 0; k < n; ++k) {
        const float x = a[k * a_step], y = b[k * b_step];
        const Number p = number(x, r.least_operand), q = number(y, r.least_operand);
        if (std::isfinite(x) && std::isfinite(y))
            include(p.negative != q.negative, p.significand * q.significand,
                    p.exponent + q.exponent, 46);
        else special += x * y;
    }
    const Number p = number(c, r.least());
    if (std::isfinite(c)) include(p.negative, p.significand, p.exponent, 23);
    else special += c;
    if (std::isnan(special)) return float_of(0x7fffffff);
    if (special != 0) return special;

    int largest = r.floor();
    for (const Addend* x = addends; x < addends + count; ++x)
        if (x->significand) largest = std::max(largest, x->exponent);
    const int unit = largest - r.fraction;
    int64_t sum = 0;
    for (const Addend* x = addends; x < addends + count; ++x) {
        const int up = x->unit - unit;
        const int64_t aligned = up >= 0    ? x->significand << std::min(up, 63)
                                : up > -63 ? x->significand >> -up
                                           : 0;
        sum += x->negative ? -aligned : aligned;
    }
    return rounded(r, sum, unit);
}

}  // namespace emulator::tensor_core

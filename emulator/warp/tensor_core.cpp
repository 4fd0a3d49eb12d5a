// tensor_core_multiply(): whole matrices by the rules of tensor_core.h, several elements at a time by
// SIMD where every intermediate value is exact in a float or an int.
// 07_fragment_probe/tests/tensor_core_check.cu compares it with tensor_core.h.

#include "emulator/include/tensor_core.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "emulator/include/fragments.h"
#include "emulator/include/half_sums.h"

namespace emulator {
namespace {

using tensor_core::Rules;

// SIMD vectors of 16 bytes: four floats or ints, two doubles or longs.
typedef float Floats __attribute__((vector_size(16)));
typedef int Ints __attribute__((vector_size(16)));
typedef double Doubles __attribute__((vector_size(16)));
typedef int64_t Longs __attribute__((vector_size(16)));
// A vector of floats holds kLanes columns of a matrix; add_fast() computes kColumns at a time.
constexpr int kLanes = 4, kParts = 2, kColumns = kLanes * kParts;

// The fast path takes elements of A and B that are normal numbers with exponents from -kMaxExponent
// to kMaxExponent, or zeros. Elements of C may be smaller and larger, so that a sum can be the next
// group's C.
constexpr int kMaxExponent = 50, kMinSumExponent = -100;
constexpr int kExponent = 255 << 23;  // a float's bits that hold its exponent
constexpr int exponent_bits(int exponent) { return (exponent + 127) << 23; }

inline Floats load(const float* from) {
    Floats x;
    std::memcpy(&x, from, sizeof x);
    return x;
}
inline Floats broadcast(float x) { return Floats{x, x, x, x}; }
// 2 to the power of each number's exponent; 0 for a zero.
inline Floats power_of(const Floats& x) { return (Floats)((Ints)x & kExponent); }
inline Floats larger(const Floats& x, const Floats& y) { return x > y ? x : y; }

// Whether any of the numbers looked at is neither 0 nor has an exponent from `least` to `most`. NaN
// and infinity are such numbers, too.
struct OutOfRange {
    int low, high;
    Ints any = {};
    OutOfRange(int least, int most) : low(exponent_bits(least)), high(exponent_bits(most + 1)) {}
    void look_at(const Floats& x) {
        const Ints magnitude = (Ints)x & INT32_MAX;
        any |= (magnitude >= high) | ((magnitude < low) & (magnitude > 0));
    }
    explicit operator bool() const {
        const Longs both = (Longs)any;
        return (both[0] | both[1]) != 0;
    }
};

// add() for a block of columns of B and of D, and for a row of A.
inline void add_fast(const Rules& r, int n, const float* a, int a_k, const float* b, int b_k,
                     float* d) {
    const int floor = exponent_bits(std::max(r.floor(), kMinSumExponent));
    Floats c[kParts], largest[kParts], scales[kParts];
    for (int p = 0; p < kParts; ++p) {
        c[p] = load(d + p * kLanes);
        largest[p] = larger(power_of(c[p]), broadcast(tensor_core::float_of(uint32_t(floor))));
    }
    for (int k = 0; k < n; ++k) {
        const Floats power = power_of(broadcast(a[k * a_k]));
        for (int p = 0; p < kParts; ++p)
            largest[p] = larger(largest[p], power * power_of(load(b + k * b_k + p * kLanes)));
    }
    Ints sums[kParts] = {};
    for (int p = 0; p < kParts; ++p)  // 2^(fraction - exponent)
        scales[p] = (Floats)(exponent_bits(r.fraction) - ((Ints)largest[p] - exponent_bits(0)));
    // A product has at most 22 bits, so that it is exact in a float, and so is its multiple by a
    // power of two. The conversion to int truncates. The sum of 16 products stays below 2^31.
    for (int k = 0; k < n; ++k) {
        const Floats x = broadcast(a[k * a_k]);
        for (int p = 0; p < kParts; ++p)
            sums[p] +=
                __builtin_convertvector(x * load(b + k * b_k + p * kLanes) * scales[p], Ints);
    }
    for (int p = 0; p < kParts; ++p) {
        const Ints aligned = __builtin_convertvector(c[p] * scales[p], Ints);
        const Ints units = (Ints)largest[p] - r.fraction * (1 << 23);  // bits of 2^unit
        if (r.half || r.kept() < 23) {
            for (int i = 0; i < kLanes; ++i)
                d[p * kLanes + i] = tensor_core::rounded(r, int64_t(sums[p][i]) + aligned[i],
                                                         (units[i] >> 23) - 127);
            continue;
        }
        // A double holds the sum. Without the last 29 of its bits a float does, too.
        for (int i = 0; i < kLanes; i += 2) {
            Doubles sum = {double(sums[p][i]), double(sums[p][i + 1])};
            sum += Doubles{double(aligned[i]), double(aligned[i + 1])};
            sum *= Doubles{double(((Floats)units)[i]), double(((Floats)units)[i + 1])};
            sum = (Doubles)((Longs)sum & ~int64_t(0x1fffffff));
            d[p * kLanes + i] = float(sum[0]);
            d[p * kLanes + i + 1] = float(sum[1]);
        }
    }
}

}  // namespace

void tensor_core_multiply(tensor_core::Type type, const WarpCall* in_half, int m, int n, int k,
                          const float* a, int a_row, int a_k, const float* b, int b_k, float* d,
                          int d_row) {
    const Rules r = tensor_core::rules(architecture(), type, in_half != nullptr);
    uint64_t lost = 0;  // sums in half that have stayed as they were, though products were added
    OutOfRange operand(std::max(r.least_operand, -kMaxExponent), kMaxExponent);
    for (int row = 0; row < m; ++row)
        for (int i = 0; i < k; ++i) operand.look_at(broadcast(a[row * a_row + i * a_k]));
    for (int i = 0; i < k; ++i)
        for (int col = 0; col < n; col += kLanes) operand.look_at(load(b + i * b_k + col));
    const bool operands_fit = !operand;
    for (int row = 0; row < m; ++row)
        for (int col = 0; col < n; col += kColumns)
            for (int first = 0; first < k; first += r.products) {
                const int count = std::min(r.products, k - first);
                const float* const left = a + row * a_row + first * a_k;
                const float* const right = b + first * b_k + col;
                float* const sums = d + row * d_row + col;
                OutOfRange sum(std::max(r.least(), kMinSumExponent), 2 * kMaxExponent);
                for (int i = 0; i < kColumns; i += kLanes) sum.look_at(load(sums + i));
                float before[kColumns];
                if (in_half) std::copy_n(sums, kColumns, before);
                if (operands_fit && !sum) add_fast(r, count, left, a_k, right, b_k, sums);
                else
                    for (int i = 0; i < kColumns; ++i)
                        sums[i] = tensor_core::add(r, count, left, a_k, right + i, b_k, sums[i]);
                for (int i = 0; in_half && i < kColumns; ++i) {
                    if (sums[i] != before[i] || !std::isfinite(sums[i])) continue;
                    float products = 0;
                    for (int j = 0; j < count; ++j) products += left[j * a_k] * right[j * b_k + i];
                    lost += products != 0;
                }
            }
    const uint64_t additions = uint64_t(m) * n * ((k + r.products - 1) / r.products);
    if (in_half) note_additions(in_half->file, in_half->line, additions, lost);
}

}  // namespace emulator

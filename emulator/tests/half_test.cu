// The types half and bfloat16, which need no kernel.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "emulator/emulator.h"

namespace {

static_assert(sizeof(half) == 2 && std::is_trivially_copyable_v<half> &&
              std::is_trivially_default_constructible_v<half>);
static_assert(sizeof(__nv_bfloat16) == 2 && std::is_trivially_copyable_v<__nv_bfloat16>);
static_assert(std::is_trivially_default_constructible_v<__nv_bfloat16>);
static_assert(sizeof(half2) == 4 && alignof(half2) == 4 &&
              std::is_trivially_default_constructible_v<half2>);

float from_bits(uint32_t bits) { return __builtin_bit_cast(float, bits); }
uint32_t bits_of(float x) { return __builtin_bit_cast(uint32_t, x); }
bool same(double a, double b) {
    return (a != a && b != b) || (a == b && std::signbit(a) == std::signbit(b));
}

// x rounded to nearest even, to `digits` bits of significand (11: half, 8: bfloat16) and no less
// than the given power of two.
double rounded(double x, int digits, int smallest_exponent, double overflow) {
    if (x == 0 || !std::isfinite(x)) return x;
    const double unit = std::ldexp(1, std::max(std::ilogb(x), smallest_exponent) - (digits - 1));
    const double result = std::nearbyint(x / unit) * unit;
    return std::fabs(result) >= overflow ? std::copysign(INFINITY, x) : result;
}
double as_half(double x) { return rounded(x, 11, -14, 65536); }
double as_bfloat16(double x) { return rounded(x, 8, -126, 0x1p128); }

TEST(Half, EveryOneComesBackFromAFloat) {
    for (unsigned bits = 0; bits < 65536; ++bits) {
        const half h = __ushort_as_half(bits);
        ASSERT_EQ(__half_as_ushort(__float2half(__half2float(h))), bits);
        const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
        const double size =
            exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
        const double value = exponent < 31 ? size : mantissa ? NAN : INFINITY;
        ASSERT_TRUE(same(float(h), bits & 0x8000 ? -value : value)) << bits;
        const __nv_bfloat16 b = __ushort_as_bfloat16(bits);
        ASSERT_EQ(bits_of(float(b)), bits << 16);
        ASSERT_EQ(__bfloat16_as_ushort(__float2bfloat16(float(b))), bits);
    }
}

TEST(Half, FloatsAreRoundedToNearestEven) {
    const auto check = [](float x) {
        ASSERT_TRUE(same(float(half(x)), as_half(x))) << x;
        ASSERT_TRUE(same(float(__nv_bfloat16(x)), as_bfloat16(x))) << x;
    };
    for (uint64_t bits = 0; bits < uint64_t(1) << 32; bits += 997) check(from_bits(bits));
    for (unsigned bits = 0; bits < 0x7c00;
         ++bits) {  // around each half, and around the midpoint between it and the next
        const uint32_t here = bits_of(half(__ushort_as_half(bits)));
        const double next = bits == 0x7bff ? 65536 : float(__ushort_as_half(bits + 1));
        const uint32_t middle = bits_of(float((double(from_bits(here)) + next) / 2));
        for (int off : {-1, 0, 1}) {
            if (here) {
                check(from_bits(here + off));
                check(-from_bits(here + off));
            }
            check(from_bits(middle + off));
            check(-from_bits(middle + off));
        }
    }
    EXPECT_EQ(__half_as_ushort(from_bits(0x7f800001)), 0x7e00)
        << "NaN whose payload is lost stays NaN";
    EXPECT_EQ(__bfloat16_as_ushort(from_bits(0x7f800001)), 0x7fc0);
    EXPECT_EQ(__half_as_ushort(from_bits(0xffa00000)), 0xfd00);
}

TEST(Half, DoublesAndIntsAreRoundedOnce) {
    // As floats the second and third would be rounded to 2049 and -2051 first.
    const std::pair<half, float> rounded[] = {
        {2049.0, 2048},         {2049 + 1e-12, 2050}, {-2051 + 1e-12, -2050},
        {1e300, INFINITY},      {1e-300, 0},          {65519.999999, 65504},
        {2049, 2048},           {-2051ll, -2052},     {0x1p-25 + 0x1p-70, 0x1p-24f},
        {-INFINITY, -INFINITY},
    };
    for (const auto& [from, to] : rounded) EXPECT_EQ(float(from), to);
    EXPECT_EQ(float(__nv_bfloat16((1u << 30) + (1u << 22) + 1)), 1073741824.0f + (1 << 23));
}

// round(N * 2^-48), of an exact integer.
double round_exactly(__int128 n) {
    const bool negative = n < 0;
    unsigned __int128 size = negative ? -n : n;
    int shift = 24;  // a half's last bit is worth 2^-24 at least
    while (size >> shift >= 2048) ++shift;
    const unsigned __int128 unit = (unsigned __int128)(1) << shift, rest = size % unit;
    size /= unit;
    if (rest > unit / 2 || (rest == unit / 2 && size % 2)) ++size;
    const double value = std::ldexp(double(size), shift - 48);
    return (negative ? -1 : 1) * (value >= 65536 ? INFINITY : value);
}

TEST(Half, FmaIsRoundedOnce) {
    std::mt19937 random(1);
    const auto any = [&] { return __ushort_as_half(random() % 65536); };
    const auto integer = [](half h) { return __int128(std::ldexp(float(h), 24)); };
    for (int i = 0; i < 300000; ++i) {
        const half a = any(), b = any(), c = any();
        if (!std::isfinite(float(a) * float(b) + float(c))) continue;
        const double expected = round_exactly(integer(a) * integer(b) + (integer(c) << 24));
        ASSERT_EQ(float(__hfma(a, b, c)), expected)
            << float(a) << " * " << float(b) << " + " << float(c);
    }
    const half big = 2049 / 2048.0 * 1024,
               one_more = 1 + 0x1p-10;  // a product midway between two halves, and a little more
    EXPECT_EQ(float(__hfma(half(1025), one_more, half(0x1p-24f))),
              as_half(1025 * (1 + 0x1p-10) + 0x1p-24));
    EXPECT_EQ(float(__hfma(big, half(2), half(0))), float(big) * 2);
    // 385 * 3 * 2^-n has 11 bits; bfloat16 keeps 8. The tie is decided by 2^-100, which a double
    // cannot hold.
    const __nv_bfloat16 x = 129, y = 1.5f, tiny = 0x1p-100f;  // 193.5, between 193 and 194
    EXPECT_EQ(float(__hfma(x, y, tiny)), 194);
    EXPECT_EQ(float(__hfma(x, y, __hneg(tiny))), 193);
}

TEST(Half, ArithmeticAndComparisons) {
    const half a = 1.5f, b = -2.25f, nan = NAN;
    half c = a;
    c += b;
    c *= b;
    c -= a;
    c /= a;
    const std::pair<half, double> results[] = {
        // clang-format off
        {a + b, -0.75}, {a - b, 3.75}, {a * b, -3.375}, {a / b, as_half(1.5 / -2.25)},
        {c, as_half((-0.75 * -2.25 - 1.5) / 1.5)}, {__hadd(a, b), -0.75}, {__hsub(a, b), 3.75}, {__hmul(a, b), -3.375},
        {__hneg(a), -1.5}, {half(1024) + half(0.5f), 1024}, {half(60000) + half(60000), INFINITY},
        // clang-format on
    };
    for (const auto& [result, expected] : results)
        EXPECT_EQ(float(result), expected) << &result - &results[0].first;
    EXPECT_TRUE(b < a && a > b && a == a && a != b && a >= a && b <= a && __hlt(b, a) &&
                __hgt(a, b) && __heq(a, a) && __hne(a, b));
    EXPECT_FALSE(nan == nan || nan < a || nan > a || nan <= a || nan >= a || __hne(nan, nan));
    EXPECT_TRUE(nan != nan);
    EXPECT_TRUE(__half_as_ushort(-half(0)) == 0x8000 && half(0) == -half(0));
    const __nv_bfloat16 d = 3, e = 0.5f;
    EXPECT_EQ(float(d * e + d / e - d), 1.5f + 6 - 3);
}

TEST(Half, Pairs) {
    const half2 a = __floats2half2_rn(1, 2), b = __halves2half2(half(3), half(5));
    const float2 f = __half22float2(b);
    half2 c = a;
    c += b;
    c *= a;
    const struct {
        half2 pair;
        float low, high;
    } pairs[] = {
        // clang-format off
        {a, 1, 2}, {b, 3, 5}, {c, 4, 14}, {__float2half2_rn(7), 7, 7}, {__half2half2(half(4)), 4, 4}, {__float22half2_rn(f), 3, 5},
        {a + b, 4, 7}, {b - a, 2, 3}, {a * b, 3, 10}, {b / a, 3, 2.5f}, {-a, -1, -2}, {__hadd2(a, b), 4, 7},
        {__hmul2(a, b), 3, 10}, {__hfma2(a, b, a), 4, 12}, {__hsub2(a, b), -2, -3}, {__low2half2(a), 1, 1},
        {__high2half2(a), 2, 2}, {__lows2half2(a, b), 1, 3}, {__highs2half2(a, b), 2, 5},
        // clang-format on
    };
    for (const auto& [pair, low, high] : pairs)
        EXPECT_TRUE(__low2float(pair) == low && __high2float(pair) == high)
            << "pair " << &low - &pairs[0].low;
    EXPECT_TRUE(float(__low2half(b)) == 3 && float(__high2half(b)) == 5 && a == a && a != b &&
                f.x == 3 && f.y == 5);
}

// Sums that stagnate are noted; a small addend now and then is not.
template <class T>
std::vector<std::string> notes_of(int additions, bool to_one_sum) {
    emulator::reset_counts();
    T sum = 0.0f;
    for (int i = 0; i < additions; ++i) {
        if (!to_one_sum) sum = float(i % 100);
        sum += T(to_one_sum ? 1.0f : 0.0001f);
    }
    return emulator::counts().notes;
}
TEST(Half, SumsThatStandStillAreNoted) {
    for (const auto& [notes, said] :
         {std::pair(notes_of<half>(4096, true), "half has 11 significant bits"),
          {notes_of<__nv_bfloat16>(4096, true), "bfloat16 has 8 significant bits"}}) {
        ASSERT_EQ(notes.size(), 1u);
        EXPECT_NE(notes[0].find(said), std::string::npos) << notes[0];
    }
    EXPECT_TRUE(notes_of<half>(2048, true).empty());
    EXPECT_TRUE(notes_of<half>(4096, false).empty());
}

}  // namespace

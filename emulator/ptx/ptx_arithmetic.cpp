// Instructions that compute in registers. Floating-point results are computed in double and rounded
// once, to the nearest, unless cvt says otherwise; approximations are more exact than a GPU's.

#include "emulator/ptx/ptx_arithmetic.h"

#include <algorithm>
#include <cmath>

#include "emulator/include/cuda_fp16.h"

namespace emulator::ptx_arithmetic {
namespace {

using Thread = PtxThread;
using Instruction = PtxInstruction;

uint64_t mask(int bytes) { return bytes < 8 ? (uint64_t(1) << 8 * bytes) - 1 : ~uint64_t(0); }

// Applies an operation to the elements of up to three registers after the first argument.
// of_floating(a, b, c) for floating-point types; of_integers(a, b, c) for others, sign-extended as the type is.
template <class OfFloating, class OfIntegers>
void each(Thread& t, const Instruction& i, const OfFloating& of_floating,
          const OfIntegers& of_integers) {
    const PtxType type = i.type();
    if (!type.kind) t.refuse("lacks a type");
    const auto& arguments = i.arguments;
    uint64_t in[3] = {}, result = 0;
    for (size_t a = 1; a < arguments.size() && a < 4; ++a) in[a - 1] = t.bits(arguments[a], type);
    const PtxType element{type.kind, type.bytes};
    for (int part = 0; part < type.count; ++part) {
        const int shift = 8 * type.bytes * part;
        uint64_t bits;
        if (type.is_floating()) {
            double x[3];
            for (int a = 0; a < 3; ++a)
                x[a] = double_of(in[a] >> shift & mask(type.bytes), element);
            double y = of_floating(x[0], x[1], x[2]);
            if (i.has("sat")) y = y > 0 ? std::min(y, 1.0) : 0;
            if (i.has("relu")) y = y > 0 || y != y ? y : 0;
            bits = bits_of_double(y, element);
        } else {
            int64_t x[3];
            const int unused = 64 - 8 * type.bytes;
            for (int a = 0; a < 3; ++a) {
                const uint64_t raw = in[a] << unused;
                x[a] = type.kind == 's' ? int64_t(raw) >> unused : int64_t(raw >> unused);
            }
            bits = uint64_t(of_integers(x[0], x[1], x[2]));
        }
        result |= (bits & mask(type.bytes)) << shift;
    }
    t.write(arguments[0], type, result);
}

const auto kNoReals = [](double, double, double) { return 0.0; };
const auto kNoIntegers = [](int64_t, int64_t, int64_t) { return int64_t(0); };

// It wraps.
int64_t plus(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }

// mul.lo, mul.hi and mul.wide of integers.
void multiply(Thread& t, const Instruction& i, bool adds) {
    const PtxType type = i.type();
    const __int128 product =
        type.kind == 's'
            ? __int128(t.integer(i.arguments[1], type)) * t.integer(i.arguments[2], type)
            : __int128((unsigned __int128)t.bits(i.arguments[1], type) *
                       t.bits(i.arguments[2], type));
    const PtxType to{type.kind, i.has("wide") ? 2 * type.bytes : type.bytes};
    uint64_t result = uint64_t(i.has("hi") ? product >> 8 * type.bytes : product);
    if (adds) result += t.bits(i.arguments[3], to);
    t.write(i.arguments[0], to, result & mask(to.bytes));
}

template <class Function>
void of_one_floating(Thread& t, const Instruction& i, const Function& function) {
    if (!i.type().is_floating()) t.refuse("takes a floating-point type");
    each(
        t, i, [&](double a, double, double) { return function(a); }, kNoIntegers);
}

template <class Function>
void of_bits(Thread& t, const Instruction& i, const Function& function) {
    each(t, i, kNoReals, function);
}

bool compare(const std::string& how, double a, double b) {
    const bool ordered = a == a && b == b;
    if (how == "eq") return a == b;
    if (how == "ne") return ordered && a != b;
    if (how == "lt") return a < b;
    if (how == "le") return a <= b;
    if (how == "gt") return a > b;
    if (how == "ge") return a >= b;
    if (how == "num") return ordered;
    if (how == "nan") return !ordered;
    return !ordered || compare(how.substr(0, 2), a, b);  // equ, neu, ltu, ...
}

template <class Integer>
bool compare_integers(const std::string& how, Integer a, Integer b) {
    if (how == "eq") return a == b;
    if (how == "ne") return a != b;
    if (how == "lt" || how == "lo") return a < b;
    if (how == "le" || how == "ls") return a <= b;
    if (how == "gt" || how == "hi") return a > b;
    return a >= b;  // ge, hs
}

double rounded(const Instruction& i, double x) {  // to an integer
    if (i.has("rmi")) return std::floor(x);
    if (i.has("rpi")) return std::ceil(x);
    if (i.has("rzi")) return std::trunc(x);
    if (i.has("rni")) return std::nearbyint(x);
    return x;
}

uint64_t converted(const Instruction& i, uint64_t bits, const PtxType& from, const PtxType& to) {
    if (from.is_floating()) {
        const double x = double_of(bits, from);
        if (to.is_floating()) {
            double y = rounded(i, x);
            if (i.has("sat")) y = y > 0 ? std::min(y, 1.0) : 0;
            if (i.has("relu")) y = y > 0 || y != y ? y : 0;
            uint64_t result = bits_of_double(y, to);
            // Towards zero: one step back where rounding to the nearest has gone too far.
            if (i.has("rz") && std::fabs(double_of(result, to)) > std::fabs(y)) --result;
            // .rna.tf32: to the nearest of those whose last 13 bits are 0.
            if (to.kind == 't') result = (result + (i.has("rz") ? 0 : 0x1000)) & ~uint64_t(0x1fff);
            return result;
        }
        // A value beyond the type's range becomes the nearest integer in it; NaN becomes 0.
        const double y = rounded(i, x), width = 8 * to.bytes;
        const double least = to.kind == 's' ? -std::ldexp(1, int(width) - 1) : 0;
        const double end = std::ldexp(1, int(to.kind == 's' ? width - 1 : width));
        if (y != y) return 0;
        if (y <= least) return uint64_t(to.kind == 's' ? int64_t(least) : 0);
        if (y >= end) return to.kind == 's' ? mask(to.bytes) >> 1 : mask(to.bytes);
        return to.kind == 's' ? uint64_t(int64_t(y)) : uint64_t(y);
    }
    const int unused = 64 - 8 * from.bytes;
    const int64_t x =
        from.kind == 's' ? int64_t(bits << unused) >> unused : int64_t(bits & mask(from.bytes));
    if (to.is_floating())
        return bits_of_double(from.kind == 's' ? double(x) : double(uint64_t(x)), to);
    if (i.has("sat")) {
        const int64_t most =
            int64_t(to.kind == 's' || to.bytes == 8 ? mask(to.bytes) >> 1 : mask(to.bytes));
        const int64_t least = to.kind == 's' ? -most - 1 : 0;
        return uint64_t(std::max(least, std::min(x, most)));
    }
    return uint64_t(x);
}

}  // namespace

void add(Thread& t, const Instruction& i) {
    each(
        t, i, [](double a, double b, double) { return a + b; },
        [](int64_t a, int64_t b, int64_t) { return plus(a, b); });
}
void sub(Thread& t, const Instruction& i) {
    each(
        t, i, [](double a, double b, double) { return a - b; },
        [](int64_t a, int64_t b, int64_t) { return int64_t(uint64_t(a) - uint64_t(b)); });
}
void mul(Thread& t, const Instruction& i) {
    if (!i.type().is_floating()) return multiply(t, i, false);
    each(
        t, i, [](double a, double b, double) { return a * b; }, kNoIntegers);
}
void mad(Thread& t, const Instruction& i) {
    if (!i.type().is_floating()) return multiply(t, i, true);
    fma(t, i);
}
void fma(Thread& t, const Instruction& i) {
    const PtxType type = i.type();
    each(
        t, i,
        [&](double a, double b, double c) {
            return type.bytes == 8   ? std::fma(a, b, c)
                   : type.bytes == 4 ? double(std::fma(float(a), float(b), float(c)))
                                     : double(odd_fma(a, b, c));
        },
        kNoIntegers);
}
void div(Thread& t, const Instruction& i) {
    const bool is_signed = i.type().kind == 's';
    if (!i.type().is_floating() && t.bits(i.arguments[2], i.type()) == 0)
        t.refuse("division by zero");
    each(
        t, i, [](double a, double b, double) { return a / b; },
        [&](int64_t a, int64_t b, int64_t) {
            if (is_signed) return b == -1 ? int64_t(-uint64_t(a)) : a / b;
            return int64_t(uint64_t(a) / uint64_t(b));
        });
}
void rem(Thread& t, const Instruction& i) {
    const bool is_signed = i.type().kind == 's';
    if (t.bits(i.arguments[2], i.type()) == 0) t.refuse("division by zero");
    of_bits(t, i, [&](int64_t a, int64_t b, int64_t) {
        if (is_signed) return b == -1 ? 0 : a % b;
        return int64_t(uint64_t(a) % uint64_t(b));
    });
}
void min(Thread& t, const Instruction& i) {
    const bool is_signed = i.type().kind == 's', nan = i.has("NaN");
    each(
        t, i,
        [&](double a, double b, double) {
            return nan && (a != a || b != b) ? NAN : std::fmin(a, b);
        },
        [&](int64_t a, int64_t b, int64_t) {
            return (is_signed ? a < b : uint64_t(a) < uint64_t(b)) ? a : b;
        });
}
void max(Thread& t, const Instruction& i) {
    const bool is_signed = i.type().kind == 's', nan = i.has("NaN");
    each(
        t, i,
        [&](double a, double b, double) {
            return nan && (a != a || b != b) ? NAN : std::fmax(a, b);
        },
        [&](int64_t a, int64_t b, int64_t) {
            return (is_signed ? a > b : uint64_t(a) > uint64_t(b)) ? a : b;
        });
}
void abs(Thread& t, const Instruction& i) {
    each(
        t, i, [](double a, double, double) { return std::fabs(a); },
        [](int64_t a, int64_t, int64_t) { return a < 0 ? int64_t(-uint64_t(a)) : a; });
}
void neg(Thread& t, const Instruction& i) {
    each(
        t, i, [](double a, double, double) { return -a; },
        [](int64_t a, int64_t, int64_t) { return int64_t(-uint64_t(a)); });
}
void sad(Thread& t, const Instruction& i) {
    of_bits(t, i, [](int64_t a, int64_t b, int64_t c) { return plus(c, a < b ? b - a : a - b); });
}

void and_(Thread& t, const Instruction& i) {
    of_bits(t, i, [](int64_t a, int64_t b, int64_t) { return a & b; });
}
void or_(Thread& t, const Instruction& i) {
    of_bits(t, i, [](int64_t a, int64_t b, int64_t) { return a | b; });
}
void xor_(Thread& t, const Instruction& i) {
    of_bits(t, i, [](int64_t a, int64_t b, int64_t) { return a ^ b; });
}
void not_(Thread& t, const Instruction& i) {
    const bool predicate = i.type().kind == 'p';
    of_bits(t, i, [&](int64_t a, int64_t, int64_t) { return predicate ? !a : ~a; });
}

// Shifts by as many bits as there are, or more, shift everything out.
void shl(Thread& t, const Instruction& i) {
    const uint64_t by = t.word(i.arguments[2]);
    const PtxType type = i.type();
    t.write(i.arguments[0], type,
            by < 8u * type.bytes ? t.bits(i.arguments[1], type) << by & mask(type.bytes) : 0);
}
void shr(Thread& t, const Instruction& i) {
    const PtxType type = i.type();
    const uint64_t by = std::min<uint64_t>(t.word(i.arguments[2]), 8 * type.bytes);
    const int64_t a = t.integer(i.arguments[1], type);
    const int64_t shifted = type.kind == 's' ? a >> std::min<uint64_t>(by, 63)
                            : by < 64        ? int64_t(uint64_t(a) >> by)
                                             : 0;
    t.write(i.arguments[0], type, uint64_t(shifted) & mask(type.bytes));
}
void shf(Thread& t, const Instruction& i) {
    const uint64_t both = uint64_t(t.word(i.arguments[2])) << 32 | t.word(i.arguments[1]);
    uint32_t by = t.word(i.arguments[3]);
    by = i.has("wrap") ? by & 31 : std::min(by, 32u);
    t.write(i.arguments[0], {'b', 4}, uint32_t(i.has("l") ? both << by >> 32 : both >> by));
}
void lop3(Thread& t, const Instruction& i) {
    const uint64_t table = t.word(i.arguments[4]);
    of_bits(t, i, [&](int64_t a, int64_t b, int64_t c) {
        int64_t result = 0;
        for (int bit = 0; bit < 32; ++bit)
            result |=
                int64_t(table >> ((a >> bit & 1) << 2 | (b >> bit & 1) << 1 | (c >> bit & 1)) & 1)
                << bit;
        return result;
    });
}
void bfe(Thread& t, const Instruction& i) {
    const PtxType type = i.type();
    const unsigned width = 8 * type.bytes, first = t.word(i.arguments[2]) & 0xff;
    const unsigned length = t.word(i.arguments[3]) & 0xff;
    const uint64_t a = t.bits(i.arguments[1], type);
    const uint64_t sign =
        type.kind == 's' && length ? a >> std::min(first + length - 1, width - 1) & 1 : 0;
    uint64_t result = 0;
    for (unsigned bit = 0; bit < width; ++bit)
        result |= (bit < length && first + bit < width ? a >> (first + bit) & 1 : sign) << bit;
    t.write(i.arguments[0], type, result);
}
void bfi(Thread& t, const Instruction& i) {
    const PtxType type = i.type();
    const unsigned width = 8 * type.bytes, first = t.word(i.arguments[3]) & 0xff;
    const unsigned length = t.word(i.arguments[4]) & 0xff;
    const uint64_t a = t.bits(i.arguments[1], type);
    uint64_t result = t.bits(i.arguments[2], type);
    for (unsigned bit = 0; bit < length && first + bit < width; ++bit)
        result = (result & ~(uint64_t(1) << (first + bit))) | (a >> bit & 1) << (first + bit);
    t.write(i.arguments[0], type, result);
}
void brev(Thread& t, const Instruction& i) {
    const int width = 8 * i.type().bytes;
    of_bits(t, i, [&](int64_t a, int64_t, int64_t) {
        int64_t result = 0;
        for (int bit = 0; bit < width; ++bit) result |= (a >> bit & 1) << (width - 1 - bit);
        return result;
    });
}
void clz(Thread& t, const Instruction& i) {
    const uint64_t a = t.bits(i.arguments[1], i.type());
    const int unused = 64 - 8 * i.type().bytes;
    t.write(i.arguments[0], {'u', 4}, uint64_t((a ? __builtin_clzll(a) : 64) - unused));
}
void popc(Thread& t, const Instruction& i) {
    t.write(i.arguments[0], {'u', 4},
            uint64_t(__builtin_popcountll(t.bits(i.arguments[1], i.type()))));
}
void prmt(Thread& t, const Instruction& i) {
    t.write(i.arguments[0], {'b', 4},
            __byte_perm(t.word(i.arguments[1]), t.word(i.arguments[2]), t.word(i.arguments[3])));
}

void setp(Thread& t, const Instruction& i) {
    const PtxType type = i.type();
    const std::string& how = i.modifiers[0];
    bool holds;
    if (type.is_floating())
        holds = compare(how, t.floating(i.arguments[1], type), t.floating(i.arguments[2], type));
    else if (type.kind == 's')
        holds =
            compare_integers(how, t.integer(i.arguments[1], type), t.integer(i.arguments[2], type));
    else holds = compare_integers(how, t.bits(i.arguments[1], type), t.bits(i.arguments[2], type));
    bool other = !holds;  // of p|q
    if (i.arguments.size() > 3) {
        const bool third = t.holds(i.arguments[3]);
        const auto combined = [&](bool x) {
            return i.has("and") ? x && third : i.has("or") ? x || third : x != third;
        };
        other = combined(!holds);
        holds = combined(holds);
    }
    const PtxArgument& to = i.arguments[0];
    if (to.kind != PtxArgument::pair) return t.set_predicate(to, holds);
    t.set_predicate(to.parts[0], holds);
    t.set_predicate(to.parts[1], other);
}
void selp(Thread& t, const Instruction& i) {
    const PtxType type = i.type();
    t.write(i.arguments[0], type, t.bits(i.arguments[t.holds(i.arguments[3]) ? 1 : 2], type));
}
void slct(Thread& t, const Instruction& i) {
    const PtxType type = i.types.front(), chooses = i.type();
    const bool first = chooses.is_floating() ? t.floating(i.arguments[3], chooses) >= 0
                                             : t.integer(i.arguments[3], chooses) >= 0;
    t.write(i.arguments[0], type, t.bits(i.arguments[first ? 1 : 2], type));
}

// cvt.rn.f16x2.f32 d, a, b: a goes to the upper half.
void cvt(Thread& t, const Instruction& i) {
    if (i.types.size() != 2) t.refuse("needs two types");
    const PtxType to = i.types[0], from = i.types[1];
    const PtxType element{to.kind, to.bytes};
    if (to.count == 2) {
        const auto half = [&](const PtxArgument& argument) {
            return converted(i, t.bits(argument, from), from, element) & 0xffff;
        };
        return t.write(i.arguments[0], to, half(i.arguments[1]) << 16 | half(i.arguments[2]));
    }
    t.write(i.arguments[0], to,
            converted(i, t.bits(i.arguments[1], from), from, to) & mask(to.bytes));
}

// mov also packs {a, b} into one register, and unpacks one.
void mov(Thread& t, const Instruction& i) {
    const PtxType type = i.type();
    const PtxArgument &to = i.arguments[0], &from = i.arguments[1];
    uint64_t bits = 0;
    if (from.kind == PtxArgument::list) {
        const PtxType part{'b', type.bytes / int(from.parts.size())};
        for (size_t p = 0; p < from.parts.size(); ++p)
            bits |= t.bits(from.parts[p], part) << 8 * part.bytes * p;
    } else {
        bits = t.bits(from, type);
    }
    if (to.kind != PtxArgument::list) return t.write(to, type, bits);
    const PtxType part{'b', type.bytes / int(to.parts.size())};
    for (size_t p = 0; p < to.parts.size(); ++p)
        t.write(to.parts[p], part, bits >> 8 * part.bytes * p & mask(part.bytes));
}

void rcp(Thread& t, const Instruction& i) {
    of_one_floating(t, i, [](double a) { return 1 / a; });
}
void sqrt(Thread& t, const Instruction& i) {
    of_one_floating(t, i, [](double a) { return std::sqrt(a); });
}
void rsqrt(Thread& t, const Instruction& i) {
    of_one_floating(t, i, [](double a) { return 1 / std::sqrt(a); });
}
void ex2(Thread& t, const Instruction& i) {
    of_one_floating(t, i, [](double a) { return std::exp2(a); });
}
void lg2(Thread& t, const Instruction& i) {
    of_one_floating(t, i, [](double a) { return std::log2(a); });
}
void sin(Thread& t, const Instruction& i) {
    of_one_floating(t, i, [](double a) { return std::sin(a); });
}
void cos(Thread& t, const Instruction& i) {
    of_one_floating(t, i, [](double a) { return std::cos(a); });
}
void tanh(Thread& t, const Instruction& i) {
    of_one_floating(t, i, [](double a) { return std::tanh(a); });
}

void dp4a(Thread& t, const Instruction& i) {
    const bool signed_a = i.types[0].kind == 's', signed_b = i.types.back().kind == 's';
    const uint32_t a = t.word(i.arguments[1]), b = t.word(i.arguments[2]);
    uint32_t sum = t.word(i.arguments[3]);
    for (int byte = 0; byte < 4; ++byte) {
        const uint8_t x = uint8_t(a >> 8 * byte), y = uint8_t(b >> 8 * byte);
        sum +=
            uint32_t((signed_a ? int(int8_t(x)) : int(x)) * (signed_b ? int(int8_t(y)) : int(y)));
    }
    t.write(i.arguments[0], {'b', 4}, sum);
}
void dp2a(Thread& t, const Instruction& i) {
    const bool signed_a = i.types[0].kind == 's', signed_b = i.types.back().kind == 's';
    const uint32_t a = t.word(i.arguments[1]), b = t.word(i.arguments[2]) >> (i.has("hi") ? 16 : 0);
    uint32_t sum = t.word(i.arguments[3]);
    for (int half = 0; half < 2; ++half) {
        const auto x = uint16_t(a >> 16 * half);
        const auto y = uint8_t(b >> 8 * half);
        sum +=
            uint32_t((signed_a ? int(int16_t(x)) : int(x)) * (signed_b ? int(int8_t(y)) : int(y)));
    }
    t.write(i.arguments[0], {'b', 4}, sum);
}

}  // namespace emulator::ptx_arithmetic

// Instructions that compute in registers. Floating-point results are rounded to nearest even, once;
// cvt also has the other roundings. Approximations are more exact than a GPU's.

#include "emulator/ptx/ptx_arithmetic.h"

#include <algorithm>
#include <climits>
#include <cmath>

#include "emulator/include/cuda_fp16.h"

namespace emulator::ptx_arithmetic {
namespace {

using Thread = PtxThread;
using Instruction = PtxInstruction;

uint64_t mask(int bytes) { return bytes < 8 ? (uint64_t(1) << 8 * bytes) - 1 : ~uint64_t(0); }

// The integer in the lowest bits of a register, as its type extends it to 64 bits.
int64_t extended(uint64_t bits, const PtxType& type) {
    const int unused = 64 - 8 * type.bytes;
    return type.kind == 's' ? int64_t(bits << unused) >> unused : int64_t(bits << unused >> unused);
}

// Applies bits_of(a, b, c) to the bits of up to three source operands, element by element if the
// type is packed, and writes the result to arguments[0].
template <class BitsOf>
void per_element(Thread& t, const Instruction& i, const BitsOf& bits_of) {
    const PtxType type = i.type();
    uint64_t in[3] = {}, result = 0;
    for (size_t a = 1; a < i.arguments.size() && a < 4; ++a)
        in[a - 1] = t.bits(i.arguments[a], type);
    for (int shift = 0; shift < 8 * type.width(); shift += 8 * type.bytes)
        result |= (bits_of(in[0] >> shift & mask(type.bytes), in[1] >> shift & mask(type.bytes),
                           in[2] >> shift & mask(type.bytes)) &
                   mask(type.bytes))
                  << shift;
    t.write(i.arguments[0], type, result);
}

// .ftz: a subnormal number becomes a zero of its sign. Only f16, bf16 and f32 have it.
double flushed(const Instruction& i, double x, const PtxType& type) {
    const double least = type.kind == 'f' && type.bytes == 2 ? 0x1p-14 : 0x1p-126;
    return type.bytes < 8 && i.has("ftz") && std::fabs(x) < least ? std::copysign(0., x) : x;
}

template <class Real>
Real clamped(const Instruction& i, Real x) {
    if (i.has("sat")) x = x > 0 ? std::min(x, Real(1)) : 0;
    if (i.has("relu")) x = x > 0 || x != x ? x : 0;
    return x;
}

// function(a, b, c) of doubles.
template <class Function>
void floating_op(Thread& t, const Instruction& i, const Function& function) {
    const PtxType element{i.type().kind, i.type().bytes};
    const auto value = [&](uint64_t bits) { return flushed(i, double_of(bits, element), element); };
    per_element(t, i, [&](uint64_t a, uint64_t b, uint64_t c) {
        const double exact = clamped(i, function(value(a), value(b), value(c)));
        const uint64_t bits = bits_of_double(exact, element);
        return i.has("ftz") ? bits_of_double(value(bits), element) : bits;
    });
}

// function(a, b, c) of integers, which are sign-extended if the type is signed and zero-extended
// otherwise.
template <class Function>
void integer_op(Thread& t, const Instruction& i, const Function& function) {
    const PtxType type = i.type();
    per_element(t, i, [&](uint64_t a, uint64_t b, uint64_t c) {
        return uint64_t(function(extended(a, type), extended(b, type), extended(c, type)));
    });
}

// Sums and differences that wrap around instead of overflowing.
int64_t plus(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }
int64_t minus(int64_t a, int64_t b) { return int64_t(uint64_t(a) - uint64_t(b)); }

// The .sat of integers, which only add, sub and mad.hi of s32 have.
void refuse_sat(Thread& t, const Instruction& i, bool has_it) {
    if (i.has("sat") && !(has_it && i.type().kind == 's' && i.type().bytes == 4))
        t.refuse("these integers have no .sat");
}
int64_t saturated(const Instruction& i, int64_t x) {
    return i.has("sat") ? std::clamp<int64_t>(x, INT_MIN, INT_MAX) : x;
}

// Integer mul and mad: .lo, .hi and .wide.
void multiply(Thread& t, const Instruction& i, bool adds) {
    const PtxType type = i.type();
    refuse_sat(t, i, adds && i.has("hi"));
    const __int128 product =
        type.kind == 's'
            ? __int128(t.integer(i.arguments[1], type)) * t.integer(i.arguments[2], type)
            : __int128((unsigned __int128)t.bits(i.arguments[1], type) *
                       t.bits(i.arguments[2], type));
    const PtxType to{type.kind, i.has("wide") ? 2 * type.bytes : type.bytes};
    int64_t result = int64_t(i.has("hi") ? product >> 8 * type.bytes : product);
    if (adds) result = saturated(i, plus(result, t.integer(i.arguments[3], to)));
    t.write(i.arguments[0], to, uint64_t(result) & mask(to.bytes));
}

bool compare(const std::string& op, double a, double b) {
    const bool ordered = a == a && b == b;
    if (op == "eq") return a == b;
    if (op == "ne") return ordered && a != b;
    if (op == "lt") return a < b;
    if (op == "le") return a <= b;
    if (op == "gt") return a > b;
    if (op == "ge") return a >= b;
    if (op == "num") return ordered;
    if (op == "nan") return !ordered;
    return !ordered || compare(op.substr(0, 2), a, b);  // equ, neu, ltu, ...
}

template <class Integer>
bool compare_integers(const std::string& op, Integer a, Integer b) {
    if (op == "eq") return a == b;
    if (op == "ne") return a != b;
    if (op == "lt" || op == "lo") return a < b;
    if (op == "le" || op == "ls") return a <= b;
    if (op == "gt" || op == "hi") return a > b;
    return a >= b;  // ge, hs
}

// The operators of setp for a type.
const char* operators(const PtxType& type) {
    if (type.is_floating()) return " eq ne lt le gt ge equ neu ltu leu gtu geu num nan ";
    if (type.kind == 'b') return " eq ne ";
    return type.kind == 's' ? " eq ne lt le gt ge " : " eq ne lt le gt ge lo ls hi hs ";
}

double to_integer(const Instruction& i, double x) {
    if (i.has("rmi")) return std::floor(x);
    if (i.has("rpi")) return std::ceil(x);
    if (i.has("rzi")) return std::trunc(x);
    if (i.has("rni")) return std::nearbyint(x);
    return x;
}

// The bits of a number in a floating-point type, rounded as cvt says. A long double holds every
// double and every 64-bit integer exactly.
uint64_t rounded(const Instruction& i, long double exact, const PtxType& type) {
    double nearest = double(exact);
    if (type.bytes < 8) nearest = to_odd<uint64_t>(nearest, double(exact - nearest));
    uint64_t bits = bits_of_double(nearest, type);
    if (type.kind == 't') {  // TF32 keeps 10 of the 23 bits of an f32's mantissa
        if (exact != exact) return bits;
        const uint64_t half = i.has("rz") ? 0 : i.has("rna") ? 0x1000 : 0xfff + (bits >> 13 & 1);
        return (bits + half) & ~uint64_t(0x1fff);
    }
    // One step back where rounding to nearest has gone in the wrong direction.
    const double found = double_of(bits, type);
    if (i.has("rz") && std::fabs(found) > std::fabs(exact)) --bits;
    if (i.has("rm") && found > exact) bits += std::signbit(found) ? 1 : -1;
    if (i.has("rp") && found < exact) bits += std::signbit(found) ? -1 : 1;
    return bits;
}

uint64_t converted(const Instruction& i, uint64_t bits, const PtxType& from, const PtxType& to) {
    const auto flush = [&](double x, const PtxType& type) {  // cvt flushes no other type
        return type.kind == 'f' && type.bytes == 4 ? flushed(i, x, type) : x;
    };
    if (from.is_floating()) {
        const double x = to_integer(i, flush(double_of(bits, from), from));
        if (to.is_floating()) {
            const uint64_t result = rounded(i, clamped(i, x), to);
            return bits_of_double(flush(double_of(result, to), to), to);
        }
        // Values out of range saturate. NaN becomes 0, or with a 64-bit source or result the
        // number that has only the highest bit (PTX ISA, cvt).
        const int width = 8 * to.bytes;
        const bool is_signed = to.kind == 's';
        if (x != x) return from.bytes == 8 || to.bytes == 8 ? uint64_t(1) << (width - 1) : 0;
        const double least = is_signed ? -std::ldexp(1, width - 1) : 0;
        const double end = std::ldexp(1, is_signed ? width - 1 : width);
        if (x <= least) return is_signed ? uint64_t(int64_t(least)) : 0;
        if (x >= end) return is_signed ? mask(to.bytes) >> 1 : mask(to.bytes);
        return is_signed ? uint64_t(int64_t(x)) : uint64_t(x);
    }
    const int64_t x = extended(bits, from);
    const __int128 exact = from.kind == 's' ? __int128(x) : __int128(uint64_t(x));
    if (to.is_floating()) return rounded(i, clamped(i, static_cast<long double>(exact)), to);
    if (!i.has("sat")) return uint64_t(x);
    const __int128 most = to.kind == 's' ? mask(to.bytes) >> 1 : mask(to.bytes);
    return uint64_t(std::clamp(exact, to.kind == 's' ? -most - 1 : 0, most));
}

// A number is chosen before NaN, unless .NaN says otherwise, and -0 is less than +0.
template <bool kMax>
void min_or_max(Thread& t, const Instruction& i) {
    if (i.type().is_floating())
        return floating_op(t, i, [&](double a, double b, double) {
            if (a != a || b != b) return i.has("NaN") ? NAN : a != a ? b : a;
            return (a == b ? std::signbit(a) : a < b) == kMax ? b : a;
        });
    const bool is_signed = i.type().kind == 's';
    integer_op(t, i, [&](int64_t a, int64_t b, int64_t) {
        return (is_signed ? a < b : uint64_t(a) < uint64_t(b)) == kMax ? b : a;
    });
}

}  // namespace

void add(Thread& t, const Instruction& i) {
    if (i.type().is_floating())
        return floating_op(t, i, [](double a, double b, double) { return a + b; });
    refuse_sat(t, i, true);
    integer_op(t, i, [&](int64_t a, int64_t b, int64_t) { return saturated(i, plus(a, b)); });
}
void sub(Thread& t, const Instruction& i) {
    if (i.type().is_floating())
        return floating_op(t, i, [](double a, double b, double) { return a - b; });
    refuse_sat(t, i, true);
    integer_op(t, i, [&](int64_t a, int64_t b, int64_t) { return saturated(i, minus(a, b)); });
}
void mul(Thread& t, const Instruction& i) {
    if (!i.type().is_floating()) return multiply(t, i, false);
    floating_op(t, i, [](double a, double b, double) { return a * b; });
}
void mad(Thread& t, const Instruction& i) {
    if (!i.type().is_floating()) return multiply(t, i, true);
    fma(t, i);
}
void fma(Thread& t, const Instruction& i) {
    const int bytes = i.type().bytes;
    floating_op(t, i, [&](double a, double b, double c) {
        return bytes == 8   ? std::fma(a, b, c)
               : bytes == 4 ? double(std::fma(float(a), float(b), float(c)))
                            : double(odd_fma(a, b, c));
    });
}
void div(Thread& t, const Instruction& i) {
    if (i.type().is_floating())
        return floating_op(t, i, [](double a, double b, double) { return a / b; });
    const bool is_signed = i.type().kind == 's';
    integer_op(t, i, [&](int64_t a, int64_t b, int64_t) {
        if (b == 0) t.refuse("division by zero");
        if (is_signed) return b == -1 ? minus(0, a) : a / b;
        return int64_t(uint64_t(a) / uint64_t(b));
    });
}
void rem(Thread& t, const Instruction& i) {
    const bool is_signed = i.type().kind == 's';
    integer_op(t, i, [&](int64_t a, int64_t b, int64_t) {
        if (b == 0) t.refuse("division by zero");
        if (is_signed) return b == -1 ? 0 : a % b;
        return int64_t(uint64_t(a) % uint64_t(b));
    });
}

void min(Thread& t, const Instruction& i) { min_or_max<false>(t, i); }
void max(Thread& t, const Instruction& i) { min_or_max<true>(t, i); }

void abs(Thread& t, const Instruction& i) {
    if (i.type().is_floating())
        return floating_op(t, i, [](double a, double, double) { return std::fabs(a); });
    integer_op(t, i, [](int64_t a, int64_t, int64_t) { return a < 0 ? minus(0, a) : a; });
}
void neg(Thread& t, const Instruction& i) {
    if (i.type().is_floating())
        return floating_op(t, i, [](double a, double, double) { return -a; });
    integer_op(t, i, [](int64_t a, int64_t, int64_t) { return minus(0, a); });
}
void sad(Thread& t, const Instruction& i) {
    const bool is_signed = i.type().kind == 's';
    integer_op(t, i, [&](int64_t a, int64_t b, int64_t c) {
        const bool less = is_signed ? a < b : uint64_t(a) < uint64_t(b);
        return plus(c, less ? minus(b, a) : minus(a, b));
    });
}

void and_(Thread& t, const Instruction& i) {
    integer_op(t, i, [](int64_t a, int64_t b, int64_t) { return a & b; });
}
void or_(Thread& t, const Instruction& i) {
    integer_op(t, i, [](int64_t a, int64_t b, int64_t) { return a | b; });
}
void xor_(Thread& t, const Instruction& i) {
    integer_op(t, i, [](int64_t a, int64_t b, int64_t) { return a ^ b; });
}
void not_(Thread& t, const Instruction& i) {
    const bool predicate = i.type().kind == 'p';
    integer_op(t, i, [&](int64_t a, int64_t, int64_t) { return predicate ? !a : ~a; });
}

// PTX clamps the amount of a shift to the width of the type: then shl and an unsigned shr give 0,
// and a signed shr gives copies of the sign.
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
    integer_op(t, i, [&](int64_t a, int64_t b, int64_t c) {
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
    integer_op(t, i, [&](int64_t a, int64_t, int64_t) {
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
    const std::string& op = i.modifiers[0];
    const PtxArgument &to = i.arguments[0], &a = i.arguments[1], &b = i.arguments[2];
    if (std::string(operators(type)).find(" " + op + " ") == std::string::npos)
        t.refuse("this type has no ." + op);
    bool holds;
    if (type.is_floating())
        holds = compare(op, flushed(i, t.floating(a, type), type),
                        flushed(i, t.floating(b, type), type));
    else if (type.kind == 's') holds = compare_integers(op, t.integer(a, type), t.integer(b, type));
    else holds = compare_integers(op, t.bits(a, type), t.bits(b, type));
    bool complement = !holds;  // q of p|q
    if (i.arguments.size() > 3) {
        const bool third = t.holds(i.arguments[3]);
        const auto combined = [&](bool x) {
            return i.has("and") ? x && third : i.has("or") ? x || third : x != third;
        };
        complement = combined(!holds);
        holds = combined(holds);
    }
    if (to.kind != PtxArgument::pair) return t.set_predicate(to, holds);
    t.set_predicate(to.parts[0], holds);
    t.set_predicate(to.parts[1], complement);
}
void selp(Thread& t, const Instruction& i) {
    const PtxType type = i.type();
    t.write(i.arguments[0], type, t.bits(i.arguments[t.holds(i.arguments[3]) ? 1 : 2], type));
}
void slct(Thread& t, const Instruction& i) {
    const PtxType type = i.types.front(), chooses = i.type();
    const bool first = chooses.is_floating()
                           ? flushed(i, t.floating(i.arguments[3], chooses), chooses) >= 0
                           : t.integer(i.arguments[3], chooses) >= 0;
    t.write(i.arguments[0], type, t.bits(i.arguments[first ? 1 : 2], type));
}

// cvt.rn.f16x2.f32 d, a, b: a goes to the upper half.
void cvt(Thread& t, const Instruction& i) {
    if (i.types.size() != 2) t.refuse("needs two types");
    const PtxType to = i.types[0], from = i.types[1];
    const PtxType element{to.kind, to.bytes};
    if (i.arguments.size() != size_t(to.count + 1))
        t.refuse("takes " + std::to_string(to.count + 1) + " operands with these types");
    if (from.count == 2 || from.kind == 't') t.refuse("converts no such type");
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
    floating_op(t, i, [](double a, double, double) { return 1 / a; });
}
void sqrt(Thread& t, const Instruction& i) {
    floating_op(t, i, [](double a, double, double) { return std::sqrt(a); });
}
void rsqrt(Thread& t, const Instruction& i) {
    floating_op(t, i, [](double a, double, double) { return 1 / std::sqrt(a); });
}
void ex2(Thread& t, const Instruction& i) {
    floating_op(t, i, [](double a, double, double) { return std::exp2(a); });
}
void lg2(Thread& t, const Instruction& i) {
    floating_op(t, i, [](double a, double, double) { return std::log2(a); });
}
void sin(Thread& t, const Instruction& i) {
    floating_op(t, i, [](double a, double, double) { return std::sin(a); });
}
void cos(Thread& t, const Instruction& i) {
    floating_op(t, i, [](double a, double, double) { return std::cos(a); });
}
void tanh(Thread& t, const Instruction& i) {
    floating_op(t, i, [](double a, double, double) { return std::tanh(a); });
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

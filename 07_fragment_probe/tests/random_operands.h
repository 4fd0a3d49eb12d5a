// Operands of a matrix product, by a formula that gives the same bits on the host and on the device:
// random numbers in kModes kinds, each of which is hard for another rule of a tensor core.
#pragma once

#include <cstdint>

#include "emulator/include/tensor_core.h"

namespace random_operands {

using emulator::tensor_core::Type;

// Of a format of A and B: the bits of its exponent, of its fraction, and all.
struct Format {
    int exponent, significand, bits;
    __host__ __device__ uint32_t sign() const { return 1u << (exponent + significand); }
    __host__ __device__ int largest() const { return (1 << exponent) - 1; }  // exponent field
    __host__ __device__ int one() const { return largest() / 2; }  // the exponent field of 1
};
__host__ __device__ inline Format format_of(Type type) {
    switch (type) {
        case Type::f16:
            return {5, 10, 16};
        case Type::bf16:
            return {8, 7, 16};
        case Type::tf32:
            return {8, 10, 32};  // in the upper 19 bits
        case Type::e4m3:
            return {4, 3, 8};
        default:
            return {5, 2, 8};
    }
}

__host__ __device__ inline uint32_t mix(uint32_t x) {
    x ^= x >> 16;
    x *= 0x7feb352dU;
    x ^= x >> 15;
    x *= 0x846ca68bU;
    return x ^ x >> 16;
}

enum Mode {
    kAnyBits,
    kAnyFinite,
    kNearOne,
    kCancelling,  // pairs of products that almost cancel
    kSubnormal,
    kSparse,
    kShort,  // few bits, so that sums are often halfway between two results
    kPositive,
    kMeasuredModes,
    kPowersOfTwo = kMeasuredModes,
    kSmallResults,  // sums near the smallest numbers of D
    kLargeResults,  // and near the largest
    kZeros,  // of both signs, and a few ones
    kSpecial,  // infinities, NaN, and zeros among ordinary numbers
    kTies,  // two or three products below D's smallest normal number, and C = 0
    kModes
};

// The product to compute: its instruction, its number, and its mode.
struct Product {
    uint32_t instruction, number;
    Mode mode;

    // A random number for an element; what: 0 for A, 1 for B, 2 for C.
    __host__ __device__ uint32_t random(uint32_t what, int row, int k) const {
        return mix(mix(mix(instruction * 0x9e3779b9u + number) + what * 0x85ebca6bu) +
                   uint32_t(row * 64 + k));
    }
};

// Consecutive products are of consecutive modes.
__host__ __device__ inline Product product(uint32_t instruction, uint32_t number) {
    return {instruction, number, Mode(number % kModes)};
}

// An element whose exponent field is in [low, high].
__host__ __device__ inline uint32_t element(const Format& f, uint32_t random, int low, int high) {
    const uint32_t exponent = low + (random >> 8) % uint32_t(high - low + 1);
    const uint32_t significand = mix(random ^ 0x1234567) & ((1u << f.significand) - 1);
    return (random >> 31 ? f.sign() : 0) | exponent << f.significand | significand;
}

// The element of A at `row` and k, or of B at column `row` and k. In a word of TF32 the bits that a
// tensor core ignores are random, too.
__host__ __device__ inline uint32_t factor(const Product& p, Type type, int operand, int row,
                                           int k) {
    const Format f = format_of(type);
    const int one = f.one(), wide = f.exponent > 4;
    const int largest = type == Type::e4m3 ? f.largest() : f.largest() - 1;  // of finite numbers
    uint32_t r = p.random(operand, row, k), x = 0;
    switch (p.mode) {
        case kAnyBits:
            x = element(f, r, 0, f.largest());
            break;
        case kAnyFinite:
            x = element(f, r, 0, largest);
            break;
        case kNearOne:
            x = element(f, r, one - (wide ? 6 : 3), one + (wide ? 6 : 3));
            break;
        case kCancelling: {
            const uint32_t own = r;
            r = p.random(operand, row, k & ~1);
            x = element(f, r, one - 2, one + 2);
            if (k % 2 && operand == 0) x ^= f.sign();
            if (k % 2 && operand == 1 && own % 4 == 0) x ^= 1;
            break;
        }
        case kSubnormal:
            x = element(f, r, 0, 2);
            break;
        case kSparse:
            if (r % 4) return 0;
            r = mix(r);
            x = element(f, r, one - (wide ? 12 : 5), one + (wide ? 12 : 5));
            break;
        case kShort:
            x = element(f, r, one - 1, one + 1) & ~((1u << (f.significand - 1)) - 1);
            break;
        case kPositive:
            x = element(f, r, one, one) & ~f.sign();
            break;
        case kPowersOfTwo:
            x = element(f, r, one - (wide ? 9 : 5), one + 3) & ~((1u << f.significand) - 1);
            break;
        case kSmallResults:
            // Products of about 2^-126, or subnormal factors with one bit.
            if (f.exponent == 8) x = element(f, r, one - 84, one - 60);
            else
                x = (element(f, r, p.number / kModes % 2, 5) & ~((1u << f.significand) - 1)) |
                    1u << mix(r) % uint32_t(f.significand);
            if (mix(r + 1) % 4 == 0) x = 0;
            break;
        case kLargeResults:
            x = f.exponent == 8 ? element(f, r, one + 59, one + 64)
                                : element(f, r, largest - 3, largest);
            if (mix(r + 1) % 2 == 0) x = 0;
            break;
        case kZeros:
            x = (r >> 31 ? f.sign() : 0) | (r % 8 ? 0 : uint32_t(one) << f.significand);
            break;
        case kTies: {
            const bool normal = p.number / kModes % 2;
            if (k > 2 || (k == 2 && !normal) || f.bits == 8) return 0;
            if (f.exponent == 8) {
                // About 2^-133, less something tiny that is lost or makes the sum's last bit 0.
                x = k == 0   ? element(f, r, one - 70, one - 63)
                    : k == 1 ? element(f, r, one - 85, one - 75)
                             : 0;
            } else if (k == 0) {  // 2^-25, halfway between 0 and the smallest half
                x = (operand ? one - 13 : one - 12) << f.significand;
            } else if (normal) {  // and 2^-48: (1 + 2^-10)^2 - (1 + 2^-9), times 2^-28
                x = k == 1 ? 0x401 : operand ? 0x400 : 0x402 | f.sign();
            } else {  // and so on, from subnormal factors
                x = 1 + (r >> 8) % 3;
            }
            if (operand == 0 && (f.exponent == 8 || !normal)) x ^= r >> 31 ? f.sign() : 0;
            break;
        }
        default:
            x = element(f, r, one - 2, one + 2);
            if (mix(r + 1) % 32 == 0)
                x = (x & f.sign()) | (mix(r + 2) % 3 ? uint32_t(f.largest()) << f.significand : 0);
            if (mix(r + 3) % 256 == 0) x |= f.sign() - 1;
    }
    const uint32_t ignored = p.mode == kShort ? 0 : mix(r ^ 0x7654321) & 0x1fff;
    return type == Type::tf32 ? x << 13 | ignored : x;
}

// An element of C: the bits of a float, or of a half.
__host__ __device__ inline uint32_t float_sum(const Product& p, Type type, int row, int col) {
    const uint32_t r = p.random(2, row, col), sign = r & 0x80000000u;
    const bool small = type != Type::bf16 && type != Type::tf32;
    uint32_t significand = mix(r) & 0x7fffff, exponent = 127 - 16 + (r >> 8) % 40;
    switch (p.mode) {
        case kAnyBits:
            return mix(r);
        case kAnyFinite:
            exponent = (r >> 8) % 255;
            break;
        case kSubnormal:
            exponent = small ? 127 - 40 + (r >> 8) % 30 : (r >> 8) % 4;
            break;
        case kPositive:
            exponent = 127 - 4 + (r >> 8) % 34;
            break;
        case kPowersOfTwo:
            exponent = 127 - 14 + (r >> 8) % 24;
            significand &= 0x600000;
            break;
        case kSmallResults:
            if (r % 2) return 0;
            exponent = small ? 127 - 44 + (r >> 8) % 24 : (r >> 8) % 8;
            break;
        case kLargeResults:
            exponent = small ? 127 + (r >> 8) % 32 : 250 + (r >> 8) % 5;
            break;
        case kZeros:
            return r % 16 ? sign : sign | 0x3f800000;
        case kSpecial:
            if (mix(r + 1) % 32 == 0) return sign | 0x7f800000 | (r % 4 ? 0 : significand);
            break;
        case kTies:
            return 0;
        default:
            break;
    }
    return (r & 7) ? sign | exponent << 23 | significand : 0;
}
__host__ __device__ inline uint32_t half_sum(const Product& p, int row, int col) {
    const Format f = format_of(Type::f16);
    const uint32_t r = p.random(3, row, col), sign = r >> 31 << 15;
    switch (p.mode) {
        case kAnyBits:
            return (r & 7) ? mix(r) & 0xffff : 0;
        case kSubnormal:
            return (r & 7) ? element(f, r, 0, 2) : 0;
        case kSmallResults:
            return r % 4 == 0 ? element(f, r, 0, 2) : 0;
        case kLargeResults:
            return element(f, r, 28, 30);
        case kZeros:
            return r % 16 ? sign : sign | 0x3c00;
        case kSpecial:
            if (mix(r + 1) % 32 == 0) return sign | 0x7c00 | (r % 4 ? 0 : mix(r) & 0x3ff);
            return element(f, r, 11, 19);
        case kTies:
            return 0;
        default:
            return (r & 7) ? element(f, r, 0, 30) : 0;
    }
}

// The value of an element of A or B.
inline float value(Type type, uint32_t bits) {
    if (type == Type::tf32) return emulator::tensor_core::float_of(bits & ~0x1fffu);
    const Format f = format_of(type);
    const int exponent = bits >> f.significand & f.largest();
    const uint32_t significand = bits & ((1u << f.significand) - 1);
    const float sign = bits & f.sign() ? -1.0f : 1.0f;
    const bool last = exponent == f.largest();
    if (type == Type::e4m3 ? last && significand == 7 : last && significand) return NAN;
    if (type != Type::e4m3 && last) return sign * HUGE_VALF;
    const uint32_t whole = exponent ? significand | 1u << f.significand : significand;
    return sign * std::ldexp(float(whole), std::max(exponent, 1) - f.one() - f.significand);
}

}  // namespace random_operands

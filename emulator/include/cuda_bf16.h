// __nv_bfloat16 of CUDA's cuda_bf16.h: the upper half of a float, rounded to nearest even.
#pragma once

#include "cuda_fp16.h"

namespace emulator {

__forceinline__ uint16_t float_to_bfloat16(float x) {
    const uint32_t bits = __builtin_bit_cast(uint32_t, x);
    if (x != x) return bits >> 16 | ((bits & 0x7f0000) ? 0 : 0x40);  // NaN stays NaN
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

}  // namespace emulator

struct __nv_bfloat16 : emulator::SmallFloat<__nv_bfloat16> {
    static constexpr int kBits = 8;  // of a number
    uint16_t __x;
    __nv_bfloat16() = default;
    template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
    __forceinline__ __nv_bfloat16(T x)
        : __x(emulator::float_to_bfloat16(emulator::before_rounding(x))) {}
    __forceinline__ operator float() const {
        return __builtin_bit_cast(float, uint32_t(__x) << 16);
    }
};
using nv_bfloat16 = __nv_bfloat16;

inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
    __nv_bfloat16 b;
    b.__x = bits;
    return b;
}
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 b) { return b.__x; }
inline __nv_bfloat16 __float2bfloat16(float x) { return x; }
inline __nv_bfloat16 __float2bfloat16_rn(float x) { return x; }
inline __nv_bfloat16 __double2bfloat16(double x) { return x; }
inline float __bfloat162float(__nv_bfloat16 b) { return b; }

using __nv_bfloat162 = emulator::Pair<__nv_bfloat16>;
using nv_bfloat162 = __nv_bfloat162;

inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 low, __nv_bfloat16 high) {
    return {low, high};
}
inline __nv_bfloat162 __floats2bfloat162_rn(float low, float high) { return {low, high}; }
inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 b) { return {b, b}; }
inline __nv_bfloat162 __float2bfloat162_rn(float x) { return {x, x}; }
inline __nv_bfloat162 __float22bfloat162_rn(float2 v) { return {v.x, v.y}; }
inline float2 __bfloat1622float2(__nv_bfloat162 v) { return {v.x, v.y}; }
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 v) { return v.x; }
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 v) { return v.y; }
inline float __low2float(__nv_bfloat162 v) { return v.x; }
inline float __high2float(__nv_bfloat162 v) { return v.y; }

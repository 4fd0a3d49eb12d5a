// Operators of float2, int3 and the like, as in the helper_math.h of NVIDIA's samples, for programs
// that come without it.
#pragma once

#include "emulator/include/cuda_runtime.h"

// clang-format off
#define EMULATOR_OPERATOR(Name, T, op, two, by_right, by_left)                              \
    inline Name operator op(Name a, Name b) { return two; }                                 \
    inline Name operator op(Name a, T b) { return by_right; }                               \
    inline Name operator op(T a, Name b) { return by_left; }                                \
    inline void operator op##=(Name& a, Name b) { a = a op b; }                             \
    inline void operator op##=(Name& a, T b) { a = a op b; }
#define EMULATOR_OPERATORS2(Name, T)                                                        \
    EMULATOR_OP2(Name, T, +) EMULATOR_OP2(Name, T, -) EMULATOR_OP2(Name, T, *) EMULATOR_OP2(Name, T, /) \
    inline Name operator-(Name a) { return make_##Name(-a.x, -a.y); }                       \
    inline T dot(Name a, Name b) { return a.x * b.x + a.y * b.y; }                          \
    inline Name make_##Name(T s) { return make_##Name(s, s); }
#define EMULATOR_OPERATORS3(Name, T)                                                        \
    EMULATOR_OP3(Name, T, +) EMULATOR_OP3(Name, T, -) EMULATOR_OP3(Name, T, *) EMULATOR_OP3(Name, T, /) \
    inline Name operator-(Name a) { return make_##Name(-a.x, -a.y, -a.z); }                 \
    inline T dot(Name a, Name b) { return a.x * b.x + a.y * b.y + a.z * b.z; }              \
    inline Name make_##Name(T s) { return make_##Name(s, s, s); }
#define EMULATOR_OPERATORS4(Name, T)                                                        \
    EMULATOR_OP4(Name, T, +) EMULATOR_OP4(Name, T, -) EMULATOR_OP4(Name, T, *) EMULATOR_OP4(Name, T, /) \
    inline Name operator-(Name a) { return make_##Name(-a.x, -a.y, -a.z, -a.w); }           \
    inline T dot(Name a, Name b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }  \
    inline Name make_##Name(T s) { return make_##Name(s, s, s, s); }
#define EMULATOR_OP2(Name, T, op) EMULATOR_OPERATOR(Name, T, op, make_##Name(a.x op b.x, a.y op b.y),        \
    make_##Name(a.x op b, a.y op b), make_##Name(a op b.x, a op b.y))
#define EMULATOR_OP3(Name, T, op) EMULATOR_OPERATOR(Name, T, op, make_##Name(a.x op b.x, a.y op b.y, a.z op b.z), \
    make_##Name(a.x op b, a.y op b, a.z op b), make_##Name(a op b.x, a op b.y, a op b.z))
#define EMULATOR_OP4(Name, T, op) EMULATOR_OPERATOR(Name, T, op, make_##Name(a.x op b.x, a.y op b.y, a.z op b.z, a.w op b.w), \
    make_##Name(a.x op b, a.y op b, a.z op b, a.w op b), make_##Name(a op b.x, a op b.y, a op b.z, a op b.w))
EMULATOR_OPERATORS2(float2, float) EMULATOR_OPERATORS3(float3, float) EMULATOR_OPERATORS4(float4, float)
EMULATOR_OPERATORS2(int2, int) EMULATOR_OPERATORS3(int3, int) EMULATOR_OPERATORS4(int4, int)
EMULATOR_OPERATORS2(uint2, unsigned) EMULATOR_OPERATORS3(uint3, unsigned) EMULATOR_OPERATORS4(uint4, unsigned)
inline float3 make_float3(float4 v) { return make_float3(v.x, v.y, v.z); }
inline float3 make_float3(float2 v, float z) { return make_float3(v.x, v.y, z); }
inline float4 make_float4(float3 v, float w) { return make_float4(v.x, v.y, v.z, w); }
inline float4 make_float4(float3 v) { return make_float4(v.x, v.y, v.z, 0); }
inline float2 make_float2(float4 v) { return make_float2(v.x, v.y); }
inline float2 make_float2(int2 v) { return make_float2(float(v.x), float(v.y)); }
inline float3 cross(float3 a, float3 b) { return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x); }
inline float clamp(float v, float low, float high) { return fmaxf(low, fminf(v, high)); }
inline int clamp(int v, int low, int high) { return v < low ? low : v > high ? high : v; }
inline float3 clamp(float3 v, float low, float high) { return make_float3(clamp(v.x, low, high), clamp(v.y, low, high), clamp(v.z, low, high)); }
inline float lerp(float a, float b, float t) { return a + t * (b - a); }
#define EMULATOR_LENGTH(Name)                                                               \
    inline float length(Name v) { return sqrtf(dot(v, v)); }                                \
    inline Name normalize(Name v) { return v * rsqrtf(dot(v, v)); }                         \
    inline Name lerp(Name a, Name b, float t) { return a + t * (b - a); }                   \
    inline Name reflect(Name i, Name n) { return i - 2.0f * n * dot(n, i); }
EMULATOR_LENGTH(float2) EMULATOR_LENGTH(float3) EMULATOR_LENGTH(float4)
    // clang-format on

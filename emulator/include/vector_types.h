// CUDA's vector types: float4 and the like, dim3.
#pragma once

// A copy moves the whole vector at once, as a GPU's ld.v4 and st.v4 do. A plain struct of four
// floats might be copied element by element, and the trace would then see four narrow accesses.
// may_alias: kernels copy arrays of other types through these, such as half.

// With nodebug an access belongs to the line that copies; g++ keeps both lines by itself.
#ifdef __clang__
#define EMULATOR_NODEBUG __attribute__((nodebug))
#else
#define EMULATOR_NODEBUG
#endif
// clang-format off
#define EMULATOR_VECTOR(Name, Type, bytes, members, parameters, ...)                                                             \
    struct __attribute__((aligned(bytes), may_alias)) Name {                                                                     \
        typedef Type Whole __attribute__((vector_size(bytes)));                                                                  \
        union {                                                                                                                  \
            struct { Type members; };                                                                                            \
            Whole whole;                                                                                                         \
        };                                                                                                                       \
        Name() = default;                                                                                                        \
        Name parameters : whole{__VA_ARGS__} {}                                                                                  \
        EMULATOR_NODEBUG Name(const Name& other) : whole(other.whole) {}                                                         \
        EMULATOR_NODEBUG Name& operator=(const Name& other) { whole = other.whole; return *this; }                               \
    };                                                                                                                           \
    inline Name make_##Name parameters { return Name(__VA_ARGS__); }
#define EMULATOR_COMMA ,
#define EMULATOR_VECTOR2(Name, Type) EMULATOR_VECTOR(Name, Type, 2 * sizeof(Type), x EMULATOR_COMMA y, (Type x, Type y), x, y)
#define EMULATOR_VECTOR4(Name, Type)                                                                                             \
    EMULATOR_VECTOR(Name, Type, 4 * sizeof(Type), x EMULATOR_COMMA y EMULATOR_COMMA z EMULATOR_COMMA w,                          \
                    (Type x, Type y, Type z, Type w), x, y, z, w)
// clang-format on
// The anonymous struct makes v.x and v.whole the same bytes.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
EMULATOR_VECTOR2(float2, float)
EMULATOR_VECTOR4(float4, float)
EMULATOR_VECTOR2(int2, int)
EMULATOR_VECTOR4(int4, int)
EMULATOR_VECTOR2(uint2, unsigned)
EMULATOR_VECTOR4(uint4, unsigned)
// clang-format off
EMULATOR_VECTOR2(char2, signed char) EMULATOR_VECTOR4(char4, signed char)
EMULATOR_VECTOR2(uchar2, unsigned char) EMULATOR_VECTOR4(uchar4, unsigned char)
EMULATOR_VECTOR2(short2, short) EMULATOR_VECTOR4(short4, short)
EMULATOR_VECTOR2(ushort2, unsigned short) EMULATOR_VECTOR4(ushort4, unsigned short)
EMULATOR_VECTOR2(long2, long) EMULATOR_VECTOR2(ulong2, unsigned long)
EMULATOR_VECTOR2(longlong2, long long) EMULATOR_VECTOR2(ulonglong2, unsigned long long)
EMULATOR_VECTOR2(double2, double)
// clang-format on
#pragma GCC diagnostic pop
#undef EMULATOR_VECTOR4
#undef EMULATOR_VECTOR2
#undef EMULATOR_COMMA
#undef EMULATOR_VECTOR

// clang-format off
// Types that no single access moves.
#define EMULATOR_PLAIN(Type, Name)                        \
    struct Name##1 {                                      \
        Type x;                                           \
    };                                                    \
    struct Name##3 {                                      \
        Type x, y, z;                                     \
    };                                                    \
    inline Name##1 make_##Name##1(Type x) { return {x}; } \
    inline constexpr Name##3 make_##Name##3(Type x, Type y, Type z) { return {x, y, z}; }
EMULATOR_PLAIN(float, float) EMULATOR_PLAIN(int, int) EMULATOR_PLAIN(unsigned, uint) EMULATOR_PLAIN(double, double)
EMULATOR_PLAIN(signed char, char) EMULATOR_PLAIN(unsigned char, uchar) EMULATOR_PLAIN(short, short)
EMULATOR_PLAIN(unsigned short, ushort) EMULATOR_PLAIN(long long, longlong) EMULATOR_PLAIN(unsigned long long, ulonglong)
#undef EMULATOR_PLAIN
struct alignas(16) double4 {
    double x, y, z, w;
};
inline double4 make_double4(double x, double y, double z, double w) { return {x, y, z, w}; }
// clang-format on
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return {x, y, z}; }
};

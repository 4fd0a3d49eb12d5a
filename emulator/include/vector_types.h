// CUDA's vector types: float4 and the like, dim3.
#pragma once

// A copy moves the whole vector at once, as a GPU's ld.v4 and st.v4 do. A plain struct of four floats would be copied element by
// element wherever the compiler likes that better, and the trace would then see four narrow accesses. may_alias: kernels copy
// arrays of other types, half for one, through them.

// An access belongs to the line that copies; g++ keeps both lines by itself.
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
// The struct without a name is what makes v.x and v.whole the same bytes.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
EMULATOR_VECTOR2(float2, float)
EMULATOR_VECTOR4(float4, float)
EMULATOR_VECTOR2(int2, int)
EMULATOR_VECTOR4(int4, int)
EMULATOR_VECTOR2(uint2, unsigned)
EMULATOR_VECTOR4(uint4, unsigned)
#pragma GCC diagnostic pop
#undef EMULATOR_VECTOR4
#undef EMULATOR_VECTOR2
#undef EMULATOR_COMMA
#undef EMULATOR_VECTOR

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};

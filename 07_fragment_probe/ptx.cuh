// Two instructions that CUDA C++ has no function for: one line of inline PTX each, and for the CPU the same written out.
#pragma once

#include <cuda_fp16.h>

#ifdef CUDA_EMULATOR

// D = A * B + D by each of the four quad-pairs of a warp (lanes 4q..4q+3 and 4q+16..4q+19), each with an A of 8x4, a B of 4x8
// and a D of 8x8 of its own. Operands are column-major: the first four lanes hold rows 0-3 of A and columns 0-3 of B, the others
// 4-7. place(lane, i): which element of D is d[i].
// Source: PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16 floating point type".
template <class Accumulator, class Place>
void multiply_quad_pairs(Accumulator (&d)[8], const half (&a)[4], const half (&b)[4], Place place) {
    const int lane = threadIdx.x % 32, quad = lane / 4 % 4 * 4;
    float A[8][4], B[4][8];
    for (int i = 0; i < 4; ++i)
        for (int from = 0; from < 8; ++from) {  // everyone fetches all of its quad-pair's A and B
            const int source = quad + from % 4 + from / 4 * 16;
            A[i + from / 4 * 4][from % 4] = float(__shfl_sync(0xffffffffu, a[i], source));
            B[i][from] = float(__shfl_sync(0xffffffffu, b[i], source));
        }
    for (int i = 0; i < 8; ++i) {
        const auto [row, col] = place(lane, i);
        float sum = float(d[i]);
        for (int k = 0; k < 4; ++k) sum += A[row][k] * B[k][col];
        d[i] = sum;
    }
}

struct PlaceInD {
    int row, col;
};
inline void mma_m8n8k4(half (&d)[8], const half (&a)[4], const half (&b)[4]) {
    multiply_quad_pairs(d, a, b, [](int lane, int i) { return PlaceInD{lane % 4 + lane / 16 * 4, i}; });
}
inline void mma_m8n8k4(float (&d)[8], const half (&a)[4], const half (&b)[4]) {
    multiply_quad_pairs(d, a, b, [](int lane, int i) {
        return PlaceInD{(lane & 1) + (i & 2) + lane / 16 * 4, (i & 4) + (lane & 2) + (i & 1)};
    });
}

// Four matrices of 8x8 halves. Lane l brings the address of row l % 8 of matrix l / 8, and gets from row l / 4 of each matrix the
// elements 2 * (l % 4) and the next: x[2m] and x[2m + 1] from matrix m. Source: PTX ISA, "ldmatrix".
inline void ldmatrix_x4(half (&x)[8], const half* row) {
    const int lane = threadIdx.x % 32;
    for (int matrix = 0; matrix < 4; ++matrix) {
        const half* from = __shfl_sync(0xffffffffu, row, 8 * matrix + lane / 4);
        for (int i = 0; i < 2; ++i) x[2 * matrix + i] = from[lane % 4 * 2 + i];
    }
}

#else

inline __device__ unsigned two(const half* x) { return *reinterpret_cast<const unsigned*>(x); }

inline __device__ void mma_m8n8k4(half (&d)[8], const half (&a)[4], const half (&b)[4]) {
    unsigned* r = reinterpret_cast<unsigned*>(d);
    asm volatile("mma.sync.aligned.m8n8k4.col.col.f16.f16.f16.f16 {%0, %1, %2, %3}, {%4, %5}, {%6, %7}, {%0, %1, %2, %3};"
                 : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3])
                 : "r"(two(a)), "r"(two(a + 2)), "r"(two(b)), "r"(two(b + 2)));
}
inline __device__ void mma_m8n8k4(float (&d)[8], const half (&a)[4], const half (&b)[4]) {
    asm volatile(
        "mma.sync.aligned.m8n8k4.col.col.f32.f16.f16.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9}, {%10, %11}, "
        "{%0, %1, %2, %3, %4, %5, %6, %7};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
        : "r"(two(a)), "r"(two(a + 2)), "r"(two(b)), "r"(two(b + 2)));
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 750  // Volta has no ldmatrix
inline __device__ void ldmatrix_x4(half (&x)[8], const half* row) {
    unsigned* r = reinterpret_cast<unsigned*>(x);
    const unsigned address = unsigned(__cvta_generic_to_shared(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}
#endif

#endif

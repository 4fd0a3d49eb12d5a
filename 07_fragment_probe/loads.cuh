// Four ways to fill a fragment of A from a row-major 16x16 matrix: load_matrix_sync, and three
// written by hand for the layout of sm_75 and later. Each is called by a whole warp, with M at a
// multiple of 32 bytes.
#pragma once

#include <cuda_fp16.h>
#include <mma.h>

#include "common/ptx/ptx.cuh"

using namespace nvcuda;
using Fragment = wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major>;

constexpr int kMatrix = 16 * 16;  // elements, row by row

// The layout of sm_75 and later: x[i] is at (lane/4 + i/2%2*8, lane%4*2 + i%2 + i/4%2*8), and
// x[8..15] are x[0..7] again.
__device__ int place(int lane, int i) {
    return (lane / 4 + i / 2 % 2 * 8) * 16 + lane % 4 * 2 + i % 2 + i / 4 % 2 * 8;
}

struct LoadMatrixSync {
    static constexpr const char* name = "load_matrix_sync";
    static __device__ void load(Fragment& f, const half* M) { wmma::load_matrix_sync(f, M, 16); }
};
struct Halves {  // 8 loads of 2 bytes
    static constexpr const char* name = "halves";
    static __device__ void load(Fragment& f, const half* M) {
#pragma unroll
        for (int i = 0; i < 8; ++i) f.x[i] = f.x[i + 8] = M[place(threadIdx.x, i)];
    }
};
struct Pairs {  // 4 loads of 4 bytes: x[i] and x[i + 1] are adjacent in a row, for even i
    static constexpr const char* name = "pairs";
    static __device__ void load(Fragment& f, const half* M) {
#pragma unroll
        for (int i = 0; i < 8; i += 2) {
            const half2 two = *reinterpret_cast<const half2*>(M + place(threadIdx.x, i));
            f.x[i] = f.x[i + 8] = two.x;
            f.x[i + 1] = f.x[i + 9] = two.y;
        }
    }
};
// One instruction loads the four 8x8 quarters from shared memory, in the order in which x[] has
// them: the upper left, the lower left, the upper right and the lower right one.
struct Ldmatrix {
    static constexpr const char* name = "ldmatrix";
    static __device__ void load(Fragment& f, const half* M) {
        half2 x[4];
        ptx::ldmatrix_x4(x, M + threadIdx.x % 16 * 16 + threadIdx.x / 16 * 8);
#pragma unroll
        for (int i = 0; i < 8; ++i) f.x[i] = f.x[i + 8] = i % 2 ? x[i / 2].y : x[i / 2].x;
    }
};

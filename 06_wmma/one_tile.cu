// one_tile: the smallest tensor-core program. One warp multiplies two 16 x 16 matrices of halves: it loads them into fragments,
// which lie spread over the registers of its 32 lanes, multiplies all of it at once, and stores the result.
//
// Alone:    nvcc -O3 -std=c++17 -arch=native -I. 06_wmma/one_tile.cu -o 06_wmma/one_tile
// Articles: "Tensorコアを使ってみた", "WMMA APIを使用したプログラム" (matmul_16x16); "Tensor Core加速CUDA矩阵计算", section 7 (wmma_ker)
#include <mma.h>

#include "common/device.h"
#include "common/report.h"
#include "common/verify.h"
#ifdef CUDA_EMULATOR
#include "emulator/emulator.h"
#endif

using namespace nvcuda;

constexpr int kEdge = 16;  // C (M x N) = A (M x K) * B (K x N), all three of them 16 x 16
constexpr int kWarp =
    32;  // the article's `warpSize` is CUDA's own name: nvcc refuses another at file scope

// Where may a matrix lie? Three documents say three things of load_matrix_sync and store_matrix_sync:
//   the article               pointer at a multiple of 128 bits, ldm a multiple of 16 bytes
//   CUDA C++ Programming      pointer at a multiple of 256 bits, ldm a multiple of 16 bytes
//     Guide ("Warp Matrix Functions")
//   PTX ISA ("Matrix Storage  every row (column, where col_major) at a multiple of the bytes that a lane's fragment takes: for
//     for WMMA")              halves of this shape pointer and ldm are multiples of 32 bytes
// What a GPU happens to accept is no promise, so the strictest is kept: cudaMalloc returns multiples of at least 256 bytes (the
// guide's "Device Memory Accesses"), and 16 halves are 32 bytes, 16 floats 64.

// The article's kernel: everything column-major, and the sums are halves, too.
__global__ void matmul_16x16(const half* A, const half* B, half* C) {
    wmma::fragment<wmma::matrix_a, kEdge, kEdge, kEdge, half, wmma::col_major> a_frag;
    wmma::fragment<wmma::matrix_b, kEdge, kEdge, kEdge, half, wmma::col_major> b_frag;
    wmma::fragment<wmma::accumulator, kEdge, kEdge, kEdge, half> c_frag;
    wmma::fill_fragment(c_frag, __float2half(0.0f));
    wmma::load_matrix_sync(a_frag, A, kEdge);
    wmma::load_matrix_sync(b_frag, B, kEdge);
    wmma::mma_sync(c_frag, a_frag, b_frag, c_frag);  // C = A * B + C
    wmma::store_matrix_sync(C, c_frag, kEdge, wmma::mem_col_major);
}

// The other article's: the same product, B and C row-major, and the sums are floats.
__global__ void wmma_ker(const half* A, const half* B, float* C) {
    wmma::fragment<wmma::matrix_a, kEdge, kEdge, kEdge, half, wmma::col_major> a_frag;
    wmma::fragment<wmma::matrix_b, kEdge, kEdge, kEdge, half, wmma::row_major> b_frag;
    wmma::fragment<wmma::accumulator, kEdge, kEdge, kEdge, float> c_frag;
    wmma::fill_fragment(c_frag, 0.0f);
    wmma::load_matrix_sync(a_frag, A, kEdge);
    wmma::load_matrix_sync(b_frag, B, kEdge);
    wmma::mma_sync(c_frag, a_frag, b_frag, c_frag);
    wmma::store_matrix_sync(C, c_frag, kEdge, wmma::mem_row_major);
}

// Where element (row, col) lies.
int at(wmma::layout_t layout, int row, int col) {
    return layout == wmma::mem_row_major ? row * kEdge + col : row + col * kEdge;
}

// The row-major `matrix` as halves, in the order in which the kernel wants it.
std::vector<half> stored(const std::vector<float>& matrix, wmma::layout_t layout) {
    std::vector<half> halves(matrix.size());
    for (int row = 0; row < kEdge; ++row)
        for (int col = 0; col < kEdge; ++col)
            halves[at(layout, row, col)] = __float2half(matrix[row * kEdge + col]);
    return halves;
}

// Runs `launch` on integers from -range to range and compares all 256 elements with the host's product. Throws Failure.
template <class Out, class Launch>
void check(const char* what, wmma::layout_t b_layout, wmma::layout_t c_layout, int range,
           uint32_t seed, Launch launch) {
    const int count = kEdge * kEdge;
    const std::vector<float> A = random_integers(count, range, seed),
                             B = random_integers(count, range, seed + 1);
    DeviceArray<half> A_device(count), B_device(count);
    DeviceArray<Out> C_device(count);
    A_device.upload(stored(A, wmma::mem_col_major));
    B_device.upload(stored(B, b_layout));
    std::vector<Out> C(count);
    std::memset(static_cast<void*>(C.data()), 0xff,
                count * sizeof(Out));  // NaN, as a half and as a float
    C_device.upload(C);
    launch(A_device.data(), B_device.data(), C_device.data());
    check_cuda(cudaGetLastError(), std::string("the launch: ") + what);
    check_cuda(cudaDeviceSynchronize(), what);
    C_device.download(C);

    int equal = 0;
    std::string wrong;
    for (int row = 0; row < kEdge; ++row) {
        const std::vector<int64_t> expected = exact_row({kEdge, kEdge, kEdge}, A, B, row);
        for (int col = 0; col < kEdge; ++col) {
            const float got = float(C[at(c_layout, row, col)]), want = float(expected[col]);
            if (got == want)
                ++equal;  // never for NaN: an element that no lane stored is counted as wrong
            else if (wrong.empty())
                wrong = format("C[%d][%d] is %g, expected %g", row, col, got, want);
        }
    }
    std::printf("%s: %d of %d elements equal\n", what, equal, count);
    if (equal != count) throw Failure(kWrongResult, std::string(what) + ": " + wrong);
}

int main(int argc, char** argv) {
    int device = 0;
    uint32_t seed = 1;
    using Text = const std::string&;
    const std::vector<Option> options = {
        {"seed", "S", "other inputs (default 1)",
         [&](Text value) { seed = parse_number("--seed", value, 0, UINT32_MAX); }},
        {"device", "D", "use CUDA device D (default 0)",
         [&](Text value) { device = parse_number("--device", value, 0, 1023); }},
    };
    return run_program(
        "one_tile", "C = A * B on tensor cores, 16 x 16, by one warp; compared exactly.", options,
        "Example:  one_tile --seed 7", argc, argv, [&] {
            select_device(device);
            // A sum stays within 16 * 8 * 8 = 1024; halves have every integer up to 2048.
            check<half>("matmul_16x16 (B, C col-major; sums in half)", wmma::mem_col_major,
                        wmma::mem_col_major, 8, seed, [](const half* A, const half* B, half* C) {
                            matmul_16x16<<<1, kWarp>>>(A, B, C);
                        });
            // Up to 16 * 64 * 64 = 65536: more than a half could count, no more than a float can.
            check<float>("wmma_ker (B, C row-major; sums in float)", wmma::mem_row_major,
                         wmma::mem_row_major, 64, seed, [](const half* A, const half* B, float* C) {
                             wmma_ker<<<1, kWarp>>>(A, B, C);
                         });
#ifdef CUDA_EMULATOR
            for (const std::string& problem : emulator::counts().problems)
                throw Failure(kWrongResult, problem);
#endif
        });
}

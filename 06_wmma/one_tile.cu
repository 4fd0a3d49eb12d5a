// The smallest tensor-core program: one warp multiplies two 16 x 16 matrices of halves. It loads
// them into fragments, spread over the registers of its 32 lanes, and multiplies all at once.
//
//    A, B in memory  --load_matrix_sync-->  a_frag, b_frag  --mma_sync-->  c_frag
//    C in memory     <--store_matrix_sync--------------------------------  c_frag
#include <mma.h>

#include "common/build.h"
#include "common/device.h"
#include "common/errors.h"
#include "common/gpu_timer.h"
#include "common/operands.h"
#include "common/options.h"
#include "common/verify.h"
#ifdef CUDA_EMULATOR
#include "emulator/emulator.h"
enum File { fragA, fragB };
int compiled_for[2];
// Not traced, because compiled_for is not device memory.
__attribute__((no_sanitize("thread"))) void begin_code_of(File file) {
    emulator::set_architecture(compiled_for[file]);
}
#define COMPILED_FOR begin_code_of
#endif
#include "06_wmma/link/fragA.cu"
#include "06_wmma/link/fragB.cu"

using namespace nvcuda;

constexpr int kEdge = 16;  // C (M x N) = A (M x K) * B (K x N), all three of them 16 x 16
constexpr int kWarp = 32;  // the Tensor Core article's name, `warpSize`, is reserved by CUDA

// Three documents say how load_matrix_sync and store_matrix_sync need a matrix aligned (notes.md,
// "How well must a matrix be aligned?"). The strictest rule is kept here: pointers and rows on
// multiples of 32 bytes. cudaMalloc returns multiples of at least 256; 16 halves are 32 bytes, 16
// floats 64.

// "Tensorコアを使ってみた": everything is column-major, and the accumulators are halves, too.
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

// "Tensor Core加速CUDA矩阵计算": the same product with B and C row-major and sums in floats.
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

// The index of element (row, col).
int at(wmma::layout_t layout, int row, int col) {
    return layout == wmma::mem_row_major ? row * kEdge + col : row + col * kEdge;
}

// The row-major `matrix` as halves in that layout.
std::vector<half> stored(const std::vector<float>& matrix, wmma::layout_t layout) {
    std::vector<half> halves(matrix.size());
    for (int row = 0; row < kEdge; ++row)
        for (int col = 0; col < kEdge; ++col)
            halves[at(layout, row, col)] = __float2half(matrix[row * kEdge + col]);
    return halves;
}

// Runs `launch` on integers from -range to range and compares all 256 elements with the host's
// product. Throws Failure.
template <class Out, class Launch>
void check(const char* what, wmma::layout_t b_layout, wmma::layout_t c_layout, int range,
           uint32_t seed, Launch launch) {
    const int count = kEdge * kEdge;
    const std::vector<float> A = random_integers(count, seed, range);
    const std::vector<float> B = random_integers(count, seed + 1, range);
    DeviceArray<half> A_device(count), B_device(count);
    DeviceArray<Out> C_device(count);
    A_device.upload(stored(A, wmma::mem_col_major));
    B_device.upload(stored(B, b_layout));
    std::vector<Out> C(count);
    std::memset(static_cast<void*>(C.data()), 0xff, count * sizeof(Out));  // NaN in either type
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
            equal += got == want;  // NaN, an element that no lane has stored, equals nothing
            if (got != want && wrong.empty())
                wrong = format("C[%d][%d] is %g, expected %g", row, col, got, want);
        }
    }
    std::printf("%s: %d of %d elements equal\n", what, equal, count);
    if (equal != count) throw Failure(kWrongResult, std::string(what) + ": " + wrong);
}

// The API article, section 5: foo() loads a fragment and bar() uses it. If they are compiled for
// architectures whose fragments differ, elements must be wrong. Throws Failure.
void pass(const std::string& what, bool same_fragments) {
    const int count = kEdge * kEdge;
    std::vector<float> A = random_integers(count, 1, 64), identity(count), C(count);
    for (int i = 0; i < kEdge; ++i) identity[i * kEdge + i] = 1;
    DeviceArray<half> A_device(count), identity_device(count);
    DeviceArray<float> C_device(count);
    A_device.upload(stored(A, wmma::mem_row_major));
    identity_device.upload(stored(identity, wmma::mem_row_major));
    foo<<<1, kWarp>>>(A_device.data(), identity_device.data(), C_device.data());
    check_cuda(cudaDeviceSynchronize(), what.c_str());
    C_device.download(C);
    int wrong = 0;
    for (int i = 0; i < count; ++i) wrong += !(C[i] == A[i]);
    std::printf("%s: %d of %d elements wrong\n", what.c_str(), wrong, count);
    if ((wrong == 0) != same_fragments)
        throw Failure(kWrongResult,
                      what + ": the fragments are" + (wrong ? "" : " not") + " the same");
}

int main(int argc, char** argv) {
    int device = 0;
    uint32_t seed = 1;
    const std::vector<Option> options = {
        {"--seed", "S", "other inputs (default 1)", number(seed, 0, UINT32_MAX)},
        device_option(device),
    };
    const Program program = {
        "one_tile", "C = A * B on tensor cores, 16 x 16, by one warp; compared exactly.",
        options,    "Example:  one_tile --seed 7",
        "probe",    kBuild};
    return run_program(program, argc, argv, [&] {
        select_device(device);
        // A sum stays within 16 * 8 * 8 = 1024; halves have every integer up to 2048.
        check<half>("matmul_16x16 (B, C col-major; sums in half)", wmma::mem_col_major,
                    wmma::mem_col_major, 8, seed, [](const half* A, const half* B, half* C) {
                        matmul_16x16<<<1, kWarp>>>(A, B, C);
                    });
        // Sums up to 16 * 64 * 64 = 65536: exact in a float, too large for a half.
        check<float>("wmma_ker (B, C row-major; sums in float)", wmma::mem_row_major,
                     wmma::mem_row_major, 64, seed, [](const half* A, const half* B, float* C) {
                         wmma_ker<<<1, kWarp>>>(A, B, C);
                     });
#ifndef CUDA_EMULATOR
        pass("a fragment passed from foo to bar", true);
#else
        constexpr int kPairs[][2] = {{70, 75}, {75, 70}, {75, 80}};
        for (const auto& [from, to] : kPairs) {
            compiled_for[fragA] = from;
            compiled_for[fragB] = to;
            pass(format("a fragment passed from foo, for sm_%d, to bar, for sm_%d", from, to),
                 from >= 75 && to >= 75);
        }
        for (const std::string& problem : emulator::counts().problems)
            throw Failure(kWrongResult, problem);
#endif
    });
}

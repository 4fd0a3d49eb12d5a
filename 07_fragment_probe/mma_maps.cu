// 07_fragment_probe/mma_maps: which elements of A, B and C do a lane's registers hold in mma.m16n8k16?
// Which elements does ldmatrix load into them? The value of an element of C, or of what ldmatrix
// loads, is its index. An element of A or B is found by a product in which it alone is not 0 in its
// operand. ldmatrix loads the other operand; if mma did not take that as ldmatrix loads it, the
// results would disagree, which map_of() reports.
//
//    For A: one element of one lane is 1, and all others are 0. B[k][n] is k + 1. If the 1 is
//    A[r][k], row r of the product is row k of B, k + 1 everywhere, and all other rows are 0.
#include <cuda_fp16.h>

#include "07_fragment_probe/chip.h"
#include "07_fragment_probe/layouts.h"
#include "common/build.h"
#include "common/checked_launch.h"
#include "common/device.h"
#include "common/errors.h"
#include "common/options.h"
#include "common/ptx/ptx.cuh"
#include "common/table.h"
#include "common/verify.h"

using Matrix = std::vector<half>;  // 16 x 16

// Registers of a warp: 8 elements per lane.
template <bool trans>
__global__ void load(const half* M, half* x) {
    __shared__ alignas(16) half shared[16][16];
    for (int i = threadIdx.x; i < 256; i += 32) shared[i / 16][i % 16] = M[i];
    __syncwarp();
    half2 to[4];
    const half* const row = &shared[threadIdx.x % 16][threadIdx.x / 16 * 8];
    if (trans) ptx::ldmatrix_x4_trans(to, row);
    else ptx::ldmatrix_x4(to, row);
    for (int r = 0; r < 4; ++r) {
        x[threadIdx.x * 8 + 2 * r] = to[r].x;
        x[threadIdx.x * 8 + 2 * r + 1] = to[r].y;
    }
}

enum Operand { kA, kB, kC };

// C = A * B, with the first 8 columns of B and 4 elements of C per lane. Where A or B is probed,
// block p puts 1 into its element p and 0 into all others. p is the lane times the number of its
// elements, plus i.
template <Operand probed>
__global__ void multiply(const half* A, const half* B, float* C) {
    __shared__ alignas(16) half shared[2][16][16];
    for (int i = threadIdx.x; i < 256; i += 32) {
        shared[0][i / 16][i % 16] = A[i];
        shared[1][i / 16][i % 16] = B[i];
    }
    __syncwarp();
    half2 a[4], b[2];
    float c[4] = {};
    ptx::ldmatrix_x4(a, &shared[0][threadIdx.x % 16][threadIdx.x / 16 * 8]);
    ptx::ldmatrix_x2_trans(b, shared[1][threadIdx.x % 16]);
    const auto is_one = [](int i, int elements) {
        return half(float(threadIdx.x * elements + i == blockIdx.x));
    };
    for (int r = 0; probed == kA && r < 4; ++r) a[r] = {is_one(2 * r, 8), is_one(2 * r + 1, 8)};
    for (int r = 0; probed == kB && r < 2; ++r) b[r] = {is_one(2 * r, 4), is_one(2 * r + 1, 4)};
    ptx::mma_m16n8k16(c, a, b);
    for (int i = 0; i < 4; ++i) C[(blockIdx.x * 32 + threadIdx.x) * 4 + i] = c[i];
}

Matrix matrix(float (*element)(int row, int col)) {
    Matrix M(256);
    for (int i = 0; i < 256; ++i) M[i] = element(i / 16, i % 16);
    return M;
}

template <bool trans>
Dump map_of_ldmatrix() {
    const Matrix M = matrix([](int row, int col) { return float(row * 16 + col); });
    DeviceArray<half> M_device(256), x_device(256);
    M_device.upload(M);
    run_checked("ldmatrix", {}, [&] { load<trans><<<1, 32>>>(M_device.data(), x_device.data()); });
    Matrix x;
    x_device.download(x);
    Dump dump;
    for (const half value : x) dump.push_back({int(float(value)) / 16, int(float(value)) % 16});
    return dump;
}

template <Operand probed>
std::vector<float> product(const Matrix& A, const Matrix& B, int blocks) {
    DeviceArray<half> A_device(256), B_device(256);
    DeviceArray<float> C_device(blocks * 128);
    A_device.upload(A);
    B_device.upload(B);
    run_checked("mma", {}, [&] {
        multiply<probed><<<blocks, 32>>>(A_device.data(), B_device.data(), C_device.data());
    });
    std::vector<float> C;
    C_device.download(C);
    return C;
}

Dump map_of_c() {
    const Matrix names = matrix([](int row, int col) { return float(row * 16 + col); });
    const Matrix one = matrix([](int row, int col) { return float(row == col); });
    Dump dump;
    for (const float name : product<kC>(names, one, 1))
        dump.push_back({int(name) / 16, int(name) % 16});
    return dump;
}

// Returns where each element of A or B lies. The operand has `elements` of them a lane.
template <Operand probed>
Dump map_of(int elements, const Dump& c_map) {
    const Matrix k_of_row = matrix([](int row, int) { return float(row + 1); });
    const Matrix k_of_col = matrix([](int, int col) { return float(col + 1); });
    const std::vector<float> C = product<probed>(k_of_col, k_of_row, 32 * elements);
    Dump dump;
    for (int p = 0; p < 32 * elements; ++p) {
        std::vector<Element> found;  // of A or B, one for each sum that is not 0
        for (int at = 0; at < 128; ++at) {
            const int k = int(C[p * 128 + at]) - 1;
            if (k < 0) continue;
            found.push_back(probed == kA ? Element{c_map[at].row, k} : Element{k, c_map[at].col});
        }
        const bool same =
            !found.empty() && std::count(found.begin(), found.end(), found[0]) == int(found.size());
        if (!same || found.size() != (probed == kA ? 8 : 16))
            throw Failure(kWrongResult, format("element %d of lane %d is not an element of %c",
                                               p % elements, p / elements, "AB"[probed]));
        dump.push_back(found[0]);
    }
    return dump;
}

int main(int argc, char** argv) {
    Chip chip;
    std::string csv;
    std::vector<Option> options = {
        {"--csv", "FILE", "also write map,lane,element,row,col to FILE", file_name(csv)}};
    for (const Option& option : chip_options(chip)) options.push_back(option);
    const auto run = [&] {
        select_chip(chip);
        if (chip.sm < 80) throw Failure(kNoGpu, "mma.m16n8k16 needs sm_80");
        const Dump c_map = map_of_c();
        const struct {
            const char *name, *use;
            Dump dump;
        } maps[] = {{"ldmatrix_x4", "matrix_a", map_of_ldmatrix<false>()},
                    {"ldmatrix_x4_trans", "matrix_a", map_of_ldmatrix<true>()},
                    {"mma_m16n8k16 A", "matrix_a", map_of<kA>(8, c_map)},
                    {"mma_m16n8k16 B", "matrix_b", map_of<kB>(4, c_map)},
                    {"mma_m16n8k16 C", "accumulator", c_map}};
        std::string text = "map,lane,element,row,col\n";
        for (const auto& [name, use, dump] : maps) {
            const int elements = int(dump.size()) / 32;
            const FragmentKind kind = {use, "half", "row", "16x8x16"};
            std::printf("\n%s, %d x %d; element i of each lane as row,col\nlane ", name,
                        kind.rows(), kind.cols());
            for (int i = 0; i < elements; ++i) std::printf("   i=%d", i);
            for (int at = 0; at < int(dump.size()); ++at) {
                if (at % elements == 0) std::printf("\n%4d ", at / elements);
                std::printf(" %2d,%-2d", dump[at].row, dump[at].col);
                text += format("%s,%d,%d,%d,%d\n", name, at / elements, at % elements, dump[at].row,
                               dump[at].col);
            }
            std::printf("\n%-17s  row = %-24s  col = %-24s  %s\n", name,
                        formula(dump, &Element::row).c_str(), formula(dump, &Element::col).c_str(),
                        describe_copies(kind, dump).c_str());
        }
        write_whole(csv, text);
    };
    const Program program = {
        "mma_maps", "which element each lane holds in mma.m16n8k16 and ldmatrix",
        options,    "Example:\n  mma_maps --csv maps.csv",
        "probe",    kBuild};
    return run_program(program, argc, argv, run);
}

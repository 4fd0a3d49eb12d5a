// 07_fragment_probe/volta_tables: the article's tables of Volta's fragments, put to work.
// mma.m8n8k4 was made for Volta's layout and newer chips still honour it, so a product filled and
// read by a table is correct only if the table is.
#include <cuda_fp16.h>
#include <mma.h>

#include "07_fragment_probe/chip.h"
#include "07_fragment_probe/layouts.h"
#include "common/build.h"
#include "common/checked_launch.h"
#include "common/device.h"
#include "common/errors.h"
#include "common/operands.h"
#include "common/options.h"
#include "common/ptx/ptx.cuh"
#include "common/verify.h"

using namespace nvcuda;

// The article's three tables: row lane + 1 lists what the lane holds, in blocks of which four lanes
// share a row of blocks; these are the numbers of the blocks. Derived from "Tensorコアを使ってみた",
// Fixstars Corporation, CC BY-SA 4.0.
Element printed_as_a(
    int lane, int i) {  // row of blocks g: transposed 4x4 blocks M(0, q) M(1, q) M(2, q) M(3, q)
    const int q[8] = {0, 0, 2, 2, 1, 1, 3, 3};
    return {i / 4 * 4 + i % 4, 4 * q[lane / 4] + lane % 4};
}
Element printed_as_b(int lane, int i) {  // transposed 4x4 blocks M(p, 0) M(p, 1) M(p, 2) M(p, 3)
    const int p[8] = {0, 2, 0, 2, 1, 3, 1, 3};
    return {4 * p[lane / 4] + i % 4, i / 4 * 4 + lane % 4};
}
Element printed_accumulator(int lane, int i) {  // "half/float": 4x1 blocks M(p, 8h) to M(p, 8h + 7)
    const int p[8] = {0, 2, 0, 2, 1, 3, 1, 3}, h[8] = {0, 0, 1, 1, 0, 0, 1, 1};
    return {4 * p[lane / 4] + lane % 4, 8 * h[lane / 4] + i};
}
// What a float accumulator holds. Source: PTX ISA, the .f32 accumulators of mma.m8n8k4, in four
// quad-pairs.
Element float_accumulator(int lane, int i) {
    return {lane / 4 % 2 * 8 + lane / 16 * 4 + (lane & 1) + (i & 2),
            lane / 8 % 2 * 8 + (i & 4) + (lane & 2) + (i & 1)};
}
using Table = Element (*)(int lane, int i);

// One warp multiplies 16x16x16, as four products with k = 4. Each lane has 16 values of a and b,
// and 8 of c.
template <class Accumulator>
__global__ void multiply(const half* a, const half* b, float* c) {
    const int lane = threadIdx.x;
    using Register = std::conditional_t<std::is_same_v<Accumulator, float>, float, half2>;
    Register sum[8 * sizeof(Accumulator) / sizeof(Register)];
    Accumulator* const element = reinterpret_cast<Accumulator*>(sum);
    for (int i = 0; i < 8; ++i) element[i] = Accumulator(0.0f);
    for (int set = 0; set < 4; ++set) {
        half2 a4[2], b4[2];
        for (int r = 0; r < 2; ++r) {
            const int at = lane * 16 + set * 4 + r * 2;
            a4[r] = {a[at], a[at + 1]};
            b4[r] = {b[at], b[at + 1]};
        }
        ptx::mma_m8n8k4(sum, a4, b4);
    }
    for (int i = 0; i < 8; ++i) c[lane * 8 + i] = float(element[i]);
}

// One warp stores what load_matrix_sync puts into matrix_a, matrix_b and a float accumulator, all
// column-major.
__global__ void load(const half* M, const float* M_float, float* a, float* b, float* c) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::col_major> A;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> B;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> C;
    wmma::load_matrix_sync(A, M, 16);
    wmma::load_matrix_sync(B, M, 16);
    wmma::load_matrix_sync(C, M_float, 16, wmma::mem_col_major);
    for (int i = 0; i < 16; ++i) a[threadIdx.x * 16 + i] = float(A.x[i]);
    for (int i = 0; i < 16; ++i) b[threadIdx.x * 16 + i] = float(B.x[i]);
    for (int i = 0; i < 8; ++i) c[threadIdx.x * 8 + i] = float(C.x[i]);
}

constexpr int kProducts = 16;  // chance hits in one product are misses in another

// Elements of C, of 256: in the product that has fewest, and in any.
struct Wrong {
    int fewest = 256, ever = 0;
};

// Fills A and B by two tables, multiplies, reads C by a third, and compares with the integers.
template <class Accumulator>
Wrong count_wrong(Table table_a, Table table_b, Table table_c) {
    DeviceArray<half> a_device(512), b_device(512);
    DeviceArray<float> c_device(256);
    std::vector<bool> ever(256, false);
    Wrong wrong;
    for (int product = 0; product < kProducts; ++product) {
        const std::vector<float> A = random_integers(256, 2 * product, 8),
                                 B = random_integers(256, 2 * product + 1, 8);
        std::vector<half> a(512), b(512);
        for (int at = 0; at < 512; ++at) {
            const Element of_a = table_a(at / 16, at % 16), of_b = table_b(at / 16, at % 16);
            a[at] = half(A[of_a.row * 16 + of_a.col]);
            b[at] = half(B[of_b.row * 16 + of_b.col]);
        }
        a_device.upload(a);
        b_device.upload(b);
        std::vector<float> c(256, unwritten()), C(256, unwritten());
        c_device.upload(c);
        run_checked("the product by mma.m8n8k4", {}, [&] {
            multiply<Accumulator><<<1, 32>>>(a_device.data(), b_device.data(), c_device.data());
        });
        c_device.download(c);
        for (int at = 0; at < 256; ++at) {
            const Element of_c = table_c(at / 8, at % 8);
            C[of_c.row * 16 + of_c.col] = c[at];
        }
        int wrong_here = 0;
        for (int row = 0; row < 16; ++row) {
            const std::vector<int64_t> exact = exact_row({16, 16, 16}, A, B, row);
            for (int col = 0; col < 16; ++col) {
                if (C[row * 16 + col] == float(exact[col])) continue;  // NaN is wrong
                ++wrong_here;
                ever[row * 16 + col] = true;
            }
        }
        wrong.fewest = std::min(wrong.fewest, wrong_here);
    }
    wrong.ever = int(std::count(ever.begin(), ever.end(), true));
    return wrong;
}

// How many of `held` name the element that the table says.
int count_equal(const std::vector<float>& held, Table table) {
    const int elements = int(held.size()) / 32;
    int equal = 0;
    for (int at = 0; at < int(held.size()); ++at) {
        const Element e = table(at / elements, at % elements);
        equal += held[at] == float(e.row * 16 + e.col);
    }
    return equal;
}

// Each quad-pair multiplies 8 rows of A by 8 columns of B: how many of the 128 elements of A
// (`which` is row) or B it holds.
int count_held(Table table, int Element::*which) {
    std::vector<Element> held;
    for (int lane = 0; lane < 32; ++lane)
        for (int i = 0; i < 16; ++i)
            if (lane / 4 % 4 == 0 && table(lane, i).*which < 8) held.push_back(table(lane, i));
    std::sort(held.begin(), held.end());
    return int(std::unique(held.begin(), held.end()) - held.begin());
}

void expect(bool& proven, bool as_expected, const std::string& line) {
    std::printf("%s%s\n", line.c_str(), as_expected ? "" : "   <- NOT AS EXPECTED");
    proven = proven && as_expected;
}

int main(int argc, char** argv) {
    Chip chip;
#ifdef CUDA_EMULATOR
    chip.sm = 70;  // for the last check; mma.m8n8k4 is the same everywhere
#endif
    const auto prove = [&] {
        select_chip(chip);
        bool proven = true;
        std::printf(
            "%d products of 16x16x16 by mma.m8n8k4; wrong elements of C, of 256: "
            "fewest in a product, and in any\n",
            kProducts);
        const auto product = [&](const char* what, const Wrong& wrong, int ever) {
            expect(proven, wrong.ever == ever,
                   format("  %-66s %4d %4d", what, wrong.fewest, wrong.ever));
        };
        const Table a = printed_as_a, b = printed_as_b, c = printed_accumulator;
        product("A and B filled by the tables with the labels swapped", count_wrong<half>(b, a, c),
                0);
        product("A and B filled by the tables as printed", count_wrong<half>(a, b, c), 256);
        product("float accumulators read by the table for float (PTX ISA)",
                count_wrong<float>(b, a, float_accumulator), 0);
        product("float accumulators read by the table printed for \"half/float\"",
                count_wrong<float>(b, a, c), 128);

        std::printf(
            "Of the 128 elements of A, and of B, that lanes 0-3 and 16-19 need for their 8x8 of C "
            "they hold\n");
        const auto holds = [&](const char* what, Table a, Table b, int all) {
            const int of_a = count_held(a, &Element::row), of_b = count_held(b, &Element::col);
            expect(proven, of_a == all && of_b == all, format("  %-66s %4d %4d", what, of_a, of_b));
        };
        holds("with the labels swapped", b, a, 128);
        holds("as printed", a, b, 64);

        if (chip.sm == 70) {
            std::vector<half> M(256);
            std::vector<float> M_float(256), held_a(512), held_b(512), held_c(256);
            for (int at = 0; at < 256; ++at)
                M[at % 16 * 16 + at / 16] = half(M_float[at % 16 * 16 + at / 16] = float(at));
            DeviceArray<half> M_device(256);
            DeviceArray<float> M_float_device(256), a_device(512), b_device(512), c_device(256);
            M_device.upload(M);
            M_float_device.upload(M_float);
            run_checked("load_matrix_sync", {}, [&] {
                load<<<1, 32>>>(M_device.data(), M_float_device.data(), a_device.data(),
                                b_device.data(), c_device.data());
            });
            a_device.download(held_a);
            b_device.download(held_b);
            c_device.download(held_c);
            std::printf("Places at which load_matrix_sync's fragments agree with the tables\n");
            const auto agrees = [&](const char* what, const std::vector<float>& held, Table table,
                                    int all) {
                const int equal = count_equal(held, table);
                expect(proven, equal == all,
                       format("  %-66s %4d of %zu", what, equal, held.size()));
            };
            agrees("matrix_a and the table printed for matrix_b", held_a, b, 512);
            agrees("matrix_b and the table printed for matrix_a", held_b, a, 512);
            agrees("matrix_a and the table printed for matrix_a", held_a, a, 64);
            agrees("matrix_b and the table printed for matrix_b", held_b, b, 64);
            agrees("float accumulator and the table for float", held_c, float_accumulator, 256);
            agrees("float accumulator and the table printed for \"half/float\"", held_c, c, 128);
        } else {
            std::printf(
                "load_matrix_sync itself lays fragments out in another way on %s; the CPU build "
                "compares Volta's.\n",
                chip.architecture().c_str());
        }
        if (!proven) throw Failure(kWrongResult, "the proof did not come out");
        std::printf(
            "Proven: the labels of matrix_a and matrix_b are swapped, and the accumulator's table "
            "is half's alone.\n");
    };
    const Program program = {"volta_tables",
                             "proves which of the article's fragment tables are wrong",
                             chip_options(chip),
                             "Example:\n  volta_tables",
                             "probe",
                             kBuild};
    return run_program(program, argc, argv, prove);
}

// 07_fragment_probe/what_it_adds: how does a tensor core add? Experiments with one element of D, in
// which something tiny vanishes or not.
//
//    D = C + p[0] + p[1] + ..., a row of A times a column of B. A tensor core shifts C and a group of
//    products to the largest exponent among them, truncates them, and adds:
//
//        C       1 0 0 0 0 0 0 0 0 0 0 0 . . . 0 0 0 0 0|         23 bits of a float
//        p[0]      1 0 1 1 0 1 0 0 1 1 1 . . . 1 0 1 1 0|0 1 1    and some extra ones,
//        p[1]                    1 1 0 1 . . . 0 1 0 0 1|1 0      below which all is lost
#include <mma.h>

#include <cmath>
#include <functional>

#include "07_fragment_probe/chip.h"
#include "common/build.h"
#include "common/checked_launch.h"
#include "common/device.h"
#include "common/errors.h"
#include "common/options.h"
#include "common/ptx/hopper.cuh"
#include "common/table.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
namespace nvcuda::wmma::precision {
struct tf32;
}
#endif
using namespace nvcuda;

// ---- D = C + A * B, where all rows of A are equal, and all columns of B -------------------------

constexpr int kRows = 64, kMaxColumns = 16;  // at most, of A and of B

template <class T>
struct Element {
    using Stored = T;
};
template <>
struct Element<wmma::precision::tf32> {
    using Stored = float;
};

// a, b: `steps` times k elements of a row and of a column. One warp.
template <class T, class D, int k, int since>
__global__ void add_by_wmma(const float* a, const float* b, float c, int steps, float* d) {
    if constexpr (ptx::kCompiledFor >= since) {
        using Stored = typename Element<T>::Stored;
        __shared__ alignas(32) Stored A[16][k], B[16][k];
        __shared__ alignas(32) D sums[16][16];
        wmma::fragment<wmma::matrix_a, 16, 16, k, T, wmma::row_major> a_fragment;
        wmma::fragment<wmma::matrix_b, 16, 16, k, T, wmma::col_major> b_fragment;
        wmma::fragment<wmma::accumulator, 16, 16, k, D> accumulator;
        wmma::fill_fragment(accumulator, D(c));
        for (int step = 0; step < steps; ++step) {
            for (int i = threadIdx.x; i < 16 * k; i += 32) {
                A[i / k][i % k] = Stored(a[step * k + i % k]);
                B[i / k][i % k] = Stored(b[step * k + i % k]);
            }
            __syncwarp();
            wmma::load_matrix_sync(a_fragment, A[0], k);
            wmma::load_matrix_sync(b_fragment, B[0], k);
            wmma::mma_sync(accumulator, a_fragment, b_fragment, accumulator);
            __syncwarp();
        }
        wmma::store_matrix_sync(sums[0], accumulator, 16, wmma::mem_row_major);
        __syncwarp();
        if (threadIdx.x == 0) *d = float(sums[0][0]);
    } else {
        __trap();
    }
}

// The same by wgmma, of 64 x 16 by 16 x 16: both operands in shared memory without a swizzle, as
// core matrices of 8 x 8. One warpgroup.
__global__ void __launch_bounds__(128)
    add_by_wgmma(const float* a, const float* b, float c, int steps, float* d) {
    __shared__ alignas(128) half A[kRows / 8][2][8][8], B[kMaxColumns / 8][2][8][8];
    float sums[8];
    for (float& sum : sums) sum = c;
    for (int step = 0; step < steps; ++step) {
        for (int i = threadIdx.x; i < kRows * 16; i += 128) {
            const int row = i / 16, k = i % 16;
            A[row / 8][k / 8][row % 8][k % 8] = half(a[step * 16 + k]);
            if (row < kMaxColumns) B[row / 8][k / 8][row % 8][k % 8] = half(b[step * 16 + k]);
        }
        ptx::fence_proxy_async();
        __syncthreads();
        ptx::wgmma_fence();
        ptx::wgmma_m64k16<half>(sums, ptx::wgmma_descriptor(A, 0, 16, 8),
                                ptx::wgmma_descriptor(B, 0, 16, 8));
        ptx::wgmma_commit_group();
        ptx::wgmma_wait_group<0>();
        ptx::warpgroup_fence_operand(sums);
        __syncthreads();
    }
    if (threadIdx.x == 0) *d = sums[0];
}

struct Instruction {
    const char* name;
    int since, k, threads;
    bool half_accumulators;
    void (*kernel)(const float* a, const float* b, float c, int steps, float* d);
};
const Instruction kInstructions[] = {
    {"mma_sync half", 70, 16, 32, false, add_by_wmma<half, float, 16, 70>},
    {"mma_sync half (half accumulators)", 70, 16, 32, true, add_by_wmma<half, half, 16, 70>},
    {"mma_sync bf16", 80, 16, 32, false, add_by_wmma<__nv_bfloat16, float, 16, 80>},
    {"mma_sync tf32", 80, 8, 32, false, add_by_wmma<wmma::precision::tf32, float, 8, 80>},
    {"wgmma half", 90, 16, 128, false, add_by_wgmma},
};

struct Factors {
    double a, b;
};
// 2^n as a product of two elements of half.
Factors power(int n, double sign = 1) {
    return {sign * std::ldexp(1.0, n / 2), std::ldexp(1.0, n - n / 2)};
}

double add(const Instruction& by, double c, const std::vector<Factors>& products) {
    const int steps = int(products.size() + by.k - 1) / by.k;
    std::vector<float> a(steps * by.k), b(steps * by.k), d;
    for (size_t i = 0; i < products.size(); ++i) {
        a[i] = float(products[i].a);
        b[i] = float(products[i].b);
    }
    DeviceArray<float> a_device(a.size()), b_device(b.size()), d_device(1);
    a_device.upload(a);
    b_device.upload(b);
    run_checked(by.name, {}, [&] {
        const auto kernel = by.kernel;
        kernel<<<1, by.threads>>>(a_device.data(), b_device.data(), float(c), steps,
                                  d_device.data());
    });
    d_device.download(d);
    return d[0];
}

// ---- The experiments ----------------------------------------------------------------------------

// 1024 in place of 1, because 2^-25 is less than the smallest half.
constexpr int kOne = 10;

struct Found {
    int products, bits;
    std::string c, addend, sum, normalised;
};

// 2^30 - 2^30 + 1: the 1 vanishes if it is added at once with the others.
int products_at_once(const Instruction& by) {
    std::printf("  2^30 - 2^30 + 1, the 1 at k = 2 to %d:  ", by.k - 1);
    int lost = 2;
    for (int k = 2; k < by.k; ++k) {
        std::vector<Factors> products(k + 1, {0, 0});
        products[0] = power(30);
        products[1] = power(30, -1);
        products[k] = power(0);
        const double sum = add(by, 0, products);
        std::printf(" %g", sum);
        lost += sum == 0;
    }
    std::printf("\n      the 1 vanishes where it is added at once with the others: %d products\n",
                lost);
    return lost;
}

// The same, where the 1 is C.
std::string where_c_is_added(const Instruction& by) {
    const double sum = add(by, 1, {power(30), power(30, -1)});
    const char* where = sum == 0 ? "at once with the first products" : "after the first products";
    std::printf("  C = 1, 2^30 - 2^30:  %g\n      C is added %s\n", sum, where);
    return where;
}

// 1 + 2^-n - 1: 2^-n vanishes if it lies below the bits that are kept.
int bits_kept(const Instruction& by) {
    std::printf("  1 + 2^-n - 1, n = 20 to 28:  ");
    int bits = 0;
    for (int n = 20; n <= 28; ++n) {
        const double sum = add(by, std::ldexp(1.0, kOne), {power(kOne - n), power(kOne, -1)});
        if (sum != 0) bits = n;
        std::printf(sum != 0 ? " 2^%g" : " %g", sum != 0 ? std::log2(sum) - kOne : 0);
    }
    std::printf(
        "\n      %d bits are kept below the largest addend's leading bit: a float's 23 and %d extra\n",
        bits, bits - 23);
    return bits;
}

// 1 + x - 1 and 1 - x - 1, where x is 1.75 times the last bit that is kept.
std::string how_addends_are_rounded(const Instruction& by, int bits) {
    const double last = std::ldexp(1.0, kOne - bits);
    double sums[2];
    for (int negative = 0; negative < 2; ++negative) {
        Factors x = power(kOne - bits, negative ? -1 : 1);
        x.a *= 1.75;
        sums[negative] = add(by, std::ldexp(1.0, kOne), {x, power(kOne, -1)}) / last;
    }
    const char* how = sums[0] == 1 && sums[1] == -1   ? "truncated toward zero"
                      : sums[0] == 1 && sums[1] == -2 ? "truncated downward"
                                                      : "rounded";
    std::printf("  1 + 1.75 u - 1, 1 - 1.75 u - 1, u = 2^-%d:  %g u, %g u\n      an addend is %s\n",
                bits, sums[0], sums[1], how);
    return how;
}

// (1 + 3u) + 1 = 2 + 3u, u the last bit of D at 1: halfway between two neighbours 2 + 2u and 2 + 4u.
std::string how_the_sum_ends(const Instruction& by) {
    const int digits = by.half_accumulators ? 10 : 23;
    const double one = std::ldexp(1.0, kOne), u = std::ldexp(1.0, kOne - digits);
    const double up = (add(by, one + 3 * u, {power(kOne)}) - 2 * one) / u;
    const double down = (add(by, -one - 3 * u, {power(kOne, -1)}) + 2 * one) / u;
    const char* how = up == 2 && down == -2   ? "truncated toward zero"
                      : up == 4 && down == -4 ? "rounded to nearest even"
                                              : "rounded otherwise";
    std::printf(
        "  1 + 3u + 1, and with minus, u = 2^-%d:  2 + %gu, -2 - %gu\n      the sum is %s\n",
        digits, up, -down, how);
    return how;
}

// 1.5 * 1.5 - 1.5 * 1.5 + u, u the last bit that is kept beside 1. It vanishes if 2.25 has exponent 1.
std::string is_normalised(const Instruction& by, int bits) {
    const double root = std::ldexp(1.5, kOne / 2);
    const double sum = add(by, 0, {{root, root}, {-root, root}, power(kOne - bits)});
    const char* which = sum != 0 ? "no" : "yes";
    std::printf("  1.5 * 1.5 - 1.5 * 1.5 + 2^-%d:  %s\n      is a product normalised first? %s\n",
                bits, sum != 0 ? "not 0" : "0", which);
    return which;
}

// A long sum of positive products, in which every step truncates. Expected loss: of a product
// half of the last bit that is kept, and of the sum half of a float's last bit, less half of that,
// since the sum has no bits below it. Beside it, the same sum by FP32 additions on the host.
void print_bias(const Instruction& by, const Found& found, int K, Row& row) {
    uint32_t random = 1;
    const auto next = [&random] {  // from 1 to 2, of 8 bits, the last of which is 1
        random = random * 1664525u + 1013904223u;
        return 1 + double(random >> 26) / 64 + 0x1p-7;
    };
    const double lowest = 0x1p-14;  // the last bit of such a product
    std::vector<Factors> products(K);
    double sum = 0, predicted = 0;
    float fp32 = 0;
    for (int k = 0; k < K; ++k) {
        products[k].a = next();
        products[k].b = next();
        const double last = std::ldexp(1.0, (sum > 0 ? std::ilogb(sum) : 0) - found.bits);
        sum += products[k].a * products[k].b;
        fp32 += float(products[k].a * products[k].b);
        if (last > lowest) predicted += last / 2;
        const double unit = std::ldexp(1.0, std::ilogb(sum) - 23);
        if ((k + 1) % found.products == 0)
            predicted += std::max(0.0, unit - std::max(last, lowest)) / 2;
    }
    const double bias = (sum - add(by, 0, products)) / sum;
    std::printf(
        "  %d products from 1 to 4:  too small by %.2g of the sum; predicted %.2g; by FP32 additions %.2g\n",
        K, bias, predicted / sum, (sum - fp32) / sum);
    add_cells(row, {{"k", std::to_string(K)},
                    {"bias", format("%.3g", bias)},
                    {"predicted", format("%.3g", predicted / sum)},
                    {"fp32", format("%.3g", (sum - fp32) / sum)}});
}

int main(int argc, char** argv) {
    Chip chip;
    std::string csv;
    int K = 8192;
    OptionTable options = chip_options(chip);
    options.push_back({"-k", "N", "products of the long sum", number(K, 16, 1 << 20)});
    options.push_back({"--csv", "FILE", "also write what was found to FILE", file_name(csv)});
    const auto run = [&] {
        select_chip(chip);
        Csv table(csv);
        for (const Instruction& by : kInstructions) {
            if (chip.sm < by.since || (by.since == 90 && chip.sm != 90)) continue;
            std::printf("%s\n", by.name);
            Found found;
            found.products = products_at_once(by);
            found.c = where_c_is_added(by);
            found.bits = bits_kept(by);
            found.addend = how_addends_are_rounded(by, found.bits);
            found.sum = how_the_sum_ends(by);
            found.normalised = is_normalised(by, found.bits);
            Row row = {{"sm", std::to_string(chip.sm)},
                       {"instruction", by.name},
                       {"products", std::to_string(found.products)},
                       {"bits", std::to_string(found.bits)},
                       {"c", found.c},
                       {"addend", found.addend},
                       {"sum", found.sum},
                       {"normalised", found.normalised}};
            if (by.half_accumulators)
                add_cells(row, {{"k", "-"}, {"bias", "-"}, {"predicted", "-"}, {"fp32", "-"}});
            else print_bias(by, found, K, row);
            table.add(row);
        }
        table.save();
    };
    const Program program = {"what_it_adds", "finds by experiments how a tensor core adds products",
                             options,        "Example:\n  what_it_adds --csv adds.csv",
                             "probe",        kBuild};
    return run_program(program, argc, argv, run);
}

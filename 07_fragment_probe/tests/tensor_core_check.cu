// Does each instruction add as emulator/include/tensor_core.h says, bit for bit? Random products of
// many kinds (random_operands.h) are computed by the instruction and by that file on the host. On a
// GPU this checks the file; on the emulator, the faster way in which it computes the same.
//
// `--measured` compares the file with what an H100 has computed.
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "07_fragment_probe/chip.h"
#include "07_fragment_probe/tests/measured.h"
#include "07_fragment_probe/tests/random_operands.h"
#include "common/build.h"
#include "common/checked_launch.h"
#include "common/device.h"
#include "common/errors.h"
#include "common/options.h"
#include "common/ptx/hopper.cuh"

namespace model = emulator::tensor_core;
using namespace random_operands;

// ---- The instructions ---------------------------------------------------------------------------

constexpr int kColumns = 8, kMostRows = 64, kMostDepth = 32;

// A lane's registers: A, B and C.
struct Registers {
    unsigned a[4], b[2];
    float c[4];
    unsigned halves[2];  // C, if it is of half
};

// clang-format off
#define MMA_K16(since, name, shape, type)                                                         \
    struct name {                                                                                 \
        static constexpr int kThreads = 32;                                                       \
        static __device__ void run(Registers& r) {                                                \
            if constexpr (ptx::kCompiledFor >= since)                                             \
                asm volatile("mma.sync.aligned." shape ".row.col.f32." type "." type ".f32 "      \
                             "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"    \
                             : "+f"(r.c[0]), "+f"(r.c[1]), "+f"(r.c[2]), "+f"(r.c[3])             \
                             : "r"(r.a[0]), "r"(r.a[1]), "r"(r.a[2]), "r"(r.a[3]), "r"(r.b[0]), "r"(r.b[1]));\
            else __trap();                                                                        \
        }                                                                                         \
    }
#define MMA_K8(since, name, shape, type)                                                          \
    struct name {                                                                                 \
        static constexpr int kThreads = 32;                                                       \
        static __device__ void run(Registers& r) {                                                \
            if constexpr (ptx::kCompiledFor >= since)                                             \
                asm volatile("mma.sync.aligned." shape ".row.col.f32." type "." type ".f32 "      \
                             "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"                \
                             : "+f"(r.c[0]), "+f"(r.c[1]), "+f"(r.c[2]), "+f"(r.c[3])             \
                             : "r"(r.a[0]), "r"(r.a[1]), "r"(r.b[0]));                            \
            else __trap();                                                                        \
        }                                                                                         \
    }
MMA_K16(80, MmaF16K16, "m16n8k16", "f16");
MMA_K8(75, MmaF16K8, "m16n8k8", "f16");
MMA_K16(80, MmaBf16K16, "m16n8k16", "bf16");
MMA_K8(80, MmaBf16K8, "m16n8k8", "bf16");
MMA_K16(80, MmaTf32K8, "m16n8k8", "tf32");
MMA_K8(80, MmaTf32K4, "m16n8k4", "tf32");
MMA_K16(89, MmaE4m3, "m16n8k32", "e4m3");
MMA_K16(89, MmaE5m2, "m16n8k32", "e5m2");
struct MmaHalfK16 {
    static constexpr int kThreads = 32;
    static __device__ void run(Registers& r) {
        if constexpr (ptx::kCompiledFor >= 80)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 "
                         "{%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
                         : "+r"(r.halves[0]), "+r"(r.halves[1])
                         : "r"(r.a[0]), "r"(r.a[1]), "r"(r.a[2]), "r"(r.a[3]), "r"(r.b[0]), "r"(r.b[1]));
        else __trap();
    }
};
struct MmaHalfK8 {
    static constexpr int kThreads = 32;
    static __device__ void run(Registers& r) {
        if constexpr (ptx::kCompiledFor >= 75)
            asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3}, {%4}, {%0, %1};"
                         : "+r"(r.halves[0]), "+r"(r.halves[1])
                         : "r"(r.a[0]), "r"(r.a[1]), "r"(r.b[0]));
        else __trap();
    }
};
// A lies in registers and B, 8 columns of 32 bytes, in shared memory: without a swizzle, as two core
// matrices.
__device__ inline uint64_t store_b(const Registers& r) {
    __shared__ alignas(128) unsigned b[2][32];
    __syncthreads();
    if (threadIdx.x < 32)
        for (int half = 0; half < 2; ++half) b[half][threadIdx.x] = r.b[half];
    ptx::fence_proxy_async();
    __syncthreads();
    return ptx::wgmma_descriptor(b, 0, 16, 8);
}
#define WGMMA(name, shape, type, tail)                                                            \
    struct name {                                                                                 \
        static constexpr int kThreads = 128;                                                      \
        static __device__ void run(Registers& r) {                                                \
            const uint64_t b = store_b(r);                                                        \
            ptx::wgmma_fence();                                                                   \
            if constexpr (ptx::kHasWgmma)                                                         \
                asm volatile("wgmma.mma_async.sync.aligned." shape ".f32." type "." type " "      \
                             "{%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 1, 1, 1" tail ";"           \
                             : "+f"(r.c[0]), "+f"(r.c[1]), "+f"(r.c[2]), "+f"(r.c[3])             \
                             : "r"(r.a[0]), "r"(r.a[1]), "r"(r.a[2]), "r"(r.a[3]), "l"(b));       \
            else __trap();                                                                        \
            ptx::wgmma_commit_group();                                                            \
            ptx::wgmma_wait_group<0>();                                                           \
            ptx::warpgroup_fence_operand(r.c);                                                    \
        }                                                                                         \
    }
#define WGMMA_HALF(name, shape, type, tail)                                                       \
    struct name {                                                                                 \
        static constexpr int kThreads = 128;                                                      \
        static __device__ void run(Registers& r) {                                                \
            const uint64_t b = store_b(r);                                                        \
            ptx::wgmma_fence();                                                                   \
            if constexpr (ptx::kHasWgmma)                                                         \
                asm volatile("wgmma.mma_async.sync.aligned." shape ".f16." type "." type " "      \
                             "{%0, %1}, {%2, %3, %4, %5}, %6, 1, 1, 1" tail ";"                   \
                             : "+r"(r.halves[0]), "+r"(r.halves[1])                               \
                             : "r"(r.a[0]), "r"(r.a[1]), "r"(r.a[2]), "r"(r.a[3]), "l"(b));       \
            else __trap();                                                                        \
            ptx::wgmma_commit_group();                                                            \
            ptx::wgmma_wait_group<0>();                                                           \
            ptx::warpgroup_fence_operand(r.halves);                                               \
        }                                                                                         \
    }
WGMMA(WgmmaF16, "m64n8k16", "f16", ", 0");
WGMMA_HALF(WgmmaHalf, "m64n8k16", "f16", ", 0");
WGMMA(WgmmaBf16, "m64n8k16", "bf16", ", 0");
WGMMA(WgmmaTf32, "m64n8k8", "tf32", "");
WGMMA(WgmmaE4m3, "m64n8k32", "e4m3", "");
WGMMA(WgmmaE5m2, "m64n8k32", "e5m2", "");
WGMMA_HALF(WgmmaHalfE4m3, "m64n8k32", "e4m3", "");
WGMMA_HALF(WgmmaHalfE5m2, "m64n8k32", "e5m2", "");
// clang-format on

// The elements of A or B that a register holds: those of `row` from 4 * word bytes on.
__device__ inline unsigned register_of(const Product& p, Type type, int operand, int row,
                                       int word) {
    const int bits = format_of(type).bits;
    unsigned x = 0;
    for (int i = 0; i < 32 / bits; ++i)
        x |= factor(p, type, operand, row, word * (32 / bits) + i) << (i * bits % 32);
    return x;
}

// Block i computes the product number first + i, and stores the bits of D, as floats or halves.
template <class Instruction>
__global__ void multiply(Type type, unsigned instruction, unsigned first, unsigned* D,
                         unsigned short* halves) {
    const Product p = product(instruction, first + blockIdx.x);
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const int row = threadIdx.x / 32 * 16 + g, col = 2 * t;
    Registers r;
    for (int i = 0; i < 4; ++i) r.a[i] = register_of(p, type, 0, row + i % 2 * 8, t + i / 2 * 4);
    for (int i = 0; i < 2; ++i) r.b[i] = register_of(p, type, 1, g, t + i * 4);
    for (int i = 0; i < 4; ++i)
        r.c[i] = __uint_as_float(float_sum(p, type, row + i / 2 * 8, col + i % 2));
    for (int i = 0; i < 2; ++i)
        r.halves[i] = half_sum(p, row + i * 8, col) | half_sum(p, row + i * 8, col + 1) << 16;
    Instruction::run(r);
    for (int i = 0; i < 4; ++i) {
        const size_t at =
            (blockIdx.x * size_t(Instruction::kThreads / 2) + row + i / 2 * 8) * 8 + col + i % 2;
        if (D) D[at] = __float_as_uint(r.c[i]);
        else halves[at] = static_cast<unsigned short>(r.halves[i / 2] >> (16 * (i % 2)));
    }
}

struct Instruction {
    const char* name;
    int since;
    bool on_emulator;  // whether it has the instruction
    Type type;
    bool half;  // C and D
    int rows, k;
    void (*multiply)(Type, unsigned, unsigned, unsigned*, unsigned short*);
};
// In the order of the measured ones.
const Instruction kInstructions[] = {
    {"mma m16n8k16 f16", 80, true, Type::f16, false, 16, 16, multiply<MmaF16K16>},
    {"mma m16n8k8 f16", 75, true, Type::f16, false, 16, 8, multiply<MmaF16K8>},
    {"mma m16n8k16 bf16", 80, true, Type::bf16, false, 16, 16, multiply<MmaBf16K16>},
    {"mma m16n8k8 bf16", 80, true, Type::bf16, false, 16, 8, multiply<MmaBf16K8>},
    {"mma m16n8k8 tf32", 80, true, Type::tf32, false, 16, 8, multiply<MmaTf32K8>},
    {"mma m16n8k4 tf32", 80, true, Type::tf32, false, 16, 4, multiply<MmaTf32K4>},
    {"mma m16n8k32 e4m3", 89, false, Type::e4m3, false, 16, 32, multiply<MmaE4m3>},
    {"mma m16n8k32 e5m2", 89, false, Type::e5m2, false, 16, 32, multiply<MmaE5m2>},
    {"mma m16n8k16 f16, f16 accumulator", 80, true, Type::f16, true, 16, 16, multiply<MmaHalfK16>},
    {"mma m16n8k8 f16, f16 accumulator", 75, true, Type::f16, true, 16, 8, multiply<MmaHalfK8>},
    {"wgmma m64n8k16 f16", 90, true, Type::f16, false, 64, 16, multiply<WgmmaF16>},
    {"wgmma m64n8k16 f16, f16 accumulator", 90, false, Type::f16, true, 64, 16,
     multiply<WgmmaHalf>},
    {"wgmma m64n8k16 bf16", 90, true, Type::bf16, false, 64, 16, multiply<WgmmaBf16>},
    {"wgmma m64n8k8 tf32", 90, false, Type::tf32, false, 64, 8, multiply<WgmmaTf32>},
    {"wgmma m64n8k32 e4m3", 90, false, Type::e4m3, false, 64, 32, multiply<WgmmaE4m3>},
    {"wgmma m64n8k32 e5m2", 90, false, Type::e5m2, false, 64, 32, multiply<WgmmaE5m2>},
    {"wgmma m64n8k32 e4m3, f16 accumulator", 90, false, Type::e4m3, true, 64, 32,
     multiply<WgmmaHalfE4m3>},
    {"wgmma m64n8k32 e5m2, f16 accumulator", 90, false, Type::e5m2, true, 64, 32,
     multiply<WgmmaHalfE5m2>},
};

// ---- The same by tensor_core.h ------------------------------------------------------------------

// A and B as values, and C.
struct Operands {
    float a[kMostRows][kMostDepth], b[kColumns][kMostDepth], c[kMostRows][kColumns];

    Operands(const Instruction& of, const Product& p) {
        for (int row = 0; row < of.rows; ++row)
            for (int k = 0; k < of.k; ++k)
                a[row][k] = value(of.type, factor(p, of.type, 0, row, k));
        for (int col = 0; col < kColumns; ++col)
            for (int k = 0; k < of.k; ++k)
                b[col][k] = value(of.type, factor(p, of.type, 1, col, k));
        for (int row = 0; row < of.rows; ++row)
            for (int col = 0; col < kColumns; ++col)
                c[row][col] = of.half ? value(Type::f16, half_sum(p, row, col))
                                      : model::float_of(float_sum(p, of.type, row, col));
    }
};

// mma of bytes on sm_90, which has no such instruction: nvcc 13.0 converts the bytes to halves and
// makes two products of 16 k, without C, which it adds as a float. Of four consecutive k the first
// two belong to the first of these products.
float add_bytes_as_halves(const float* a, const float* b, float c) {
    const model::Rules rules = model::rules(90, Type::f16, false);
    float sum = 0;
    for (int part = 0; part < 2; ++part) {
        float x[16], y[16];
        for (int i = 0; i < 16; ++i) {
            const int k = i / 2 * 4 + part * 2 + i % 2;
            x[i] = a[k];
            y[i] = b[k];
        }
        sum = model::add(rules, 16, x, 1, y, 1, sum);
    }
    return std::isnan(sum + c) ? model::float_of(0x7fffffff) : sum + c;
}

// The bits of an element of D.
uint32_t expected(int sm, const Instruction& of, const Operands& x, int row, int col) {
    const model::Rules rules = model::rules(sm, of.type, of.half);
    const float *a = x.a[row], *b = x.b[col];
    float d = x.c[row][col];
    if (of.since == 89) d = add_bytes_as_halves(a, b, d);
    else
        for (int k = 0; k < of.k; k += rules.products)
            d = model::add(rules, std::min(rules.products, of.k - k), a + k, 1, b + k, 1, d);
    return of.half ? uint32_t(__half_as_ushort(__float2half(d))) : model::bits_of(d);
}

// ---- Comparing ----------------------------------------------------------------------------------

// Calls of(number) for all numbers below count, on all cores.
template <class Function>
void in_parallel(unsigned count, const Function& of) {
    std::atomic<unsigned> next{0};
    const auto work = [&] {
        for (unsigned i; (i = next++) < count;) of(i);
    };
    std::vector<std::thread> threads;
    for (unsigned i = 1; !kEmulated && i < std::thread::hardware_concurrency(); ++i)
        threads.emplace_back(work);
    work();
    for (std::thread& thread : threads) thread.join();
}

constexpr const char* kModeNames[] = {
    "any bits", "any finite",    "near 1",        "cancelling",    "subnormal", "sparse",  "short",
    "positive", "powers of two", "small results", "large results", "zeros",     "special", "ties"};

// Compares `outputs` elements of D with the chip's, and prints how many differ, and some of them.
// Returns how many.
size_t compare(int sm, unsigned number, size_t outputs) {
    const Instruction& of = kInstructions[number];
    const unsigned count = unsigned((outputs + of.rows * kColumns - 1) / (of.rows * kColumns));
    const size_t size = size_t(count) * of.rows * kColumns;
    std::vector<unsigned> D;
    std::vector<unsigned short> halves;
    {
        DeviceArray<unsigned> floats_device(of.half ? 1 : size);
        DeviceArray<unsigned short> halves_device(of.half ? size : 1);
        run_checked(of.name, {}, [&] {
            const auto kernel = of.multiply;
            kernel<<<count, of.rows * 2>>>(
                of.type, number, 0, of.half ? nullptr : floats_device.data(), halves_device.data());
        });
        floats_device.download(D);
        halves_device.download(halves);
    }
    std::atomic<size_t> wrong[kModes] = {}, all{0};
    in_parallel(count, [&](unsigned i) {
        const Product p = product(number, i);
        const Operands x(of, p);
        for (int row = 0; row < of.rows; ++row)
            for (int col = 0; col < kColumns; ++col) {
                const size_t at = (size_t(i) * of.rows + row) * kColumns + col;
                const uint32_t got = of.half ? halves[at] : D[at];
                const uint32_t by_rules = expected(sm, of, x, row, col);
                if (got == by_rules) continue;
                ++all;
                if (wrong[p.mode]++ >= 2) continue;
                std::string text = format(
                    "    %s, product %u, row %d, column %d: %08x, and %08x by the rules; C %a, A * B",
                    kModeNames[p.mode], i, row, col, got, by_rules, x.c[row][col]);
                for (int k = 0; k < of.k; ++k) text += format(" %a*%a", x.a[row][k], x.b[col][k]);
                std::printf("%s\n", text.c_str());
            }
    });
    std::printf("%-32s %9zu of %zu differ", of.name, all.load(), size);
    for (int mode = 0; mode < kModes; ++mode)
        if (wrong[mode]) std::printf("; %s %zu", kModeNames[mode], wrong[mode].load());
    std::printf("\n");
    return all;
}

// The digest of the first products in a mode, and how many of their elements it is of.
uint32_t digest_by_rules(unsigned instruction, int mode) {
    const Instruction& of = kInstructions[instruction];
    uint32_t digest = 0;
    for (unsigned i = 0; i < kMeasuredRows / unsigned(of.rows); ++i) {
        const Product p = {instruction, unsigned(mode) + i * kMeasuredModes, Mode(mode)};
        const Operands x(of, p);
        for (int row = 0; row < of.rows; ++row)
            for (int col = 0; col < kColumns; ++col)
                digest = mix(digest ^ expected(90, of, x, row, col));
    }
    return digest;
}

int main(int argc, char** argv) {
    Chip chip;
    size_t outputs = kEmulated ? 20000 : 10000000;
    bool measured = false;
    OptionTable options = chip_options(chip);
    options.push_back(
        {"--outputs", "N", "elements of D of each instruction", number(outputs, 1, 1000000000)});
    options.push_back({"--measured", "", "compare with an H100's, without a chip", flag(measured)});
    const auto run = [&] {
        bool wrong = false;
        for (unsigned i = 0; measured && i < std::size(kInstructions); ++i)
            for (int mode = 0; mode < kMeasuredModes; ++mode)
                if (digest_by_rules(i, mode) != kMeasured[i][mode]) {
                    std::printf("%s, %s: an H100's result differs\n", kInstructions[i].name,
                                kModeNames[mode]);
                    wrong = true;
                }
        for (const auto& x : kMeasuredElements) {
            const Instruction& of = kInstructions[x.instruction];
            const Product p = product(x.instruction, x.product);
            if (!measured || expected(90, of, Operands(of, p), x.row, x.column) == x.bits) continue;
            std::printf("%s, %s, product %u, row %d, column %d: an H100's result differs\n",
                        of.name, kModeNames[p.mode], x.product, x.row, x.column);
            wrong = true;
        }
        if (wrong) throw Failure(kWrongResult, "an H100 does not add as tensor_core.h says");
        if (measured) return;
        select_chip(chip);
        for (unsigned i = 0; i < std::size(kInstructions); ++i) {
            const Instruction& of = kInstructions[i];
            const bool wgmma = of.rows == 64;
            if (kEmulated && !of.on_emulator)
                std::printf("%-32s not run: the emulator has no such instruction\n", of.name);
            else if (chip.sm < of.since || (wgmma && chip.sm != 90))
                std::printf("%-32s not run: needs sm_%d%s\n", of.name, of.since, wgmma ? "a" : "");
            else wrong |= compare(chip.sm, i, outputs) != 0;
        }
        if (wrong) throw Failure(kWrongResult, "an instruction does not add as tensor_core.h says");
    };
    const Program program = {"tensor_core_check",
                             "compares what tensor cores add with emulator/include/tensor_core.h",
                             options,
                             "Example:\n  tensor_core_check --outputs 1000000",
                             "probe",
                             kBuild};
    return run_program(program, argc, argv, run);
}

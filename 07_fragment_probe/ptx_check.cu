// 07_fragment_probe/ptx_check: does each instruction in common/ptx.cuh do what its formula says, in
// every lane and register? On a GPU this checks the formulas, on the CPU the emulator.
//
// Source of the formulas: PTX ISA, the sections that common/ptx.cuh names.
#include <algorithm>
#include <cstring>
#include <random>
#include <type_traits>

#include "07_fragment_probe/chip.h"
#include "common/ptx.cuh"
#include "common/report.h"

using Words = std::vector<unsigned>;  // registers: those of lane 0, then those of lane 1, ...

// What this was compiled for. As PTX for an older architecture it runs on later chips, too.
__global__ void compiled_for(int* sm) { *sm = ptx::kCompiledFor; }

// ---- ldmatrix -----------------------------------------------------------------------------------

// Lane 8j + r stores row r of matrix j, its four words of `in`, at a shuffled place. Only the
// address that it passes to ldmatrix tells where.
template <int matrices, bool trans>
__global__ void load(const void* in, void* out) {
    __shared__ alignas(16) unsigned rows[32][12];
    unsigned* const row = rows[(threadIdx.x * 5 + 3) % 32];
    for (int i = 0; i < 4; ++i) row[i] = static_cast<const unsigned*>(in)[threadIdx.x * 4 + i];
    __syncwarp();
    unsigned to[matrices];
    if constexpr (matrices == 1 && !trans) ptx::ldmatrix_x1(to, row);
    if constexpr (matrices == 2 && !trans) ptx::ldmatrix_x2(to, row);
    if constexpr (matrices == 4 && !trans) ptx::ldmatrix_x4(to, row);
    if constexpr (matrices == 1 && trans) ptx::ldmatrix_x1_trans(to, row);
    if constexpr (matrices == 2 && trans) ptx::ldmatrix_x2_trans(to, row);
    if constexpr (matrices == 4 && trans) ptx::ldmatrix_x4_trans(to, row);
    for (int j = 0; j < matrices; ++j)
        static_cast<unsigned*>(out)[threadIdx.x * matrices + j] = to[j];
}

Words loaded(int matrices, bool trans) {
    Words words;
    const auto element = [](int j, int row, int col) { return unsigned(j * 64 + row * 8 + col); };
    for (int lane = 0; lane < 32; ++lane) {
        const int g = lane / 4, t = lane % 4;
        for (int j = 0; j < matrices; ++j)
            words.push_back(trans ? element(j, 2 * t, g) | element(j, 2 * t + 1, g) << 16
                                  : element(j, g, 2 * t) | element(j, g, 2 * t + 1) << 16);
    }
    return words;
}

// ---- mma ----------------------------------------------------------------------------------------

// Each lane's registers of A, of B and of C in, those of D out.
template <class D, int d_count, class Pair, int a_count, int b_count>
__global__ void multiply(const void* in, void* out) {
    const void* const mine =
        static_cast<const unsigned*>(in) + threadIdx.x * (a_count + b_count + d_count);
    Pair a[a_count], b[b_count];
    D d[d_count];
    for (int r = 0; r < a_count; ++r) a[r] = static_cast<const Pair*>(mine)[r];
    for (int r = 0; r < b_count; ++r) b[r] = static_cast<const Pair*>(mine)[a_count + r];
    for (int r = 0; r < d_count; ++r) d[r] = static_cast<const D*>(mine)[a_count + b_count + r];
    if constexpr (a_count == 4) ptx::mma_m16n8k16(d, a, b);
    else ptx::mma_m8n8k4(d, a, b);
    for (int r = 0; r < d_count; ++r) static_cast<D*>(out)[threadIdx.x * d_count + r] = d[r];
}

// Where element i of a lane's operand belongs.
struct Place {
    int row, col;
};
using Formula = Place (*)(int lane, int i);
struct MmaShape {
    int m, n, k, groups;  // lanes with the same lane / 4 % groups share a product
    Formula a, b, d;
};
Place a_16816(int lane, int i) {
    return {lane / 4 + i / 2 % 2 * 8, lane % 4 * 2 + i % 2 + i / 4 * 8};
}
Place b_16816(int lane, int i) { return {lane % 4 * 2 + i % 2 + i / 2 * 8, lane / 4}; }
Place d_16816(int lane, int i) { return {lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2}; }
Place a_884(int lane, int i) { return {lane / 16 * 4 + i, lane % 4}; }
Place b_884(int lane, int i) { return {i, lane / 16 * 4 + lane % 4}; }
Place d_884_half(int lane, int i) { return {lane / 16 * 4 + lane % 4, i}; }
Place d_884_float(int lane, int i) {
    return {lane / 16 * 4 + lane % 2 + i / 2 % 2 * 2, i / 4 * 4 + lane / 2 % 2 * 2 + i % 2};
}
const MmaShape k16816 = {16, 8, 16, 1, a_16816, b_16816, d_16816};
const MmaShape k884_half = {8, 8, 4, 4, a_884, b_884, d_884_half};
const MmaShape k884_float = {8, 8, 4, 4, a_884, b_884, d_884_float};

// ---- cp.async -----------------------------------------------------------------------------------

// Each lane copies three times: a whole piece, lane % (bytes + 1) bytes of one, a whole one.
template <int bytes>
__global__ void copy(const void* in, void* out) {
    __shared__ alignas(16) unsigned to[3][32][bytes / 4];
    const int lane = threadIdx.x;
    const unsigned* const from = static_cast<const unsigned*>(in) + (lane ^ 5) * 4;
    unsigned* next = static_cast<unsigned*>(out) + lane * 3 * bytes / 4;
    const auto write = [&](int part) {
        for (int i = 0; i < bytes / 4; ++i) *next++ = to[part][lane][i];
    };
    ptx::cp_async<bytes>(to[0][lane], from);
    ptx::cp_async_commit_group();
    ptx::cp_async<bytes>(to[1][lane], from, lane % (bytes + 1));
    ptx::cp_async_commit_group();
    ptx::cp_async_wait_group<1>();
    write(0);
    ptx::cp_async_wait_group<0>();
    write(1);
    ptx::cp_async<bytes>(to[2][lane], from);
    ptx::cp_async_wait_all();
    write(2);
}

Words copied(const Words& in, int bytes) {
    Words words;
    for (int lane = 0; lane < 32; ++lane)
        for (int part = 0; part < 3; ++part)
            for (int byte = 0; byte < bytes; byte += 4) {
                const int valid = (part == 1 ? lane % (bytes + 1) : bytes) - byte;
                const unsigned mask = valid <= 0 ? 0 : valid >= 4 ? ~0u : (1u << 8 * valid) - 1;
                words.push_back(in[(lane ^ 5) * 4 + byte / 4] & mask);
            }
    return words;
}

// ---- The checks ---------------------------------------------------------------------------------

struct Check {
    std::string name;
    int since;
    void (*kernel)(const void* in, void* out);
    Words in, expected;
};

template <int matrices, bool trans>
Check check_ldmatrix() {
    Words in;
    for (unsigned i = 0; i < 32 * 8; i += 2) in.push_back(i | (i + 1) << 16);
    return {format("ldmatrix_x%d%s", matrices, trans ? "_trans" : ""), 75, load<matrices, trans>,
            in, loaded(matrices, trans)};
}

template <int bytes>
Check check_cp_async() {
    Words in;
    for (unsigned i = 0; i < 32 * 4; ++i) in.push_back(0x12345678 + i * 0x01010101);
    return {format("cp_async<%d>", bytes), 80, copy<bytes>, in, copied(in, bytes)};
}

// Puts elements into registers: floats, or pairs of smaller ones.
template <class Register>
void append(Words& words, const std::vector<float>& elements) {
    for (size_t i = 0; i < elements.size();) {
        Register r;
        if constexpr (std::is_same_v<Register, float>) r = elements[i++];
        else r.x = elements[i++], r.y = elements[i++];
        words.push_back(0);
        std::memcpy(&words.back(), &r, sizeof(r));
    }
}

template <class D, class Pair, int d_count, int a_count, int b_count>
Check check_mma(const char* name, int since, const MmaShape& s) {
    std::mt19937 random;
    const auto matrix = [&](int rows, int cols) {  // integers whose sums are exact in any type
        std::vector<int> numbers(s.groups * rows * cols);
        for (int& x : numbers) x = int(random() % 17) - 8;
        return numbers;
    };
    const auto A = matrix(s.m, s.k), B = matrix(s.k, s.n), C = matrix(s.m, s.n);
    Check check{name, since, multiply<D, d_count, Pair, a_count, b_count>, {}, {}};
    for (int lane = 0; lane < 32; ++lane) {
        const int group = lane / 4 % s.groups, lanes = 32 / s.groups;
        std::vector<float> a, b, c, d;
        for (int i = 0; i < s.m * s.k / lanes; ++i)
            a.push_back(A[(group * s.m + s.a(lane, i).row) * s.k + s.a(lane, i).col]);
        for (int i = 0; i < s.k * s.n / lanes; ++i)
            b.push_back(B[(group * s.k + s.b(lane, i).row) * s.n + s.b(lane, i).col]);
        for (int i = 0; i < s.m * s.n / lanes; ++i) {
            const auto [row, col] = s.d(lane, i);
            int sum = C[(group * s.m + row) * s.n + col];
            c.push_back(sum);
            for (int k = 0; k < s.k; ++k)
                sum += A[(group * s.m + row) * s.k + k] * B[(group * s.k + k) * s.n + col];
            d.push_back(sum);
        }
        append<Pair>(check.in, a), append<Pair>(check.in, b), append<D>(check.in, c);
        append<D>(check.expected, d);
    }
    return check;
}

int main(int argc, char** argv) {
    Chip chip;
    const auto run = [&] {
        select_chip(chip);
        const std::vector<Check> checks = {
            check_ldmatrix<1, false>(),
            check_ldmatrix<2, false>(),
            check_ldmatrix<4, false>(),
            check_ldmatrix<1, true>(),
            check_ldmatrix<2, true>(),
            check_ldmatrix<4, true>(),
            check_mma<float, half2, 4, 4, 2>("mma_m16n8k16, half, sums float", 80, k16816),
            check_mma<half2, half2, 2, 4, 2>("mma_m16n8k16, half, sums half", 80, k16816),
            check_mma<float, __nv_bfloat162, 4, 4, 2>("mma_m16n8k16, bf16, sums float", 80, k16816),
            check_mma<float, half2, 8, 2, 2>("mma_m8n8k4, half, sums float", 70, k884_float),
            check_mma<half2, half2, 4, 2, 2>("mma_m8n8k4, half, sums half", 70, k884_half),
            check_cp_async<4>(),
            check_cp_async<8>(),
            check_cp_async<16>(),
        };
        DeviceArray<int> sm_device(1);
        std::vector<int> sm;
        compiled_for<<<1, 1>>>(sm_device.data());
        finish("the question what this was compiled for");
        sm_device.download(sm);
        const int has = std::min(sm[0], chip.sm);
        bool wrong = false;
        for (const Check& check : checks) {
            std::printf("  %-32s", check.name.c_str());
            if (has < check.since) {
                std::printf("not run: needs sm_%d, and this is sm_%d\n", check.since, has);
                continue;
            }
            DeviceArray<unsigned> in(check.in.size()), out(check.expected.size());
            in.upload(check.in);
            Words words(check.expected.size(), ~0u);
            out.upload(words);
            const auto kernel = check.kernel;
            kernel<<<1, 32>>>(in.data(), out.data());
            finish(check.name);
            out.download(words);
            const auto [got, by_formula] =
                std::mismatch(words.begin(), words.end(), check.expected.begin());
            const int at = int(got - words.begin()), registers = int(words.size()) / 32;
            if (got == words.end()) std::printf("%3zu registers as by the formula\n", words.size());
            else
                std::printf("WRONG: register %d of lane %d is %08x, by the formula %08x\n",
                            at % registers, at / registers, *got, *by_formula);
            wrong |= got != words.end();
        }
        if (wrong) throw Failure(kWrongResult, "an instruction differs from its formula");
    };
    return run_program("ptx_check",
                       "compares the PTX instructions of common/ptx.cuh with their formulas",
                       chip_options(chip), "Example:\n  ptx_check", argc, argv, run);
}

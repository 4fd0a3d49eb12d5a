// types: every element type and shape that the WMMA API multiplies. D = A * B + C by one warp, in
// every layout that the type allows, compared exactly with the host; on a GPU also what a product
// costs in a chain where each needs the one before.
//
// Build:    nvcc -O3 -std=c++17 -arch=native -I. 06_wmma/tests/types.cu common/*.cu common/*.cpp -o 06_wmma/types -lcublas -lcublasLt
// Articles: "Tensorコアを使ってみた", "nvcuda::wmma::fragment構造体" (half in three shapes: all there was
//           in CUDA 9); "Tensor Core加速CUDA矩阵计算", sections 2 to 4 (bf16, tf32, double, sub-byte)
//           and 6 (the table of types)
#include <mma.h>

#include <cmath>
#include <map>
#include <optional>
#include <random>

#include "06_wmma/tests/types.cuh"
#include "common/benchmark.h"
#include "common/build.h"
#include "common/checked_launch.h"
#include "common/device.h"
#include "common/errors.h"
#include "common/gpu_timer.h"
#include "common/options.h"
#include "common/table.h"
#include "common/timing.h"
#include "common/verify.h"

constexpr int kChain = 1 << 16;  // products of a timed launch: a millisecond or more

// A matrix in memory. Its lines (rows, or columns) begin at multiples of 32 bytes, the strictest of
// the rules in one_tile.cu, and are farther apart than they are long, as in a larger matrix.
template <class T>
struct Placed {
    using Stored = typename Element<T>::Stored;
    static constexpr int kBits = Element<T>::kBits;
    int rows, cols;
    bool by_rows;
    std::vector<uint8_t> bytes;
    std::optional<DeviceArray<uint8_t>> device;  // a copy of them

    Placed(int rows, int cols, bool by_rows, uint8_t fill)
        : rows(rows), cols(cols), by_rows(by_rows) {
        bytes.assign(size_t(by_rows ? rows : cols) * ldm() * kBits / 8, fill);
    }
    unsigned ldm() const { return ((by_rows ? cols : rows) * kBits / 256 + 1) * 256 / kBits; }
    size_t bit(int row, int col) const {
        return (by_rows ? size_t(row) * ldm() + col : size_t(col) * ldm() + row) * kBits;
    }
    Operand operand() {
        device.emplace(bytes.size()).upload(bytes);
        return {device->data(), ldm(), by_rows ? wmma::mem_row_major : wmma::mem_col_major};
    }

    void put(const std::vector<double>& values) {
        for (size_t i = 0; i < values.size(); ++i) {
            const size_t at = bit(i / cols, i % cols);
            uint8_t* to = &bytes[at / 8];
            if constexpr (kBits < 8) {  // the first element in the lowest bits of its byte
                const unsigned shift = at % 8, mask = (1u << kBits) - 1;
                *to = (*to & ~(mask << shift)) | (unsigned(int(values[i])) & mask) << shift;
            } else {
                const Stored stored = Stored(values[i]);
                std::memcpy(to, &stored, sizeof stored);
            }
        }
    }
    double take(int row, int col) {  // and leaves the bytes untouched
        uint8_t* from = &bytes[bit(row, col) / 8];
        Stored stored;
        std::memcpy(static_cast<void*>(&stored), from, sizeof stored);
        std::memset(from, kUntouched, sizeof stored);
        return double(stored);
    }
};

// x with tf32's 11 significant bits, halfway cases away from zero; by arithmetic alone.
double round_to_tf32(double x) {
    const double unit = std::ldexp(1.0, std::ilogb(x) - 10);
    return std::copysign(std::floor(std::fabs(x) / unit + 0.5) * unit, x);
}

// One product's matrices, row-major, and D = A * B + C. Every partial sum is an integer that the
// accumulator has.
template <class P>
struct Problem {
    std::vector<double> A, B, C, D;

    explicit Problem(uint32_t seed)
        : A(P::M * P::K), B(P::K * P::N), C(P::M * P::N), D(P::M * P::N) {
        using In = Element<typename P::In>;
        std::mt19937 bits(seed);
        const auto random = [&bits](int low, int high) {
            return low + int(bits() % unsigned(high - low + 1));
        };
        const auto sign = [&bits] { return bits() & 1 ? 1.0 : -1.0; };
        // Sums in half stay below 2048. Where ints overflow, a column's products have one sign, so
        // that a sum that has left int's range does not come back.
        const bool overflows = P::kOperation >= kWrap;
        const int low = overflows ? 0 : P::kHalfSums ? -8 : In::kLow;
        const int high = P::kHalfSums ? 8 : In::kHigh;
        // tf32: A has 13 significant bits, of which 11 are kept; B is 1/32 away from multiples
        // of 8, which keeps the sums short.
        for (double& a : A) a = P::kTf32 ? sign() * random(4096, 8191) / 32 : random(low, high);
        for (size_t i = 0; i < B.size(); ++i)
            B[i] = P::kTf32 ? sign() * (256 * random(17, 31) + random(-1, 1)) / 32
                            : random(low, high) * (overflows && i % 2 ? -1 : 1);
        for (double& c : C)
            c = overflows ? sign() * (2147483647.0 - random(0, 100000)) : random(-500, 500);
        for (int row = 0; row < P::M; ++row)
            for (int col = 0; col < P::N; ++col) {
                double sum = C[row * P::N + col];
                for (int k = 0; k < P::K; ++k) sum += term(A[row * P::K + k], B[k * P::N + col]);
                if (P::kOperation == kSatf)
                    sum = std::min(2147483647.0, std::max(-2147483648.0, sum));
                if (P::kOperation == kWrap) sum = int32_t(uint32_t(int64_t(sum)));
                D[row * P::N + col] = sum;
            }
    }
    static double term(double a, double b) {
        if (P::kTf32) return round_to_tf32(a) * round_to_tf32(b);
        return P::kOperation == kXor ? a != b : a * b;  // of bits, AND is the product
    }
};

// The result of a product over all layouts.
struct Outcome {
    std::string wrong;  // "" or what was wrong first
    Found found = {};
    int ran = 0, layouts = 0;
    double ns = 0;  // 0: not timed
    Clocks clocks;
};

// Launches the kernel: is all of D correct, and nothing written around it? Where it has no code,
// outcome.ran stays as it was. repeat: timed chains, 0 for none.
template <class P>
void run(const Problem<P>& problem, const Layout& layout, bool c_by_rows, GpuTimer& timer,
         int repeat, Outcome& outcome) {
    Placed<typename P::In> A(P::M, P::K, layout.a_by_rows, 0xff);
    Placed<typename P::In> B(P::K, P::N, layout.b_by_rows, 0xff);
    Placed<typename P::C> C(P::M, P::N, c_by_rows, 0xff);
    Placed<typename P::D> D(P::M, P::N, !c_by_rows, kUntouched);
    A.put(problem.A);
    B.put(problem.B);
    C.put(problem.C);
    DeviceArray<Found> found_device(1);
    found_device.upload({Found{}});
    Arguments arguments = {A.operand(), B.operand(), C.operand(),
                           D.operand(), 0,           found_device.data()};
    const auto kernel = layout.kernel;
    run_checked("multiply", {}, [&] { kernel<<<1, kWarp>>>(arguments); });
    std::vector<Found> found;
    found_device.download(found);
    outcome.found = found[0];
    if (outcome.found.compiled_for == 0) throw Failure(kWrongResult, "multiply has not run");
    if (outcome.found.compiled_for < P::kSince) return;
    ++outcome.ran;

    const auto wrong = [&](const std::string& what) {
        const auto major = [](const auto& matrix) { return matrix.by_rows ? "row" : "col"; };
        if (outcome.wrong.empty())
            outcome.wrong =
                format("A %s B %s C %s D %s: ", major(A), major(B), major(C), major(D)) + what;
    };
    D.device->download(D.bytes);
    for (int row = 0; row < P::M; ++row)
        for (int col = 0; col < P::N; ++col) {
            const double got = D.take(row, col), expected = problem.D[row * P::N + col];
            if (!(got == expected))
                wrong(format("D[%d][%d] is %.12g; expected %.12g", row, col, got, expected));
        }
    for (const uint8_t byte : D.bytes)
        if (byte != kUntouched) wrong("a write outside D");
    if (repeat == 0 || outcome.ran > 1 || !std::is_same_v<typename P::C, typename P::D>) return;
    // Random data. The chain's sums overflow, which does not change the time of an instruction.
    arguments.again = kChain;
    const Launch chain = [&] { kernel<<<1, kWarp>>>(arguments); };
    const Rested rested = timer.time({chain}, repeat)[0];
    outcome.ns = rested.median * 1e6 / kChain;
    outcome.clocks = rested.clocks;
}

// Prints a row for each product: what was requested, and the result.
struct TypesTable {
    GpuTimer& timer;
    Report& report;
    uint32_t seed;
    int repeat;
    int exact = 0, wrong = 0, not_run = 0;
    std::map<std::string, int> reasons = {};  // {reason: how many rows were not run}

    template <class P>
    void row() {
        // The emulator knows sm_70's fragments for one shape only.
        const bool lacks = timer.sm < P::kSince;
        const bool unknown = kEmulated && timer.sm == 70 && P::M != P::N;
        const Problem<P> problem(seed);
        Outcome o;
        for (const bool c_by_rows : {true, false})
            for (const Layout& layout : layouts<P>()) {
                ++o.layouts;
                if (!lacks && !unknown) run(problem, layout, c_by_rows, timer, repeat, o);
            }
        ++(o.ran == 0 ? not_run : o.wrong.empty() ? exact : wrong);
        const std::string result =
            !o.wrong.empty() ? "WRONG: " + o.wrong
            : o.ran > 0      ? "exact"
            : lacks          ? "not run"
            : unknown
                ? "not run: the emulator lacks sm_70's fragments of this shape"
                : format("not run: this build's PTX (compute_%d) lacks it", o.found.compiled_for);
        const auto three = [&](const int(&n)[3]) {
            return o.ran ? format("%d %d %d", n[0], n[1], n[2]) : "-";
        };
        Row row = {{"a_b", Element<typename P::In>::kName},
                   {"c", Element<typename P::C>::kName},
                   {"d", Element<typename P::D>::kName},
                   {"operation", kOperationNames[P::kOperation]},
                   {"m_n_k", format("%dx%dx%d", P::M, P::N, P::K)},
                   {"layouts", format("%d of %d", o.ran, o.layouts)},
                   {"num_elements_a_b_d", three(o.found.elements)},
                   {"num_storage_elements_a_b_d", three(o.found.storage_elements)},
                   {"support", lacks                           ? "lacks it"
                               : timer.sm >= P::kEmulatedSince ? "emulated"
                                                               : "native"},
                   {"ns_each", o.ns > 0 ? format("%.1f", o.ns) : "-"},
                   {"result", result}};
        add_cells(row, timer.where());
        if (!kEmulated) add_clocks(row, o.clocks);
        report.add(row);
        if (result.find(": ") != result.npos && o.wrong.empty()) ++reasons[result];
    }
    template <class In, class C, class D>
    void three_shapes() {
        row<Product<In, C, D, 16, 16, 16>>();
        row<Product<In, C, D, 32, 8, 16>>();
        row<Product<In, C, D, 8, 32, 16>>();
    }
    void all() {
        three_shapes<half, float, float>();
        three_shapes<half, half, half>();
        three_shapes<half, half, float>();  // in neither article: C and D may differ
        three_shapes<half, float, half>();
        three_shapes<__nv_bfloat16, float, float>();
        row<Product<tf32, float, float, 16, 16, 8>>();
        row<Product<double, double, double, 8, 8, 4>>();
        three_shapes<signed char, int, int>();
        three_shapes<unsigned char, int, int>();
        row<Product<signed char, int, int, 16, 16, 16, kWrap>>();
        row<Product<signed char, int, int, 16, 16, 16, kSatf>>();
        row<Product<s4, int, int, 8, 8, 32>>();
        row<Product<u4, int, int, 8, 8, 32>>();
        row<Product<b1, int, int, 8, 8, 128, kXor>>();
        row<Product<b1, int, int, 8, 8, 128, kAnd>>();
    }
};

int main(int argc, char** argv) {
    BenchmarkOptions o;
    o.columns = {
        {"a_b", "A and B", -8},
        {"c", "C", -6},
        {"d", "D", -6},
        {"operation", "operation", -10},
        {"m_n_k", "shape", -9},
        {"layouts", "layouts", -8},
        {"num_elements_a_b_d", "x[] of|A B D", -9},
        {"num_storage_elements_a_b_d", "stored", -9},
        {"support", "this|device", -9},
        {"ns_each", "ns each", -8},
        {"result", "result", 0, [](const std::string& result) {  // reasons are printed below
             return result[0] == 'n' ? result.substr(0, result.find(':')) : result;
         }}};
    o.repeat = 5;
    uint32_t seed = 1;
    OptionTable more = arch_option(o.arch);
    more.push_back({"--seed", "S", "other inputs (default 1)", number(seed, 0, UINT32_MAX)});
    return run_benchmark(
        "types",
        "D = A * B + C on tensor cores: every type and shape of the WMMA API, compared exactly.",
        "Example:  types --csv types.csv", o, more, argc, argv, [&](Report& report) {
            GpuTimer timer(o.device, o.arch);
            std::printf(
                "%s, sm_%d; ns each: one warp, %d products, each of which needs the one before\n",
                timer.gpu.full_name.c_str(), timer.sm, kChain);
            TypesTable table{timer, report, seed, o.verify_only ? 0 : o.repeat};
            table.all();
            report.save();
            for (const auto& [reason, rows] : table.reasons)
                std::printf("%d %s\n", rows, reason.c_str());
            std::printf("%d exact, %d wrong, %d not run\n", table.exact, table.wrong,
                        table.not_run);
            if (table.wrong > 0)
                throw Failure(kWrongResult,
                              format("wrong products: %d; see their rows", table.wrong));
        });
}

// types: every element type and shape that the WMMA API multiplies. D = A * B + C by one warp, in every layout that the type
// allows, compared exactly with the host; on a GPU also what a product costs in a chain where each needs the one before.
//
// Alone:    nvcc -O3 -std=c++17 -arch=native -I. 06_wmma/types.cu -o 06_wmma/types
// Articles: "Tensorコアを使ってみた", "nvcuda::wmma::fragment構造体" (half in three shapes: all there was in CUDA 9);
//           "Tensor Core加速CUDA矩阵计算", sections 2 to 4 (bf16, tf32, double, sub-byte) and 6 (the table of types)
#include <mma.h>

#include <random>

#include "common/device.h"
#include "common/report.h"
#ifdef CUDA_EMULATOR
#include "emulator/emulator.h"
constexpr bool kEmulator = true;
#else
#include "common/timing.h"
constexpr bool kEmulator = false;
constexpr int kChain =
    1 << 16;  // products of a timed launch: a millisecond or more, of which starting it is 1%
#endif

using namespace nvcuda;

// nvcc compiles kernels for one architecture after the other, without what that one lacks: a kernel then says so and does
// nothing. The host's code, and the emulator, have it all.
#ifdef __CUDA_ARCH__
constexpr int kCompiledFor = __CUDA_ARCH__ / 10;
#else
constexpr int kCompiledFor = 1000;
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
namespace nvcuda::wmma::precision {
struct tf32;
}  // namespace nvcuda::wmma::precision
__device__ float to_tf32(float x) { return x; }  // never called
#else
__device__ float to_tf32(float x) { return wmma::__float_to_tf32(x); }
#endif
using wmma::col_major, wmma::row_major, wmma::precision::tf32;
using wmma::experimental::precision::b1, wmma::experimental::precision::s4,
    wmma::experimental::precision::u4;

constexpr int kWarp = 32;
constexpr uint8_t kUntouched =
    0xa5;  // no result has these bits: a half of -0.02, a float of -3e-16, an int of -1.5e9

// An element type: how it lies in memory, the test's integers, the first architecture that has it, and the first that no longer
// has an instruction for it but calls a routine of several (as seen in the machine code that nvcc 13.0 makes).
template <class StoredAs, int bits, int low, int high, int since, int emulated_since = 9999>
struct Type {
    using Stored = StoredAs;
    static constexpr int kBits = bits, kLow = low, kHigh = high, kSince = since,
                         kEmulatedSince = emulated_since;
};
// clang-format off
template <class T> struct Element;
template <> struct Element<half> : Type<half, 16, -512, 512, 70> { static constexpr auto kName = "half"; };
template <> struct Element<float> : Type<float, 32, 0, 0, 70> { static constexpr auto kName = "float"; };
template <> struct Element<__nv_bfloat16> : Type<__nv_bfloat16, 16, -128, 128, 80> { static constexpr auto kName = "bf16"; };
template <> struct Element<tf32> : Type<float, 32, 0, 0, 80> { static constexpr auto kName = "tf32"; };
template <> struct Element<double> : Type<double, 64, -(1 << 20), 1 << 20, 80> { static constexpr auto kName = "double"; };
template <> struct Element<int> : Type<int, 32, 0, 0, 72> { static constexpr auto kName = "int"; };
template <> struct Element<signed char> : Type<signed char, 8, -128, 127, 72> { static constexpr auto kName = "s8"; };
template <> struct Element<unsigned char> : Type<unsigned char, 8, 0, 255, 72> { static constexpr auto kName = "u8"; };
template <> struct Element<s4> : Type<uint8_t, 4, -8, 7, 75, 90> { static constexpr auto kName = "s4"; };
template <> struct Element<u4> : Type<uint8_t, 4, 0, 15, 75, 90> { static constexpr auto kName = "u4"; };
template <> struct Element<b1> : Type<uint8_t, 1, 0, 1, 75, 90> { static constexpr auto kName = "b1"; };
// clang-format on

// What is done with the elements. Ints that would leave their range wrap round; with satf they stay at its end.
enum Operation { kMultiply, kXor, kAnd, kWrap, kSatf };
constexpr const char* kOperationNames[] = {"mul", "xor popc", "and popc", "mul wraps", "mul satf"};
static_assert(kXor == 1 && kAnd == 2,
              "bmmaBitOpXOR and bmmaBitOpAND, which has no name before sm_80");

// A line of the table. C and D: element types of the accumulators.
template <class In_, class C_, class D_, int M_, int N_, int K_, Operation operation = kMultiply>
struct Product {
    using In = In_;
    using C = C_;
    using D = D_;
    static constexpr int M = M_, N = N_, K = K_;
    static constexpr Operation kOperation = operation;
    static constexpr bool kSubByte = Element<In>::kBits < 8;
    static constexpr int kSince = operation == kAnd ? 80 : Element<In>::kSince;
    static constexpr int kEmulatedSince = operation == kAnd ? 100 : Element<In>::kEmulatedSince;
};

// What the kernel finds out on the device: x[] of the fragments of A, B and D.
struct Found {
    int compiled_for, elements[3], storage_elements[3];
};
struct Arguments {
    const void *A, *B, *C;
    void* D;
    unsigned lda, ldb, ldc, ldd;  // in elements
    wmma::layout_t c_layout, d_layout;
    int again;
    Found* found;
};

template <class P, class A, class B, class C, class D>
__device__ void multiply_add(D& d, const A& a, const B& b, const C& c) {
    if constexpr (P::kOperation == kXor || P::kOperation == kAnd)
        wmma::bmma_sync(d, a, b, c, wmma::experimental::bmmaBitOp(P::kOperation),
                        wmma::experimental::bmmaAccumulateOpPOPC);
    else if constexpr (std::is_same_v<typename P::D, int>)
        wmma::mma_sync(d, a, b, c, P::kOperation == kSatf);
    else wmma::mma_sync(d, a, b, c);  // CUDA 9 had satf for halves and floats, too; it is gone
}

// D = A * B + C; for timing, D = A * B + D is done `again` times more.
template <class P, class LayoutA, class LayoutB>
__global__ void multiply(Arguments to) {
    if (threadIdx.x == 0) to.found->compiled_for = kCompiledFor;
    if constexpr (kCompiledFor >= P::kSince) {
        using Stored = typename Element<typename P::In>::Stored;
        wmma::fragment<wmma::matrix_a, P::M, P::N, P::K, typename P::In, LayoutA> a;
        wmma::fragment<wmma::matrix_b, P::M, P::N, P::K, typename P::In, LayoutB> b;
        wmma::fragment<wmma::accumulator, P::M, P::N, P::K, typename P::C> c;
        wmma::fragment<wmma::accumulator, P::M, P::N, P::K, typename P::D> d;
        wmma::load_matrix_sync(a, static_cast<const Stored*>(to.A), to.lda);
        wmma::load_matrix_sync(b, static_cast<const Stored*>(to.B), to.ldb);
        wmma::load_matrix_sync(c, static_cast<const typename P::C*>(to.C), to.ldc, to.c_layout);
        if constexpr (std::is_same_v<
                          typename P::In,
                          tf32>) {  // the load does not round: the program has to, all of x[]
            for (int i = 0; i < a.num_elements; ++i) a.x[i] = to_tf32(a.x[i]);
            for (int i = 0; i < b.num_elements; ++i) b.x[i] = to_tf32(b.x[i]);
        }
        multiply_add<P>(d, a, b, c);
        if constexpr (std::is_same_v<typename P::C, typename P::D>)
            for (int i = 0; i < to.again; ++i) multiply_add<P>(d, a, b, d);
        wmma::store_matrix_sync(static_cast<typename P::D*>(to.D), d, to.ldd, to.d_layout);
        if (threadIdx.x == 0)
            *to.found = {kCompiledFor,
                         {a.num_elements, b.num_elements, d.num_elements},
                         {a.num_storage_elements, b.num_storage_elements, d.num_storage_elements}};
    }
}

// The same facts for code that is compiled once for all types.
struct ElementFacts {
    const char* name;
    int bits, low, high;
    void (*put)(uint8_t* to, double value);
    double (*take)(const uint8_t* from);
};
template <class T>
ElementFacts element() {
    using E = Element<T>;
    using Stored = typename E::Stored;
    const auto put = [](uint8_t* to, double value) {
        const Stored stored = Stored(value);
        std::memcpy(to, &stored, sizeof stored);
    };
    const auto take = [](const uint8_t* from) {
        Stored stored;
        std::memcpy(&stored, from, sizeof stored);
        return double(stored);
    };
    return {E::kName, E::kBits, E::kLow, E::kHigh, put, take};
}

// A kernel, and how it takes the rows of A and B to lie.
struct Layout {
    void (*kernel)(Arguments);
    bool a_by_rows, b_by_rows;
};
struct ProductFacts {
    ElementFacts in, c, d;
    int M, N, K;
    Operation operation;
    int since, emulated_since;
    bool tf32, half_sums, same_sums;  // of A and B; of D; of C and D
    std::vector<Layout> layouts;
};
template <class P>
ProductFacts product() {
    std::vector<Layout> layouts = {{multiply<P, row_major, col_major>, true, false}};
    if constexpr (
        !P::kSubByte)  // of what is smaller than a byte, neighbours along k must be neighbours in memory
        layouts.insert(layouts.end(), {{multiply<P, row_major, row_major>, true, true},
                                       {multiply<P, col_major, col_major>, false, false},
                                       {multiply<P, col_major, row_major>, false, true}});
    return {element<typename P::In>(),
            element<typename P::C>(),
            element<typename P::D>(),
            P::M,
            P::N,
            P::K,
            P::kOperation,
            P::kSince,
            P::kEmulatedSince,
            std::is_same_v<typename P::In, tf32>,
            std::is_same_v<typename P::D, half>,
            std::is_same_v<typename P::C, typename P::D>,
            layouts};
}

// A matrix in memory. Its lines (rows, or columns) begin at multiples of 32 bytes, the strictest of the rules in one_tile.cu, and
// are farther apart than they are long, as in a larger matrix.
struct Placed {
    ElementFacts element;
    int rows, cols;
    bool by_rows;
    std::vector<uint8_t> bytes;

    Placed(const ElementFacts& element, int rows, int cols, bool by_rows, uint8_t fill)
        : element(element), rows(rows), cols(cols), by_rows(by_rows) {
        bytes.assign(size_t(by_rows ? rows : cols) * ldm() * element.bits / 8, fill);
    }
    unsigned ldm() const {
        return ((by_rows ? cols : rows) * element.bits / 256 + 1) * 256 / element.bits;
    }
    size_t bit(int row, int col) const {
        return (by_rows ? size_t(row) * ldm() + col : size_t(col) * ldm() + row) * element.bits;
    }
    wmma::layout_t layout() const { return by_rows ? wmma::mem_row_major : wmma::mem_col_major; }

    void put(const std::vector<double>& values) {
        for (size_t i = 0; i < values.size(); ++i) {
            const size_t at = bit(i / cols, i % cols);
            uint8_t* to = &bytes[at / 8];
            if (element.bits < 8) {  // the first element in the lowest bits of its byte
                const unsigned shift = at % 8, mask = (1u << element.bits) - 1;
                *to = (*to & ~(mask << shift)) | (unsigned(int(values[i])) & mask) << shift;
            } else {
                element.put(to, values[i]);
            }
        }
    }
    double take(int row, int col) {  // and leaves the bytes untouched
        uint8_t* from = &bytes[bit(row, col) / 8];
        const double value = element.take(from);
        std::memset(from, kUntouched, element.bits / 8);
        return value;
    }
};

// x with tf32's 11 significant bits, halfway cases away from zero; by arithmetic alone.
double round_to_tf32(double x) {
    const double unit = std::ldexp(1.0, std::ilogb(x) - 10);
    return std::copysign(std::floor(std::fabs(x) / unit + 0.5) * unit, x);
}

// One product's matrices, row-major, and D = A * B + C. Every partial sum is an integer that the accumulator has.
struct Problem {
    std::vector<double> A, B, C, D;

    Problem(const ProductFacts& p, uint32_t seed)
        : A(p.M * p.K), B(p.K * p.N), C(p.M * p.N), D(p.M * p.N) {
        std::mt19937 bits(seed);
        const auto random = [&bits](int low, int high) {
            return low + int(bits() % unsigned(high - low + 1));
        };
        const auto sign = [&bits] { return bits() & 1 ? 1.0 : -1.0; };
        // Sums in half stay below 2048. Where ints overflow, a column's products have one sign: a range once left is left.
        const bool overflows = p.operation >= kWrap;
        const int low = overflows     ? 0
                        : p.half_sums ? -8
                                      : p.in.low,
                  high = p.half_sums ? 8 : p.in.high;
        // tf32: A has 13 significant bits, of which 11 are kept; B lies 1/32 beside multiples of 8, which keeps the sums short.
        for (double& a : A) a = p.tf32 ? sign() * random(4096, 8191) / 32 : random(low, high);
        for (size_t i = 0; i < B.size(); ++i)
            B[i] = p.tf32 ? sign() * (256 * random(17, 31) + random(-1, 1)) / 32
                          : random(low, high) * (overflows && i % 2 ? -1 : 1);
        for (double& c : C)
            c = overflows ? sign() * (2147483647.0 - random(0, 100000)) : random(-500, 500);
        for (int row = 0; row < p.M; ++row)
            for (int col = 0; col < p.N; ++col) {
                double sum = C[row * p.N + col];
                for (int k = 0; k < p.K; ++k) sum += term(p, A[row * p.K + k], B[k * p.N + col]);
                if (p.operation == kSatf)
                    sum = std::min(2147483647.0, std::max(-2147483648.0, sum));
                if (p.operation == kWrap) sum = int32_t(uint32_t(int64_t(sum)));
                D[row * p.N + col] = sum;
            }
    }
    static double term(const ProductFacts& p, double a, double b) {
        if (p.tf32) return round_to_tf32(a) * round_to_tf32(b);
        return p.operation == kXor ? a != b : a * b;  // of bits, AND is the product
    }
};

// What became of a product in the layouts tried.
struct Outcome {
    std::string wrong;  // "" or what was wrong first
    Found found = {};
    int ran = 0, layouts = 0;
    double ns = 0;  // 0: not timed
};

// Launches the kernel: is all of D right, and nothing written around it? Where it has no code, outcome.ran stays as it was.
void run(const ProductFacts& p, const Problem& problem, const Layout& layout, bool c_by_rows,
         bool time, Outcome& outcome) {
    Placed A(p.in, p.M, p.K, layout.a_by_rows, 0xff), B(p.in, p.K, p.N, layout.b_by_rows, 0xff);
    Placed C(p.c, p.M, p.N, c_by_rows, 0xff), D(p.d, p.M, p.N, !c_by_rows, kUntouched);
    A.put(problem.A);
    B.put(problem.B);
    C.put(problem.C);
    DeviceArray<uint8_t> A_device(A.bytes.size()), B_device(B.bytes.size()),
        C_device(C.bytes.size()), D_device(D.bytes.size());
    DeviceArray<Found> found_device(1);
    A_device.upload(A.bytes);
    B_device.upload(B.bytes);
    C_device.upload(C.bytes);
    D_device.upload(D.bytes);
    found_device.upload({Found{}});
    Arguments arguments = {A_device.data(),
                           B_device.data(),
                           C_device.data(),
                           D_device.data(),
                           A.ldm(),
                           B.ldm(),
                           C.ldm(),
                           D.ldm(),
                           C.layout(),
                           D.layout(),
                           0,
                           found_device.data()};
    const auto kernel = layout.kernel;
    kernel<<<1, kWarp>>>(arguments);
    check_cuda(cudaGetLastError(), "the launch of multiply");
    check_cuda(cudaDeviceSynchronize(), "multiply");
    std::vector<Found> found;
    found_device.download(found);
    outcome.found = found[0];
    if (outcome.found.compiled_for == 0) throw Failure(kWrongResult, "multiply has not run");
    if (outcome.found.compiled_for < p.since) return;
    ++outcome.ran;

    const auto wrong = [&](const std::string& what) {
        const auto major = [](const Placed& matrix) { return matrix.by_rows ? "row" : "col"; };
        if (outcome.wrong.empty())
            outcome.wrong =
                format("A %s B %s C %s D %s: ", major(A), major(B), major(C), major(D)) + what;
    };
    D_device.download(D.bytes);
    for (int row = 0; row < p.M; ++row)
        for (int col = 0; col < p.N; ++col) {
            const double got = D.take(row, col), expected = problem.D[row * p.N + col];
            if (!(got == expected))
                wrong(format("D[%d][%d] is %.12g; expected %.12g", row, col, got, expected));
        }
    for (const uint8_t byte : D.bytes)
        if (byte != kUntouched) wrong("a write outside D");
    if (!time || outcome.ran > 1 || !p.same_sums) return;
#ifndef CUDA_EMULATOR
    // Random data, of which the chain's sums run to infinity, or round and round: an instruction takes as long for any number.
    arguments.again = kChain;
    int device = 0;
    check_cuda(cudaGetDevice(&device), "cudaGetDevice");
    const std::function<void()> chain = [&] { kernel<<<1, kWarp>>>(arguments); };
    outcome.ns = Timer(device).run({chain}, 5, [] {})[0].median * 1e6 / kChain;
#endif
}

// Row by row: what was asked for, and what the device, an sm_<architecture>, made of it.
struct Table {
    Report& report;
    uint32_t seed;
    int architecture;
    bool time;
    Row where;  // the numbers are measured
    int exact = 0, wrong = 0, not_run = 0;

    void row(const ProductFacts& p) {
        // Where an sm_70 has the elements of a fragment is known to the emulator for one shape only.
        const bool lacks = architecture < p.since,
                   unknown = kEmulator && architecture == 70 && p.M != p.N;
        const Problem problem(p, seed);
        Outcome o;
        for (const bool c_by_rows : {true, false})
            for (const Layout& layout : p.layouts) {
                ++o.layouts;
                if (!lacks && !unknown) run(p, problem, layout, c_by_rows, time, o);
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
        Row row = {{"A and B", "a_b", p.in.name},
                   {"     C", "c", p.c.name},
                   {"     D", "d", p.d.name},
                   {"operation", "operation", kOperationNames[p.operation]},
                   {"   shape", "m_n_k", format("%dx%dx%d", p.M, p.N, p.K)},
                   {"layouts", "layouts", format("%d of %d", o.ran, o.layouts)},
                   {"x[] of A B D", "num_elements_a_b_d", three(o.found.elements)},
                   {"  stored", "num_storage_elements_a_b_d", three(o.found.storage_elements)},
                   {format("   sm_%d", architecture), "support",
                    lacks                              ? "lacks it"
                    : architecture >= p.emulated_since ? "emulated"
                                                       : "native"},
                   {"ns each", "ns_each", o.ns > 0 ? format("%.1f", o.ns) : "-"},
                   {"result", "result", result}};
        row.insert(row.end(), where.begin(), where.end());
        report.add(row);
    }
    template <class In, class C, class D>
    void three_shapes() {
        row(product<Product<In, C, D, 16, 16, 16>>());
        row(product<Product<In, C, D, 32, 8, 16>>());
        row(product<Product<In, C, D, 8, 32, 16>>());
    }
    void all() {
        three_shapes<half, float, float>();
        three_shapes<half, half, half>();
        three_shapes<half, half, float>();  // in neither article: C and D may differ
        three_shapes<half, float, half>();
        three_shapes<__nv_bfloat16, float, float>();
        row(product<Product<tf32, float, float, 16, 16, 8>>());
        row(product<Product<double, double, double, 8, 8, 4>>());
        three_shapes<signed char, int, int>();
        three_shapes<unsigned char, int, int>();
        row(product<Product<signed char, int, int, 16, 16, 16, kWrap>>());
        row(product<Product<signed char, int, int, 16, 16, 16, kSatf>>());
        row(product<Product<s4, int, int, 8, 8, 32>>());
        row(product<Product<u4, int, int, 8, 8, 32>>());
        row(product<Product<b1, int, int, 8, 8, 128, kXor>>());
        row(product<Product<b1, int, int, 8, 8, 128, kAnd>>());
    }
};

int main(int argc, char** argv) {
    int device = 0, architecture = 80;
    bool time = !kEmulator;
    uint32_t seed = 1;
    std::string csv;
    using Text = const std::string&;
    const std::vector<Option> options = {
        {"seed", "S", "other inputs (default 1)",
         [&](Text value) { seed = parse_number("--seed", value, 0, UINT32_MAX); }},
        {"verify-only", "", "time nothing", [&](Text) { time = false; }},
        {"csv", "FILE", "also write the rows to FILE", [&](Text value) { csv = parse_csv(value); }},
        {"device", "D", "use CUDA device D (default 0)",
         [&](Text value) { device = parse_number("--device", value, 0, 1023); }},
        {"arch", "ARCH", "CPU build: sm_70, sm_75 or sm_80 (the default)",
         [&](Text value) {
             if (!kEmulator)
                 throw Failure(kBadCommandLine,
                               "--arch: only the CPU builds (their names end in _cpu) take it");
             architecture =
                 std::stoi(parse_choice("--arch", value, {"sm_70", "sm_75", "sm_80"}).substr(3));
         }},
    };
    const auto check_all = [&] {
        Report report(csv);
        select_device(device);
        Row where;
#ifdef CUDA_EMULATOR
        emulator::set_architecture(architecture);
        std::printf("CPU emulator of an sm_%d: verifies, times nothing\n", architecture);
#else
        const Nvml nvml(bus_id(device));
        where = where_measured(gpu_at_hand(device), nvml);
        where.push_back({"", "sm_mhz", std::to_string(nvml.sm_clock())});
        architecture = 10 * attribute(cudaDevAttrComputeCapabilityMajor, device) +
                       attribute(cudaDevAttrComputeCapabilityMinor, device);
        std::printf("%s; ns each: one warp, %d products, each of which needs the one before\n",
                    where[0].value.c_str(), kChain);
#endif
        Table table{report, seed, architecture, time, where};
        table.all();
        report.save();
        std::printf("%d exact, %d wrong, %d not run\n", table.exact, table.wrong, table.not_run);
#ifdef CUDA_EMULATOR
        for (const std::string& problem : emulator::counts().problems)
            throw Failure(kWrongResult, problem);
#endif
        if (table.wrong > 0)
            throw Failure(kWrongResult, format("wrong products: %d; see their rows", table.wrong));
    };
    return run_program(
        "types",
        "D = A * B + C on tensor cores: every type and shape of the WMMA API, compared exactly.",
        options, "Example:  types --csv types.csv", argc, argv, check_all);
}

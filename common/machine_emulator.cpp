// machine.h and gpu_timer.h for the emulator. A plain build verifies in three orders of the
// threads; a traced build verifies in one, and also counts accesses. Nothing is timed.
#ifdef CUDA_EMULATOR  // so that an nvcc line may name common/*.cu common/*.cpp
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/checked_launch.h"
#include "common/device.h"
#include "common/errors.h"
#include "common/facts.h"
#include "common/gpu_timer.h"
#include "common/machine.h"
#include "common/operands.h"
#include "common/options.h"
#include "common/roofline.h"
#include "common/table.h"
#include "common/timing.h"
#include "common/verify.h"
#include "emulator/emulator.h"

using emulator::counts;

// Throws Failure(kWrongResult) unless the last launch moved as many bytes as stated.
static void check_traffic(const Traffic& stated) {
    const auto check = [](const char* moved, double counted, double expected) {
        if (emulator::tracing() && expected >= 0 && counted != expected)
            throw Failure(kWrongResult,
                          format("%.0f bytes %s, stated are %.0f", counted, moved, expected));
    };
    check("loaded from device memory", counts().global_load_bytes, stated.loaded);
    check("stored to device memory", counts().global_store_bytes, stated.stored);
    check("loaded from shared memory", counts().shared_load_bytes, stated.shared);
}

// Puts a problem on lines of its own, and the two places of a race, "A writes what B reads", one
// below the other.
static std::string below(const std::string& problem) {
    const size_t what = problem.find(" what "), verb = problem.rfind(' ', what - 1);
    if (what == problem.npos || problem.find(':', what) == problem.npos) return "\n  " + problem;
    const size_t place = problem.rfind(' ', verb - 1) + 1;
    return "\n  " + problem.substr(0, what) + "\n  " +
           std::string(std::max<size_t>(place, 5) - 5, ' ') + problem.substr(what + 1);
}

// While launches are watched: the text that says which they are, and the object that keeps the
// emulator from printing its findings by itself.
static std::string watched;
static std::optional<emulator::Silence> silence;

static void watch(const std::string& where) {
    watched = where;
    silence.emplace();
    emulator::reset_counts();
}

// If a launch failed, the emulator's first problem is the cause, and stands before CUDA's name for
// the error.
Failure explained(const Failure& failure) {
    if (!silence) return failure;
    silence.reset();
    const auto& problems = counts().problems;
    std::string said = emulator::with_lines(failure.what());
    if (failure.code == kWrongResult)
        for (const std::string& note : counts().notes) said += "\n  " + emulator::with_lines(note);
    if (problems.empty() && failure.code != kWrongResult) return failure;
    if (problems.empty() || said.find(problems[0]) != said.npos)
        return Failure(failure.code, said).in(watched);
    const std::string problem = below(emulator::with_lines(problems[0]));
    return {failure.code, failure.code == kWrongResult ? watched + ": " + said + problem
                                                       : watched + problem + "\n  " + said};
}

void with_explanation(const std::string& where, const std::function<void()>& launches) {
    watch(where);
    try {
        launches();
    } catch (const Failure& failure) {
        throw explained(failure);
    }
    silence.reset();
}

int thread_orders(bool all) {
    return emulator::tracing() && !all ? 1 : std::size(emulator::kOrders);
}

void begin_order(int number, unsigned seed) {
    const auto& [name, order] = emulator::kOrders[number];
    emulator::set_order(order, seed);
    watch(format("threads in %s order", name));
}

void end_order(const Traffic& stated) {
    check_traffic(stated);
    if (!counts().problems.empty())
        throw Failure(kWrongResult, "the result is correct, but by luck");
    silence.reset();
}

void run_checked(const std::string& what, const Traffic& stated,
                 const std::function<void()>& launch) {
    emulator::reset_counts();
    launch();
    finish_launch(what);
    const emulator::Counts& c = counts();
    if (!c.problems.empty()) throw Failure(kWrongResult, what + ": " + c.problems[0]);
    with_context(what, [&] { check_traffic(stated); });
    if (stated.shared >= 0 && c.shared_load_wavefronts != c.shared_load_ideal)
        throw Failure(kWrongResult, what + ": loads from shared memory have bank conflicts");
}

// ---- GpuTimer: which chip is emulated ----

GpuTimer::GpuTimer(int device, int emulated_sm)
    : device(select_device(device)), sm(emulated_sm), sm_count(1),
      l2_bytes(0), gpu{"CPU emulator", {}, {}, ""} {
    emulator::set_architecture(sm);
}
Row GpuTimer::where() const { return {}; }
double GpuTimer::peak_at(double, Limit) const { return 0; }

static Failure untimed() { return Failure(kDeviceFailed, "the CPU emulator times nothing"); }
std::vector<Rested> GpuTimer::time(const std::vector<Launch>&, int, bool) { throw untimed(); }
Sustained GpuTimer::sustained(const Launch&, double) { throw untimed(); }
Clocks GpuTimer::clocks_during(const Launch&, double) { throw untimed(); }

// ---- Machine ----

const int Machine::kDefaultSize = 256;
// Rows that start on multiples of 16, of 8 and of 4 bytes; partial tiles; more than two rounds
// through the stages of a pipeline.
const std::vector<Shape> Machine::kBeforeDefault = {
    {7, 5, 3}, {130, 264, 24}, {5, 130, 1800}, {3, 136, 250}, {3, 132, 252}};

// Two tiles in each direction, the second one nearly empty; rows of C on multiples of 4 and of 8
// bytes, which TMA can't store, and of 16; two groups of eight rows of tiles, with one k-tile, so
// that all slices of K but one are empty; and after a tile as many k-tiles as a pipeline of twelve
// stages holds. A configuration for few tiles has one.
std::vector<Shape> Machine::shapes_for(const ConfigFacts& config) {
    const auto& [name, m, n, k, few_tiles] = config;
    if (few_tiles) return {{m - 3, n - 6, k + 8}, {m, n - 4, 6 * k + 8}};
    return {{m + 5, n + 2, k + 8},
            {m + 5, n + 4, k + 8},
            {m + 5, n + 1, 2 * k + 8},
            {8 * m + 5, n + 4, 8},
            {5, 6 * n + 4, 5 * k + 8}};
}

OptionTable Machine::options(Options& o) {
    OptionTable table = {{"--all-configs", "",
                          "verify each configuration that the launcher may choose; fail unless "
                          "every kernel is launched",
                          flag(o.all_configs)}};
    if (!emulator::tracing()) return table;
    add_options(table,
                {{"--lines", "", "also print the traffic of every source line", flag(o.lines)},
                 {"--lines-csv", "FILE", "write it to FILE", file_name(o.lines_csv)},
                 {"--all-orders", "",
                  "verify in each order of the threads, as the build that traces nothing",
                  flag(o.all_orders)},
                 {"--record", "FILE", "write what the first and the last block access, in order",
                  file_name(o.record)}});
    return table;
}

Machine::Machine(const Options& options, const Facts& facts)
    : options_(options), timer_(options.device),
      gpu_(options.gpu ? *options.gpu : gpu_named("h200")) {
    std::printf("CPU emulator: verifies and counts, times nothing.\n");
    print_gpu(gpu_, facts.arithmetic);
}

Columns Machine::columns() const {
    if (!emulator::tracing()) return kVerifiedColumns;
    const auto as_mib = [](const std::string& bytes) { return scaled(bytes, 0x1p-20, "%.2f"); };
    return {{"global_load_bytes", "loaded|MiB", 8, as_mib},
            {"sectors_per_request", "sectors/|request", 10},
            {"bank_conflict_factor", "conflict|factor", 10},
            {"barriers_per_block", "barriers/|block", 11},
            {"flop_per_byte", "flop/|byte", 7},
            {"predicted_gflops", "predicted|TFLOP/s", 11, as_tera}};
}

size_t Machine::guard() const {
    // Read before tracing is switched off for the first time.
    static const bool traced = emulator::tracing();
    return traced ? 0 : kGuard;
}

static size_t allocated() {
    size_t free = 0, total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return total - free;
}

void Machine::begin_counting(const Product& product) {
    emulator::set_tracing(true);
    emulator::treat_copies_as_fill(product.C, "C");
    if (options_.record.empty()) return;
    const auto [M, N, K] = product.shape;
    const int in = product.in_bytes, out = product.out_bytes;
    emulator::record_next_launch(
        {{"A", product.A, M, K, in}, {"B", product.B, K, N, in}, {"C", product.C, M, N, out}},
        [file = options_.record](const std::string& text) { write_whole(file, text); },
        "matmul");  // a stage may launch another kernel before the product
}

void Machine::end_counting() {
    emulator::record_next_launch({}, nullptr);
    emulator::set_tracing(false);  // on reals the kernel makes the same accesses
    allocated_ = allocated();
}

std::string Machine::lines_of(const Product& product, char matrix) const {
    const auto [M, N, K] = product.shape;
    const auto [data, bytes] =
        matrix == 'A'   ? std::pair(product.A, size_t(M) * K * product.in_bytes)
        : matrix == 'B' ? std::pair(product.B, size_t(K) * N * product.in_bytes)
                        : std::pair(product.C, size_t(M) * N * product.out_bytes);
    std::string all;
    for (const std::string& line : emulator::lines_that_access(data, bytes, matrix == 'C'))
        all += (all.empty() ? "" : " ") + line;
    return all;
}

const std::string Machine::kFp32Name = "fp32_sum", Machine::kFp32Title = "of FP32|sum";
void Machine::multiply_in_fp32(const Product& product) {
    const auto [M, N, K] = product.shape;
    std::vector<float> A(size_t(M) * K), B(size_t(K) * N), C(size_t(M) * N, 0.0f);
    for (const auto& [to, from] : {std::pair(&A, product.A), {&B, product.B}})
        check_cuda(cudaMemcpy(to->data(), from, to->size() * sizeof(float), cudaMemcpyDeviceToHost),
                   "cudaMemcpy from the device");
    for (int row = 0; row < M; ++row)
        for (int k = 0; k < K; ++k)
            for (int col = 0; col < N; ++col)
                C[size_t(row) * N + col] = std::fma(A[size_t(row) * K + k], B[size_t(k) * N + col],
                                                    C[size_t(row) * N + col]);
    check_cuda(cudaMemcpy(product.C, C.data(), C.size() * sizeof(float), cudaMemcpyHostToDevice),
               "cudaMemcpy to the device");
}

static void add_counts(Row& row, double flop, const emulator::Counts& c) {
    const auto ratio = [](double a, double b) { return b > 0 ? a / b : 0; };
    const double wavefronts = c.shared_load_wavefronts + c.shared_store_wavefronts,
                 ideal = c.shared_load_ideal + c.shared_store_ideal,
                 bytes = c.global_load_bytes + c.global_store_bytes;
    add_cells(row,
              {{"global_load_bytes", std::to_string(c.global_load_bytes)},
               {"sectors_per_request",
                format("%.2f", ratio(c.global_load_sectors, c.global_load_requests))},
               {"bank_conflict_factor", figure(ratio(wavefronts, ideal), "%.2f")},
               {"barriers_per_block", format("%.0f", ratio(c.barriers, c.blocks))},
               {"counted_flop_per_byte", figure(ratio(flop, bytes), "%.2f")},
               {"counted_shared_flop_per_byte", figure(ratio(flop, c.shared_load_bytes), "%.2f")},
               // Nsight Compute counts these, too; emulator/REFERENCE.md compares them.
               {"global_load_requests", std::to_string(c.global_load_requests)},
               {"global_load_sectors", std::to_string(c.global_load_sectors)},
               {"global_store_sectors", std::to_string(c.global_store_sectors)},
               {"shared_load_wavefronts", std::to_string(c.shared_load_wavefronts)},
               {"shared_store_wavefronts", std::to_string(c.shared_store_wavefronts)}});
}

void Machine::measure(const Product& product, const Launch&, Row& row) {
    // A launcher may keep memory for its next call, but another launch of the same shape must not
    // allocate more.
    if (const size_t now = allocated(); now > allocated_)
        throw Failure(kWrongResult,
                      format("each call of the launcher leaves %zu more bytes of device "
                             "memory allocated: cudaMalloc() without cudaFree()",
                             now - allocated_));
    emulator::set_tracing(true);
    const emulator::Counts& c = counts();
    Traffic traffic = product.traffic();
    if (emulator::tracing()) {
        add_counts(row, product.flop(), c);
        if (!product.facts.loaded_elements)
            traffic = {double(c.global_load_bytes), double(c.global_store_bytes),
                       double(c.shared_load_bytes)};
    }
    add_prediction(row, product.flop(), traffic, product.facts.arithmetic, gpu_, 0);
    add_cells(row, {{"predicted_for", gpu_.full_name}});
}

void Machine::after_row() {
    if (!options_.lines_csv.empty()) write_whole(options_.lines_csv, emulator::lines_csv());
    if (!options_.lines) return;
    for (const bool global : {true, false}) {
        ReportTable table({{"line", global ? "global memory" : "shared memory", -38},
                           {"kind", "", -6},
                           {"bytes", "bytes/|lane", 7},
                           {"requests", "requests", 9},
                           {"cost", global ? "sectors" : "wavefronts", 11},
                           {"at_best", "at best", 9}});
        for (const emulator::Line& line : emulator::lines())
            if (line.global == global)
                table.print({{"line", line.where},
                             {"kind", line.store ? "store" : "load"},
                             {"bytes", std::to_string(line.width)},
                             {"requests", std::to_string(line.requests)},
                             {"cost", std::to_string(line.sectors_or_wavefronts)},
                             {"at_best", std::to_string(line.ideal)}});
    }
    std::printf("\n");
}

// Each instance of a kernel's template counts as a kernel: the one for whole tiles and the one for
// partial ones, the one for aligned rows and the one for any.
void Machine::check_launched(const Facts& facts) const {
    if (!facts.loaded_elements && emulator::tracing())
        std::printf("No formula states the traffic: flop/byte is what was counted.\n");
    if (!options_.all_configs) return;
    for (const auto& [kernel, launches] : emulator::kernels()) {
        const bool bf16 = kernel.find("__nv_bfloat16") != std::string::npos;
        if (launches == 0 && bf16 == options_.bf16)
            throw Failure(kWrongResult, kernel +
                                            " was never launched: add a shape that needs "
                                            "it to the chapter's tests/shapes.txt");
    }
}

#endif  // CUDA_EMULATOR

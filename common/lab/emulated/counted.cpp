// The emulator's side of machine.h and bench.h. A plain build verifies in three orders of threads,
// a traced one in one, and there it also counts. Nothing is timed.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <sys/mman.h>

#include <tuple>

#include "common/lab/bench.h"
#include "common/machine.h"
#include "emulator/emulator.h"

using emulator::counts;

// Throws Failure(kWrongResult) unless the last launch moved as many bytes as stated.
static void check_traffic(const Traffic& stated) {
    if (!emulator::tracing()) return;
    const emulator::Counts& c = counts();
    const std::tuple<const char*, uint64_t, double> all[] = {
        {"loaded from device memory", c.global_load_bytes, stated.loaded},
        {"stored to device memory", c.global_store_bytes, stated.stored},
        {"loaded from shared memory", c.shared_load_bytes, stated.shared}};
    for (const auto& [moved, counted, expected] : all)
        if (expected >= 0 && double(counted) != expected)
            throw Failure(kWrongResult, format("%.0f bytes %s, stated are %.0f", double(counted),
                                               moved, expected));
}

std::string in_each_order(const std::function<void()>& verify) {
    for (const auto& [name, order] : emulator::kOrders) {
        emulator::set_order(order);
        doing(format("threads in %s order", name), verify);
    }
    return std::string(", in three orders of threads") +
           (emulator::tracing() ? ", and the bytes moved are those stated" : "");
}

void run_checked(const std::string& what, const Traffic& stated,
                 const std::function<void()>& launch) {
    emulator::reset_counts();
    launch();
    finish_launch(what);
    const emulator::Counts& c = counts();
    if (!c.problems.empty()) throw Failure(kWrongResult, what + ": " + c.problems[0]);
    doing(what, [&] { check_traffic(stated); });
    if (stated.shared >= 0 && c.shared_load_wavefronts != c.shared_load_ideal)
        throw Failure(kWrongResult, what + ": loads from shared memory have bank conflicts");
}

// ---- Bench: which chip is emulated ----

struct Bench::Parts {};
Bench::Bench(int device, int emulated_sm)
    : device(select_device(device)), sm(emulated_sm), multiprocessors(1),
      l2_bytes(0), gpu{"CPU emulator", {}, {}, ""} {
    emulator::set_architecture(sm);
}
Row Bench::where() const { return {}; }
double Bench::peak_at(double, Limit) const { return 0; }

static Failure untimed() { return Failure(kDeviceFailed, "the CPU emulator times nothing"); }
std::vector<Rested> Bench::time(const std::vector<Launch>&, int, bool) { throw untimed(); }
Rested Bench::time(const std::string&, const Launch&, int, bool) { throw untimed(); }
Sustained Bench::sustained(const Launch&, double) { throw untimed(); }
Clocks Bench::clocks_beside(const Launch&, double) { throw untimed(); }

// ---- Machine ----

const int Machine::kDefaultSize = 256;

OptionTable Machine::options(Options& o) {
    const auto traced = [](const Setter& set) -> Setter {
        if (emulator::tracing()) return set;
        return [](const std::string& option, const std::string&) {
            throw Failure(kBadCommandLine, option +
                                               ": only the traced CPU builds (their names end "
                                               "in _cpu_trace) have it");
        };
    };
    return {
        {"large-indices", "", "instead check that indices hold at more than 2^32 elements",
         flag(o.large_indices)},
        {"lines", "", "with tracing: the traffic of every source line", traced(flag(o.lines))},
        {"all-forms", "", "with tracing: fail unless the shapes reach every form of the kernels",
         traced(flag(o.all_forms))},
        {"record", "FILE", "with tracing: write what the first and the last block access, in order",
         traced(file_name(o.record))}};
}

struct Machine::Parts {
    Options options;
    Gpu gpu;
    std::vector<emulator::NamedOrder> orders = {};
    size_t order = 0;  // index of the current order
    Product product = {};  // the one that is verified
    emulator::Counts counted = {};  // of one launch only

    bool begin_order(size_t next) {
        order = next;
        if (order == orders.size()) return false;
        progress(product.stage + " " + to_string(product.shape) + ", threads in " +
                 orders[order].name + " order");
        emulator::set_order(orders[order].order, options.seed);
        emulator::reset_counts();
        return true;
    }
};

Machine::Machine(const Options& options, const Arithmetic& arithmetic)
    : parts_(new Parts{options, options.gpu ? *options.gpu : gpu_named("h200")}) {
    select_device(options.device);
    parts_->orders.assign(std::begin(emulator::kOrders), std::end(emulator::kOrders));
    if (emulator::tracing()) parts_->orders.resize(1);  // a trace finds every race in any order
    std::printf("CPU emulator: verifies and counts, times nothing.\n");
    print_gpu(parts_->gpu, arithmetic);
    print_shape(options);
}

Columns Machine::columns(const Options& options) {
    if (!emulator::tracing())
        return table_of(options, {"verified", "flop_per_byte", "predicted_gflops"});
    return table_of(options, {"global_load_bytes", "sectors_per_request", "bank_conflict_factor",
                              "barriers_per_block", "flop_per_byte", "predicted_gflops"});
}

// What the default shape leaves out: guards, as no tile fits these; rows on multiples of 16 bytes,
// of 8, of 4; a K for which a ring of buffers goes round more than twice, and parts of tiles.
std::vector<Shape> Machine::shapes_before() const {
    const Options& o = parts_->options;
    const bool given = o.m || o.n || o.k ||
                       to_string(o.shapes[0]) != to_string(rounded_up(square(kDefaultSize), o));
    return given ? std::vector<Shape>{}
                 : std::vector<Shape>{
                       {7, 5, 3}, {130, 264, 24}, {5, 130, 1800}, {3, 136, 250}, {3, 132, 252}};
}

void Machine::begin(const Product& product) {
    parts_->product = product;
    emulator::set_tracing(true);
    parts_->begin_order(0);
    if (parts_->options.record.empty()) return;
    const auto [M, N, K] = product.shape;
    const int in = int(bytes_of(product.in)), out = int(bytes_of(product.out));
    const auto [A, B, C] = product.at;
    emulator::record_next_launch(
        {{"A", A, M, K, in}, {"B", B, K, N, in}, {"C", C, M, N, out}},
        [file = parts_->options.record](const std::string& text) { write_whole(file, text); });
}

bool Machine::another_order() {
    if (!counts().problems.empty()) throw Failure(kWrongResult, "the result is right, but by luck");
    check_traffic(traffic_of(parts_->product));
    parts_->counted = counts();
    const bool another = parts_->begin_order(parts_->order + 1);
    if (!another) emulator::set_tracing(false);  // the reals go where the integers went
    return another;
}

// A problem in lines of its own. Of two accesses that race, "A writes what B reads", the places stand
// one below the other.
static std::string below(const std::string& problem) {
    const size_t what = problem.find(" what "), verb = problem.rfind(' ', what - 1);
    if (what == problem.npos || problem.find(':', what) == problem.npos) return "\n  " + problem;
    const size_t place = problem.rfind(' ', verb - 1) + 1;
    return "\n  " + problem.substr(0, what) + "\n  " +
           std::string(std::max<size_t>(place, 5) - 5, ' ') + problem.substr(what + 1);
}

std::string Machine::explain(const Failure& failure) const {
    const auto& problems = counts().problems;
    if (failure.code != kWrongResult && problems.empty()) return failure.what();
    const auto& orders = parts_->orders;
    return std::string("threads in ") + orders[std::min(parts_->order, orders.size() - 1)].name +
           " order: " + failure.what() + (problems.empty() ? "" : below(problems[0]));
}

static void add_counts(Row& row, const Product& product, const emulator::Counts& c,
                       bool with_lines) {
    const auto ratio = [](double a, double b, const char* pattern, const char* none) {
        return a > 0 && b > 0 ? format(pattern, a / b) : none;
    };
    const auto [M, N, K] = product.shape;
    const double flop = 2.0 * M * N * K;
    row +=
        {{"global_load_bytes", std::to_string(c.global_load_bytes)},
         {"sectors_per_request",
          ratio(c.global_load_sectors, c.global_load_requests, "%.2f", "0.00")},
         {"bank_conflict_factor", ratio(c.shared_load_wavefronts + c.shared_store_wavefronts,
                                        c.shared_load_ideal + c.shared_store_ideal, "%.2f", "-")},
         {"barriers_per_block", ratio(c.barriers, c.blocks, "%.0f", "0")},
         {"counted_flop_per_byte",
          ratio(flop, c.global_load_bytes + c.global_store_bytes, "%.2f", "-")},
         {"counted_shared_flop_per_byte", ratio(flop, c.shared_load_bytes, "%.2f", "-")},
         // ncu counts these, too; emulator/REFERENCE.md compares them.
         {"global_load_requests", std::to_string(c.global_load_requests)},
         {"global_load_sectors", std::to_string(c.global_load_sectors)},
         {"global_store_sectors", std::to_string(c.global_store_sectors)},
         {"shared_load_wavefronts", std::to_string(c.shared_load_wavefronts)},
         {"shared_store_wavefronts", std::to_string(c.shared_store_wavefronts)}};
    for (const emulator::Line& line : with_lines ? c.lines : std::vector<emulator::Line>{})
        std::printf("  %-29s %s %-5s %2d bytes a lane %7.0f requests %8.0f %s, %.0f at best\n",
                    line.where.c_str(), line.global ? "global" : "shared",
                    line.store ? "store" : "load", line.width, double(line.requests),
                    double(line.sectors_or_wavefronts), line.global ? "sectors" : "wavefronts",
                    double(line.ideal));
}

void Machine::measure(const Product& product, Row& row) {
    emulator::set_tracing(true);
    if (emulator::tracing()) add_counts(row, product, parts_->counted, parts_->options.lines);
    const emulator::Counts& c = parts_->counted;
    const Traffic counted = {double(c.global_load_bytes), double(c.global_store_bytes),
                             double(c.shared_load_bytes)};
    const bool stated = product.facts.loaded_elements || !emulator::tracing();
    add_prediction(row, intensity_of(product.shape, stated ? traffic_of(product) : counted),
                   product.facts.arithmetic, parts_->gpu, 0);
    row += {{"predicted_for", parts_->gpu.full_name}};
}

// Each instance of a template is a form: for whole tiles or parts, wide rows or any.
void Machine::end() const {
    if (!parts_->product.facts.loaded_elements && emulator::tracing())
        std::printf("No formula states the traffic: flop/byte is what was counted.\n");
    if (!parts_->options.all_forms) return;
    for (const auto& [kernel, launches] : emulator::kernels()) {
        const bool bf16 = kernel.find("__nv_bfloat16") != std::string::npos;
        if (launches == 0 && bf16 == parts_->options.bf16)
            throw Failure(kWrongResult, kernel +
                                            " was never launched: no shape asks for it; add "
                                            "one to the chapter's tests/shapes.txt");
    }
}

// ---- Large indices ----

// A matrix of which only touched pages take memory, with room around it for wrong indices.
template <class T>
struct SparseMatrix {
    SparseMatrix(int rows, int cols) : rows(rows), cols(cols) {
        constexpr size_t kBefore = size_t(1) << 31, kAfter = 1 << 20;  // elements
        bytes = (kBefore + size_t(rows) * cols + kAfter) * sizeof(T);
        memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED)
            throw Failure(kDeviceFailed,
                          format("--large-indices: %zu GiB of addresses, not memory, can't be had; "
                                 "see ulimit -v and vm.overcommit_memory",
                                 bytes >> 30));
        data = static_cast<T*>(memory) + kBefore;
    }
    ~SparseMatrix() { munmap(memory, bytes); }
    SparseMatrix(const SparseMatrix&) = delete;
    SparseMatrix& operator=(const SparseMatrix&) = delete;

    // Calls visit(row, col, element) for the first `most` and the last of the rows and columns.
    template <class Visit>
    void at_ends(int most, Visit visit) const {
        const auto next = [most](int i, int length) {
            return i + 1 == most && length > 2 * most ? length - most : i + 1;
        };
        for (int row = 0; row < rows; row = next(row, rows))
            for (int col = 0; col < cols; col = next(col, cols))
                visit(row, col, data[size_t(row) * cols + col]);
    }
    int rows, cols;
    size_t bytes;
    void* memory;
    T* data;
};

constexpr int kLong = 640000000;  // a multiple of every tile; times 7 it exceeds 2^32

// Runs the first and the last block: an index that was cut to 32 bits reads or writes the wrong
// place, as on a GPU.
template <class In, class Out>
static void verify_ends(const Product& product, Shape s) {
    // kTouched exceeds the largest tile, so all that the two blocks read is there. kCompared is the
    // smallest tile, 16, less the one row or column that an edge may cut off.
    constexpr int kTouched = 1024, kCompared = 15;
    const auto a = [](int row, int k) { return (row * 7 + k * 3) % 5 - 2; };
    const auto b = [](int k, int col) { return (k * 5 + col * 3) % 7 - 3; };
    const SparseMatrix<In> A(s.M, s.K), B(s.K, s.N);
    const SparseMatrix<Out> C(s.M, s.N);
    A.at_ends(kTouched, [&](int row, int k, In& to) { to = In(float(a(row, k))); });
    B.at_ends(kTouched, [&](int k, int col, In& to) { to = In(float(b(k, col))); });
    C.at_ends(kTouched, [&](int, int, Out& to) { to = unwritten<Out>(); });
    // With one multiprocessor there are only whole tiles. But if blocks stay, one would compute all
    // of them: with more multiprocessors than tiles each block computes one.
    for (const int multiprocessors : {1, 1 << 30}) {
        emulator::run_ends_only(multiprocessors, s.K == kLong ? 100000 : 0);
        product.multiply(s, {A.data, B.data, C.data});
        emulator::run_ends_only(0);
        if (is_written(*C.data)) break;
    }
    finish_launch();
    if (s.K == kLong) return;  // only its beginning has run
    C.at_ends(kCompared, [&](int row, int col, const Out& got) {
        int64_t expected = 0;
        for (int k = 0; k < s.K; ++k) expected += a(row, k) * b(k, col);
        const std::string wrong = wrong_element(row, col, got, expected);
        if (!wrong.empty()) throw Failure(kWrongResult, wrong);
    });
}

void Machine::verify_large_indices(const Product& product) {
    if (!parts_->options.csv.empty())
        throw Failure(kBadCommandLine, "--csv: there are no rows with --large-indices");
    // Long and wide matrices, each with 16-byte-aligned rows and without. K of the wide ones
    // exceeds the depth of every tile.
    for (const Shape& s :
         {Shape{kLong, 8, 8}, Shape{kLong, 7, 7}, Shape{kLong, 7, 8}, Shape{8, kLong, 72},
          Shape{7, kLong - 1, 71}, Shape{8, 8, kLong}, Shape{7, 7, kLong}}) {
        if (s.K == kLong && !emulator::tracing()) continue;
        const auto stored = product.facts.stored_elements;  // large copies would take real memory
        if (stored && stored(s.M, s.N, s.K) > double(s.M) * s.N + 1000) continue;
        doing(to_string(s), [&] {
            if (product.in == Type::kFloat) verify_ends<float, float>(product, s);
            else if (product.in == Type::kBfloat16) verify_ends<__nv_bfloat16, float>(product, s);
            else if (product.out == Type::kFloat) verify_ends<half, float>(product, s);
            else verify_ends<half, half>(product, s);
        });
    }
    std::printf("%s: right at both ends of matrices with more than 2^32 elements\n",
                product.stage.c_str());
}

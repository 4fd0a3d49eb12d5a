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
      l2_bytes(0), gpu{"", "CPU emulator", {}, {}, ""} {
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
bool Machine::traces() { return emulator::tracing(); }

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
    // One order is enough for a trace: it finds every race in any order.
    const std::string order = !options.order.empty() ? options.order
                              : emulator::tracing()  ? "forward"
                                                     : "all";
    for (const emulator::NamedOrder& each : emulator::kOrders)
        if (order == "all" || order == each.name) parts_->orders.push_back(each);
    std::printf("CPU emulator: verifies and counts, times nothing.\n");
    print_gpu(gpu(), arithmetic);
    print_shape(options);
}
Machine::~Machine() = default;

Columns Machine::columns(const Options& options) {
    if (!traces()) return table_of(options, {"verified", "flop_per_byte", "predicted_gflops"});
    return table_of(options, {"global_load_bytes", "sectors_per_request", "bank_conflict_factor",
                              "barriers_per_block", "flop_per_byte", "predicted_gflops"});
}

// No tile fits these two; the rows of the second lie on multiples of 16 bytes.
std::vector<Shape> Machine::shapes_before() const {
    const Options& o = parts_->options;
    const bool given =
        o.m || o.n || o.k || to_string(o.shapes[0]) != to_string(square(kDefaultSize));
    return given ? std::vector<Shape>{} : std::vector<Shape>{{7, 5, 3}, {130, 264, 24}};
}

void Machine::begin(const Product& product) {
    parts_->product = product;
    parts_->begin_order(0);
    if (parts_->options.record.empty()) return;
    const auto [M, N, K] = product.shape;
    const int in = int(bytes_of(product.in)), out = int(bytes_of(product.out));
    const auto file = std::make_shared<WholeFile>("--record", parts_->options.record);
    emulator::record_next_launch(
        {{"A", product.A, M, K, in}, {"B", product.B, K, N, in}, {"C", product.C, M, N, out}},
        [file](const std::string& text) { file->save(text); });
}

bool Machine::another_order() {
    if (!counts().problems.empty()) throw Failure(kWrongResult, "the result is right, but by luck");
    check_traffic(traffic_of(parts_->product));
    parts_->counted = counts();
    return parts_->begin_order(parts_->order + 1);
}

std::string Machine::explain(const Failure& failure) const {
    const auto& problems = counts().problems;
    if (failure.code != kWrongResult && problems.empty()) return failure.what();
    const auto& orders = parts_->orders;
    return std::string("threads in ") + orders[std::min(parts_->order, orders.size() - 1)].name +
           " order: " + failure.what() + (problems.empty() ? "" : " (" + problems[0] + ")");
}

bool Machine::times() const { return false; }
Row Machine::where() const { return {{"predicted_for", gpu().full_name}}; }
const Gpu& Machine::gpu() const { return parts_->gpu; }

double Machine::measure(const Product& product, Row& row) {
    if (!emulator::tracing()) return 0;
    const emulator::Counts& c = parts_->counted;
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
    for (const emulator::Line& line :
         parts_->options.lines ? c.lines : std::vector<emulator::Line>{})
        std::printf("  %-29s %s %-5s %2d bytes a lane %7.0f requests %8.0f %s, %.0f at best\n",
                    line.where.c_str(), line.global ? "global" : "shared",
                    line.store ? "store" : "load", line.width, double(line.requests),
                    double(line.sectors_or_wavefronts), line.global ? "sectors" : "wavefronts",
                    double(line.ideal));
    return 0;
}

// ---- Large indices ----

// A matrix of which only touched pages take memory, with room around it for wrong indices.
struct SparseMatrix {
    SparseMatrix(int rows, int cols, Type type) : rows(rows), cols(cols), type(type) {
        constexpr size_t kBefore = size_t(1) << 31, kAfter = 1 << 20;  // elements
        bytes = (kBefore + size_t(rows) * cols + kAfter) * size_t(bytes_of(type));
        memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED)
            throw Failure(kDeviceFailed,
                          format("--large-indices: %zu GiB of addresses, not memory, can't be had; "
                                 "see ulimit -v and vm.overcommit_memory",
                                 bytes >> 30));
        data = static_cast<char*>(memory) + kBefore * size_t(bytes_of(type));
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
                visit(row, col, data + (size_t(row) * cols + col) * size_t(bytes_of(type)));
    }
    void put(char* to, float value) const {
        if (type == Type::kFloat) *reinterpret_cast<float*>(to) = value;
        if (type == Type::kHalf) *reinterpret_cast<half*>(to) = half(value);
        if (type == Type::kBfloat16) *reinterpret_cast<__nv_bfloat16*>(to) = __nv_bfloat16(value);
    }
    int rows, cols;
    Type type;
    size_t bytes;
    void* memory;
    char* data;
};

constexpr int kLong = 640000000;  // a multiple of every tile; times 7 it exceeds 2^32

// Runs the first and the last block: an index that was cut to 32 bits reads or writes the wrong
// place, as on a GPU.
static void verify_ends(const Product& product, Shape s, const Machine::Multiply& multiply) {
    // kTouched exceeds the largest tile, so all that the two blocks read is there. kCompared is the
    // smallest tile, 16, less the one row or column that an edge may cut off.
    constexpr int kTouched = 1024, kCompared = 15;
    const auto a = [](int row, int k) { return (row * 7 + k * 3) % 5 - 2; };
    const auto b = [](int k, int col) { return (k * 5 + col * 3) % 7 - 3; };
    const SparseMatrix A(s.M, s.K, product.in), B(s.K, s.N, product.in), C(s.M, s.N, product.out);
    A.at_ends(kTouched, [&](int row, int k, char* to) { A.put(to, a(row, k)); });
    B.at_ends(kTouched, [&](int k, int col, char* to) { B.put(to, b(k, col)); });
    C.at_ends(kTouched,
              [&](int, int, char* to) { std::memset(to, 0xff, size_t(bytes_of(C.type))); });
    // With one multiprocessor there are only whole tiles. But if blocks stay, one would compute all
    // of them: with more multiprocessors than tiles each block computes one.
    for (const int multiprocessors : {1, 1 << 30}) {
        emulator::run_ends_only(multiprocessors, s.K == kLong ? 100000 : 0);
        multiply(s, A.data, B.data, C.data);
        emulator::run_ends_only(0);
        if (is_written(*C.data)) break;
    }
    finish_launch();
    if (s.K == kLong) return;  // only its beginning has run
    C.at_ends(kCompared, [&](int row, int col, const char* got) {
        int64_t expected = 0;
        for (int k = 0; k < s.K; ++k) expected += a(row, k) * b(k, col);
        const std::string wrong =
            C.type == Type::kFloat
                ? wrong_element(row, col, *reinterpret_cast<const float*>(got), expected)
                : wrong_element(row, col, *reinterpret_cast<const half*>(got), expected);
        if (!wrong.empty()) throw Failure(kWrongResult, wrong);
    });
}

void Machine::verify_large_indices(const Product& product, const Multiply& multiply) {
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
        doing(to_string(s), [&] { verify_ends(product, s, multiply); });
    }
    std::printf("%s: right at both ends of matrices with more than 2^32 elements\n",
                product.stage.c_str());
}

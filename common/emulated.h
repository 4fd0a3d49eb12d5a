// A stage on the CPU emulator. The plain build verifies it in three orders of threads. The traced
// build runs one order and also counts its traffic. Nothing is timed.
#pragma once

#include <sys/mman.h>

#include <memory>

#include "common/gpu.h"

// A matrix of which only touched pages take memory, with room around it for wrong indices.
template <class T>
std::shared_ptr<T> sparse_matrix(int rows, int cols) {
    constexpr size_t kBefore = size_t(1) << 31, kAfter = 1 << 20;  // elements
    const size_t bytes = (kBefore + size_t(rows) * cols + kAfter) * sizeof(T);
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        throw Failure(kDeviceFailed,
                      format("--large-indices: %zu GiB of addresses, not memory, can't be had; see "
                             "ulimit -v and vm.overcommit_memory",
                             bytes >> 30));
    return {static_cast<T*>(memory) + kBefore, [=](T*) { munmap(memory, bytes); }};
}

// Calls visit(row, col, element) for the first `most` and the last of the rows and columns.
template <class T, class Visit>
void at_ends(T* matrix, int rows, int cols, int most, Visit visit) {
    const auto next = [most](int i, int length) {
        return i + 1 == most && length > 2 * most ? length - most : i + 1;
    };
    for (int row = 0; row < rows; row = next(row, rows))
        for (int col = 0; col < cols; col = next(col, cols))
            visit(row, col, matrix[size_t(row) * cols + col]);
}

// Verifies a stage, and counts what it moves where it is traced.
class Machine {
public:
    static constexpr int kDefaultSize = 256;
    static bool traces() { return emulator::tracing(); }
    static Columns table(const Options& options) {
        if (!emulator::tracing())
            return table_of(options, {"verified", "flop_per_byte", "predicted_gflops"});
        return table_of(options,
                        {"global_load_bytes", "sectors_per_request", "bank_conflict_factor",
                         "barriers_per_block", "flop_per_byte", "predicted_gflops"});
    }

    Machine(const Options& options, const Arithmetic& arithmetic)
        : gpu(options.gpu ? *options.gpu : gpu_named("h200")), options_(options),
          work_(options, multiply_adds) {
        select_device(options.device);
        // One order is enough for a trace: it finds every race in any order.
        const std::string order = !options.order.empty() ? options.order
                                  : emulator::tracing()  ? "forward"
                                                         : "all";
        for (const emulator::NamedOrder& each : emulator::kOrders)
            if (order == "all" || order == each.name) orders_.push_back(each);
        emulator::on_block([this](uint64_t done, uint64_t all) {
            work_.show(doing_, (order_ + double(done) / double(all)) / double(orders_.size() + 1));
        });
        std::printf("CPU emulator: verifies and counts, times nothing.\n");
        print_gpu(gpu, arithmetic);
        print_shape(options);
    }
    ~Machine() { emulator::on_block(nullptr); }

    const Gpu gpu;  // to predict for
    Row where() const { return {{"predicted_for", gpu.full_name}}; }

    // What comes before the shapes asked for. Returns false if that is all. The default size needs
    // no guards, so two shapes that no tile fits come before it, the second with rows on multiples
    // of 16 bytes.
    template <class In, class Out>
    bool begin(const StageOf<In, Out>& stage) {
        if (options_.large_indices) return verify_large_indices(stage), false;
        const bool shape_given = options_.m || options_.n || options_.k ||
                                 to_string(options_.shapes[0]) != to_string(square(kDefaultSize));
        for (const Shape& shape : {Shape{7, 5, 3}, Shape{130, 264, 24}})
            if (!shape_given)
                doing(to_string(shape), [&] {
                    Operands<In, Out> x(shape);
                    verify(stage, x);
                });
        return true;
    }

    // Multiplies integers in every order, and reals in the last one. Returns the largest error as a
    // fraction of its bound. Throws Failure.
    template <class In, class Out>
    double verify(const StageOf<In, Out>& stage, Operands<In, Out>& x) {
        work_.begin(x.shape);
        begin_order(0, stage.name, x.shape);
        if (!options_.record.empty()) record_next_launch(x);
        const auto once_more = [&] {
            if (!emulator::counts().problems.empty())
                throw Failure(kWrongResult, "the result is right, but by luck");
            check_traffic(traffic_of(stage, x.shape));
            counts_ = emulator::counts();  // of one launch only
            return begin_order(order_ + 1, stage.name, x.shape);
        };
        try {
            const auto launch = [&] { launch_once(stage, x); };
            return verify_stage(x, stage.arithmetic, options_.seed, launch, once_more);
        } catch (const Failure& failure) {
            const std::string order = orders_[std::min(order_, orders_.size() - 1)].name;
            const auto& problems = emulator::counts().problems;
            throw Failure(failure.code, "threads in " + order + " order: " + failure.what() +
                                            (problems.empty() ? "" : " (" + problems[0] + ")"));
        }
    }

    // Adds what the one stage moved to its row. Returns 0: nothing is timed.
    template <class In, class Out>
    std::vector<double> measure(const std::vector<StageOf<In, Out>>&, Operands<In, Out>& x,
                                std::vector<Row>& rows) const {
        if (!emulator::tracing()) return {0};
        const emulator::Counts& c = counts_;
        const auto ratio = [](double a, double b, const char* pattern, const char* none) {
            return a > 0 && b > 0 ? format(pattern, a / b) : none;
        };
        const double flop = 2 * multiply_adds(x.shape);
        rows[0] += {{"global_load_bytes", std::to_string(c.global_load_bytes)},
                    {"sectors_per_request",
                     ratio(c.global_load_sectors, c.global_load_requests, "%.2f", "0.00")},
                    {"bank_conflict_factor",
                     ratio(c.shared_load_wavefronts + c.shared_store_wavefronts,
                           c.shared_load_ideal + c.shared_store_ideal, "%.2f", "-")},
                    {"barriers_per_block", ratio(c.barriers, c.blocks, "%.0f", "0")},
                    {"counted_flop_per_byte",
                     ratio(flop, c.global_load_bytes + c.global_store_bytes, "%.2f", "-")},
                    {"counted_shared_flop_per_byte", ratio(flop, c.shared_load_bytes, "%.2f", "-")},
                    // ncu counts these, too; emulator/README.md compares them.
                    {"global_load_requests", std::to_string(c.global_load_requests)},
                    {"global_load_sectors", std::to_string(c.global_load_sectors)},
                    {"global_store_sectors", std::to_string(c.global_store_sectors)},
                    {"shared_load_wavefronts", std::to_string(c.shared_load_wavefronts)},
                    {"shared_store_wavefronts", std::to_string(c.shared_store_wavefronts)}};
        return {0};
    }

    // After a row: the traffic of every source line, if asked for.
    void explain() const {
        if (!options_.lines) return;
        for (const emulator::Line& line : counts_.lines)
            std::printf("  %-29s %s %-5s %2d bytes a lane %7.0f requests %8.0f %s, %.0f at best\n",
                        line.where.c_str(), line.global ? "global" : "shared",
                        line.store ? "store" : "load", line.width, double(line.requests),
                        double(line.sectors_or_wavefronts), line.global ? "sectors" : "wavefronts",
                        double(line.ideal));
    }

private:
    static double multiply_adds(Shape s) { return double(s.M) * s.N * s.K; }

    // Checks that the stage's indices are wide enough, with matrices of more than 2^32 elements.
    // The emulator runs only the first and the last block, so only a few pages are ever touched. An
    // index that was cut to 32 bits reads or writes the wrong place, as on a GPU. Throws Failure.
    template <class In, class Out>
    void verify_large_indices(const StageOf<In, Out>& stage) const {
        if (!options_.csv.empty())
            throw Failure(kBadCommandLine, "--csv: there are no rows with --large-indices");
        constexpr int kLong = 640000000;  // a multiple of every tile; times 7 it exceeds 2^32
        // Long and wide matrices, each with 16-byte-aligned rows and without. K of the wide ones
        // exceeds the depth of every tile.
        for (const Shape& s : {Shape{kLong, 8, 8}, Shape{kLong, 7, 7}, Shape{kLong, 7, 8},
                               Shape{8, kLong, 72}, Shape{7, kLong - 1, 71}}) {
            const auto stored = stage.stored_elements;  // large copies would take real memory
            if (stored && stored(s.M, s.N, s.K) > double(s.M) * s.N + 1000) continue;
            doing(to_string(s), [&] { verify_ends(stage, s); });
        }
        std::printf("%s: right at both ends of matrices with more than 2^32 elements\n",
                    stage.name);
    }

    template <class In, class Out>
    static void verify_ends(const StageOf<In, Out>& stage, Shape s) {
        // kTouched exceeds the largest tile, so all that the two blocks read is there. kCompared is
        // the smallest tile, 16, less the one row or column that an edge may cut off.
        constexpr int kTouched = 1024, kCompared = 15;
        const auto a = [](int row, int k) { return (row * 7 + k * 3) % 5 - 2; };
        const auto b = [](int k, int col) { return (k * 5 + col * 3) % 7 - 3; };
        const auto A = sparse_matrix<In>(s.M, s.K), B = sparse_matrix<In>(s.K, s.N);
        const auto C = sparse_matrix<Out>(s.M, s.N);
        at_ends(A.get(), s.M, s.K, kTouched,
                [&](int i, int k, In& to) { to = In(float(a(i, k))); });
        at_ends(B.get(), s.K, s.N, kTouched,
                [&](int k, int j, In& to) { to = In(float(b(k, j))); });
        at_ends(C.get(), s.M, s.N, kTouched, [](int, int, Out& to) { to = unwritten<Out>(); });
        // With one multiprocessor there are only whole tiles. But if blocks stay, one would compute
        // all of them: with more multiprocessors than tiles each block computes one.
        for (const int multiprocessors : {1, 1 << 30}) {
            emulator::run_ends_only(multiprocessors);
            stage.launch(s.M, s.N, s.K, A.get(), B.get(), C.get());
            emulator::run_ends_only(0);
            if (is_written(*C)) break;
        }
        finish_launch();
        at_ends(C.get(), s.M, s.N, kCompared, [&](int row, int col, const Out& got) {
            int64_t expected = 0;
            for (int k = 0; k < s.K; ++k) expected += a(row, k) * b(k, col);
            const std::string wrong = wrong_element(row, col, got, expected);
            if (!wrong.empty()) throw Failure(kWrongResult, wrong);
        });
    }

    template <class In, class Out>
    void record_next_launch(Operands<In, Out>& x) {
        const auto file = std::make_shared<WholeFile>("--record", options_.record);
        const auto [M, N, K] = x.shape;
        emulator::record_next_launch({{"A", x.A_device.data(), M, K, sizeof(In)},
                                      {"B", x.B_device.data(), K, N, sizeof(In)},
                                      {"C", x.C_device(), M, N, sizeof(Out)}},
                                     [file](const std::string& text) { file->save(text); });
    }

    // Returns false after the last order.
    bool begin_order(size_t order, const char* stage, Shape s) {
        order_ = order;
        if (order == orders_.size()) return false;
        doing_ = std::string(stage) + " " + to_string(s) + ", threads in " + orders_[order].name +
                 " order";
        progress(doing_);
        emulator::set_order(orders_[order].order, options_.seed);
        emulator::reset_counts();
        return true;
    }

    Options options_;
    std::vector<emulator::NamedOrder> orders_;
    size_t order_ = 0;  // index of the current order
    emulator::Counts counts_;
    std::string doing_;
    LongWork work_;
};

// Tests that a stage is correct at both ends of matrices with more than 2^32 elements. Only the first
// and the last block run: an index that was truncated to 32 bits reads or writes the wrong address,
// as on a GPU.
//
// The test program is a stage's own object, linked with this one: this run_stage() replaces the
// harness's, which the linker finds later. With the libraries in another order the program would be
// the ordinary stage. Therefore the test passes --both-ends, which the ordinary stage rejects. This
// program also takes --bf16 and --config like that one.
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "common/checked_launch.h"
#include "common/device.h"
#include "common/errors.h"
#include "common/facts.h"
#include "common/options.h"
#include "common/stage.h"
#include "common/verify.h"
#include "emulator/emulator.h"

constexpr int kLong = 640000000;  // a multiple of every tile; times 7 it exceeds 2^32
// kTouched exceeds the largest tile, so that it covers everything that the two blocks read.
// kCompared is the smallest tile, 16, less the one row or column that an edge may cut off.
constexpr int kTouched = 1024, kCompared = 15;
// The number of traced accesses after which a launch ends. Where K is large it is so small that each
// block has only begun its sums; otherwise it is much larger than two blocks need for their tiles.
constexpr uint64_t kLargeKAccesses = 100000, kAccesses = 10000000;

// A matrix of which only accessed pages take memory, with unused addresses around it for wrong
// indices.
template <class T>
struct SparseMatrix {
    SparseMatrix(int rows, int cols) : rows(rows), cols(cols) {
        constexpr size_t kBefore = size_t(1) << 31, kAfter = 1 << 20;  // elements
        const size_t bytes = (kBefore + size_t(rows) * cols + kAfter) * sizeof(T);
        void* const all = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (all == MAP_FAILED)
            throw Failure(kDeviceFailed, format("%zu GiB of address space can't be reserved; "
                                                "see ulimit -v and vm.overcommit_memory",
                                                bytes >> 30));
        memory.reset(all, [=](void* memory) { munmap(memory, bytes); });
        data = static_cast<T*>(all) + kBefore;
    }
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
    std::shared_ptr<void> memory;
    T* data;
};

// Returns false if the launch took too long, because a few persistent blocks compute all of C: then
// nothing was verified.
template <class In, class Out>
static bool verify_ends(Launcher<In, Out> launch, Shape s) {
    const auto a = [](int row, int k) { return (row * 7 + k * 3) % 5 - 2; };
    const auto b = [](int k, int col) { return (k * 5 + col * 3) % 7 - 3; };
    const SparseMatrix<In> A(s.M, s.K), B(s.K, s.N);
    const SparseMatrix<Out> C(s.M, s.N);
    A.at_ends(kTouched, [&](int row, int k, In& to) { to = In(float(a(row, k))); });
    B.at_ends(kTouched, [&](int k, int col, In& to) { to = In(float(b(k, col))); });
    C.at_ends(kTouched, [&](int, int, Out& to) { to = unwritten<Out>(); });
    // With one multiprocessor there are only whole tiles, but a single persistent block would compute
    // all of them. With more multiprocessors than tiles each block computes one.
    const bool large_k = s.K == kLong;
    for (const int sm_count : {1, 1 << 30}) {
        emulator::run_ends_only(sm_count, large_k ? kLargeKAccesses : kAccesses, large_k);
        with_explanation("at both ends", [&] {
            launch(s.M, s.N, s.K, A.data, B.data, C.data);
            finish_launch();
        });
        emulator::run_ends_only(0);
        if (found(*C.data) != "was not written") break;
    }
    if (large_k) return true;  // only the beginning of the sums was computed
    if (emulator::ended_early()) return false;
    C.at_ends(kCompared, [&](int row, int col, const Out& got) {
        int64_t expected = 0;
        for (int k = 0; k < s.K; ++k) expected += a(row, k) * b(k, col);
        check_element(row, col, got, expected);
    });
    return true;
}

// Long and wide matrices, each with 16-byte-aligned rows and without. The K of the wide ones
// exceeds that of every k-tile.
template <class In, class Out>
static void verify_all(Launcher<In, Out> launch, const Facts& facts) {
    std::string not_tried;
    int correct = 0;
    for (const Shape& s :
         {Shape{kLong, 8, 8}, Shape{kLong, 7, 7}, Shape{kLong, 7, 8}, Shape{8, kLong, 72},
          Shape{7, kLong - 1, 71}, Shape{8, 8, kLong}, Shape{7, 7, kLong}}) {
        if (s.K == kLong && !emulator::tracing()) continue;
        const auto stored = facts.stored_elements;  // large copies would occupy memory
        if (stored && stored(s.M, s.N, s.K) > double(s.M) * s.N + 1000) continue;
        const bool tried = with_context(to_string(s), [&] { return verify_ends(launch, s); });
        if (!tried) not_tried += (not_tried.empty() ? "" : ", ") + to_string(s);
        else ++correct;
    }
    if (!not_tried.empty())
        throw Failure(kNoGpu, format("not tried: %s: its blocks go on after %.0f million accesses",
                                     not_tried.c_str(), kAccesses * 1e-6));
    if (!correct)
        throw Failure(kNoGpu, "not tried: copies of such large matrices would occupy memory");
    std::printf("correct at both ends of matrices with more than 2^32 elements\n");
}

template <class In, class Out>
int run_stage(Launcher<In, Out> launch, const Facts& facts, int argc, char** argv, const char*) {
    bool both_ends = false, bf16 = false;
    const OptionTable options = {
        {"--both-ends", "", "must be given: a stage's own program does not take it",
         flag(both_ends)},
        {"--bf16", "", "A and B of bfloat16 instead of FP16", flag(bf16)},
        {"--config", "NAME", "launch this configuration",
         [](const std::string& name) { only_config = name; }}};
    const Program program = {
        "indices", "verifies a stage at more than 2^32 elements", options, "", "stage", "emulator"};
    return run_program(program, argc, argv, [&] {
        if (!both_ends) throw Failure(kBadCommandLine, "needs --both-ends");
        select_device(0);
        if (bf16) verify_all(facts.bf16, facts);
        else verify_all(launch, facts);
    });
}

template int run_stage(Launcher<float, float>, const Facts&, int, char**, const char*);
template int run_stage(Launcher<half, float>, const Facts&, int, char**, const char*);
template int run_stage(Launcher<half, half>, const Facts&, int, char**, const char*);

// --large-indices: a stage is right at both ends of matrices with more than 2^32 elements. Only the
// first and the last block run: an index that was cut to 32 bits reads or writes the wrong place, as
// on a GPU.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <sys/mman.h>

#include "common/explained.h"
#include "common/machine.h"
#include "emulator/emulator.h"

constexpr int kLong = 640000000;  // a multiple of every tile; times 7 it exceeds 2^32
// More than the largest tile, so all that the two blocks read is there; and the smallest tile, 16,
// less the one row or column that an edge may cut off.
constexpr int kTouched = 1024, kCompared = 15;
// Traced accesses, after which a launch ends: where its sums are long, so that each block has begun one,
// and otherwise many more than two blocks need for their tiles.
constexpr uint64_t kOfSums = 100000, kAccesses = 10000000;

// A matrix of which only touched pages take memory, with room around it for wrong indices.
template <class T>
struct SparseMatrix {
    SparseMatrix(int rows, int cols) : rows(rows), cols(cols) {
        constexpr size_t kBefore = size_t(1) << 31, kAfter = 1 << 20;  // elements
        const size_t bytes = (kBefore + size_t(rows) * cols + kAfter) * sizeof(T);
        void* const all = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (all == MAP_FAILED)
            throw Failure(kDeviceFailed,
                          format("--large-indices: %zu GiB of addresses, not memory, can't be had; "
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

// Returns false if the launch took too long, as where few blocks compute all of C in turns: nothing is
// known then.
template <class In, class Out>
static bool verify_ends(const Product& product, Shape s) {
    const auto a = [](int row, int k) { return (row * 7 + k * 3) % 5 - 2; };
    const auto b = [](int k, int col) { return (k * 5 + col * 3) % 7 - 3; };
    const SparseMatrix<In> A(s.M, s.K), B(s.K, s.N);
    const SparseMatrix<Out> C(s.M, s.N);
    A.at_ends(kTouched, [&](int row, int k, In& to) { to = In(float(a(row, k))); });
    B.at_ends(kTouched, [&](int k, int col, In& to) { to = In(float(b(k, col))); });
    C.at_ends(kTouched, [&](int, int, Out& to) { to = unwritten<Out>(); });
    // With one multiprocessor there are only whole tiles. But if blocks stay, one would compute all
    // of them: with more multiprocessors than tiles each block computes one.
    const bool long_sums = s.K == kLong;
    for (const int multiprocessors : {1, 1 << 30}) {
        emulator::run_ends_only(multiprocessors, long_sums ? kOfSums : kAccesses, long_sums);
        explained("at both ends", [&] {
            product.multiply(s, {A.data, B.data, C.data});
            finish_launch();
        });
        emulator::run_ends_only(0);
        if (found(*C.data) != "was not written") break;
    }
    if (long_sums) return true;  // only its beginning has run
    if (emulator::ended_early()) return false;
    C.at_ends(kCompared, [&](int row, int col, const Out& got) {
        int64_t expected = 0;
        for (int k = 0; k < s.K; ++k) expected += a(row, k) * b(k, col);
        check_element(row, col, got, expected);
    });
    return true;
}

void verify_large_indices(const Product& product) {
    std::string not_tried;
    // Long and wide matrices, each with 16-byte-aligned rows and without. K of the wide ones
    // exceeds the depth of every tile.
    for (const Shape& s :
         {Shape{kLong, 8, 8}, Shape{kLong, 7, 7}, Shape{kLong, 7, 8}, Shape{8, kLong, 72},
          Shape{7, kLong - 1, 71}, Shape{8, 8, kLong}, Shape{7, 7, kLong}}) {
        if (s.K == kLong && !emulator::tracing()) continue;
        const auto stored = product.facts.stored_elements;  // large copies would take real memory
        if (stored && stored(s.M, s.N, s.K) > double(s.M) * s.N + 1000) continue;
        const bool tried = doing(to_string(s), [&] {
            if (product.in_bytes == 4) return verify_ends<float, float>(product, s);
            if (product.bf16) return verify_ends<__nv_bfloat16, float>(product, s);
            if (product.out_bytes == 4) return verify_ends<half, float>(product, s);
            return verify_ends<half, half>(product, s);
        });
        if (!tried) not_tried += (not_tried.empty() ? "" : ", ") + to_string(s);
    }
    if (!not_tried.empty())
        throw Failure(kNoGpu, format("not tried: %s: its blocks go on after %.0f million accesses",
                                     not_tried.c_str(), kAccesses * 1e-6));
    std::printf("%s: right at both ends of matrices with more than 2^32 elements\n",
                product.stage.c_str());
}

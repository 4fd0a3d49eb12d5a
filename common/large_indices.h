// Are a stage's indices wide enough? It gets matrices with more than 2^32 elements, of which only the touched pages exist: the
// emulator runs the first and the last block alone, and what these compute is compared. So no memory of that size is needed, and an
// index that is cut to 32 bits, with a sign or without one, reads or writes elsewhere, as it would on a GPU.
#pragma once

#include <sys/mman.h>

#include <string>
#include <vector>

#include "common/launch.h"
#include "emulator/emulator.h"

constexpr int kLong = 640000000;  // a multiple of every tile; times 7 it exceeds 2^32

// A matrix of which only both ends of its rows and columns hold something.
template <class T>
class SparseMatrix {
public:
    SparseMatrix(int rows, int cols)
        : rows_(rows), cols_(cols), bytes_((kBefore + size_t(rows) * cols + kAfter) * sizeof(T)) {
        memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory_ == MAP_FAILED)
            throw Failure(
                kDeviceFailed,
                format(
                    "--large-indices: %zu GiB of addresses, not memory, can't be had; see ulimit -v and "
                    "vm.overcommit_memory",
                    bytes_ >> 30));
    }
    ~SparseMatrix() { munmap(memory_, bytes_); }
    SparseMatrix(const SparseMatrix&) = delete;
    SparseMatrix& operator=(const SparseMatrix&) = delete;

    T* data() { return static_cast<T*>(memory_) + kBefore; }
    template <class Value>
    void fill(int most, Value value) {
        for (const int row : ends(rows_, most))
            for (const int col : ends(cols_, most))
                data()[size_t(row) * cols_ + col] = value(row, col);
    }
    // The first `most` of the numbers below `length`, and the last.
    static std::vector<int> ends(int length, int most) {
        std::vector<int> numbers;
        for (int i = 0; i < length; i = i + 1 == most && length > 2 * most ? length - most : i + 1)
            numbers.push_back(i);
        return numbers;
    }

private:
    static constexpr size_t kBefore = size_t(1) << 31;  // an index that became negative lands there
    static constexpr size_t kAfter = 1 << 20;
    int rows_, cols_;
    size_t bytes_;
    void* memory_;
};

// Throws Failure.
template <class In, class Out>
void verify_large_indices(const StageOf<In, Out>& stage) {
    // Long or wide, with rows that start on multiples of 16 bytes and rows that don't; more of K than any tile is deep.
    for (const Shape& s :
         {Shape{kLong, 8, 8}, Shape{kLong, 7, 7}, Shape{8, kLong, 72}, Shape{7, kLong - 1, 71}}) {
        constexpr int kTouched = 1024,
                      kCompared =
                          16;  // the largest tile has fewer rows and columns, the smallest as many
        const auto a = [](int row, int k) { return (row * 7 + k * 3) % 5 - 2; };
        const auto b = [](int k, int col) { return (k * 5 + col * 3) % 7 - 3; };
        SparseMatrix<In> A(s.M, s.K), B(s.K, s.N);
        SparseMatrix<Out> C(s.M, s.N);
        A.fill(kTouched, [&](int row, int k) { return In(float(a(row, k))); });
        B.fill(kTouched, [&](int k, int col) { return In(float(b(k, col))); });
        C.fill(kTouched, [](int, int) { return unwritten<Out>(); });
        emulator::run_ends_only(true);
        stage.launch(s.M, s.N, s.K, A.data(), B.data(), C.data());
        emulator::run_ends_only(false);
        try {
            check_cuda(cudaGetLastError(), "launching the kernel");
            check_cuda(cudaDeviceSynchronize(), "running the kernel");
            for (const int row : C.ends(s.M, kCompared))
                for (const int col : C.ends(s.N, kCompared)) {
                    int64_t expected = 0;
                    for (int k = 0; k < s.K; ++k) expected += a(row, k) * b(k, col);
                    const std::string wrong =
                        wrong_element(row, col, C.data()[size_t(row) * s.N + col], expected);
                    if (!wrong.empty()) throw Failure(kWrongResult, wrong);
                }
        } catch (const Failure& failure) {
            throw Failure(failure.code, to_string(s) + ": " + failure.what());
        }
    }
    std::printf("%s: right at both ends of matrices with more than 2^32 elements\n", stage.name);
}

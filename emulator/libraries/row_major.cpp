// cuBLAS's matrices are column-major. Where a program passes row-major ones, and the leading
// dimensions fit, the call itself has no fault.

#include "emulator/libraries/row_major.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>
#include <vector>

#include "emulator/api/memory.h"
#include "emulator/libraries/elements.h"
#include "emulator/libraries/products.h"
#include "emulator/trace/report.h"

namespace emulator::blas {
namespace {

using Values = std::vector<double>;
constexpr long long kMostProducts = 1 << 24;  // of two elements: 256 x 256 x 256
constexpr size_t kMostBytes = 1 << 20;  // of a copy
constexpr size_t kKept = 8;  // copies, and products

// What a copy has brought to the host.
struct Copy {
    std::string place;
    std::vector<char> bytes;
};
// The product of the same arrays, as row-major matrices without gaps.
struct Meant {
    std::string place;  // of the call that has computed another one
    cudaDataType type;
    Values C;
};
auto& copies = *new std::deque<Copy>;  // never destroyed
auto& meant = *new std::deque<Meant>;

void forget_before_reset() {  // by reset_counts()
    static uint64_t since_reset;
    if (std::exchange(since_reset, resets) == resets) return;
    copies.clear();
    meant.clear();
}

template <class T>
void keep(std::deque<T>& all, T one) {
    all.push_back(std::move(one));
    if (all.size() > kKept) all.pop_front();
}

Values values(const void* data, cudaDataType type, size_t count) {
    Values all(count);
    for (size_t i = 0; i < count; ++i) all[i] = load<double>(data, type, i);
    return all;
}

// The largest difference of two arrays, as a share of the largest element of the first one.
double difference(const Values& a, const Values& b) {
    double most = 0, largest = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        if (!(std::abs(a[i] - b[i]) <= most)) most = std::abs(a[i] - b[i]);  // NaN, too
        largest = std::max(largest, std::abs(a[i]));
    }
    return most / largest;
}
constexpr double kSame = 0.01, kOther = 0.1;

void compare(const Meant& product, const Copy& copy) {
    const size_t count = product.C.size();
    if (copy.bytes.size() != count * bytes_of(product.type)) return;
    if (difference(product.C, values(copy.bytes.data(), product.type, count)) < kSame)
        report_note(product.place,
                    "its result is not what " + copy.place +
                        " brings, the product of the same arrays as row-major matrices: cuBLAS "
                        "reads and writes column-major. For a row-major C = A B swap A and B, "
                        "and m and n (C^T = B^T A^T), without transposing; the leading dimensions "
                        "are then n, k, n");
}

void note_copy(const void* bytes, size_t count, const std::string& place) {
    forget_before_reset();
    if (count > kMostBytes) return;
    const auto* const first = static_cast<const char*>(bytes);
    keep(copies, {place, {first, first + count}});
    for (const Meant& product : meant) compare(product, copies.back());
}

// From before main() on, in a program that has this file because it calls cuBLAS.
const bool notes_copies = (copied_to_host = note_copy);

}  // namespace

void compare_with_row_major(const Product& p, const void* A, const void* B, const void* D,
                            const std::string& place) {
    if (p.bias || p.relu || p.gelu || p.A.row_major || p.B.row_major || p.D.row_major ||
        p.D.ld != p.m || p.m * p.n * p.k > kMostProducts || !notes_copies)
        return;
    forget_before_reset();
    const Values a = values(A, p.A.type, p.m * p.k), b = values(B, p.B.type, p.k * p.n),
                 d = values(D, p.D.type, p.m * p.n);
    // With `swapped` what is wrong is the transposition alone.
    for (const bool swapped : {false, true}) {
        Values C(d.size());
        if (swapped) multiply(p.n, p.m, p.k, b.data(), a.data(), C.data());
        else multiply(p.m, p.n, p.k, a.data(), b.data(), C.data());
        if (difference(C, d) < kOther) continue;
        keep(meant, {place, p.D.type, C});
        for (const Copy& copy : copies) compare(meant.back(), copy);
    }
}

}  // namespace emulator::blas

// cuBLAS's matrices are column-major. Where a program passes row-major ones, and the leading
// dimensions fit, the call itself has no fault, and the mistake shows only in the values. Therefore
// the row-major product of the same arrays is computed and compared with what the program copies to
// the host: if another result of the program, such as that of its own kernel, is equal to it, a
// note is reported.

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
constexpr long long kMaxMultiplications = 1 << 24;  // larger products are not compared
constexpr size_t kMaxCopyBytes = 1 << 20;  // nor larger copies
constexpr size_t kHistory = 8;  // how many copies, and how many products, are kept
// Differences, relative to the largest element. kSame allows for rounding in half precision.
// Products that differ by less than kDifferent are not told apart.
constexpr double kSame = 0.01, kDifferent = 0.1;

// What a copy has brought to the host.
struct Copy {
    std::string place;
    std::vector<char> bytes;
};
// What the program probably meant: the product of a call's operands as contiguous row-major
// matrices.
struct RowMajorProduct {
    std::string call;  // that has computed another product
    bool exchanged;  // the call has B before A, as it should
    cudaDataType type;
    Values C;
};
// Never destroyed, because destructors of static objects may still copy.
auto& copies = *new std::deque<Copy>;
auto& products = *new std::deque<RowMajorProduct>;

// Drops the copies and products from before the last reset_counts().
void forget_before_reset() {
    static uint64_t resets_seen;
    if (resets_seen == resets) return;
    resets_seen = resets;
    copies.clear();
    products.clear();
}

template <class T>
void push_bounded(std::deque<T>& history, T item) {
    history.push_back(std::move(item));
    if (history.size() > kHistory) history.pop_front();
}

Values values_of(const void* array, cudaDataType type, size_t count) {
    Values values(count);
    for (size_t i = 0; i < count; ++i) values[i] = load<double>(array, type, i);
    return values;
}

// The largest absolute difference, relative to the largest magnitude in `a`; infinite if an element
// is NaN.
double difference(const Values& a, const Values& b) {
    double largest_difference = 0, largest = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        const double d = std::abs(a[i] - b[i]);
        if (std::isnan(d)) return INFINITY;
        largest_difference = std::max(largest_difference, d);
        largest = std::max(largest, std::abs(a[i]));
    }
    return largest_difference / largest;
}

void compare(const RowMajorProduct& product, const Copy& copy) {
    const size_t count = product.C.size();
    if (copy.bytes.size() != count * bytes_of(product.type)) return;
    if (!(difference(product.C, values_of(copy.bytes.data(), product.type, count)) < kSame)) return;
    report_note(product.call,
                "its result differs from the array that " + copy.place +
                    " copies to the host, which is the product of the same operands as row-major "
                    "matrices: " +
                    (product.exchanged ? kExchangedAdvice : kRowMajorAdvice));
}

void note_copy(const void* bytes, size_t count, const std::string& place) {
    forget_before_reset();
    if (count > kMaxCopyBytes) return;
    const auto* const first = static_cast<const char*>(bytes);
    push_bounded(copies, {place, {first, first + count}});
    for (const RowMajorProduct& product : products) compare(product, copies.back());
}

// Registers note_copy() before main() begins, so that it sees copies before the first product, too.
[[maybe_unused]] const bool registered = [] {
    copied_to_host = note_copy;
    return true;
}();

}  // namespace

void compare_with_row_major(const Product& p, const void* A, const void* B, const void* D,
                            const std::string& place) {
    if (p.bias || p.relu || p.gelu || p.A.row_major || p.B.row_major || p.D.row_major ||
        p.D.ld != p.m || p.m * p.n * p.k > kMaxMultiplications)
        return;
    forget_before_reset();
    const Values a = values_of(A, p.A.type, p.m * p.k), b = values_of(B, p.B.type, p.k * p.n),
                 d = values_of(D, p.D.type, p.m * p.n);
    // Where the call has exchanged the operands, its fault is CUBLAS_OP_T alone.
    for (const bool exchanged : {false, true}) {
        Values C(d.size());
        if (exchanged) multiply(p.n, p.m, p.k, b.data(), a.data(), C.data());
        else multiply(p.m, p.n, p.k, a.data(), b.data(), C.data());
        if (difference(C, d) < kDifferent) continue;
        push_bounded(products, {place, exchanged, p.D.type, C});
        for (const Copy& copy : copies) compare(products.back(), copy);
    }
}

}  // namespace emulator::blas

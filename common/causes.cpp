#include "common/causes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
// So many wrong elements must agree with a hypothesis. Two sums of random integers are equal in one
// case of 30 where K is small.
constexpr size_t kEnough = 8;
constexpr size_t kFew = 4;  // a place is said of no fewer elements

using Flags = std::vector<bool>;

struct Element {
    int row, col;
};

// A product that differs from the correct one, and where.
struct Wrong : Computed {
    explicit Wrong(const Computed& computed)
        : Computed(computed), differs(C.size(), false), unwritten(C.size(), false) {}

    size_t at(int row, int col) const { return size_t(row) * shape.N + col; }
    double a(int row, int k) const { return A[size_t(row) * shape.K + k]; }
    double b(int k, int col) const { return B[size_t(k) * shape.N + col]; }
    double product(int row, int col) const {
        double sum = 0;
        for (int k = 0; k < shape.K; ++k) sum += a(row, k) * b(k, col);
        return sum;
    }
    void mark(int row, int col) {
        differs[at(row, col)] = true;
        unwritten[at(row, col)] = !written[at(row, col)];
        if (!std::isnan(C[at(row, col)])) numbers.push_back({row, col});
    }

    Flags differs, unwritten;
    std::vector<Element> numbers;  // of the elements that differ, those that are not NaN
};

// ---- Where the wrong elements are ----

// The marked ones of these indices, if they are a range, or the same range in every `period`
// indices; else "".
std::string described(const char* one, const Flags& marked) {
    const int size = int(marked.size());
    for (const int period : {size, 256, 128, 64, 32, 16, 8, 4, 2}) {
        if (period > size) continue;
        const auto begin = marked.begin(), end = begin + period;
        const auto from = std::find(begin, end, true);
        const int first = int(from - begin), last = int(std::find(from, end, false) - begin) - 1;
        bool fits = first <= last;
        for (int i = 0; i < size; ++i)
            fits = fits && marked[i] == (i % period >= first && i % period <= last);
        if (!fits) continue;
        if (period < size)
            return format("%ss whose number %% %d is %d to %d", one, period, first, last);
        if (first == last) return format("%s %d", one, first);
        if (last == size - 1) return format("%ss from %d on", one, first);
        return format("%ss %d to %d", one, first, last);
    }
    return "";
}

// The rows, or columns, in which nearly as many elements are marked as in the fullest one.
Flags full(const std::vector<int>& marked) {
    const int most = *std::max_element(marked.begin(), marked.end());
    Flags flags;
    for (const int count : marked) flags.push_back(2 * count > most);
    return flags;
}

// The elements that are marked, as a rectangle of rows and columns, or "" if they do not form one.
// Because a wrong element may be correct by chance, exceptions are allowed: a tenth of the wrong ones.
// correct: the correct ones are marked, not the wrong ones.
std::string rectangle(Shape s, const Flags& marked, bool correct) {
    std::vector<int> of_row(s.M, 0), of_col(s.N, 0);
    for (int row = 0; row < s.M; ++row)
        for (int col = 0; col < s.N; ++col)
            if (marked[size_t(row) * s.N + col]) ++of_row[row], ++of_col[col];
    const Flags rows = full(of_row), cols = full(of_col);
    size_t size = 0, holes = 0, strays = 0;
    for (int row = 0; row < s.M; ++row)
        for (int col = 0; col < s.N; ++col) {
            const bool inside = rows[row] && cols[col], is = marked[size_t(row) * s.N + col];
            size += inside;
            holes += inside && !is;
            strays += !inside && is;
        }
    const size_t few = std::count(marked.begin(), marked.end(), !correct) / 10;
    if (size < kFew || (correct ? holes > 0 || strays > few : holes > few || strays > 0)) return "";
    const auto all = [](const Flags& f) { return std::count(f.begin(), f.end(), false) == 0; };
    const std::string row = described("row", rows), col = described("column", cols);
    if (all(rows)) return all(cols) ? "" : col;
    if (all(cols)) return row;
    return row.empty() || col.empty() ? "" : row + " and " + col;
}

// Where the elements are that are marked: "in columns from 256 on"; "" if they are everywhere, or
// in no simple place.
std::string place(Shape s, const Flags& wrong) {
    if (const std::string in = rectangle(s, wrong, false); !in.empty()) return "in " + in;
    Flags correct = wrong;
    correct.flip();
    const std::string but = rectangle(s, correct, true);
    return but.empty() ? "" : "everywhere but in " + but;
}

// ---- Hypotheses ----

// What C holds if a hypothesis is true; kUnknown where that is not known.
struct Hypothesis {
    std::string said, matrices;  // the letters of those whose lines are concerned
    std::function<double(int row, int col)> predict;
};
using Hypotheses = std::vector<Hypothesis>;

// Where an element of a matrix is looked for: its index in the array, or kZero for a 0 beside the
// matrix. said: "" for the place where it is.
constexpr long kZero = -1;
struct Layout {
    std::string said;
    std::function<long(int row, int col)> place;
};
using Layouts = std::vector<Layout>;

Layout row_major(int length) {
    return {"", [=](int row, int col) { return long(row) * length + col; }};
}

// The dimensions of this size: "N", or "M or N".
std::string names_of(Shape s, int size) {
    std::string names;
    for (const auto& [name, dimension] : {std::pair("M", s.M), {"N", s.N}, {"K", s.K}})
        if (dimension == size) names += (names.empty() ? "" : " or ") + std::string(name);
    return names;
}

// Square blocks that are transposed, each for itself: fragments, or tiles in shared memory.
void add_blocks(Layouts& layouts, const char* name, int rows, int cols) {
    for (const int size : {4, 8, 16, 32, 64}) {
        if (size >= std::max(rows, cols)) break;
        const auto place = [=](int row, int col) {
            const int row_there = row - row % size + col % size,
                      col_there = col - col % size + row % size;
            const bool inside = row_there < rows && col_there < cols;
            return inside ? long(row_there) * cols + col_there : kZero;
        };
        const std::string said =
            format("each block of %d x %d elements of %s is transposed", size, size, name);
        layouts.push_back({said, place});
    }
}

// Neighbours, or groups of them, that have changed places, as in a fragment's registers.
void add_swapped(Layouts& layouts, const char* name, bool of_rows, int rows, int cols) {
    for (int far = 1; far <= 64 && far < (of_rows ? rows : cols); far *= 2) {
        const auto place = [=](int row, int col) {
            const int row_there = of_rows ? row ^ far : row, col_there = of_rows ? col : col ^ far;
            const bool inside = row_there < rows && col_there < cols;
            return inside ? long(row_there) * cols + col_there : kZero;
        };
        const std::string said =
            format("%s i and i + %d of %s are swapped", of_rows ? "rows" : "columns", far, name);
        layouts.push_back({said, place});
    }
}

// The height of WMMA's fragments, in elements of M or of K.
constexpr int kFragmentRows[] = {8, 16, 32};

// Each fragment begins where it should, and its rows have another distance: the leading dimension
// that load_matrix_sync() gets.
std::string said_of_rows(const char* name, int rows, const std::string& distance,
                         const char* right) {
    return format(
        "within each %d rows of %s the distance from row to row is %s, not %s: is the "
        "leading dimension %s, where %s is due?",
        rows, name, distance.c_str(), right, distance.c_str(), right);
}
void add_fragments(Layouts& layouts, const char* name, int cols, Shape s, const char* right) {
    for (const int rows : kFragmentRows)
        for (const int length : std::set<int>{s.M, s.N, s.K})
            layouts.push_back(
                {said_of_rows(name, rows, names_of(s, length), right), [=](int row, int col) {
                     return long(row - row % rows) * cols + long(row % rows) * length + col;
                 }});
}

// A (M x K) or B (K x N).
Layouts layouts_of_operand(const char* name, int rows, int cols, Shape s) {
    const char* const right = name[0] == 'A' ? "K" : "N";
    Layouts layouts = {row_major(cols)};
    for (const int length : std::set<int>{s.M, s.N, s.K}) {
        const std::string it = names_of(s, length);
        layouts.push_back({format("%s is read at [row * %s + col], not at [row * %s + col]", name,
                                  it.c_str(), right),
                           row_major(length).place});
        layouts.push_back({format("%s is read at [col * %s + row], as column-major, not at "
                                  "[row * %s + col]",
                                  name, it.c_str(), right),
                           [=](int row, int col) { return long(col) * length + row; }});
    }
    add_fragments(layouts, name, cols, s, right);
    add_blocks(layouts, name, rows, cols);
    // Of the rows of A it would be the same as of C's, and of the rows of B as of A's columns.
    if (name[0] == 'A') add_swapped(layouts, name, false, rows, cols);
    return layouts;
}

// C (M x N): which element of the product stands at a place.
Layouts layouts_of_result(Shape s) {
    const auto transposed = [s](int row, int col) {
        const long place = long(row) * s.N + col;
        return place % s.M * s.N + place / s.M;
    };
    Layouts layouts = {
        row_major(s.N),
        {"C is transposed: it is written at [col * M + row], not at [row * N + col]", transposed}};
    add_blocks(layouts, "C", s.M, s.N);
    add_swapped(layouts, "C", true, s.M, s.N);
    add_swapped(layouts, "C", false, s.M, s.N);
    return layouts;
}

// One or two matrices are laid out otherwise, or all three are column-major.
void add_layouts(Hypotheses& all, const Wrong& x) {
    const auto [M, N, K] = x.shape;
    const Layouts of_a = layouts_of_operand("A", M, K, x.shape),
                  of_b = layouts_of_operand("B", K, N, x.shape), of_c = layouts_of_result(x.shape);
    const auto value = [](const std::vector<float>& matrix, long place) {
        if (place == kZero) return 0.0;
        return place < long(matrix.size()) ? double(matrix[place]) : kUnknown;
    };
    const auto add = [&](const std::string& said, const std::string& matrices, const Layout& a,
                         const Layout& b, const Layout& c) {
        all.push_back({said, matrices, [=, &x, K = K, N = N](int row, int col) {
                           const long stored = c.place(row, col);
                           if (stored == kZero) return kUnknown;
                           double sum = 0;
                           for (int k = 0; k < K; ++k)
                               sum += value(x.A, a.place(int(stored / N), k)) *
                                      value(x.B, b.place(k, int(stored % N)));
                           return sum;
                       }});
    };
    for (const size_t changed : {1, 2})
        for (const Layout& a : of_a)
            for (const Layout& b : of_b)
                for (const Layout& c : of_c) {
                    std::vector<std::string> said;
                    std::string matrices;
                    for (const auto& [matrix, layout] : {std::pair('A', &a), {'B', &b}, {'C', &c}})
                        if (!layout->said.empty()) {
                            said.push_back(layout->said);
                            matrices += matrix;
                        }
                    if (said.size() == changed) add(joined(said, ", and "), matrices, a, b, c);
                }
    const auto column_major = [](int length) {
        return Layout{"", [=](int row, int col) { return long(col) * length + row; }};
    };
    add("A, B and C are taken as column-major", "ABC", column_major(M), column_major(K), of_c[1]);
}

// Fragments of C are stored with another distance from row to row than N. Where it is smaller, they
// overlap, and which of them is the last one to store an element depends on the order of threads.
void add_fragments_of_result(Hypotheses& all, const Wrong& x) {
    const Shape s = x.shape;
    for (const int rows : kFragmentRows)
        for (const int length : std::set<int>{s.M, s.K}) {
            const auto predict = [=, &x](int row, int col) {
                const double stored = x.C[x.at(row, col)];
                for (int from = 0; from < s.M; ++from) {
                    const long begin = long(from - from % rows) * s.N + long(from % rows) * length;
                    const long from_col = long(x.at(row, col)) - begin;
                    if (from_col >= 0 && from_col < s.N && x.product(from, int(from_col)) == stored)
                        return stored;
                }
                return kUnknown;
            };
            all.push_back({said_of_rows("C", rows, names_of(s, length), "N"), "C", predict});
        }
}

// x, rounded to so many bits (half has 11, bfloat16 8, TF32 11), which no product here needs more
// exponents for. How: to the nearest, ties to even or away from zero, or towards zero.
enum class Ties { even, away, truncated };
double rounded(double x, int bits, Ties ties = Ties::even) {
    int exponent;
    const double scaled = std::ldexp(std::frexp(x, &exponent), bits);
    const double integer = ties == Ties::even   ? std::nearbyint(scaled)
                           : ties == Ties::away ? std::round(scaled)
                                                : std::trunc(scaled);
    return std::ldexp(integer, exponent - bits);
}

struct Type {
    const char* name;
    int bits;
};
constexpr int kFloatBits = 24;
constexpr Type kHalf = {"half", 11}, kBfloat16 = {"bfloat16", 8};

// The sums are rounded to a narrow type each time that `step` products were added; 0: after each one,
// which was rounded before. Pairs have two sums for each element.
void add_narrow_sums(Hypotheses& all, const Wrong& x) {
    for (const Type& type : {kHalf, kBfloat16})
        for (const int sums : {1, 2})
            for (const int step : {0, 1, 2, 4, 8, 16, 32, 64}) {
                const auto predict = [&x, sums, step, bits = type.bits](int row, int col) {
                    const auto product = [&](int k) {
                        const double exact = x.a(row, k) * x.b(k, col);
                        return step ? exact : rounded(exact, bits);
                    };
                    const int together = std::max(step, 1);
                    double sum[2] = {};
                    for (int k = 0; k < x.shape.K;) {
                        double& s = sum[k / together % sums];
                        double more = 0;
                        for (const int end = std::min(k + together, x.shape.K); k < end; ++k)
                            more += product(k);
                        s = rounded(s + more, bits);
                    }
                    return rounded(sum[0] + sum[1], bits);
                };
                all.push_back(
                    {format("the sums are kept in %s, which has %d significant bits: keep them in "
                            "float",
                            type.name, type.bits),
                     "", predict});
            }
}

// A and B, one of them, or C are rounded to a narrow type. If floats are split into two halves, A
// alone is where the products of its low halves are missing.
void add_rounded(Hypotheses& all, const Wrong& x) {
    for (const Type& type : {Type{"half and TF32 have", 11}, {"bfloat16 has", 8}})
        for (const Ties ties : {Ties::even, Ties::away, Ties::truncated}) {
            const auto operands = [&x, ties](int bits_a, int bits_b) {
                return [=, &x](int row, int col) {
                    double sum = 0;
                    for (int k = 0; k < x.shape.K; ++k)
                        sum +=
                            rounded(x.a(row, k), bits_a, ties) * rounded(x.b(k, col), bits_b, ties);
                    return sum;
                };
            };
            const auto result = [&x, bits = type.bits, ties](int row, int col) {
                return rounded(x.product(row, col), bits, ties);
            };
            const std::string to =
                format("rounded to the %d significant bits that %s", type.bits, type.name);
            all.push_back({"A and B are " + to, "", operands(type.bits, type.bits)});
            all.push_back({"A is " + to, "", operands(type.bits, kFloatBits)});
            all.push_back({"B is " + to, "", operands(kFloatBits, type.bits)});
            all.push_back({"C, or the sum that is stored there, is " + to, "", result});
        }
}

// How many times each product A[row][k] * B[k][col] is in the wrong sums, if that depends on k
// alone: the solution of the equations that the wrong elements are. Empty if they have none.
std::vector<int> times_of_products(const Wrong& x) {
    const int K = x.shape.K;
    if (K > 256 || x.numbers.size() < K + kEnough) return {};
    std::vector<std::vector<double>> equations(K);  // triangular: the k-th begins at k
    int known = 0;
    // A step that is coprime with most numbers takes elements from everywhere.
    for (size_t i = 0; known < K && i < 8 * size_t(K); ++i) {
        const auto [row, col] = x.numbers[i * 7919 % x.numbers.size()];
        std::vector<double> equation(K + 1);
        for (int k = 0; k < K; ++k) equation[k] = x.a(row, k) * x.b(k, col);
        equation[K] = x.C[x.at(row, col)];
        for (int k = 0; k < K; ++k) {
            if (std::fabs(equation[k]) < 1e-6) continue;
            if (equations[k].empty()) {
                for (int j = K; j >= k; --j) equation[j] /= equation[k];
                equations[k] = equation;
                ++known;
                break;
            }
            const double factor = equation[k];
            for (int j = k; j <= K; ++j) equation[j] -= factor * equations[k][j];
        }
    }
    if (known < K) return {};
    std::vector<double> times(K);
    for (int k = K - 1; k >= 0; --k) {
        times[k] = equations[k][K];
        for (int j = k + 1; j < K; ++j) times[k] -= equations[k][j] * times[j];
        if (!(std::fabs(times[k]) < 1000)) return {};
    }
    std::vector<int> rounded;
    for (const double t : times) rounded.push_back(int(std::lround(t)));
    return rounded;
}

// first, ..., last as text.
std::string range_of_k(int first, int last, int period, int K) {
    if (period < K) return format("k %% %d from %d to %d", period, first, last);
    if (first == last) return format("k = %d", first);
    if (last == K - 1) return format("k from %d on", first);
    return format("k from %d to %d", first, last);
}

// The k whose products are missing, or counted more than once.
std::string said_of_products(const std::vector<int>& times) {
    const int K = int(times.size());
    if (std::count(times.begin(), times.end(), times[0]) == K)
        return times[0] ? format("C is %d times the product", times[0])
                        : "each of these sums has no product at all";
    std::vector<std::string> fewest;
    for (const int period : {K, 128, 64, 32, 16, 8, 4, 2}) {
        bool fits = period <= K;
        for (int k = period; fits && k < K; ++k) fits = times[k] == times[k - period];
        std::vector<std::string> ranges;
        for (int first = 0, end; fits && first < period; first = end) {
            for (end = first + 1; end < period && times[end] == times[first];) ++end;
            if (times[first] != 1)
                ranges.push_back(
                    range_of_k(first, end - 1, period, K) +
                    (times[first] ? format(" are added %d times", times[first]) : " are missing"));
        }
        if (fits && (fewest.empty() || ranges.size() < fewest.size())) fewest = ranges;
    }
    if (fewest.size() <= 3) return "in each sum the products with " + joined(fewest, ", with ");
    return format("in each sum %d of the %d products are missing, the first with k = %d",
                  int(std::count(times.begin(), times.end(), 0)), K,
                  int(std::find_if(times.begin(), times.end(), [](int t) { return t != 1; }) -
                      times.begin()));
}

// Products that are missing or counted more than once.
void add_products(Hypotheses& all, const Wrong& x) {
    const std::vector<int> times = times_of_products(x);
    if (times.empty()) return;
    all.push_back({said_of_products(times), "AB", [&x, times](int row, int col) {
                       double sum = 0;
                       for (int k = 0; k < x.shape.K; ++k)
                           sum += times[k] * x.a(row, k) * x.b(k, col);
                       return sum;
                   }});
}

// ---- The verdict ----

// The first hypothesis that agrees with all wrong elements that are numbers; nullptr: none does.
// agrees(e, value): whether C[e] is the value that was predicted.
template <class Agrees>
const Hypothesis* first_true(const Hypotheses& all, const Wrong& x, Agrees agrees) {
    if (x.numbers.size() < kEnough) return nullptr;
    for (const Hypothesis& each : all)
        if (std::all_of(x.numbers.begin(), x.numbers.end(),
                        [&](const Element& e) { return agrees(e, each.predict(e.row, e.col)); }))
            return &each;
    return nullptr;
}

std::string verdict(const Wrong& x, const Hypothesis* hypothesis, const LinesOf& lines_of) {
    const auto count = [](const Flags& f) { return size_t(std::count(f.begin(), f.end(), true)); };
    const size_t wrong = count(x.differs), unwritten = count(x.unwritten);
    if (unwritten == x.C.size()) return "no element of C was written";
    const std::string where = unwritten ? "" : place(x.shape, x.differs);
    const std::string holes = place(x.shape, x.unwritten);
    std::vector<std::string> said;
    if (hypothesis)
        said.push_back(
            hypothesis->said + format("; this explains all %zu wrong elements", x.numbers.size()) +
            (where.empty() ? "" : ", which are " + where) + places(hypothesis->matrices, lines_of));
    else if (!where.empty())
        said.push_back(format("all %zu wrong elements are %s", wrong, where.c_str()) +
                       places("C", lines_of));
    if (!holes.empty())
        said.push_back(format("%zu elements were not written: all %s", unwritten, holes.c_str()) +
                       places("C", lines_of));
    return joined(said, "; ");
}

}  // namespace

std::string places(const std::string& matrices, const LinesOf& lines_of) {
    std::vector<std::string> said;
    for (const char matrix : matrices)
        if (const std::string its = lines_of(matrix); !its.empty())
            said.push_back(std::string(1, matrix) + ": " + its);
    return said.empty() ? "" : " (" + joined(said, ", ") + ")";
}

std::string cause_of(const Computed& computed, const LinesOf& lines_of) {
    Wrong x(computed);
    for (int row = 0; row < x.shape.M; ++row)
        for (int col = 0; col < x.shape.N; ++col)
            if (!(x.C[x.at(row, col)] == x.product(row, col))) x.mark(row, col);
    Hypotheses all;
    add_layouts(all, x);
    add_fragments_of_result(all, x);
    add_narrow_sums(all, x);
    add_rounded(all, x);
    add_products(all, x);
    const auto agrees = [&](const Element& e, double value) {
        return x.C[x.at(e.row, e.col)] == value;
    };
    return verdict(x, first_true(all, x, agrees), lines_of);
}

std::string cause_of_error(const Computed& computed, const Arithmetic& arithmetic) {
    Wrong x(computed);
    const auto bound = [&](int row, int col) {
        double magnitude = 0;
        for (int k = 0; k < x.shape.K; ++k) magnitude += std::fabs(x.a(row, k) * x.b(k, col));
        return error_bound(arithmetic, x.shape.K, x.shape.K) * magnitude;
    };
    const auto agrees = [&](const Element& e, double value) {
        return std::fabs(x.C[x.at(e.row, e.col)] - value) <= bound(e.row, e.col);
    };
    for (int row = 0; row < x.shape.M; ++row)
        for (int col = 0; col < x.shape.N; ++col)
            if (!agrees({row, col}, x.product(row, col))) x.mark(row, col);
    Hypotheses all;
    add_rounded(all, x);
    add_narrow_sums(all, x);
    return verdict(x, first_true(all, x, agrees), [](char) { return ""; });
}

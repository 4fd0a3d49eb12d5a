// The cause of a wrong product is named where it is known, and nothing is said where it is not.
#include "common/causes.h"
#include "common/operands.h"
#include "common/other_shapes.h"

#include <gtest/gtest.h>

#include <functional>

namespace {

const Shape kShape = {40, 72, 56};  // no two alike, and none a multiple of 16

// A product of which each element is wrong in a way that the test chooses.
struct Faulty {
    explicit Faulty(Shape s, bool reals = false)
        : shape(s), A(reals ? random_reals(size_t(s.M) * s.K, 1, 0.25f)
                            : random_integers(size_t(s.M) * s.K, 1, 8)),
          B(reals ? random_reals(size_t(s.K) * s.N, 2, 0.25f)
                  : random_integers(size_t(s.K) * s.N, 2, 8)),
          C(size_t(s.M) * s.N) {
        set([&](int row, int col) { return sum(row, col, [](int) { return 1; }); });
    }
    // The sum of the products, each counted so many times.
    double sum(int row, int col, const std::function<int(int k)>& times) const {
        double sum = 0;
        for (int k = 0; k < shape.K; ++k) sum += times(k) * a(row, k) * b(k, col);
        return sum;
    }
    double a(int row, int k) const { return A.at(size_t(row) * shape.K + k); }
    double b(int k, int col) const { return B.at(size_t(k) * shape.N + col); }
    void set(const std::function<float(int row, int col)>& value) {
        for (int row = 0; row < shape.M; ++row)
            for (int col = 0; col < shape.N; ++col)
                C[size_t(row) * shape.N + col] = value(row, col);
    }
    std::string cause() const {
        return cause_of({shape, A, B, C.data()},
                        [](char matrix) { return std::string(1, matrix) + "'s line"; });
    }

    Shape shape;
    std::vector<float> A, B, C;
};

void expect_said(const std::string& said, const std::string& cause) {
    EXPECT_NE(cause.find(said), std::string::npos) << "not '" << said << "' but '" << cause << "'";
}

TEST(Causes, Layouts) {
    Faulty x(kShape);
    const auto [M, N, K] = x.shape;
    // The sums where A's element is looked for at one place and B's at another one.
    const auto read = [&](std::function<size_t(int, int)> at_a,
                          std::function<size_t(int, int)> at_b) {
        x.set([&](int row, int col) {
            double sum = 0;
            for (int k = 0; k < x.shape.K; ++k) sum += x.A[at_a(row, k)] * x.B[at_b(k, col)];
            return sum;
        });
        return x.cause();
    };
    const auto in_a = [K = K](int row, int k) { return size_t(row) * K + k; };
    const auto in_b = [N = N](int k, int col) { return size_t(k) * N + col; };
    expect_said(
        "A is read at [col * M + row], as column-major, not at [row * K + col]; this explains "
        "all ",
        read([M = M](int row, int k) { return size_t(k) * M + row; }, in_b));
    expect_said("B is read at [row * K + col], not at [row * N + col]",
                read(in_a, [K = K](int k, int col) { return size_t(k) * K + col; }));
    expect_said(
        "each block of 8 x 8 elements of A is transposed, and each block of 8 x 8 elements of B",
        read([K = K](int row,
                     int k) { return size_t(row / 8 * 8 + k % 8) * K + k / 8 * 8 + row % 8; },
             [N = N](int k, int col) {
                 return size_t(k / 8 * 8 + col % 8) * N + col / 8 * 8 + k % 8;
             }));
    EXPECT_EQ(read(in_a, in_b), "") << "it is correct";
    const Faulty right(kShape);
    x.set([&](int row, int col) {
        const int place = row * x.shape.N + col;
        return right.C[place % x.shape.M * x.shape.N + place / x.shape.M];
    });
    expect_said("C is transposed", x.cause());
    x.set([&](int row, int col) { return right.C[(row ^ 4) * x.shape.N + col]; });
    expect_said("rows i and i + 4 of C are swapped", x.cause());
}

// WMMA's fragments, of 16 x 16 elements, whose leading dimension is another one of the three.
TEST(Causes, LeadingDimensions) {
    Faulty x({48, 80, 64});
    const auto [M, N, K] = x.shape;
    const auto place = [](int row, int col, int length, int wrong) {
        return size_t(row - row % 16) * length + size_t(row % 16) * wrong + col;
    };
    x.set([&, N = N, K = K](int row, int col) {
        double sum = 0;
        for (int k = 0; k < K; ++k) sum += x.a(row, k) * x.B[place(k, col, N, K)];
        return sum;
    });
    expect_said("of B the distance from row to row is K, not N", x.cause());
    x.set([&, M = M, N = N, K = K](int row, int col) {
        double sum = 0;
        for (int k = 0; k < K; ++k) sum += x.A[place(row, k, K, M)] * x.b(k, col);
        return sum;
    });
    expect_said("of A the distance from row to row is M, not K", x.cause());
    const Faulty right(x.shape);
    for (const bool backwards : {false, true}) {  // the order of the stores, which overlap
        x.set([](int, int) { return unwritten(); });
        for (int i = 0; i < M * N; ++i) {
            const int at = backwards ? M * N - 1 - i : i;
            x.C[place(at / N, at % N, N, K)] = right.C[at];
        }
        expect_said("of C the distance from row to row is K, not N", x.cause());
    }
}

TEST(Causes, Products) {
    Faulty x(kShape);
    const auto of = [&](const std::function<int(int k)>& times) {
        x.set([&](int row, int col) { return x.sum(row, col, times); });
        return x.cause();
    };
    expect_said("the products with k from 48 on are missing", of([](int k) { return k < 48; }));
    expect_said("with k from 0 to 7 are added 2 times, with k from 48 on are missing",
                of([](int k) { return k < 8 ? 2 : k < 48; }));
    expect_said("with k % 32 from 8 to 31 are missing", of([](int k) { return k % 32 < 8; }));
    expect_said("no product at all", of([](int) { return 0; }));
    expect_said("C is 4 times the product", of([](int) { return 4; }));
}

TEST(Causes, Places) {
    Faulty x(kShape);
    const Faulty right(kShape);
    const auto wrong = [&](float value, const std::function<bool(int row, int col)>& where) {
        x.set([&](int row, int col) {
            return where(row, col) ? value : right.C[row * x.shape.N + col];
        });
        return x.cause();
    };
    expect_said("all 576 wrong elements are in rows from 32 on",
                wrong(0.5, [](int row, int) { return row >= 32; }));
    expect_said("320 elements were not written: all in columns from 64 on",
                wrong(unwritten(), [](int, int col) { return col >= 64; }));
    expect_said("everywhere but in rows 0 to 15 and columns 0 to 15",
                wrong(0.5, [](int row, int col) { return row >= 16 || col >= 16; }));
    expect_said("in rows whose number % 16 is 8 to 15",
                wrong(0.5, [](int row, int) { return row % 16 >= 8; }));
    expect_said("no element of C was written", wrong(unwritten(), [](int, int) { return true; }));
    // A hypothesis may be true in a place alone.
    x.set([&](int row, int col) {
        return x.sum(row, col, [&](int k) { return row < 32 || k < 48; });
    });
    expect_said("k from 48 on are missing; this explains all", x.cause());
    expect_said("wrong elements, which are in rows from 32 on (A: A's line, B: B's line)",
                x.cause());
}

TEST(Causes, NarrowNumbers) {
    Faulty x({8, 8, 3000});
    const auto in_half = [](double value) {  // 11 bits, from 2048 to 8192
        const double step = std::fabs(value) < 2048 ? 1 : std::fabs(value) < 4096 ? 2 : 4;
        return std::nearbyint(value / step) * step;
    };
    x.set([&](int row, int col) {
        double sum = 0;
        for (int k = 0; k < x.shape.K; ++k) sum = in_half(sum + x.a(row, k) * x.b(k, col));
        return sum;
    });
    expect_said("the sums are kept in half, which has 11 significant bits", x.cause());

    Faulty reals(kShape, true);
    const auto cause = [&] {
        return cause_of_error({reals.shape, reals.A, reals.B, reals.C.data()}, kFp32);
    };
    EXPECT_EQ(cause(), "");
    const auto rounded = [](double value, int bits) {
        int exponent;
        const double fraction = std::frexp(value, &exponent);
        return std::ldexp(std::round(std::ldexp(fraction, bits)), exponent - bits);
    };
    for (const auto& [bits, said] :
         {std::pair(11, "A and B are rounded to the 11 significant bits"),
          {8, "to the 8 significant bits that bfloat16"},
          {12, ""}}) {
        reals.set([&, bits = bits](int row, int col) {
            double sum = 0;
            for (int k = 0; k < reals.shape.K; ++k)
                sum += rounded(reals.a(row, k), bits) * rounded(reals.b(k, col), bits);
            return float(sum);
        });
        EXPECT_EQ(cause().empty(), bits == 12) << cause();
        expect_said(said, cause());
    }
}

// Products of floats that are split into halves, of integers that are wide in A or in B.
TEST(Causes, ALowHalfIsMissing) {
    Faulty x(kShape);
    const auto a_is_wide = [](int k) { return k % 3 == 1; };
    for (size_t i = 0; i < x.A.size(); ++i)
        if (a_is_wide(i % x.shape.K)) x.A[i] = x.A[i] * 1000 + 1;
    for (size_t i = 0; i < x.B.size(); ++i)
        if (!a_is_wide(i / x.shape.N)) x.B[i] = x.B[i] * 1000 + 1;
    const auto hi = [](double value) {  // 11 bits, up to 8192
        const double step = std::fabs(value) < 2048 ? 1 : std::fabs(value) < 4096 ? 2 : 4;
        return std::nearbyint(value / step) * step;
    };
    for (const auto& [said, of_a, of_b] : {std::tuple("A is rounded to the 11", true, false),
                                           {"B is rounded to the 11", false, true},
                                           {"A and B are rounded to the 11", true, true}}) {
        x.set([&, of_a = of_a, of_b = of_b](int row, int col) {
            double sum = 0;
            for (int k = 0; k < x.shape.K; ++k) {
                const double a = x.a(row, k), b = x.b(k, col);
                sum += (of_a ? hi(a) : a) * (of_b ? hi(b) : b);
            }
            return sum;
        });
        expect_said(said, x.cause());
    }
}

TEST(Causes, NothingIsGuessed) {
    Faulty x(kShape);
    std::mt19937 random(1);
    const Faulty right(kShape);
    for (const unsigned one_of : {1u, 3u, 100u}) {
        x.set([&](int row, int col) {
            return right.C[row * x.shape.N + col] +
                   (random() % one_of == 0 ? int(1 + random() % 50) : 0);
        });
        EXPECT_EQ(x.cause(), "");
    }
    x.set(
        [&](int row, int col) { return right.C[row * x.shape.N + col] + (row != 7 || col != 9); });
    EXPECT_EQ(x.cause(), "") << "one element is correct by chance";
    x.C = right.C;
    x.C[100] += 1;
    EXPECT_EQ(x.cause(), "");
    // C is transposed, but for one element.
    x.set([&](int row, int col) {
        const int place = row * x.shape.N + col;
        return right.C[place % x.shape.M * x.shape.N + place / x.shape.M] + (place == 1234);
    });
    EXPECT_EQ(x.cause(), "");
    Faulty tiny({2, 2, 1});
    tiny.set([&](int row, int col) { return tiny.a(col, 0) * tiny.b(0, row); });
    EXPECT_EQ(tiny.cause(), "") << "four elements may agree by chance";
}

// What is said of a kernel that is wrong at 7 x 5 x 3, and correct at some shapes.
std::string said_of(const std::function<bool(Shape)>& right, ExitCode code = kWrongResult) {
    const Failure wrong(code, "7 x 5 x 3: wrong");
    const Failure said = with_other_shapes(
        {7, 5, 3}, wrong, {{256, 256, 256}}, [&](Shape s) -> std::optional<Failure> {
            if (right(s)) return {};
            return Failure(s.M % 16 ? code : kWrongResult, to_string(s) + ": wrong");
        });
    EXPECT_EQ(said.code, code);
    return said.what();
}

TEST(Causes, OtherShapes) {
    const std::string multiples = said_of([](Shape s) { return s.M % 16 == 0 && s.K % 4 == 0; });
    expect_said(
        "it is correct at 16 x 5 x 4, and wrong unless M is a multiple of 16 and K is a multiple of 4;",
        multiples);
    expect_said("#define MULTIPLES 16, 1, 4", multiples);
    EXPECT_EQ(multiples.find("it is wrong"), std::string::npos) << multiples;
    expect_said("it is wrong at 256 x 256 x 256: wrong",
                said_of([](Shape s) { return s.M % 16 == 0 && s.K < 100; }));
    expect_said("it is correct at 16 x 16 x 16: is one of M, N and K taken for another",
                said_of([](Shape s) { return s.M == s.N && s.N == s.K; }));
    EXPECT_EQ(said_of([](Shape) { return false; }), "7 x 5 x 3: wrong");
    EXPECT_EQ(said_of([](Shape) { return false; }, kDeviceFailed),
              "7 x 5 x 3: wrong\n  it is wrong at 16 x 32 x 48: wrong");
}

// A shape whose launch fails because it is no multiple of the tile: the first line says so.
TEST(Causes, NoMultipleOfTheTile) {
    const auto first_line = [](const std::string& said) { return said.substr(0, said.find('\n')); };
    const auto right = [](Shape s) { return s.M % 16 == 0 && s.N % 16 == 0 && s.K % 8 == 0; };
    const std::string line = first_line(said_of(right, kDeviceFailed));
    EXPECT_EQ(line.find("7 x 5 x 3 is no multiple of the kernel's tile"), 0u) << line;
    expect_said("#define MULTIPLES 16, 16, 8", line);
    expect_said("#define MULTIPLES 8, 16, 1",
                said_of([](Shape s) { return s.M % 8 + s.N % 16 == 0; }));
    expect_said("7 x 5 x 3: wrong", said_of(right, kDeviceFailed));
    EXPECT_EQ(first_line(said_of(right)), "7 x 5 x 3: wrong");
}

}  // namespace

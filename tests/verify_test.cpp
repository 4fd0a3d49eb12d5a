// The verifier must reject whatever is wrong, at any size, and nothing that is right.
#include "common/verify.h"

#include <gtest/gtest.h>

#include <fstream>

#include "common/report.h"

namespace {

std::vector<float> product(Shape s, const std::vector<float>& A, const std::vector<float>& B) {
    std::vector<float> C(size_t(s.M) * s.N, 0.0f);
    for (int row = 0; row < s.M; ++row)
        for (int k = 0; k < s.K; ++k)
            for (int col = 0; col < s.N; ++col) C[size_t(row) * s.N + col] += A[size_t(row) * s.K + k] * B[size_t(k) * s.N + col];
    return C;
}

// A product of small integers: exact in float.
struct IntegerProduct {
    explicit IntegerProduct(Shape s)
        : shape(s), A(random_integers(size_t(s.M) * s.K, exact_range(s.K, kFp32.exact_limit), 1)),
          B(random_integers(size_t(s.K) * s.N, exact_range(s.K, kFp32.exact_limit), 2)), C(product(s, A, B)) {}
    std::string check() const { return check_exact(shape, A, B, C.data()); }
    Shape shape;
    std::vector<float> A, B, C;
};

const float kNan = std::numeric_limits<float>::quiet_NaN();
const float kInf = std::numeric_limits<float>::infinity();

TEST(Exact, AcceptsWhatIsRight) {
    for (const Shape s : {Shape{1, 1, 1}, Shape{7, 5, 3}, Shape{37, 129, 65}, Shape{1, 1, 8388608}, Shape{300, 301, 302}})
        EXPECT_EQ(IntegerProduct(s).check(), "") << s.M << " x " << s.N << " x " << s.K;
}

TEST(Exact, RejectsEveryWrongElementOfASmallMatrix) {
    IntegerProduct x({7, 5, 3});
    for (float& c : x.C) {
        const float right = c;
        for (const float wrong : {right + 1, right - 1, -right, 0.0f, kNan, kInf, -kInf, unwritten(), right + 0.5f}) {
            c = wrong;
            EXPECT_NE(x.check(), "");
        }
        c = right;
    }
    EXPECT_EQ(x.check(), "");
}

TEST(Exact, NamesTheFirstWrongElement) {
    IntegerProduct x({300, 400, 200});
    const std::string expected = std::to_string(int(x.C[17 * 400 + 399]));
    x.C[17 * 400 + 399] += 2;
    x.C[20 * 400] += 2;
    EXPECT_EQ(x.check(), "C[17][399] is " + std::to_string(int(x.C[17 * 400 + 399])) + ", expected " + expected);
    x.C[3 * 400 + 1] = unwritten();
    EXPECT_NE(x.check().find("C[3][1] was not written"), std::string::npos);
}

// One wrong element in each row of an 8192 x 8192 matrix, together in every column once: all 8192 must be found.
TEST(Exact, FindsOneWrongElementAnywhereAt8192) {
    IntegerProduct x({8192, 8192, 8});
    ASSERT_EQ(x.check(), "");
    for (const float wrong : {1.0f, kNan}) {
        std::vector<float> C = x.C;
        for (int row = 0; row < 8192; ++row) C[size_t(row) * 8192 + row * 4099 % 8192] += wrong;
        const Freivalds test(x.shape, x.B, 5);
        for (int row = 0; row < 8192; ++row) EXPECT_TRUE(test.wrong(x.A, C.data(), row)) << row;
    }
    for (const size_t at : {size_t(0), size_t(8191), size_t(8191) * 8192, size_t(8192) * 8192 - 1, size_t(4321) * 8192 + 17}) {
        for (const float wrong : {1.0f, kNan, kInf}) {
            const float right = x.C[at];
            x.C[at] += wrong;
            EXPECT_NE(x.check().find(format("C[%zu][%zu]", at / 8192, at % 8192)), std::string::npos);
            x.C[at] = right;
        }
    }
    std::swap(x.C[100], x.C[101]);  // two wrong elements whose sum is right
    EXPECT_NE(x.check(), "");
}

TEST(Exact, IntegersKeepEveryPartialSumRepresentable) {
    for (const int K : {1, 8, 4096, 262144, 262145, 8388608}) {
        const int range = exact_range(K, kFp32.exact_limit);
        EXPECT_GE(range, 1);
        EXPECT_LE(double(K) * range * range, 16777216.0) << K;
    }
    for (const float value : random_integers(100000, 3, 7)) {
        EXPECT_NE(value, 0.0f);
        EXPECT_LE(std::fabs(value), 3.0f);
    }
}

TEST(Accuracy, AcceptsAnyOrderOfSummationAndRejectsMore) {
    const Shape s{33, 65, 500};
    const auto A = random_reals(size_t(s.M) * s.K, 3), B = random_reals(size_t(s.K) * s.N, 4);
    std::vector<float> C = product(s, A, B);
    const Accuracy right = check_accuracy(s, A, B, C.data(), kFp32.unit_roundoff);
    EXPECT_EQ(right.wrong, "");
    EXPECT_GT(right.worst, 0.0);
    EXPECT_LE(right.worst, 1.0);
    for (const float wrong : {kNan, kInf, unwritten(), 1e30f, C[77] + 0.1f}) {
        std::vector<float> bad = C;
        bad[77] = wrong;
        const Accuracy accuracy = check_accuracy(s, A, B, bad.data(), kFp32.unit_roundoff);
        EXPECT_NE(accuracy.wrong.find("C[1][12]"), std::string::npos) << wrong;
        EXPECT_FALSE(accuracy.worst <= 1.0);
    }
}

TEST(Accuracy, RejectsOperandsRoundedToTf32) {
    const Shape s{16, 16, 256};
    const auto A = random_reals(size_t(s.M) * s.K, 3), B = random_reals(size_t(s.K) * s.N, 4);
    auto rounded = [](std::vector<float> values) {  // 10 bits of fraction
        for (float& value : values) value = std::ldexp(std::nearbyint(std::ldexp(value, 10)), -10);
        return values;
    };
    EXPECT_NE(check_accuracy(s, A, B, product(s, rounded(A), rounded(B)).data(), kFp32.unit_roundoff).wrong, "");
}

TEST(Accuracy, SamplesTheCornersOfALargeMatrix) {
    EXPECT_EQ(sample_indices(1, 128), std::vector<int>{0});
    const std::vector<int> some = sample_indices(8192, 128);
    EXPECT_EQ(some.size(), 128u);
    EXPECT_EQ(some.front(), 0);
    EXPECT_EQ(some.back(), 8191);
}

TEST(Roofline, GivesTheFiguresOfTheSlides) {
    const Gpu fury = gpu_named("fury-x");
    EXPECT_NEAR(attainable_gflops(fury, kFp32, {0.25, 0}), 98.0, 0.01);  // slide 45
    EXPECT_NEAR(attainable_gflops(fury, kFp32, {2.0, 0}), 784.0, 0.01);
    EXPECT_NEAR(attainable_gflops(fury, kFp32, {32.0, 0}), 8601.6, 0.01);  // slide 49: above 21.94 flop per byte
    EXPECT_NEAR(fury.peak.fp32_gflops / fury.measured.bandwidth_gbs, 21.94, 0.01);
    EXPECT_NEAR(attainable_gflops(fury, kFp32, {32.0, 1.0}), 8601.6, 0.01);  // slide 51: 1 flop per byte of LDS are enough
    EXPECT_NEAR(attainable_gflops(fury, kFp32, {32.0, 0.5}), 4300.8, 0.01);  // fewer are not
    EXPECT_NEAR(attainable_gflops(fury, kFp32, {0.25, 0.5}), 98.0, 0.01);
    EXPECT_EQ(attainable_gflops(fury, kTensor, {32.0, 1.0}), 0);  // it has no tensor cores
    EXPECT_FALSE(find_gpu("gtx"));
}

// What read_limits says of a file with this text: "" or the message.
std::string said_of(const std::string& text) {
    const std::string path = testing::TempDir() + "limits.csv";
    std::ofstream(path) << text;
    try {
        read_limits(path);
        return "";
    } catch (const Failure& failure) {
        EXPECT_EQ(failure.code, kBadCommandLine);
        return std::string(failure.what()).substr(("--limits '" + path + "': ").size());
    }
}

const std::string kHeader = "what,flop_per_byte,gbs,gflops,limit,gpu\n";
const std::string kCopy = "copy,-,400,-,500,X\n", kShared = "shared_memory,-,3000,-,-,X\n", kFma = "fp32_fma,-,-,7000,8000,X\n";

TEST(Limits, OfAFile) {
    const std::string path = testing::TempDir() + "limits.csv";
    std::ofstream(path) << kHeader + kCopy + kShared + kFma + "sweep,0.25,400,100,100,X\n";
    const Gpu gpu = read_limits(path);
    EXPECT_EQ(gpu.full_name, "X");
    EXPECT_EQ(gpu.limit(&Limits::bandwidth_gbs), 400);
    EXPECT_EQ(gpu.limit(&Limits::shared_gbs), 3000);
    EXPECT_EQ(gpu.limit(&Limits::fp32_gflops), 7000);
    EXPECT_EQ(gpu.limit(&Limits::tensor_gflops), 0);
    EXPECT_EQ(gpu.peak.bandwidth_gbs, 500);
    EXPECT_EQ(gpu.peak.shared_gbs, 0);
    EXPECT_EQ(attainable_gflops(gpu, kFp32, {10, 1}), 3000);
}

TEST(Limits, BadFiles) {
    EXPECT_EQ(said_of(""), "is empty");
    EXPECT_EQ(said_of(kHeader), "has no rows");
    EXPECT_EQ(said_of(kHeader + kCopy + "shared_mem"), "ends in the middle of a line");
    EXPECT_EQ(said_of(kHeader + kCopy + "shared_memory,3000\n"), "line 3 has 2 fields, the header 6");
    EXPECT_EQ(said_of("stage,m\n01,1\n"), "has no column 'what': another program or another version wrote it");
    EXPECT_EQ(said_of(kHeader + kCopy + kFma), "has no row 'shared_memory'");
    for (const std::string bad : {"", "-", "-400", "0", "nan", "inf", "400 GB", "1e999"})
        EXPECT_EQ(said_of(kHeader + "copy,-," + bad + ",-,500,X\n" + kShared + kFma),
                  "gbs is '" + bad + "', expected a number above 0");
}

TEST(Limits, NoFile) {
    try {
        read_limits("/nonexistent/limits.csv");
        FAIL();
    } catch (const Failure& failure) {
        EXPECT_STREQ(failure.what(), "--limits '/nonexistent/limits.csv': can't be read: No such file or directory");
    }
}

}  // namespace

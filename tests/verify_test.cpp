// The verifier must reject every wrong result, at any size, and accept every correct one.
#include "00_machine_limits/sweep.h"
#include "common/operands.h"
#include "common/options.h"
#include "common/timing.h"
#include "emulator/include/tensor_core.h"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace {

std::vector<float> product(Shape s, const std::vector<float>& A, const std::vector<float>& B) {
    std::vector<float> C(size_t(s.M) * s.N, 0.0f);
    for (int row = 0; row < s.M; ++row)
        for (int k = 0; k < s.K; ++k)
            for (int col = 0; col < s.N; ++col)
                C[size_t(row) * s.N + col] += A[size_t(row) * s.K + k] * B[size_t(k) * s.N + col];
    return C;
}

// The message of the Failure that `call` throws; "" for none.
std::string said_by(ExitCode code, const std::function<void()>& call) {
    try {
        call();
        return "";
    } catch (const Failure& failure) {
        EXPECT_EQ(failure.code, code);
        return failure.what();
    }
}

// A product of small integers: exact in float.
struct IntegerProduct {
    explicit IntegerProduct(Shape s)
        : shape(s), A(random_integers(size_t(s.M) * s.K, 1, exact_range(s.K, kFp32.exact_limit))),
          B(random_integers(size_t(s.K) * s.N, 2, exact_range(s.K, kFp32.exact_limit))),
          C(product(s, A, B)) {}
    std::string check() const {
        return said_by(kWrongResult, [&] { check_exact(shape, A, B, C.data()); });
    }
    Shape shape;
    std::vector<float> A, B, C;
};

const float kNan = std::numeric_limits<float>::quiet_NaN();
const float kInf = std::numeric_limits<float>::infinity();

TEST(Exact, AcceptsWhatIsRight) {
    for (const Shape s : {Shape{1, 1, 1}, Shape{7, 5, 3}, Shape{37, 129, 65}, Shape{1, 1, 8388608},
                          Shape{300, 301, 302}})
        EXPECT_EQ(IntegerProduct(s).check(), "") << s.M << " x " << s.N << " x " << s.K;
}

TEST(Exact, RejectsEveryWrongElementOfASmallMatrix) {
    IntegerProduct x({7, 5, 3});
    for (float& c : x.C) {
        const float right = c;
        for (const float wrong :
             {right + 1, right - 1, -right, 0.0f, kNan, kInf, -kInf, unwritten(), right + 0.5f}) {
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
    EXPECT_EQ(x.check(), "C[17][399] is " + std::to_string(int(x.C[17 * 400 + 399])) +
                             ", expected " + expected);
    x.C[3 * 400 + 1] = unwritten();
    EXPECT_NE(x.check().find("C[3][1] was not written"), std::string::npos);
    x.C[3 * 400 + 1] += 1;  // the element was written, but not correctly
    EXPECT_NE(x.check().find("C[3][1] is NaN"), std::string::npos);
}

// One wrong element in each row of an 8192 x 8192 matrix, in a different column each: all 8192 must
// be found.
TEST(Exact, FindsOneWrongElementAnywhereAt8192) {
    IntegerProduct x({8192, 8192, 8});
    ASSERT_EQ(x.check(), "");
    for (const float wrong : {1.0f, kNan}) {
        std::vector<float> C = x.C;
        for (int row = 0; row < 8192; ++row) C[size_t(row) * 8192 + row * 4099 % 8192] += wrong;
        EXPECT_EQ(differing_rows(x.shape, x.A, x.B, C.data()).size(), 8192u);
    }
    for (const size_t at : {size_t(0), size_t(8191), size_t(8191) * 8192, size_t(8192) * 8192 - 1,
                            size_t(4321) * 8192 + 17}) {
        for (const float wrong : {1.0f, kNan, kInf}) {
            const float right = x.C[at];
            x.C[at] += wrong;
            EXPECT_NE(x.check().find(format("C[%zu][%zu]", at / 8192, at % 8192)),
                      std::string::npos);
            x.C[at] = right;
        }
    }
    std::swap(x.C[100], x.C[101]);  // two wrong elements whose sum is correct
    EXPECT_NE(x.check(), "");
}

TEST(Exact, IntegersKeepEveryPartialSumRepresentable) {
    for (const int K : {1, 8, 4096, 262144, 262145, 8388608}) {
        const int range = exact_range(K, kFp32.exact_limit);
        EXPECT_GE(range, 1);
        EXPECT_LE(double(K) * range * range, 16777216.0) << K;
    }
    for (const float value : random_integers(100000, 7, 3)) {
        EXPECT_NE(value, 0.0f);
        EXPECT_LE(std::fabs(value), 3.0f);
    }
}

TEST(Accuracy, AcceptsAnyOrderOfSummationAndRejectsMore) {
    const Shape s{33, 65, 500};
    const auto A = random_reals(size_t(s.M) * s.K, 3), B = random_reals(size_t(s.K) * s.N, 4);
    std::vector<float> C = product(s, A, B);
    const double worst = check_accuracy(s, A, B, C.data(), kFp32);
    EXPECT_GT(worst, 0.0);
    EXPECT_LE(worst, 1.0);
    for (const float wrong : {kNan, kInf, unwritten(), 1e30f, C[77] + 0.1f}) {
        std::vector<float> bad = C;
        bad[77] = wrong;
        const std::string said =
            said_by(kWrongResult, [&] { check_accuracy(s, A, B, bad.data(), kFp32); });
        EXPECT_EQ(said.find("C[1][12]"), 0u) << wrong;
    }
}

TEST(Accuracy, RejectsOperandsRoundedToTf32) {
    const Shape s{16, 16, 256};
    const auto A = random_reals(size_t(s.M) * s.K, 3), B = random_reals(size_t(s.K) * s.N, 4);
    auto rounded = [](std::vector<float> values) {  // 10 bits of fraction
        for (float& value : values) value = std::ldexp(std::nearbyint(std::ldexp(value, 10)), -10);
        return values;
    };
    const std::vector<float> C = product(s, rounded(A), rounded(B));
    EXPECT_THROW(check_accuracy(s, A, B, C.data(), kFp32), Failure);
}

// `x` rounded to so many significant bits, to nearest.
float rounded(double x, int bits) {
    int exponent;
    const double fraction = std::frexp(x, &exponent);
    return std::ldexp(std::nearbyint(std::ldexp(fraction, bits)), exponent - bits);
}

// How a product of floats is computed from halves. The faults are injected here.
struct FromHalves {
    const char* what = "";
    int promoted_terms = 0;  // 0: never
    double lo_hi = 1, hi_lo = 1;  // how many times these products are added
    int bits_multiplied = 11;  // of hi where it is multiplied
    int bits_split = 11;  // of hi where lo is what is left of it
    bool own_accumulator = false;  // for the products of lo, never promoted
};

std::vector<float> product(Shape s, const std::vector<float>& A, const std::vector<float>& B,
                           const FromHalves& how) {
    namespace tensor_core = emulator::tensor_core;
    const tensor_core::Rules h100 = tensor_core::rules(90, tensor_core::Type::f16, false);
    constexpr int kAtOnce = 16;
    struct Split {
        float hi[kAtOnce], lo[kAtOnce];
    };
    const auto split = [&](Split& to, int i, float x, double times) {
        to.hi[i] = rounded(x, how.bits_multiplied);
        to.lo[i] = rounded(x - rounded(x, how.bits_split), 11) * times;
    };
    std::vector<float> C;
    for (int row = 0; row < s.M; ++row)
        for (int col = 0; col < s.N; ++col) {
            float total = 0, sum = 0, low = 0;
            float& of_lo = how.own_accumulator ? low : sum;
            for (int k = 0; k < s.K; k += kAtOnce) {
                Split a, b;
                const int n = std::min(kAtOnce, s.K - k);
                for (int i = 0; i < n; ++i) {
                    split(a, i, A[size_t(row) * s.K + k + i], how.lo_hi);
                    split(b, i, B[size_t(k + i) * s.N + col], how.hi_lo);
                }
                sum = tensor_core::add(h100, n, a.hi, 1, b.hi, 1, sum);
                of_lo = tensor_core::add(h100, n, a.lo, 1, b.hi, 1, of_lo);
                of_lo = tensor_core::add(h100, n, a.hi, 1, b.lo, 1, of_lo);
                if (how.promoted_terms && (k + kAtOnce) % how.promoted_terms == 0) {
                    total += sum;
                    sum = 0;
                }
            }
            C.push_back(total + (sum + low));
        }
    return C;
}

// The Failure of such a product, of positive reals, which show truncation best; "" for none.
std::string verdict(Shape s, const FromHalves& how, const Arithmetic& arithmetic) {
    const auto A = random_reals(size_t(s.M) * s.K, 3, 0.25f);
    const auto B = random_reals(size_t(s.K) * s.N, 4, 0.25f);
    const std::vector<float> C = product(s, A, B, how);
    return said_by(kWrongResult, [&] { check_accuracy(s, A, B, C.data(), arithmetic); });
}

TEST(Accuracy, AcceptsProductsOfFloatsFromHalves) {
    for (const Shape s : {Shape{40, 40, 1}, {20, 20, 2}, {20, 20, 17}, {9, 9, 100}, {3, 3, 5000}}) {
        for (const int terms : {0, 32, 64})
            for (const bool own : {false, true})
                for (const Arithmetic& split :
                     {split_arithmetic(terms), split_arithmetic(terms, 2 * terms)})
                    EXPECT_EQ(verdict(s, {"", terms, 1, 1, 11, 11, own}, split), "");
        EXPECT_EQ(verdict(s, {"", 0, 0, 0}, kRoundedToHalves), "");
    }
}

// A matrix in "device memory" on the host.
template <class T>
struct HostArray {
    using value_type = T;
    explicit HostArray(size_t size) : values(size) {}
    void upload(const std::vector<T>& from) { values = from; }
    std::vector<T> values;
};

// Integers show each of these faults in sums of any length.
TEST(Exact, OfProductsOfFloatsFromHalves) {
    const std::vector<FromHalves> faults = {{"lo hi is missing", 64, 0},
                                            {"hi lo is missing", 64, 1, 0},
                                            {"lo is twice as large", 64, 2, 1},
                                            {"hi has ten bits", 64, 1, 1, 10}};
    for (const int K : {1, 2, 17, 100, 600, 4096, 8192}) {
        OperandsIn<HostArray<float>, HostArray<float>> x({4, 4, K});
        const auto said = [&](const FromHalves& how) {
            const std::vector<float> C = product(x.shape, x.A, x.B, how);
            return said_by(kWrongResult, [&] { check_exact(x.shape, x.A, x.B, C.data()); });
        };
        x.set_integers(1, split_arithmetic(64));
        for (const int terms : {0, 64}) EXPECT_EQ(said({"", terms}), "") << K;
        for (const FromHalves& wrong : faults) {
            if (K == 1) continue;  // only A or B is wide
            EXPECT_NE(said(wrong), "") << wrong.what << " " << K;
        }
        x.set_integers(1, kRoundedToHalves);
        EXPECT_EQ(said({"", 0, 0, 0}), "") << K;
        EXPECT_NE(said({"", 0, 0, 0, 10}), "") << K;
    }
}

// In longer sums the errors of lo, which have both signs, cancel more than the bound grows.
TEST(Accuracy, RejectsWrongProductsOfFloatsFromHalves) {
    for (const FromHalves& wrong : {FromHalves{"lo hi is missing", 64, 0},
                                    {"hi lo is missing", 64, 1, 0},
                                    {"halves alone", 64, 0, 0},
                                    {"lo is twice as large", 64, 2, 1},
                                    {"hi has ten bits, lo what eleven leave", 64, 1, 1, 10}})
        for (const Shape s : {Shape{40, 40, 1}, {40, 40, 17}})
            EXPECT_NE(verdict(s, wrong, split_arithmetic(64)), "") << wrong.what << " " << s.K;
    EXPECT_NE(verdict({40, 40, 1}, {"hi has ten bits", 0, 0, 0, 10}, kRoundedToHalves), "");
    // Without promotion the accumulators lose bits in proportion to K.
    for (const int K : {8192, 131072}) {
        for (const bool own : {false, true})
            EXPECT_NE(verdict({1, 2, K}, {"", 0, 1, 1, 11, 11, own}, split_arithmetic(64)), "")
                << K;
        EXPECT_EQ(verdict({1, 2, K}, {"promotion", 64}, split_arithmetic(64)), "") << K;
    }
}

// The products of a split float differ from the float's by at most what Arithmetic states, and by
// nearly so much for some floats.
TEST(Accuracy, OfASplitIsTight) {
    const Arithmetic split = split_arithmetic();
    std::mt19937 random(1);
    double worst = 0, largest = 0;
    for (int i = 0; i < 1000000; ++i) {
        double factor[2][3];  // a float, hi, lo
        for (auto& [x, hi, lo] : factor) {
            x = 1 + float(random() % 4096 + 4096 * (random() % 4)) * 0x1p-23f;
            hi = rounded(x, 11);
            lo = rounded(x - hi, 11);
        }
        const auto& [a, a_hi, a_lo] = factor[0];
        const auto& [b, b_hi, b_lo] = factor[1];
        worst =
            std::max(worst, std::fabs(a_hi * b_hi + a_lo * b_hi + a_hi * b_lo - a * b) / (a * b));
        largest = std::max(
            largest, (a_hi * b_hi + std::fabs(a_lo) * b_hi + a_hi * std::fabs(b_lo)) / (a * b));
    }
    EXPECT_LE(worst, split.representation);
    EXPECT_GE(worst, 0.7 * split.representation);
    EXPECT_LE(largest, split.magnitude);
    EXPECT_GE(largest - 1, 0.9 * (split.magnitude - 1));
}

TEST(Accuracy, SamplesTheCornersOfALargeMatrix) {
    EXPECT_EQ(sample_indices(1, 128), std::vector<int>{0});
    const std::vector<int> some = sample_indices(8192, 128);
    EXPECT_EQ(some.size(), 128u);
    EXPECT_EQ(some.front(), 0);
    EXPECT_EQ(some.back(), 8191);
}

TEST(Roofline, APointFarAboveIsDisturbed) {
    for (const auto& [fractions, above] :
         {std::pair(std::vector<double>{0.93, 1.09}, ""), {{0.93, 2.49, 1.2}, "2 above 110%"}}) {
        testing::internal::CaptureStdout();
        print_fractions(fractions, 8000, 400);
        const std::string said = testing::internal::GetCapturedStdout();
        EXPECT_EQ(said.find("disturbed") != std::string::npos, above[0] != '\0') << said;
        EXPECT_NE(said.find(above), std::string::npos) << said;
    }
}

TEST(Roofline, GivesTheFiguresOfTheSlides) {
    const Gpu fury = gpu_named("fury-x");
    EXPECT_NEAR(attainable_gflops(fury, kFp32, 0.25, 0), 98.0, 0.01);  // slide 45
    EXPECT_NEAR(attainable_gflops(fury, kFp32, 2.0, 0), 784.0, 0.01);
    EXPECT_NEAR(attainable_gflops(fury, kFp32, 32.0, 0), 8601.6,
                0.01);  // slide 49: above 21.94 flop per byte
    EXPECT_NEAR(fury.peak.fp32_gflops / fury.measured.bandwidth_gbs, 21.94, 0.01);
    EXPECT_NEAR(attainable_gflops(fury, kFp32, 32.0, 1.0), 8601.6,
                0.01);  // slide 51: 1 flop per byte of LDS are enough
    EXPECT_NEAR(attainable_gflops(fury, kFp32, 32.0, 0.5), 4300.8, 0.01);  // fewer are not
    EXPECT_NEAR(attainable_gflops(fury, kFp32, 0.25, 0.5), 98.0, 0.01);
    EXPECT_EQ(attainable_gflops(fury, kTensor, 32.0, 1.0), 0);  // it has no tensor cores
    // Three products of halves for one of floats.
    const Gpu h200 = gpu_named("h200");
    EXPECT_NEAR(attainable_gflops(h200, split_arithmetic(), 1e9, 0),
                attainable_gflops(h200, kWgmma, 1e9, 0) / 3, 0.01);
}

const std::string kHeader = "what,flop_per_byte,gbs,gflops,limit,gpu\n";
const std::string kCopy = "copy,-,400,-,500,X\n", kShared = "shared_memory,-,3000,-,-,X\n",
                  kFma = "fp32_fma,-,-,7000,8000,X\n";

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
    EXPECT_EQ(attainable_gflops(gpu, kFp32, 10, 1), 3000);
    // Loads for tensor cores hit L2, if its limit is known.
    for (const auto& [l2, expected] : {std::pair("", 800.0), {"l2,-,600,-,-,X\n", 1200.0}}) {
        std::ofstream(path) << kHeader + kCopy + kShared + kFma + "tensor_mma_sync,-,-,9000,-,X\n" +
                                   l2;
        EXPECT_EQ(attainable_gflops(read_limits(path), kTensor, 2, 0), expected);
    }
}

// The message names the missing row or the wrong value.
TEST(Limits, BadFiles) {
    std::vector<std::pair<std::string, std::string>> files = {
        {"", "'copy'"},
        {kHeader, "'copy'"},
        {kHeader + kCopy + "shared_memory,3000\n", "'shared_memory'"},
        {"stage,m\n01,1\n", "'copy'"},
        {kHeader + kCopy + kFma, "'shared_memory'"},
        {kHeader + "copy,-,-,-,-,X\n" + kShared + kFma, "'copy'"}};
    for (const std::string bad : {"", "-400", "0", "nan", "inf", "400 GB", "1e999"})
        files.push_back(
            {kHeader + "copy,-," + bad + ",-,500,X\n" + kShared + kFma, "gbs is '" + bad + "'"});
    const std::string path = testing::TempDir() + "limits.csv";
    for (const auto& [text, said] : files) {
        std::ofstream(path) << text;
        EXPECT_NE(said_by(kBadCommandLine, [&] { read_limits(path); }).find(said),
                  std::string::npos)
            << text;
    }
    for (const char* no_file : {"/dev/zero", "/nonexistent/limits.csv"})
        EXPECT_NE(said_by(kBadCommandLine, [&] { read_limits(no_file); }), "");
}

TEST(Limits, OfAGpuByItsName) {
    for (const std::string& name : gpu_names()) {
        const Gpu gpu = gpu_named(name);
        EXPECT_GT(gpu.peak.fp32_gflops, 0) << name;
        EXPECT_EQ(find_gpu(gpu.full_name)->source, gpu.source) << name;
    }
    EXPECT_FALSE(find_gpu("gtx"));
}

// The setters of options.h refuse a bad value by a Failure, whatever the file system says of it.
TEST(OptionValues, FilesThatCannotBeWritten) {
    std::string folder = testing::TempDir() + "names.XXXXXX";
    ASSERT_NE(mkdtemp(&folder[0]), nullptr);
    std::filesystem::create_symlink("loop", folder + "/loop");
    std::ofstream(folder + "/file") << "a,b\n";
    std::string name = "unset";
    for (const std::string& bad :
         {std::string(), folder, folder + "/" + std::string(300, 'a'), folder + "/loop",
          folder + "/loop/a", folder + "/file/a", folder + "/missing/a"}) {
        EXPECT_NE(said_by(kBadCommandLine, [&] { file_name(name)(bad); }), "") << bad;
        EXPECT_NE(said_by(kBadCommandLine, [&] { read_limits(bad); }), "") << bad;
    }
    EXPECT_EQ(name, "unset");
    std::filesystem::remove_all(folder);
}

TEST(OptionValues, OnlyFilesOfResultsAreReplaced) {
    std::string folder = testing::TempDir() + "results.XXXXXX";
    ASSERT_NE(mkdtemp(&folder[0]), nullptr);
    const std::string path = folder + "/a";
    std::string name;
    file_name(name)(path);
    for (const char* text : {"", "stage,m\n01,1\n", "<svg/>\n"}) {
        std::ofstream(path) << text;
        EXPECT_EQ(said_by(kBadCommandLine, [&] { file_name(name)(path); }), "") << text;
    }
    for (const char* text : {"notes\n", "\nnotes\n", "\n", "a, b\n"}) {
        std::ofstream(path) << text;
        EXPECT_NE(said_by(kBadCommandLine, [&] { file_name(name)(path); }), "") << text;
    }
    std::filesystem::remove_all(folder);
}

// The message names the bound that a shape exceeds.
TEST(OptionValues, ShapesUpToTheirBounds) {
    std::vector<Shape> shapes;
    const std::string edge = std::to_string(kMaxEdge), depth = std::to_string(kMaxK);
    shape_list(shapes)(edge + "x" + edge + "x" + depth + "," + depth);
    ASSERT_EQ(shapes.size(), 2u);
    EXPECT_EQ(shapes[0].M, kMaxEdge);
    EXPECT_EQ(shapes[1].K, kMaxK);
    const std::string wide = std::to_string(kMaxEdge + 1), deep = std::to_string(kMaxK + 1);
    for (const auto& [text, bound] : {std::pair(wide + "x1x1", edge),
                                      {"1x" + wide + "x1", edge},
                                      {"1x1x" + deep, depth},
                                      {deep, depth}})
        EXPECT_NE(said_by(kBadCommandLine, [&] { shape_list(shapes)(text); }).find(bound),
                  std::string::npos)
            << text;
}

TEST(Csv, NoValueEndsItsField) {
    const std::string path = testing::TempDir() + "fields.csv";
    Report report(path, {});
    report.add({{"driver", "2949.0 (HSA1.1,LC)"}, {"n", "say \"a\""}});
    report.save();
    std::ifstream file(path);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    EXPECT_EQ(text, "driver,n\n2949.0 (HSA1.1;LC),say 'a'\n");
}

TEST(Report, ShowsTheFigures) {
    Row row = row_of("05_double_buffer", {4096, 4096, 4096}, 0.1);
    add_times(row, {2.6694, 2.6682, 2.6759}, 2 * 0x1p36, 66908);
    add_library(row, "cublas", 2 * 0x1p36, {2.6694, 0, 0}, {2.6854, 0, 0});
    add_prediction(row, 63.02, {1, 1, 31.51}, kFp32, gpu_named("fury-x"), 51487);
    testing::internal::CaptureStdout();
    Report("", {{"median_ms", "time", 10, as_time},
                {"gflops", "TFLOP/s", 9, as_tera},
                {"percent_of_peak", "of|peak", 7, as_percent},
                {"percent_of_cublas", "of|cuBLAS", 8, as_percent},
                {"predicted_gflops", "predicted|TFLOP/s", 11, as_tera},
                {"measured_of_predicted", "ratio", 7}})
        .add(row);
    const std::string table = testing::internal::GetCapturedStdout();
    for (const char* figure : {"2.67 ms", "51.49", "77.0%", "100.6%", "8.60", "5.99"})
        EXPECT_NE(table.find(figure), std::string::npos) << figure << table;
}

// Whatever the length of a name, each figure stays in its column, and the row in 80 columns; a step
// has its short name.
TEST(Report, ColumnsStayInPlace) {
    const Columns columns = begin_table({square(256)}, {{"verified", "verified", 59}});
    ReportTable table(columns);
    testing::internal::CaptureStdout();
    for (const char* name : {"01_naive", "12_clusters/1_tile_shapes", "02_register_blocking",
                             "05_double_buffer/1_two_buffers", "a_file_with_a_name_of_my_own"})
        table.print(row_of(name, square(256), 0));
    std::istringstream printed(testing::internal::GetCapturedStdout());
    std::vector<std::string> lines;
    for (std::string line; std::getline(printed, line);) lines.push_back(line);
    ASSERT_EQ(lines.size(), 7u);  // titles, five names, one of them above its row
    for (const std::string& line : lines) {
        EXPECT_LE(line.size(), 80u);
        EXPECT_TRUE(line.size() == 80 || line == "a_file_with_a_name_of_my_own") << line;
    }
    EXPECT_EQ(lines[2].find("12/1_tile_shapes "), 0u);
}

// Ended by a signal in the middle, or on a full disk, where the write fails.
TEST(WholeFile, IsNeverHalfWritten) {
    std::string folder = testing::TempDir() + "whole.XXXXXX";
    ASSERT_NE(mkdtemp(&folder[0]), nullptr);
    const std::string path = folder + "/a";
    std::ofstream(path) << "old";
    for (const int how : {SIGINT, SIGTERM, 0}) {
        const pid_t child = fork();
        if (child == 0) {
            for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_DFL);
            std::signal(SIGXFSZ, how == SIGINT    ? [](int) { std::raise(SIGINT); }
                                 : how == SIGTERM ? [](int) { std::raise(SIGTERM); }
                                                  : SIG_IGN);
            const rlimit one = {1, 1};
            setrlimit(RLIMIT_FSIZE, &one);
            try {
                write_whole(path, "new");
            } catch (const Failure&) {
                _exit(7);
            }
            _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        EXPECT_EQ(how ? WTERMSIG(status) : WEXITSTATUS(status), how ? how : 7);
        std::string text;
        std::getline(std::ifstream(path), text);
        EXPECT_EQ(text, "old");
        const std::filesystem::directory_iterator files(folder);
        EXPECT_EQ(std::distance(begin(files), end(files)), 1);
    }
    std::filesystem::remove_all(folder);
}

}  // namespace

// Faulty kernels, each of which the harness must report.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "common/device.h"
#include "common/device_operands.h"
#include "common/machine.h"
#include "common/stage.h"
#include "common/tensor_map.h"

namespace {

// Adds `add` to element `index` of the product, which may lie outside C; leaves element `skip`
// unwritten.
template <class T>
__global__ void faulty(int M, int N, int K, const T* A, const T* B, T* C, long index, float add,
                       long skip) {
    for (int row = 0; row < M; ++row)
        for (int col = 0; col < N; ++col) {
            T acc = 0.0f;
            for (int k = 0; k < K; ++k) acc += A[size_t(row) * K + k] * B[size_t(k) * N + col];
            if (long(row) * N + col != skip) C[size_t(row) * N + col] = acc;
        }
    if (add != 0.0f) C[index] += T(add);
}

template <int kIndex, int kSkip = -1, class T = float>
void launch(int M, int N, int K, const T* A, const T* B, T* C) {
    faulty<<<1, 1>>>(M, N, K, A, B, C, kIndex, kIndex == 99 ? 0.0f : 1.0f, kSkip);
}

void launch_too_many_threads(int M, int N, int K, const float* A, const float* B, float* C) {
    faulty<<<1, 2048>>>(M, N, K, A, B, C, 0, 0.0f, -1);
}

double loaded(double M, double N, double K) { return 2 * M * N * K; }

template <class T>
std::string verdict(void (*launch)(int, int, int, const T*, const T*, T*), Shape s = {6, 5, 4}) {
    Operands<T, T> x(s);
    try {
        const Arithmetic arithmetic = sizeof(T) == 4 ? kFp32 : kHalf2;
        const auto multiply = [&] {
            launch(s.M, s.N, s.K, x.A_device.data(), x.B_device.data(), x.C_device());
            finish_launch();
        };
        verify_exact(x, arithmetic, 1, multiply);
        verify_reals(x, arithmetic, 1, multiply);
    } catch (const Failure& failure) {
        return std::to_string(failure.code) + " " + failure.what();
    }
    return "verified";
}

TEST(Harness, AcceptsTheProduct) { EXPECT_EQ(verdict(launch<99>), "verified"); }
TEST(Harness, RejectsAWrongElement) { EXPECT_EQ(verdict(launch<29>).substr(0, 9), "1 C[5][4]"); }
TEST(Harness, RejectsAnUnwrittenElement) {
    EXPECT_NE(verdict(launch<99, 13>).find("1 C[2][3] was not written"), std::string::npos);
}
TEST(Harness, TellsANanFromWhatWasNotWritten) {
    const auto launch_nan = +[](int M, int N, int K, const float* A, const float* B, float* C) {
        launch<99, 13>(M, N, K, A, B, C);
        faulty<<<1, 1>>>(0, 0, 0, A, B, C, 13, 1.0f, -1);
    };
    EXPECT_NE(verdict(launch_nan).find("1 C[2][3] is NaN"), std::string::npos);
}
TEST(Harness, RejectsAWriteOutsideC) {
    EXPECT_EQ(verdict(launch<30>), "1 a write outside C, to C[6][0], just past its end");
    EXPECT_EQ(verdict(launch<-1>), "1 a write outside C, just before its start");
    EXPECT_EQ(verdict(launch<-2>), "1 a write outside C, 2 elements before its start");
    EXPECT_EQ(verdict(launch<30 + 1023>), "1 a write outside C, to C[210][3], past its end");
}
template <bool kOfA, int kIndex>
void launch_changing(int M, int N, int K, const float* A, const float* B, float* C) {
    launch<99>(M, N, K, A, B, C);
    faulty<<<1, 1>>>(0, 0, 0, A, B, const_cast<float*>(kOfA ? A : B), kIndex, 1.0f, -1);
}

TEST(Harness, RejectsAChangedOperand) {
    EXPECT_EQ((verdict(launch_changing<true, 23>)), "1 A was changed");
    EXPECT_EQ((verdict(launch_changing<false, 0>)), "1 B was changed");
}

TEST(Harness, Halves) {
    EXPECT_EQ(verdict(launch<99, -1, half>), "verified");
    EXPECT_EQ(verdict(launch<29, -1, half>).substr(0, 9), "1 C[5][4]");
    EXPECT_EQ(verdict(launch<30, -1, half>), "1 a write outside C, to C[6][0], just past its end");
    EXPECT_EQ(verdict(launch<-1, -1, half>), "1 a write outside C, just before its start");
    // More products than the largest integer up to which a half is exact.
    EXPECT_EQ(verdict(launch<99, -1, half>, {3, 4, 9000}), "verified");
}

// Halves hold every integer up to 2048. With more products a row of A keeps that many elements, and
// every column is used by some row.
TEST(Harness, IntegersStayExactInHalves) {
    const Shape s = {9, 2, 5000};
    Operands<half, half> x(s);
    x.set_integers(1, kHalf2);
    std::vector<bool> used(s.K, false);
    for (int row = 0; row < s.M; ++row) {
        float sum = 0;
        for (int k = 0; k < s.K; ++k) {
            const float a = std::fabs(float(x.A[size_t(row) * s.K + k]));
            sum += a * std::max(std::fabs(float(x.B[2 * k])), std::fabs(float(x.B[2 * k + 1])));
            used[k] = used[k] || a > 0;
        }
        EXPECT_LE(sum, 2048.0f);
        EXPECT_GT(sum, 1600.0f);
    }
    EXPECT_EQ(std::count(used.begin(), used.end(), true), s.K);
}

// Even in a single row the kept elements lie at every distance from a multiple of any k-tile.
TEST(Harness, KeptElementsHaveNoStride) {
    const Shape s = {1, 1, 200000};
    Operands<half, half> x(s);
    x.set_integers(1, kHalf2);
    int kept = 0;
    std::vector<int> residues(64);
    for (int k = 0; k < s.K; ++k)
        if (float(x.A[k]) != 0) ++kept, ++residues[k % 64];
    EXPECT_LE(kept, 2048);
    EXPECT_GT(kept, 2000);
    EXPECT_EQ(std::count(residues.begin(), residues.end(), 0), 0);
}

// For every K, a product that is a third too small must be rejected, and so must 0.
template <class In, class Out>
void expect_tight(const Arithmetic& arithmetic) {
    for (const int K : {1, 2, 457, 458, 1420, 1421, 5000, 1 << 20, int(kMaxK)}) {
        const Shape s = {3, 1, K};
        Operands<In, Out> x(s);
        x.set_reals(1, arithmetic);
        std::vector<Out> right(3), zero(3, Out(0.0f)), small(3);
        for (int row = 0; row < 3; ++row) {
            double sum = 0;
            for (int k = 0; k < K; ++k)
                sum += double(float(x.A[size_t(row) * K + k])) * double(float(x.B[k]));
            right[row] = Out(float(sum));
            small[row] = Out(float(sum * 2 / 3));
        }
        EXPECT_NO_THROW(check_accuracy(s, x.A, x.B, right.data(), arithmetic))
            << arithmetic.name << " " << K;
        for (const auto& wrong : {zero, small})
            EXPECT_THROW(check_accuracy(s, x.A, x.B, wrong.data(), arithmetic), Failure)
                << arithmetic.name << " " << K;
    }
}

TEST(Harness, TheErrorBoundIsTightForEveryK) {
    expect_tight<float, float>(kFp32);
    expect_tight<half, float>(kTensor);
    expect_tight<__nv_bfloat16, float>(kTensor);
    expect_tight<half, half>(kHalf2);
    expect_tight<half, half>(kWgmma);
}

// An error of two units in the last place exceeds the rounding of FP32 sums.
TEST(Harness, HalvesOfFloatSumsAreRoundedOnce) {
    Operands<half, half> x({1, 1, 3});
    x.set_reals(1, kWgmma);
    float sum = 0;
    for (int k = 0; k < 3; ++k) sum += float(x.A[k]) * float(x.B[k]);
    const half right = sum, wrong = float(right) * (1 + 0x1p-9f);
    EXPECT_NO_THROW(check_accuracy(x.shape, x.A, x.B, &right, kWgmma));
    EXPECT_THROW(check_accuracy(x.shape, x.A, x.B, &wrong, kWgmma), Failure);
}

TEST(Harness, NamesAFailedLaunch) {
    EXPECT_EQ(verdict(launch_too_many_threads).find("3 launching the kernel"), 0u);
}

void launch_freeing(int, int, int, const float* A, const float*, float*) {
    cudaFree(const_cast<float*>(A));
}
void launch_clearing(int M, int N, int, const float*, const float*, float* C) {
    cudaMemset(C, 0, size_t(M) * N * 4096);
}

// The message names what the launcher did, and nothing that it did not do.
TEST(Harness, NamesAFailedCall) {
    EXPECT_NE(verdict(launch_freeing).find("has the launcher freed A, B or C"), std::string::npos);
    const std::string said = verdict(launch_clearing);
    EXPECT_NE(said.find("call in its launcher, failed: invalid argument"), std::string::npos);
    EXPECT_EQ(said.find("freed"), std::string::npos) << said;
}

int run(Launcher<float, float> launch, std::vector<std::string> words,
        const char* source = "test.cu", const Facts& facts = {loaded}) {
    words.insert(words.begin(), "test");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(&word[0]);
    argv.push_back(nullptr);
    return run_stage(launch, facts, int(words.size()), argv.data(), source);
}

void launch_exiting(int, int, int, const float*, const float*, float*) { std::exit(0); }

void launch_leaking(int M, int N, int K, const float* A, const float* B, float* C) {
    float* more;
    cudaMalloc(&more, 1000);
    launch<99>(M, N, K, A, B, C);
}
void launch_keeping(int M, int N, int K, const float* A, const float* B, float* C) {
    static float* more = nullptr;
    static int had = 0;
    if (had < M * N) {
        cudaFree(more);
        cudaMalloc(&more, 4 * (had = M * N));
    }
    launch<99>(M, N, K, A, B, C);
}

// Memory that a launcher keeps for its next call is not a leak.
TEST(Harness, ReportsALeak) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(run(launch_leaking, {"--size", "5"}), kWrongResult);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("leaves 1000 more bytes"),
              std::string::npos);
    EXPECT_EQ(run(launch_keeping, {"--sizes", "5:7:1"}), kVerified);
}

TEST(Harness, AnExitIsNoVerdict) {
    EXPECT_EXIT(run(launch_exiting, {"--size", "5"}), testing::ExitedWithCode(kWrongResult),
                "^test: exit\\(\\) was called before the result was verified\n$");
}

TEST(Harness, ExitCodesAndCsv) {
    const std::string path = testing::TempDir() + "harness_test.csv";
    std::ofstream(path) << "no results\n";
    EXPECT_EQ(run(launch<99>, {"--size", "5", "--csv", path}), kBadCommandLine);
    std::ofstream(path) << "stage,old\n";
    EXPECT_EQ(run(launch<3>, {"--size", "5", "--csv", path}), kWrongResult);
    std::string line;
    std::getline(std::ifstream(path), line);
    EXPECT_EQ(line, "stage,old");  // a failed run leaves the file as it was
    EXPECT_EQ(run(launch<99>, {"--sizes", "5:7:1", "--csv", path}), kVerified);
    std::ifstream file(path);
    int lines = 0;
    while (std::getline(file, line)) ++lines;
    EXPECT_EQ(lines, 4);  // the names of columns and three sizes
    // A stage has the name of its source.
    const std::vector<std::pair<const char*, std::string>> names = {
        {"05_double_buffer/matmul.cu", "05_double_buffer,4,"},
        {"/a b/04_unroll/1_steps.cu", "04_unroll/1_steps,4,"},
        {"../06_wmma/half2.cu", "half2,4,"}};
    for (const auto& [source, name] : names) {
        EXPECT_EQ(run(launch<99>, {"--size", "4", "--csv", path}, source), kVerified);
        std::getline(std::ifstream(path).ignore(10000, '\n'), line);
        EXPECT_EQ(line.substr(0, name.size()), name);
    }
    std::remove(path.c_str());
}

__global__ void of_halves(int M, int N, int K, const float* A, const float* B, float* C) {
    for (int row = 0; row < M; ++row)
        for (int col = 0; col < N; ++col) {
            float acc = 0;
            for (int k = 0; k < K; ++k)
                acc += float(half(A[size_t(row) * K + k])) * float(half(B[size_t(k) * N + col]));
            C[size_t(row) * N + col] = acc;
        }
}
void launch_of_halves(int M, int N, int K, const float* A, const float* B, float* C) {
    of_halves<<<1, 1>>>(M, N, K, A, B, C);
}

// The quotients of the errors by those of plain FP32, with --accuracy.
std::vector<double> quotients(Launcher<float, float> launch, const Facts& facts) {
    const std::string path = testing::TempDir() + "accuracy.csv";
    EXPECT_EQ(run(launch, {"-m", "20", "-n", "30", "-k", "100", "--accuracy", "--csv", path},
                  "test.cu", facts),
              kVerified);
    std::ifstream file(path);
    std::vector<std::string> lines[2];  // the names of the columns, the values
    for (auto& line : lines) {
        std::string text, cell;
        std::getline(file, text);
        for (std::istringstream cells(text); std::getline(cells, cell, ',');) line.push_back(cell);
    }
    std::vector<double> found;
    for (const char* kind : {"zero_mean", "positive", "wide"}) {
        const std::string name = format("error_%s_of_fp32_sum", kind);
        const size_t at = std::find(lines[0].begin(), lines[0].end(), name) - lines[0].begin();
        found.push_back(at < lines[1].size() ? std::stod(lines[1][at]) : 0);
    }
    return found;
}

TEST(Harness, AccuracyIsComparedWithPlainFp32) {
    for (const double quotient : quotients(launch<99>, {})) {
        EXPECT_GT(quotient, 0.25);
        EXPECT_LT(quotient, 4);
    }
    Facts facts;
    facts.arithmetic = kRoundedToHalves;
    const std::vector<double> large = quotients(launch_of_halves, facts);
    for (const double quotient : large) EXPECT_GT(quotient, 100);
    EXPECT_EQ(std::set<double>(large.begin(), large.end()).size(), 3u);  // other data
}

// Of two configurations the launcher chooses the first. The second takes an even N, and is wrong at
// some.
struct Config {
    const char* label;
    std::string name() const { return label; }
};
constexpr Config kConfigs[] = {{"chosen"}, {"other"}};
int other_is_wrong_at = 2;  // N % 4
bool other_takes_any = true;

bool is_chosen(int N) {
    const Config& best = fastest(kConfigs, [N](const Config& config) {
        if (&config == kConfigs) return 1.0;
        return other_takes_any && N % 2 == 0 ? 2.0 : std::numeric_limits<double>::infinity();
    });
    return &best == kConfigs;
}
void launch_best(int M, int N, int K, const float* A, const float* B, float* C) {
    is_chosen(N) || N % 4 != other_is_wrong_at ? launch<99>(M, N, K, A, B, C)
                                               : launch<0>(M, N, K, A, B, C);
}
double loaded_by_best(double M, double N, double K) { return is_chosen(int(N)), loaded(M, N, K); }

std::string said_with_configs(const std::vector<std::string>& words, int expected) {
    Facts facts = {loaded_by_best};
    for (const Config& config : kConfigs) facts.configs.push_back({config.name(), 4, 4, 4});
    testing::internal::CaptureStderr();
    EXPECT_EQ(run(launch_best, words, "test.cu", facts), expected);
    only_config.clear();
    return testing::internal::GetCapturedStderr();
}

TEST(Harness, VerifiesConfigurationsThatAreNotChosen) {
    for (const int n : {2, 0}) {
        other_is_wrong_at = n;
        const std::string said = said_with_configs({"--all-configs"}, kWrongResult);
        EXPECT_EQ(said.find("test: other "), 0u) << said;
        said_with_configs({"--size", "6"}, kVerified);
        said_with_configs({"--size", "6", "--config", "other"}, n == 2 ? kWrongResult : kVerified);
        said_with_configs({"--size", "7", "--config", "other"}, kBadCommandLine);
    }
    other_takes_any = false;
    EXPECT_EQ(said_with_configs({"--all-configs"}, kWrongResult),
              "test: the configuration other takes no shape\n");
}

void launch_even(int M, int N, int K, const float* A, const float* B, float* C) {
    if (M % 4 || N % 2 || K % 8) return;
    launch<99>(M, N, K, A, B, C);
}

TEST(Harness, VerifiesOnlyMultiplesThatTheLauncherTakes) {
    Facts facts = {};
    facts.multiples = {4, 2, 8};
    EXPECT_EQ(run(launch_even, {}, "test.cu", facts), kVerified);
    EXPECT_EQ(run(launch_even, {"-m", "12"}, "test.cu", facts), kVerified);
    testing::internal::CaptureStderr();
    EXPECT_EQ(run(launch_even, {"-m", "6"}, "test.cu", facts), kBadCommandLine);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("multiples of 4 x 2 x 8"),
              std::string::npos);
}

// ./run prints the rows of several stages below the column names of the first one.
TEST(Harness, AStageWithConfigurationsHasTheColumnsOfAnyOther) {
    const std::string path = testing::TempDir() + "configs.csv";
    Facts facts = {loaded_by_best}, with_configs = facts;
    with_configs.chosen = [](int, int N, int) { return kConfigs[!is_chosen(N)].name(); };
    std::string names[2], row;
    for (const bool configs : {false, true}) {
        EXPECT_EQ(run(launch_best, {"--size", "5", "--csv", path}, "test.cu",
                      configs ? with_configs : facts),
                  kVerified);
        std::ifstream file(path);
        std::getline(file, names[configs]);
        std::getline(file, row);
        EXPECT_EQ(row.substr(row.rfind(',')), configs ? ",chosen" : ",-");
    }
    EXPECT_EQ(names[0], names[1]);
    std::remove(path.c_str());
}

// The check comes before the driver's, which would only say that something is wrong.
TEST(Harness, ATensorMapSaysWhatIsWrongWithItsRows) {
    DeviceArray<float> matrix(8 * 32);
    const auto said = [&](int columns, int swizzle, int leading_dimension) -> std::string {
        try {
            tensor_map(matrix.data(), 8, columns, 8, 16, swizzle, leading_dimension);
        } catch (const std::runtime_error& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_EQ(said(30, 0, 32), "");
    EXPECT_NE(said(30, 0, 0).find("120 bytes apart"), std::string::npos);
    EXPECT_NE(said(30, 0, 28).find("112 bytes apart"), std::string::npos);
    EXPECT_NE(said(32, 48, 0).find("a swizzle of 48 bytes"), std::string::npos);
}

}  // namespace

// The verifier must reject every wrong result, at any size, and accept every right one.
#include "common/command_line.h"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <fstream>

namespace {

std::vector<float> product(Shape s, const std::vector<float>& A, const std::vector<float>& B) {
    std::vector<float> C(size_t(s.M) * s.N, 0.0f);
    for (int row = 0; row < s.M; ++row)
        for (int k = 0; k < s.K; ++k)
            for (int col = 0; col < s.N; ++col)
                C[size_t(row) * s.N + col] += A[size_t(row) * s.K + k] * B[size_t(k) * s.N + col];
    return C;
}

// A product of small integers: exact in float.
struct IntegerProduct {
    explicit IntegerProduct(Shape s)
        : shape(s), A(random_integers(size_t(s.M) * s.K, exact_range(s.K, kFp32.exact_limit), 1)),
          B(random_integers(size_t(s.K) * s.N, exact_range(s.K, kFp32.exact_limit), 2)),
          C(product(s, A, B)) {}
    std::string check() const { return check_exact(shape, A, B, C.data()); }
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
}

// One wrong element in each row of an 8192 x 8192 matrix, together in every column once: all 8192
// must be found.
TEST(Exact, FindsOneWrongElementAnywhereAt8192) {
    IntegerProduct x({8192, 8192, 8});
    ASSERT_EQ(x.check(), "");
    for (const float wrong : {1.0f, kNan}) {
        std::vector<float> C = x.C;
        for (int row = 0; row < 8192; ++row) C[size_t(row) * 8192 + row * 4099 % 8192] += wrong;
        const Freivalds test(x.shape, x.B, 5);
        for (int row = 0; row < 8192; ++row) EXPECT_TRUE(test.wrong(x.A, C.data(), row)) << row;
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
    EXPECT_NE(
        check_accuracy(s, A, B, product(s, rounded(A), rounded(B)).data(), kFp32.unit_roundoff)
            .wrong,
        "");
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
    EXPECT_NEAR(attainable_gflops(fury, kFp32, {32.0, 0}), 8601.6,
                0.01);  // slide 49: above 21.94 flop per byte
    EXPECT_NEAR(fury.peak.fp32_gflops / fury.measured.bandwidth_gbs, 21.94, 0.01);
    EXPECT_NEAR(attainable_gflops(fury, kFp32, {32.0, 1.0}), 8601.6,
                0.01);  // slide 51: 1 flop per byte of LDS are enough
    EXPECT_NEAR(attainable_gflops(fury, kFp32, {32.0, 0.5}), 4300.8, 0.01);  // fewer are not
    EXPECT_NEAR(attainable_gflops(fury, kFp32, {0.25, 0.5}), 98.0, 0.01);
    EXPECT_EQ(attainable_gflops(fury, kTensor, {32.0, 1.0}), 0);  // it has no tensor cores
    EXPECT_FALSE(find_gpu("gtx"));
}

// The message of the Failure that it throws; "" for none.
std::string said_by(const std::function<void()>& call) {
    try {
        call();
        return "";
    } catch (const Failure& failure) {
        EXPECT_EQ(failure.code, kBadCommandLine);
        return failure.what();
    }
}

// What read_limits says of a file with this text: "" or the message.
std::string said_of(const std::string& text) {
    const std::string path = testing::TempDir() + "limits.csv";
    std::ofstream(path) << text;
    const std::string said = said_by([&] { read_limits(path); });
    return said.empty() ? "" : said.substr(("--limits '" + path + "': ").size());
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
    EXPECT_EQ(attainable_gflops(gpu, kFp32, {10, 1}), 3000);
}

TEST(Limits, BadFiles) {
    std::vector<std::pair<std::string, std::string>> files = {
        {"", "is empty"},
        {kHeader, "has no rows"},
        {kHeader + kCopy + "shared_mem", "ends in the middle of a line"},
        {kHeader + kCopy + "shared_memory,3000\n", "line 3 has 2 fields, the header 6"},
        {"stage,m\n01,1\n", "has no column 'what': another program or another version wrote it"},
        {kHeader + kCopy + kFma, "has no row 'shared_memory'"},
        {kHeader + "copy,-,400,-,500," + std::string(200000, 'x') + "\n",
         "line 2 has a field of more than 1000 characters"},
        {kHeader + "copy,-,\x1b[2J,-,500,X\n" + kShared + kFma,
         "gbs is '?[2J', expected a number above 0"}};
    for (const std::string bad : {"", "-", "-400", "0", "nan", "inf", "400 GB", "1e999"})
        files.push_back({kHeader + "copy,-," + bad + ",-,500,X\n" + kShared + kFma,
                         "gbs is '" + bad + "', expected a number above 0"});
    for (const auto& [text, said] : files) EXPECT_EQ(said_of(text), said);
    EXPECT_EQ(said_by([] { read_limits("/dev/zero"); }),
              "--limits '/dev/zero': has more than 16 MiB, which no CSV of these programs has");
    EXPECT_EQ(said_by([] { read_limits("/nonexistent/limits.csv"); }),
              "--limits '/nonexistent/limits.csv': can't be read: No such file or directory");
}

TEST(Limits, OfAGpuByItsResults) {
    namespace fs = std::filesystem;
    const std::string header = kHeader + kShared + kFma;
    const fs::path results = fs::path(testing::TempDir()) / "results";
    for (const char* name : {"new", "volta", "broken"}) fs::create_directories(results / name);
    std::ofstream(results / "new/limits.csv") << header + "copy,-,400,-,500,NVIDIA New\n"
                                              << std::flush;
    std::ofstream(results / "volta/limits.csv")
        << kHeader + "copy,-,600,-,650,NVIDIA TITAN V\n" + kShared + kFma << std::flush;
    std::ofstream(results / "broken/limits.csv") << "x\n" << std::flush;
    EXPECT_EQ(joined(gpu_names(results)),
              "h200, h100, fury-x, rtx5060ti, titan-v, broken, new, volta");
    EXPECT_EQ(gpu_named("new", results).limit(&Limits::bandwidth_gbs), 400);
    EXPECT_EQ(gpu_named("new", results).source, "measured, docs/results/new/limits.csv");
    const Gpu volta = *find_gpu("NVIDIA TITAN V", results);
    EXPECT_EQ(volta.measured.bandwidth_gbs, 600);  // its own results, beside the published peaks
    EXPECT_EQ(volta.peak.bandwidth_gbs, 652.8);
    EXPECT_EQ(find_gpu("NVIDIA H200", results)->measured.bandwidth_gbs, 0);
    EXPECT_GT(find_gpu("NVIDIA H200")->measured.bandwidth_gbs, 0);
    EXPECT_THROW(gpu_named("broken", results), Failure);
    fs::remove_all(results);
}

TEST(Csv, WhatIsWrittenIsRead) {
    const std::string path = testing::TempDir() + "quoted.csv";
    const std::vector<std::string> values = {
        "2949.0 (HSA1.1,LC)", "say \"a\", b", "\"", "two\nlines", "", "plain"};
    Report report(path, {});
    for (const std::string& value : values) report.add({{"driver, version", value}, {"n", "1"}});
    report.save();
    const std::vector<CsvRow> rows = read_csv("--csv", path, {"driver, version", "n"});
    ASSERT_EQ(rows.size(), values.size());
    for (size_t i = 0; i < rows.size(); ++i)
        EXPECT_EQ(rows[i].at("driver, version"), i == 3 ? "two?lines" : values[i]);
    std::string line;
    std::ifstream file(path);
    std::getline(file, line);
    EXPECT_EQ(line, "\"driver, version\",n");
    std::getline(file, line);
    EXPECT_EQ(line, "\"2949.0 (HSA1.1,LC)\",1");
}

// What a report shows of these rows.
std::string shown(const Columns& columns, const std::vector<Row>& rows, bool wide = false) {
    testing::internal::CaptureStdout();
    Report report("", columns, wide);
    for (const Row& row : rows) report.add(row);
    return testing::internal::GetCapturedStdout();
}

TEST(Report, ShowsWhatAPersonReads) {
    Row row = row_of("05_double_buffer", {4096, 4096, 4096}, 0.1);
    add_times(row, {2.6694, 2.6682, 2.6759}, 2 * 0x1p36, 66908);
    add_library(row, "cublas", 2 * 0x1p36, {2.6694, 0, 0}, {2.6854, 0, 0});
    add_prediction(row, {31.51, 2}, kFp32, gpu_named("fury-x"), 51487);
    Row fast = row_of("06_wmma", {4096, 4096, 4096}, 0.1);
    add_times(fast, {0.3191, 0, 0}, 2 * 0x1p36, 0);
    const Columns columns = {"stage",
                             "median_ms",
                             "gflops",
                             "percent_of_peak",
                             "percent_of_cublas",
                             "predicted_gflops",
                             "measured_of_predicted",
                             {"percent_of_peak", "", 0, as_bar}};
    const std::string table = shown(columns, {row, fast});
    EXPECT_EQ(table.substr(0, table.find('#')),
              "                                              of      of predicted\n"
              "stage                       time  TFLOP/s   peak  cuBLAS   TFLOP/s  ratio\n"
              "05_double_buffer         2.67 ms    51.49  77.0%  100.6%      8.60   5.99 ");
    EXPECT_NE(table.find("\n06_wmma                 319.1 us   430.71      -"), std::string::npos)
        << table;
    for (size_t begin = 0, end; (end = table.find('\n', begin)) != std::string::npos;
         begin = end + 1)
        EXPECT_LE(end - begin, 100u);
    const std::string wide = shown(columns, {row}, true);
    for (const Cell& cell : row) {
        EXPECT_NE(wide.find(cell.column), std::string::npos);
        EXPECT_NE(wide.find(cell.value), std::string::npos);
    }
}

TEST(Printable, NothingThatSteersTheTerminal) {
    EXPECT_EQ(printable("a\tb\x1b[31m\x7f\r\n"), "a?b?[31m???");
    EXPECT_EQ(printable("\xc2\x9b"
                        "31m caf\xc3\xa9 \xe3\x83\x9b \xc2"),
              "?31m caf\xc3\xa9 \xe3\x83\x9b \xc2");
}

// In a folder of its own, which is looked into at the end.
struct WholeFiles : testing::Test {
    WholeFiles() : folder(testing::TempDir() + "whole.XXXXXX") {
        EXPECT_NE(mkdtemp(&folder[0]), nullptr);
    }
    ~WholeFiles() override { std::filesystem::remove_all(folder); }
    std::string text(const std::string& name) {
        std::ifstream file(folder + "/" + name);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    std::string names() {
        std::vector<std::string> all;
        for (const auto& entry : std::filesystem::directory_iterator(folder))
            all.push_back(entry.path().filename());
        std::sort(all.begin(), all.end());
        return joined(all);
    }
    std::string folder;
};

TEST_F(WholeFiles, TouchNothingBeside) {
    std::ofstream(folder + "/own.csv.part") << "mine";
    std::ofstream(folder + "/target") << "also mine";
    ASSERT_EQ(symlink("target", (folder + "/link.csv.part").c_str()), 0);
    for (const std::string name : {"own.csv", "link.csv"})
        WholeFile("--csv", folder + "/" + name).save("new");
    EXPECT_EQ(text("own.csv") + text("link.csv") + text("own.csv.part") + text("target"),
              "newnewminealso mine");
    EXPECT_EQ(names(), "link.csv, link.csv.part, own.csv, own.csv.part, target");
}

TEST_F(WholeFiles, HaveTheModeOfAnyFile) {
    const auto mode = [&](const std::string& name) {
        struct stat found = {};
        stat((folder + "/" + name).c_str(), &found);
        return found.st_mode & 0777;
    };
    const mode_t before = umask(027);
    WholeFile("--csv", folder + "/a").save("");
    umask(before);
    EXPECT_EQ(mode("a"), 0640u);
    chmod((folder + "/a").c_str(), 0600);
    WholeFile("--csv", folder + "/a").save("");
    EXPECT_EQ(mode("a"), 0600u);  // what it was
}

TEST_F(WholeFiles, OneForEachOption) {
    const std::string a = folder + "/a",
                      same = folder + "/../" + folder.substr(folder.rfind('/') + 1) + "/a";
    WholeFile csv("--csv", a);
    EXPECT_EQ(said_by([&] { WholeFile("--svg", same); }),
              "--svg '" + same + "': --csv writes to that file, too");
    EXPECT_EQ(said_by([&] { WholeFile("--svg", folder + "/b"); }), "");
    EXPECT_EQ(said_by([] { WholeFile csv("--csv", "/dev/null"), svg("--svg", "/dev/null"); }), "");
}

TEST_F(WholeFiles, LeaveNothingHalfWritten) {
    std::ofstream(folder + "/a") << "old";
    for (const int how : {SIGINT, SIGTERM, SIGXFSZ}) {  // the last as a full disk: the write fails
        const pid_t child = fork();
        if (child == 0) {
            std::signal(SIGXFSZ, how == SIGINT    ? [](int) { std::raise(SIGINT); }
                                 : how == SIGTERM ? [](int) { std::raise(SIGTERM); }
                                                  : SIG_IGN);
            for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, end_by_signal);
            const rlimit one = {1, 1};
            WholeFile file("--csv", folder + "/a");
            setrlimit(RLIMIT_FSIZE, &one);
            try {
                file.save("new");
            } catch (const Failure&) {
                _exit(7);
            }
            _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (how == SIGXFSZ) EXPECT_EQ(WEXITSTATUS(status), 7);
        else EXPECT_EQ(WTERMSIG(status), how);
        EXPECT_EQ(names() + text("a"), "aold");
    }
}

// A machine's /proc and /sys/fs/cgroup, made up.
using Files = std::vector<std::pair<std::string, std::string>>;
double available_with(const Files& files) {
    std::string root = testing::TempDir() + "root.XXXXXX";
    EXPECT_NE(mkdtemp(&root[0]), nullptr);
    for (const auto& [name, text] : files) {
        std::filesystem::create_directories(std::filesystem::path(root + name).parent_path());
        std::ofstream(root + name) << text;
    }
    const double bytes = available_memory(root);
    std::filesystem::remove_all(root);
    return bytes;
}

TEST(Memory, IsTheLeastThatAnyoneLeaves) {
    const std::string group = "/proc/self/cgroup", top = "/sys/fs/cgroup/", outer = top + "a/",
                      inner = top + "a/b/", v1 = top + "memory/";
    const double all = 8000 * 1024;
    const std::pair<double, Files> machines[] = {
        {all, {}},
        {all, {{group, "0::/\n"}, {top + "memory.max", "max\n"}}},
        {4000,
         {{group, "0::/a/b\n"},
          {inner + "memory.max", "5000\n"},
          {inner + "memory.current", "1000\n"}}},
        // The outer group's limit holds, too; cached files count as free.
        {1100,
         {{group, "0::/a/b\n"},
          {inner + "memory.max", "max\n"},
          {inner + "memory.current", "2000\n"},
          {outer + "memory.max", "3000\n"},
          {outer + "memory.current", "2500\n"},
          {outer + "memory.stat", "anon 1900\ninactive_file 500\nactive_file 100\n"}}},
        // A container: the group's path is the host's, and only the outermost folder is there.
        {700, {{group, "0::/docker/0123\n"}, {top + "memory.max", "700\n"}}},
        {400,
         {{group, "5:cpu:/\n4:memory:/a\n0::/\n"},
          {v1 + "memory.limit_in_bytes", "9223372036854771712\n"},
          {v1 + "a/memory.limit_in_bytes", "600\n"},
          {v1 + "a/memory.usage_in_bytes", "250\n"},
          {v1 + "a/memory.stat", "inactive_file 1\ntotal_inactive_file 50\n"}}},
        {0,
         {{group, "0::/a/b\n"},
          {outer + "memory.max", "10\n"},
          {outer + "memory.current", "20\n"}}}};
    for (auto [expected, files] : machines) {
        files.push_back({"/proc/meminfo", "MemTotal: 9000 kB\nMemAvailable: 8000 kB\n"});
        EXPECT_EQ(available_with(files), expected) << "machine " << expected;
    }
}

}  // namespace

// The emulator's rule for bank conflicts, its rewriter, and its AddressSanitizer build. Its kernels: emulator_test_kernels.cu.
#include "emulator/emulator.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

namespace {

// ---- The rule for shared memory ---------------------------------------------------------------------------------------------

struct Served {
    int wavefronts, ideal;
    bool operator==(const Served& o) const { return wavefronts == o.wavefronts && ideal == o.ideal; }
};
std::ostream& operator<<(std::ostream& out, const Served& s) { return out << s.wavefronts << " wavefronts, ideal " << s.ideal; }

Served serve(int width, const std::function<int(int lane)>& address, uint32_t active = 0xffffffff, bool store = false) {
    uint64_t addresses[32];
    for (int lane = 0; lane < 32; ++lane) addresses[lane] = 0x1000 + address(lane);
    Served served;
    served.wavefronts = emulator::shared_wavefronts(addresses, active, width, store, &served.ideal);
    return served;
}

TEST(SharedWavefronts, OneWordALane) {
    EXPECT_EQ(serve(4, [](int lane) { return lane * 4; }), (Served{1, 1}));
    EXPECT_EQ(serve(4, [](int lane) { return (31 - lane) * 4; }), (Served{1, 1}));
    EXPECT_EQ(serve(4, [](int) { return 20; }), (Served{1, 1}));  // broadcast
    EXPECT_EQ(serve(4, [](int lane) { return lane / 2 * 4; }), (Served{1, 1}));
    EXPECT_EQ(serve(4, [](int lane) { return lane * 8; }), (Served{2, 1}));  // stride 2
    EXPECT_EQ(serve(4, [](int lane) { return lane * 12; }), (Served{1, 1}));  // odd strides are free
    EXPECT_EQ(serve(4, [](int lane) { return lane * 128; }), (Served{32, 1}));  // stride 32: one bank
    EXPECT_EQ(serve(4, [](int lane) { return lane * 132; }), (Served{1, 1}));  // padded to 33
    EXPECT_EQ(serve(4, [](int lane) { return lane % 2 * 128; }), (Served{2, 1}));  // two rows of one bank
    EXPECT_EQ(serve(
                  4, [](int lane) { return lane * 128; }, 0xff),
              (Served{8, 1}));  // eight lanes only
    EXPECT_EQ(serve(
                  4, [](int lane) { return lane * 128; }, 0),
              (Served{0, 0}));
    EXPECT_EQ(serve(2, [](int lane) { return lane * 2; }), (Served{1, 1}));  // two halves of a word
    EXPECT_EQ(serve(1, [](int lane) { return lane; }), (Served{1, 1}));
}

TEST(SharedWavefronts, TwoWordsALaneAreServedByHalfWarp) {
    EXPECT_EQ(serve(8, [](int lane) { return lane * 8; }), (Served{2, 2}));
    EXPECT_EQ(serve(8, [](int lane) { return lane * 16; }), (Served{4, 2}));
    EXPECT_EQ(serve(8, [](int) { return 0; }), (Served{1, 1}));
    EXPECT_EQ(serve(8, [](int lane) { return lane / 2 * 8; }), (Served{1, 1}));  // pairs agree: both halves at once
    EXPECT_EQ(serve(8, [](int lane) { return lane % 16 * 8; }), (Served{2, 2}));  // both halves want the same: no pair does
}

TEST(SharedWavefronts, FourWordsALaneAreServedByQuarterWarp) {
    EXPECT_EQ(serve(16, [](int lane) { return lane * 16; }), (Served{4, 4}));
    EXPECT_EQ(serve(16, [](int lane) { return lane * 32; }), (Served{8, 4}));
    EXPECT_EQ(serve(16, [](int lane) { return lane * 128; }), (Served{32, 4}));
    EXPECT_EQ(serve(16, [](int lane) { return lane * 144; }), (Served{4, 4}));  // rows padded by 16 bytes
    EXPECT_EQ(serve(16, [](int) { return 0; }), (Served{2, 2}));
    EXPECT_EQ(serve(16, [](int lane) { return lane / 2 * 16; }), (Served{2, 2}));  // lanes i and i^1 agree
    EXPECT_EQ(serve(16, [](int lane) { return (lane / 4 * 2 + lane % 2) * 16; }), (Served{2, 2}));  // lanes i and i^2 agree
    EXPECT_EQ(serve(16, [](int lane) { return lane / 4 % 2 * 16; }), (Served{2, 2}));
    EXPECT_EQ(serve(16, [](int lane) { return lane % 8 * 16; }), (Served{4, 4}));  // no pairs: quarter by quarter
    EXPECT_EQ(serve(
                  16, [](int lane) { return lane * 16; }, 0xff),
              (Served{1, 1}));  // one quarter only
}

// What nvcc makes of reads that 03 and 06 write as scalars; the sums are those of README.md and of tests/readme.py, at 256 x 256 x 256.
TEST(SharedWavefronts, OfReadsThatTheCompilerFuses) {
    const int a = serve(16, [](int lane) { return lane / 16 * 32; }).wavefronts;
    const int b = serve(16, [](int lane) { return lane % 16 * 32; }).wavefronts;
    EXPECT_EQ((2 * a + 2 * b) * 8 * 256 * 4, 163840);  // four reads by each of 8 warps, 256 times, in 4 blocks
    const int c = serve(16, [](int lane) { return lane / 4 * 96 + lane % 4 * 16; }).wavefronts;
    EXPECT_EQ(8704 + 512 * c, 12800);  // Cs, beside the fragments
}

// Word offsets, and the wavefronts that ncu counted for them on an NVIDIA H200 (driver 580.159, CUDA 13.0):
// l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld and _st of one request.
TEST(SharedWavefronts, AreThoseOfTheHardware) {
    struct Measured {
        int width;
        int (*word)(int lane);
        int load, store;
    };
    const Measured measured[] = {
        {16, [](int l) { return l * 4; }, 4, 4},
        {16, [](int) { return 0; }, 2, 4},
        {16, [](int l) { return l / 2 * 4; }, 2, 4},
        {16, [](int l) { return l / 4 * 4; }, 2, 4},
        {16, [](int l) { return l / 2 % 4 * 4; }, 2, 4},  // A's tile in 04_unroll
        {16, [](int l) { return (l / 8 * 2 + l % 2) * 4; }, 2, 4},  // B's tile in 04_unroll
        {16, [](int l) { return l % 16 * 4; }, 4, 4},
        {16, [](int l) { return l / 16 * 4; }, 2, 4},
        {16, [](int l) { return l % 8 * 4; }, 4, 4},
        {16, [](int l) { return l / 8 * 4; }, 2, 4},
        {16, [](int l) { return l % 16 * 8; }, 8, 8},
        {16, [](int l) { return l * 8; }, 8, 8},
        {16, [](int l) { return l * 32; }, 32, 32},
        {16, [](int l) { return (l / 4 * 2 + l % 2) * 4; }, 2, 4},
        {16, [](int l) { return (l / 8 * 4 + l % 4) * 4; }, 4, 4},
        {16, [](int l) { return l < 16 ? l / 2 * 4 : (l / 4 * 2 + l % 2) * 4; }, 4, 4},
        {16, [](int l) { return l < 16 ? 0 : l * 4; }, 4, 4},
        {16, [](int l) { return l / 2 * 32; }, 16, 16},
        {8, [](int l) { return l * 2; }, 2, 2},
        {8, [](int) { return 0; }, 1, 2},
        {8, [](int l) { return l % 16 * 2; }, 2, 2},
        {8, [](int l) { return l / 2 * 2; }, 1, 2},
        {8, [](int l) { return (l / 4 * 2 + l % 2) * 2; }, 1, 2},
        {8, [](int l) { return l * 4; }, 4, 4},
        {4, [](int l) { return l; }, 1, 1},
        {4, [](int l) { return l * 2; }, 2, 2},
        {4, [](int l) { return l * 32; }, 32, 32},
        {4, [](int l) { return l * 33; }, 1, 1},
        {4, [](int l) { return l % 16 * 8; }, 4, 4},
        {4, [](int l) { return l % 2 * 4 * 132 + l / 2; }, 1, 1},  // the transposing store of 04_unroll
        {4, [](int l) { return l % 2 * 4 * 128 + l / 2; }, 2, 2},  // the same without its padding
    };
    for (const Measured& m : measured) {
        const auto address = [&](int lane) { return 4 * m.word(lane); };
        EXPECT_EQ(serve(m.width, address).wavefronts, m.load) << "load " << &m - measured;
        EXPECT_EQ(serve(m.width, address, 0xffffffff, true).wavefronts, m.store) << "store " << &m - measured;
    }
}

// ---- The rewriter -----------------------------------------------------------------------------------------------------------

std::string read(const std::string& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

struct Ran {
    int status;
    std::string output;
};

Ran run(const std::string& command) {
    Ran ran{-1, ""};
    FILE* pipe = popen((command + " 2>&1").c_str(), "r");
    if (!pipe) return ran;
    char text[4096];
    while (size_t n = std::fread(text, 1, sizeof text, pipe)) ran.output.append(text, n);
    ran.status = pclose(pipe);
    return ran;
}

class Rewriter : public testing::Test {
protected:
    std::string folder = testing::TempDir() + "emulator_test_" + std::to_string(getpid());
    std::string source = folder + ".cu", target = folder + ".cpp";
    Ran last{0, ""};

    void TearDown() override {
        std::remove(source.c_str());
        std::remove(target.c_str());
    }
    // The rewritten text after the lines that the rewriter puts before it.
    std::string rewrite(const std::string& text) {
        std::ofstream(source) << text;
        last = run("python3 '" EMULATOR_REWRITE "' '" + source + "' '" + target + "'");
        if (last.status != 0) return "refused: " + last.output;
        const std::string result = read(target), head = "#include <cuda_runtime.h>\n#line 1 \"" + source + "\"\n";
        EXPECT_EQ(result.substr(0, head.size()), head);
        return result.substr(std::min(head.size(), result.size()));
    }
    std::string refusal(int line, const std::string& what) {
        return "refused: " + source + ":" + std::to_string(line) + ": error: the CUDA emulator cannot run " + what + "\n";
    }
    void expect_unchanged(const std::string& text) { EXPECT_EQ(rewrite(text), text); }
};

const char* const kCall = "emulator::Kernel([&](auto... p) { ";

TEST_F(Rewriter, Launches) {
    const std::string call = kCall;
    EXPECT_EQ(rewrite("k<<<g, b>>>(1, x);"), call + "k(p...); }, g, b)(1, x);");
    EXPECT_EQ(rewrite("k<<<g, b, 4 * n, stream>>>();"), call + "k(p...); }, g, b, 4 * n, stream)();");
    EXPECT_EQ(rewrite("f(); k <<< g, b >>> (x);"), "f(); " + call + "k (p...); },  g, b ) (x);");
    EXPECT_EQ(rewrite("matmul<true, 4><<<g, b>>>(x);"), call + "matmul<true, 4>(p...); }, g, b)(x);");
    EXPECT_EQ(rewrite("a::b<T<int>>::c<(x >> 2), (a > b), 1 << 3><<<g, b>>>(x);"),
              call + "a::b<T<int>>::c<(x >> 2), (a > b), 1 << 3>(p...); }, g, b)(x);");
    EXPECT_EQ(rewrite("return ::k<<<g, b>>>(x);"), "return " + call + "::k(p...); }, g, b)(x);");
    EXPECT_EQ(rewrite("k<<<n >> 3, f(a >> 1, {b, c})>>>(x);"), call + "k(p...); }, n >> 3, f(a >> 1, {b, c}))(x);");
    EXPECT_EQ(rewrite("k<<<1, size<4>>>>(x);"), call + "k(p...); }, 1, size<4>)(x);");
    EXPECT_EQ(rewrite("if (a) k<1><<<g, b>>>(x); else k<2><<<g, b>>>(x);"),
              "if (a) " + call + "k<1>(p...); }, g, b)(x); else " + call + "k<2>(p...); }, g, b)(x);");
}

TEST_F(Rewriter, KeepsEveryLine) {
    const std::string text = "a\nk<1,\n  2><<<dim3(1,\n  2), // why <<<\n  b>>>(\n  x);\nb /* >>> */\n";
    EXPECT_EQ(rewrite(text),
              std::string("a\n") + kCall + "k<1,\n  2>(p...); }, dim3(1,\n  2), // why <<<\n  b)(\n  x);\nb /* >>> */\n");
    EXPECT_EQ(rewrite("#define RUN(k, ...) \\\n    k<<<1, 1>>> \\\n    (__VA_ARGS__)\nint x;\n"),
              std::string("#define RUN(k, ...) \\\n    ") + kCall + "k(p...); }, 1, 1) \\\n    (__VA_ARGS__)\nint x;\n");
}

TEST_F(Rewriter, LeavesTextAlone) {
    expect_unchanged("// k<<<1, 1>>>(x)\n/* k<<<1, 1>>>(x) asm */\n");
    expect_unchanged("// goes on \\\n k<<<1, 1>>>(x)\n");
    expect_unchanged("const char* s = \"k<<<1, 1>>>(x) \\\" asm <<<\"; char c = '\"'; const char* t = \"<<<\";\n");
    expect_unchanged("auto s = R\"x(k<<<1, 1>>>(x) )\" asm <<<)x\"; auto u = u8R\"(<<<)\";\n");
    expect_unchanged("int million = 1'000'000; char quote = '\\''; char less = '<';\n");
    expect_unchanged("std::cout << a << b; x = y >> 3; std::vector<std::vector<std::vector<int>>> v;\n");
    expect_unchanged("__device__ float f(float x) { return x; }\n__device__ __forceinline__ int g();\n");
    expect_unchanged(
        "template <int n> __host__ __device__ constexpr int h(int a = 3) { return n; }\n__constant__ float c[4] = {1};\n");
}

TEST_F(Rewriter, SharedMemory) {
    EXPECT_EQ(rewrite("extern __shared__ float s[];"), "float* s = emulator::dynamic_shared<float>();");
    EXPECT_EQ(rewrite("extern __shared__ __align__(16) unsigned char bytes[ ] ;"),
              "unsigned char* bytes = emulator::dynamic_shared<unsigned char>();");
    EXPECT_EQ(rewrite("extern __shared__\n  float4 s[];\nx"), "float4* s = emulator::dynamic_shared<float4>();\n\nx");
    EXPECT_EQ(rewrite("// extern __shared__ float s[];"), "// extern __shared__ float s[];");
    EXPECT_EQ(rewrite("__shared__ alignas(16) float s[4];"), "alignas(16) __shared__ float s[4];");
    EXPECT_EQ(rewrite("\nextern __shared__ float s[4];"),
              refusal(2, "this form of extern __shared__ (write: extern __shared__ float name[];)"));
}

TEST_F(Rewriter, RefusesWhatTheEmulatorCannotRun) {
    EXPECT_EQ(rewrite("\n\nasm volatile(\"bar.sync 0;\");"), refusal(3, "inline PTX (asm)"));
    EXPECT_EQ(rewrite("#include <cooperative_groups.h>\n"), refusal(1, "<cooperative_groups.h>"));
    EXPECT_EQ(rewrite("int x;\n#include <cuda/barrier>\n"), refusal(2, "<cuda/barrier>"));
    EXPECT_EQ(rewrite("#include <cuda/pipeline>\n"), refusal(1, "<cuda/pipeline>"));
    EXPECT_EQ(rewrite("#include <cuda.h>\n"), refusal(1, "<cuda.h>"));
    EXPECT_EQ(rewrite("#include <crt/mma.h>\n"), refusal(1, "<crt/mma.h>"));
    EXPECT_EQ(rewrite("#include <cuda_fp8.h>\n"), refusal(1, "<cuda_fp8.h>"));
    EXPECT_EQ(rewrite("#include <cuda_pipeline_primitives.h>\n"), refusal(1, "<cuda_pipeline_primitives.h>"));
    EXPECT_EQ(rewrite("void f(cudaTextureObject_t t);"), refusal(1, "textures and surfaces"));
    EXPECT_EQ(rewrite("float x = tex2D<float>(t, 1, 2);"), refusal(1, "textures and surfaces"));
    EXPECT_EQ(rewrite("namespace cg = cooperative_groups;"), refusal(1, "cooperative groups"));
    EXPECT_EQ(rewrite("cuda::barrier<cuda::thread_scope_block> b;"), refusal(1, "cuda::barrier and cuda::pipeline"));
    EXPECT_EQ(rewrite("__grid_constant__ const CUtensorMap map;"), refusal(1, "TMA"));
    EXPECT_EQ(rewrite("wgmma_fence();"), refusal(1, "wgmma"));
    EXPECT_EQ(rewrite("\n__device__ int counter = 0;"), refusal(2, "__device__ variables"));
    EXPECT_EQ(rewrite("x = 1;\n<<<1, 1>>>(x);"), refusal(2, "no kernel's name before <<<"));
    EXPECT_EQ(rewrite("k<<<1, 1;"), refusal(1, "a launch's <<< without its >>>"));
    EXPECT_EQ(rewrite("k<<<1, 1>>>;"), refusal(1, "no arguments after a launch's >>>"));
    EXPECT_EQ(rewrite("// #include <cuda.h>\n#include <cuda_runtime.h>\n#include \"common/harness.h\"\n"),
              "// #include <cuda.h>\n#include <cuda_runtime.h>\n#include \"common/harness.h\"\n");
}

TEST_F(Rewriter, TakesTheHeadersThatTheEmulatorHas) {
    expect_unchanged("#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n#include <cuda_pipeline.h>\n#include <mma.h>\n");
}

TEST_F(Rewriter, NamesTheFileThatItCannotRead) {
    const Ran ran = run("python3 '" EMULATOR_REWRITE "' /nowhere/matmul.cu '" + target + "'");
    EXPECT_NE(ran.status, 0);
    EXPECT_EQ(ran.output, "rewrite_launches.py: /nowhere/matmul.cu: [Errno 2] No such file or directory: '/nowhere/matmul.cu'\n");
}

// ---- AddressSanitizer -------------------------------------------------------------------------------------------------------

Ran run_asan(int kind, int index) { return run("'" EMULATOR_TEST_ASAN "' " + std::to_string(kind) + " " + std::to_string(index)); }

void expect_report(int kind, int index, const std::string& fault, const std::string& line) {
    const Ran ran = run_asan(kind, index);
    EXPECT_NE(ran.status, 0);
    EXPECT_NE(ran.output.find("AddressSanitizer: " + fault), std::string::npos) << ran.output;
    EXPECT_NE(ran.output.find("emulator_test_kernels_asan.cu:" + line), std::string::npos) << ran.output;
}

TEST(AddressSanitizer, IsSilentAboutTheLastElement) {
    for (int kind : {0, 1, 2, 3, 5, 6, 7, 8}) {
        const Ran ran = run_asan(kind, 9);
        EXPECT_EQ(ran.status, 0);
        EXPECT_EQ(ran.output, "");
    }
}

TEST(AddressSanitizer, SeesTheElementAfterTheLast) {
    expect_report(0, 10, "heap-buffer-overflow", "8");
    expect_report(1, 10, "heap-buffer-overflow", "9");
    expect_report(1, -1, "heap-buffer-overflow", "9");
    expect_report(2, 10, "global-buffer-overflow", "12");
    expect_report(3, 10, "heap-buffer-overflow", "17");
    expect_report(4, 0, "heap-use-after-free", "8");
    expect_report(5, 10, "heap-buffer-overflow", "23");
    expect_report(6, 10, "heap-buffer-overflow", "28");
    expect_report(7, 10, "heap-buffer-overflow", "32");
    expect_report(8, 10, "global-buffer-overflow", "36");
}

}  // namespace

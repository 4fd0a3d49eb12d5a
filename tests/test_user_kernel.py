"""./run FILE.cu: a stage of the user's is verified, counted and advised, any other program runs on the emulator, and
what is wrong or cannot run is reported in a line."""
import csv
import os
import re

import pytest

import exercises
import registers
import user_kernel
from support import ROOT, call

STAGE = (ROOT / "03_shared_blocking/matmul.cu").read_text()
BARE = STAGE.partition("\ndouble ")[0]  # without formulas and main()
MIN = """#include <cstdio>
__constant__ int factor;
__global__ void k(int* out) {
    __shared__ int s[64];
    const int t = threadIdx.x;
    s[t] = t;
    __syncthreads();
    out[t] = s[63 - t];
}
int main() {
    int *out, host[64];
    cudaMalloc(&out, sizeof host);
    k<<<1, 64>>>(out);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    std::printf("first %d\\n", host[0]);
    cudaFree(out);
}
"""


@pytest.fixture
def own(tmp_path):
    """Calls ./run, or another verb, with a file that has this text."""
    def run(text, *words, verb="run", name="mine.cu"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        before = [verb] if verb != "run" else []
        typed = (*words, file) if verb == "diff" else (file, *words)
        return call(ROOT / "run", *before, *typed, cwd=tmp_path, env={**os.environ, "NO_INSTALL": "1"})
    return run


def mutated(text, old, new):
    assert text.count(old) == 1, f"'{old}' is not there once"
    return text.replace(old, new)


def changed(text, pattern, new):
    """The text with a replacement by pattern, which does not depend on the names in 03."""
    text, times = re.subn(pattern, new, text, count=1)
    assert times == 1, f"{pattern} is not there"
    return text


def line_of(text, statement):
    return text.partition(statement)[0].count("\n") + 1


def placed(said, text):
    """Replaces "mine.cu:<s[t] = t;>" by the number of that line in the text."""
    return re.sub(r":<(.*?)>", lambda of: f":{line_of(text, of[1])}", said)


def short(said):
    """The message with the file's name only."""
    return re.sub(r"[^\s:]*/mine\.cu", "mine.cu", said)


# A stage of one's own

GRID_STRIDE = """__global__ void matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < size_t(M) * N; i += gridDim.x * blockDim.x) {
        float sum = 0;
        for (int k = 0; k < K; ++k) sum += A[i / N * K + k] * B[size_t(k) * N + i % N];
        C[i] = sum;
    }
}
void launch_matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    matmul<<<64, 256>>>(M, N, K, A, B, C);
}
"""


def test_first_kernel(own):
    """The whole file on the page is correct, also in the first two of its tests: its grid is not for large indices."""
    text = re.search(r"(?s)```cpp\n(.*?)```", (ROOT / "docs/own_kernel.md").read_text())[1]
    run = own(text)
    assert run.returncode == 0 and "Nearest by its counts: 01_naive." in run.stdout, run.stdout + run.stderr
    run = own(text, verb="test")
    assert re.findall("Passed|Failed|Skipped", run.stdout)[:2] == ["Passed", "Passed"], run.stdout + run.stderr


def test_multiples(own):
    text = "#define MULTIPLES 128, 128, 8\n" + changed(BARE, r"= .* < M \? (.*) : 0\.0f;", r"= \1;")
    assert own(text, "-m", "256", "-k", "16").returncode == 0
    run = own(text, "-m", "200")
    assert run.returncode == 2 and "multiples of 128 x 128 x 8" in run.stderr
    run = own(text, verb="test")  # at such shapes, and not at both ends of an index
    assert run.returncode == 0 and run.stdout.count("Passed") == 2 == run.stdout.count("\n"), run.stdout
    assert own(text.partition("\n")[2]).returncode == 3, "past the end of A"


ROUNDED_DOWN = """__global__ void matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    const int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
    C[row * N + column] = sum;
}
void launch_matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    matmul<<<dim3(N / 16, M / 8), dim3(16, 8)>>>(M, N, K, A, B, C);
}
"""


def test_no_multiple_of_the_tile(own):
    """A launch of 0 blocks: the first line has the multiples, with which the kernel is correct."""
    run = own(ROUNDED_DOWN)
    multiples = re.search("#define MULTIPLES .*", run.stderr.partition("\n")[0])
    assert run.returncode == 3 and multiples and " 0 x 0 x 1 blocks" in run.stderr, run.stderr
    assert multiples[0] == "#define MULTIPLES 8, 16, 1"
    assert own(f"{multiples[0]}\n{ROUNDED_DOWN}").returncode == 0


def test_verbs(own, tmp_path):
    run = own(mutated(GRID_STRIDE, "C[i] = sum", "C[i] = sum + (i % 2)"), verb="test")
    assert run.returncode == 1 and re.findall("Passed|Failed|Skipped", run.stdout) == ["Failed", "Failed", "Skipped"]
    assert ": not tried: 640000000 x 8 x 8" in run.stderr  # its blocks would compute five billion elements
    run = own(BARE, "--html", tmp_path / "page.html", verb="view")
    assert run.returncode == 0 and re.search(r"\bAs\[\w+\] =", BARE)[0] in (tmp_path / "page.html").read_text()
    run = own(STAGE + "// mine\n", "03", verb="diff")
    assert run.returncode == 0 and re.search(r"(?m)^\+// mine$", run.stdout), run.stdout


def written():
    """The kernels that the exercises of 03 write, each with what is read on its screen: the page has the last one's."""
    screens = ["Nearest by its counts: 01_naive.", "Nearest by its counts: 02_register_blocking."]
    page = (ROOT / "docs/own_kernel.md").read_text()
    section = page.partition("\n## What `./run mine.cu` prints")[2].partition("\n## ")[0]
    screens.append("\n".join(re.findall(r"(?m)^    (mine .*|mine\.cu:\d+:|Nearest.*|Read.*)", section)))
    return [pytest.param(each.solution(), screen, id=each.name)
            for each, screen in zip((each for each in exercises.meant("03") if not each.source), screens, strict=True)]


@pytest.mark.parametrize("text, screen", written())
def test_lesson(own, text, screen):
    run = own(text)
    said = short(run.stdout + run.stderr)
    assert screen and not [line for line in screen.splitlines() if line.strip() not in said], said
    for page, anchor in re.findall(r"Read: ([^\s#]+)#?(\S*)", said):
        assert re.search(rf"(?mi)^#+ {anchor.replace('-', ' ')}", (ROOT / page).read_text())


def test_wrong_product():
    """The page's screen of a wrong product is what is printed."""
    section = (ROOT / "docs/own_kernel.md").read_text().partition("\n## A wrong product\n")[2].partition("\n## ")[0]
    command, *screen = re.findall(r"(?m)^    +(.*)", section)
    run = call(*command.split(), cwd=ROOT, env={**os.environ, "NO_INSTALL": "1"})
    said = [line.strip() for line in run.stderr.splitlines()]
    assert run.returncode == 1 and screen and not [line for line in screen if line not in said], run.stderr


# Any program

def test_any(own):
    run = own(MIN, "-std=c++11", "-O3", "-lineinfo")
    assert (run.returncode, run.stderr) == (0, "") and run.stdout.startswith("first 63\n")
    assert re.search(r"(?m)^k +1 +1 +64 ", run.stdout)
    assert "nothing wrong" in run.stdout and "Never freed" not in run.stdout


ALLOCATION = "cudaMalloc(&out, sizeof host);"
MISTAKES = (  # one in each part of a program, and its message; the emulator's own tests have the other reports
    ("cudaFree(out);", "", "Never freed: 256 bytes of device memory, in 1 array."),
    ("s[t] = t;", "s[t] = __shfl_sync(3, t, 0);", "lacks the lane"),
    ("s[64]", "s[64], big[120][120]; big[0][0]", "57856 bytes of static shared memory (big 57600"),
    ("k<<<1, 64>>>", "k<<<1, 64, 49000>>>", "beside its arrays (s 256)"),
    (ALLOCATION, ALLOCATION + " cudaMemcpyToSymbol(&factor, host, 4);", "not its address"),
    (ALLOCATION, ALLOCATION + " cudaMemcpyToSymbol(factor, host, 8);", "8 bytes at offset 0 exceed the variable's 4"),
    ("s[t] = t;", "assert(t != 3); s[t] = t;", "assert(t != 3)"))


def test_any_mutated(own):
    text, part = MIN.replace("int main", "void all").split("\n", 1)
    calls = ""
    for number, (old, new, _) in enumerate(MISTAKES):
        text += f"\nnamespace part_{number} {{\n{mutated(part, old, new)}}}"
        calls += f" part_{number}::all();"
    run = own(f"{text}\nint main() {{{calls} }}\n")
    output = run.stdout + run.stderr
    assert run.returncode == 1 and not [said for *_, said in MISTAKES if said not in output], output


@pytest.mark.parametrize("end", ("if (cudaGetLastError()) std::abort();", "assert(cudaGetLastError() == cudaSuccess);",
                                 "if (cudaGetLastError()) throw 1;"), ids=("abort", "assert", "throw"))
def test_report_of_a_program_that_aborts(own, end):
    run = own(mutated(mutated(MIN, "s[t] = t;", "s[t + 64] = t;"), "cudaFree(out);", end))
    assert run.returncode and run.stdout.count("out of bounds: ") == 1, run.stdout + run.stderr


def test_overflow(own):
    """In a stage an integer that overflows is an error. In any other program it wraps, as in a hash."""
    hashed = mutated(BARE, "__shared__ float As", "if ((M * 1103515245 ^ K) == 3) return;\n    __shared__ float As")
    run = own(hashed, "-m", "3", "-n", "5", "-k", "7")
    assert run.returncode == 3 and "overflow: at " in run.stderr and "does not fit in 'int'" in run.stderr, run.stderr
    run = own(mutated(MIN, "out[t] = s[63 - t];", "out[t] = (t + 7) * 1103515245;"))
    assert run.returncode == 0 and f"first {7 * 1103515245 - 2**33}\n" in run.stdout, run.stdout


@pytest.mark.parametrize("text, said", (
    (MIN.replace("s[t] = t;", 'asm("vote.uni.pred p, q;");'), ("mine.cu:<asm(>", "vote.uni")),
    ("#include <cublas_v2.h>\n" + MIN.replace("cudaFree(out);", "cublasCgemm(out);"),
     ("mine.cu:<cublasCgemm>", "no cublasCgemm")),
    ("int f();\n", ("mine.cu", "launch_matmul()", "main()")),
    (BARE.replace("float* B, float* C) {\n    const int blocks", "float* B, float* C, int) {\n    const int blocks"),
     ("mine.cu", "launch_matmul takes"))), ids=("asm", "cuBLAS", "neither", "signature"))
def test_refused(own, text, said):
    run = own(text)
    # Without quoted lines.
    lines = [line for line in run.stderr.splitlines() if "build failed" not in line and line[0] != " "]
    assert run.returncode in (1, 2) and len(lines) == 1, run.stderr
    assert all(placed(word, text) in lines[0] for word in said), run.stderr


def test_compile_error(own):
    """An error is shown with the line of the source, and a mark below the error; this line is one that the emulator
    rewrites."""
    text = mutated(MIN, "s[64];", "s[64]; s[0] = tt;")
    head, quoted, mark, *_, failed = short(own(text).stderr).splitlines()
    number, line = quoted.split(" | ")
    assert re.match(rf"mine.cu:{int(number)}:\d+: error: .*'tt'", head), head
    assert line == text.splitlines()[int(number) - 1], quoted
    assert mark.split(" | ")[1].index("^") == f"{line};".index("tt;"), quoted + mark
    assert " | " not in head and "emulator" not in head and "./run -v" in failed


def test_compile_error_in_a_file_named_main(own):
    """Not taken for an error in the main() that is made for launch_matmul()."""
    said = own(mutated(GRID_STRIDE, "C[i] = sum", "C[i] = summ"), name="main.cu").stderr
    assert "error: 'summ'" in said and user_kernel.SIGNATURE not in said, said
    rest = "int K, const float* A, const float* B, float* C) {\n"
    said = own(mutated(GRID_STRIDE, f"int M, int N, {rest}    matmul",
                       f"{rest}    const int M = 1, N = 1;\n    matmul")).stderr
    assert f"mine.cu: {user_kernel.SIGNATURE}" in said, said


@pytest.mark.parametrize("typed, flags", (
    ("-I folder -DN=1 -D M=2", ["-Ifolder", "-DN=1", "-DM=2"]),
    ("-L /lib -lcurand -O3 -g -G -w", ["-L/lib", "-lcurand", "-O3", "-g", "-G", "-w"]),
    ("-gencode arch=compute_90,code=sm_90", ["-gencode=arch=compute_90,code=sm_90"]),
    ("-arch sm_90 --std c++20", ["-arch=sm_90", "--std=c++20"]),
    ("-arch=native -std=c++17 -rdc=true", ["-arch=native", "-std=c++17", "-rdc=true"]),
    ("-Xcompiler -Wall -Xptxas -v", ["-Xcompiler=-Wall", "-Xptxas=-v"]),
    ("-extended-lambda -expt-relaxed-constexpr", ["-extended-lambda", "-expt-relaxed-constexpr"]),
    ("--extended-lambda --use_fast_math -lineinfo", ["--extended-lambda", "--use_fast_math", "-lineinfo"])))
def test_flags_of_nvcc(tmp_path, typed, flags):
    """Those that take a value keep it, and none becomes a word of the program."""
    (tmp_path / "mine.cu").write_text(MIN)
    kernel = user_kernel.UserKernel(tmp_path / "mine.cu", ["1", *typed.split(), "-2"])
    assert (kernel.flags, kernel.words) == (flags, ["1", "-2"])


def test_further_sources_on_a_gpu(tmp_path, monkeypatch):
    """nvcc gets every source of the program."""
    called = []
    monkeypatch.setattr(user_kernel, "need_tools", lambda: None)
    monkeypatch.setattr(user_kernel.build, "nvcc_architecture", lambda: "native")
    monkeypatch.setattr(user_kernel.UserKernel, "libraries", lambda *_: None)
    monkeypatch.setattr(user_kernel.UserKernel, "call", lambda self, *words: called.extend(words))
    (tmp_path / "mine.cu").write_text(MIN)
    (tmp_path / "helper.cu").write_text("")
    user_kernel.UserKernel(tmp_path / "mine.cu", [str(tmp_path / "helper.cu")]).compiled()
    assert {tmp_path / "mine.cu", tmp_path / "helper.cu"} <= set(called)


def test_no_such_file(own, tmp_path):
    run = call(ROOT / "run", "nowhere.cu", cwd=tmp_path)
    assert (run.returncode, run.stderr.count("\n")) == (2, 1) and "nowhere.cu" in run.stderr
    run = own(MIN, "nowhere.cu")
    assert (run.returncode, run.stderr.count("\n")) == (2, 1) and "nowhere.cu" in run.stderr


def test_includes(own, tmp_path):
    """Headers beside the file are rewritten, too, and named in reports; main() may be in one."""
    head, tail = MIN.partition("int main")[::2]
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels/k.cuh").write_text("#pragma once\n#include \"../size.h\"\n" + head.replace("64]", "SIZE]"))
    (tmp_path / "size.h").write_text("#define SIZE 64\n")
    text = '#include "kernels/k.cuh"\n#include "kernels/k.cuh"\nint main' + tail
    assert own(text).returncode == 0
    included = "#pragma once\n" + head.replace("64]", "32]")
    (tmp_path / "kernels/k.cuh").write_text(included)
    (tmp_path / "main.cuh").write_text("int main" + tail)
    run = own('#include "kernels/k.cuh"\n#include "main.cuh"\n')
    assert run.returncode == 1 and f"kernels/k.cuh:{line_of(included, 's[t] = t;')}" in run.stdout


def test_fast(own):
    """--fast runs untraced, which is printed; and what follows the word is passed to the program."""
    text = mutated(mutated(MIN, "__syncthreads();", ""), "int main() {",
                   "int main(int count, char**) {\n    printf(\"%d\\n\", count);")
    run = own(text, "--fast", "1")
    assert run.returncode == 0 and run.stdout.startswith("2\n")
    assert "race in" not in run.stdout and "untraced" in run.stdout


def test_lines_csv(own, tmp_path):
    """The traffic of each source line, of a program with a main() and of a stage."""
    def lines(text):
        run = own(text, "--lines-csv", "lines.csv")
        assert run.returncode == 0, run.stdout + run.stderr
        rows = list(csv.DictReader((tmp_path / "lines.csv").read_text().splitlines()))
        (tmp_path / "lines.csv").unlink()
        return {(int(row["line"].partition(":")[2]), row["memory"], row["kind"]): row["requests"] for row in rows}

    stored, loaded = (line_of(MIN, text) for text in ("s[t] = t;", "out[t] = s[63 - t];"))
    assert lines(MIN) == {(stored, "shared", "store"): "2", (loaded, "shared", "load"): "2",
                          (loaded, "global", "store"): "2"}
    assert {kind[1:] for kind in lines(BARE)} >= {("shared", "load"), ("shared", "store"), ("global", "load")}
    (tmp_path / "lines.csv").write_text("mine")
    assert own(MIN, "--lines-csv", "lines.csv").returncode == 2 and (tmp_path / "lines.csv").read_text() == "mine"


LONG = """__global__ void k(const int* in, int* out) {
    __shared__ volatile int s[32];
    const int own = in[threadIdx.x];
    for (int i = 0; i < 20000; ++i) s[threadIdx.x] = i + own;
    out[blockIdx.x] = s[threadIdx.x] + threadIdx.x;
}
int main() {
    int *in, *out;
    cudaMalloc(&in, 32 * sizeof(int));
    cudaMemset(in, 0, 32 * sizeof(int));
    cudaMalloc(&out, 3000 * sizeof(int));
    k<<<1000, 32>>>(in, out);
    cudaFree(in);
    cudaFree(out);
}
"""


def test_long(own):
    """Only a part of a long launch is traced, and stands for all of it."""
    run = own(LONG)
    assert "race in global memory" in run.stdout and "only a part of them was traced" in run.stdout
    assert re.search(r"(?m)^k +1 +1000 +32 +0\.122 .* 0\.122 ", run.stdout), run.stdout


@pytest.mark.parametrize("of_thread, threads", [(1, 1024), (64, 1024), (65, 896), (168, 384), (255, 256)])
def test_registers(of_thread, threads):
    """A block has at most so many threads, by the rule of the toolkit's cuda_occupancy.h."""
    assert registers.most_threads(of_thread) == threads


def test_verdict_after_all_reports(own, tmp_path, monkeypatch):
    """What nvcc says of the registers, which may take longer than the program, is a part of its verdict."""
    of_thread = tmp_path / "registers"
    nvcc = tmp_path / "nvcc"
    nvcc.write_text(f"""#!/bin/sh
        sleep 3
        printf "Compiling entry function '_Z1kPi' for 'sm_90a'\\nUsed %s registers\\n" "$(cat {of_thread})"
        """)
    nvcc.chmod(0o755)
    monkeypatch.setenv("CUDACXX", str(nvcc))
    text = MIN.replace("64", "1024").replace("63", "1023")
    of_thread.write_text("64")
    run = own(text)
    assert run.returncode == 0 and run.stdout.endswith("The emulator found nothing wrong.\n"), run.stdout + run.stderr
    of_thread.write_text("65")
    for words, right in ((), text), (("--fast",), text), ((), mutated(text, "__syncthreads();", "")):
        run = own(right, *words)
        said, _, found = run.stdout.partition("\nThe emulator found:\n")
        assert run.returncode == 1 and placed("mine.cu:<k<<<>", text) in found, run.stdout + run.stderr
        assert "too many resources requested for launch" in found and "nothing wrong" not in run.stdout
        assert ("race in" in found) == (right != text) and "race in" not in said


def test_new(tmp_path):
    def new(*words):
        return call(ROOT / "run", "new", *words, cwd=tmp_path)
    assert new("mine.cu", "--from", "03").returncode == 0 and (tmp_path / "mine.cu").read_text() == STAGE
    (tmp_path / "mine.cu").write_text("mine")
    for words in (("mine.cu", "--from", "04"), ("other.cu",), ("other", "--from", "03")):
        run = new(*words)
        assert (run.returncode, run.stderr.count("\n")) == (2, 1), words
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("mine.cu", "mine")]

"""The program of ./run mine.cu: what kind of program a user's file is, and how it is compiled for the emulator and for
a GPU."""
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import build
import process
import programs
from build import BUILD
from command_line import need_tools
from compile_errors import errors
from process import fail, say
from programs import ROOT

sys.path.append(str(ROOT / "emulator"))
import rewrite_launches  # noqa: E402

# The program that is made from a file with launch_matmul() and no main().
MAIN = """#include "common/stage.h"
#include "{path}"
template <class In, class Out>
static constexpr Arithmetic usual(Launcher<In, Out>) {{
    return sizeof(In) == 4 ? kFp32 : sizeof(Out) == 4 ? kTensor : kHalf2;
}}
int main(int argc, char** argv) {{
    Facts facts;
    facts.arithmetic = usual(launch_matmul);
#ifdef MULTIPLES
    facts.multiples = {{MULTIPLES}};
#endif
    return run_stage(launch_matmul, facts, argc, argv, "{path}");
}}
"""
SIGNATURE = ("launch_matmul takes (int M, int N, int K, const T* A, const T* B, U* C), where T is float or half, and U "
             "is float or T")
# The options of nvcc that have a value, which follows "=" or is the next word, or follows a single letter at once.
LETTERS = "-[DIUL]"
NAMES = ("--?(std|arch|gpu-architecture|code|gpu-code|gencode|generate-code|rdc|relocatable-device-code|maxrregcount|"
         "Xcompiler|compiler-options|Xlinker|linker-options|Xptxas|ptxas-options)")
WITH_VALUE = re.compile(f"{LETTERS}|{NAMES}")
NVCC_FLAG = re.compile(rf"{LETTERS}.+|{NAMES}=.*|-O\d|-[gGw]|-l\w+|"
                       "--?(generate-line-info|use_fast_math|extended-lambda|expt-.*)")
# Those of them that the emulator's compiler gets, too. The emulator itself is compiled as C++17, and needs no less.
HOST_FLAG = re.compile(r"-[DUI]|--?std=c\+\+(20|23|2[ab])")
HAS_MAIN = re.compile(r"\bint\s+main\s*\(")


def code_of(source, seen):
    """Yields the code, without comments and strings, of a source and, recursively, of the files that it includes with
    quotes."""
    if source in seen or not source.is_file():
        return
    seen.add(source)
    text = programs.text_of(source)
    code = rewrite_launches.blank(text)
    yield code
    for include in rewrite_launches.includes(text, code):
        if include[1] == '"':
            yield from code_of((source.parent / include[2]).resolve(), seen)


class UserKernel:
    """A .cu file outside the chapters. words: what follows it on the command line."""

    def __init__(self, word, words=()):
        self.path = pathlib.Path(word)
        if not self.path.is_file():
            fail(2, f"'{word}': no such file")
        if set('"\\\n\r') & set(str(self.path.resolve())):
            fail(2, f"'{word}': a path with \", \\ or a line break cannot be written in an #include; rename the file")
        self.name, self.flags, self.words, self.others = self.path.stem, [], [], []
        self.fast = self.cpu = False
        self.lines_csv = None
        self.read_words(words)
        code, *others = (each for source in (self.path, *self.others) for each in code_of(source.resolve(), set()))
        self.has_main = any(map(HAS_MAIN.search, (code, *others)))
        has_launcher = re.search(r"\blaunch_matmul\s*\(", code)
        self.is_stage = bool(has_launcher and (not self.has_main or re.search(r"\brun_stage\s*\(", code)))
        if not self.is_stage and not self.has_main:
            fail(2, f"{self.path}: has neither launch_matmul(), to be verified as a stage is, nor main(), to be run as "
                    "it is")
        self.half = bool(re.search(r"\b(__)?(half|nv_bfloat16)\b", code))
        place = hashlib.sha1(os.fsencode(self.path.resolve())).hexdigest()[:8]
        self.folder = BUILD / "user_kernels" / f"{self.name[:50]}-{place}"
        self.main = self.folder / "main.cu"  # see source()

    def read_words(self, words):
        """Sorts the words: flags of the compiler and --lines-csv FILE may be anywhere; --fast, --cpu and other sources
        come before the program's words."""
        words = iter(words)
        for word in words:
            if word == "--lines-csv":
                self.lines_csv = self.value_of(word, words)
            elif WITH_VALUE.fullmatch(word):
                self.flags.append(f"{word}{'=' * (len(word) > 2)}{self.value_of(word, words)}")
            elif NVCC_FLAG.fullmatch(word):
                self.flags.append(word)
            elif self.words:
                self.words.append(word)
            elif word == "--fast":
                self.fast = True
            elif word == "--cpu":
                self.cpu = True
            elif pathlib.Path(word).suffix in (".cu", ".cpp", ".cc", ".c"):
                self.others.append(pathlib.Path(word))
                if not self.others[-1].is_file():
                    fail(2, f"'{word}': no such file")
            else:
                self.words.append(word)

    def read_words_of_stage(self):
        """Takes the options of ./run out of a stage's words, where they may be anywhere. Returns the file of --csv, or
        None."""
        words, self.words, csv_file = iter(self.words), [], None
        for word in words:
            if word == "--csv":
                csv_file = self.value_of(word, words)
            elif word == "-v":
                process.verbose = True
            elif word == "--cpu":
                self.cpu = True
            else:
                self.words.append(word)
        return csv_file

    @staticmethod
    def value_of(option, words):
        """The word that follows an option."""
        value = next(words, None)
        return value if value is not None else fail(2, f"{option}: takes a value")

    def source(self):
        """The file to compile: this one, or one with a main() that includes it."""
        if self.has_main:
            return self.path
        self.main.write_text(MAIN.format(path=self.path.resolve()), errors="surrogateescape")
        return self.main

    def libraries(self, target, library):
        """Builds the target; configures first if the library or a usable CMake cache is missing. Creates this program's
        folder."""
        if not library.exists() or not build.reusable(BUILD / "CMakeCache.txt"):
            build.configure()
        build.build_configured([target])
        self.folder.mkdir(parents=True, exist_ok=True)

    def call(self, *words, generated=()):
        """Runs the compiler, and shows only the first errors. generated: {source of the program: compiled file}."""
        output = []
        if process.verbose:
            say(shlex.join(map(str, words)))
        if not process.call(words, line=output.append, stderr=subprocess.STDOUT, env={**os.environ, "LC_ALL": "C"}):
            return
        text = b"".join(output).decode(errors="replace").replace(f"{pathlib.Path.cwd()}/", "")
        found = []
        for error, file in errors(text.splitlines(), self.path, dict(generated)):
            if not self.has_main and pathlib.Path(file).resolve() == self.main.resolve():
                error = f"{self.path}: {SIGNATURE}"
            if error not in found:
                found.append(error)
        if process.verbose or not found:
            sys.stderr.write(text)
            fail(1, "build failed")
        sys.stderr.write("".join(f"{error}\n" for error in found[:3]))
        typed = shlex.join(map(str, (self.path, *self.others, *self.flags)))
        fail(1, f"build failed; ./run -v {typed} shows the compiler's full output")

    def emulated(self, variant="trace"):
        """Builds the program for the emulator and returns its path. variant: the build, or "indices", which is linked
        with the test of large indices."""
        need_tools(cpu=True)
        replacing = []  # libraries linked before the harness, whose functions they replace
        if variant == "indices":
            variant, replacing = "trace", [BUILD / "liblarge_indices.a"]
            self.libraries("large_indices", *replacing)
        self.libraries("harness_cpu", BUILD / "emulated.json")
        build_info = json.loads((BUILD / "emulated.json").read_text())
        program = self.folder / variant
        of_emulator, *of_harness = build_info["includes"]
        user_folders = [flag[2:] for flag in self.flags if flag.startswith("-I")]
        folders = [pathlib.Path(each) for each in (of_emulator, self.path.parent, *user_folders, *of_harness)]
        flags = [*build_info["flags"][variant], *filter(HOST_FLAG.match, self.flags)]
        if self.others:
            flags.append("-DEMULATOR_SEVERAL_FILES")
        if not process.verbose:
            flags.append("-w")  # the rewritten code would cause warnings that are not the user's
        includes = [f"-I{folder}" for folder in folders]
        objects, generated = [], {}
        for number, source in enumerate((self.source(), *self.others)):
            objects.append(program.with_name(f"{variant}{number}.o"))
            copy = objects[-1].with_suffix(".cpp")
            try:
                copies = rewrite_launches.rewrite_file(source, copy, folders)
            except SystemExit as refused:
                print(str(refused).replace(f"{pathlib.Path.cwd()}/", ""), file=sys.stderr)
                sys.exit(1)
            generated |= {file: made for file, made in copies.items() if ROOT / "common" not in file.parents}
            target_flags = (["-D__CUDACC__", "-D__CUDA_ARCH__=800"] if source.suffix == ".cu"
                            else ["-DEMULATOR_HOST_FILE"])
            self.call(build_info["compiler"], *flags, *target_flags, *includes, "-c", copy, "-o", objects[-1],
                      generated=generated)
        self.call(build_info["compiler"], *objects, "-o", program, *replacing, *build_info["link"][variant])
        return program

    def compiled(self):
        """Builds the program for the GPU and returns its path."""
        need_tools()
        self.libraries("harness", BUILD / "libharness.a")
        program = self.folder / "gpu"
        self.call(build.NVCC, "-O3", "-std=c++17", "-lineinfo", f"-arch={build.nvcc_architecture()}",
                  *self.flags, f"-I{ROOT}", f"-I{self.path.parent}", self.source(), *self.others,
                  BUILD / "libharness.a", BUILD / "libharness_host.a", "-o", program, "-lcublas", "-lcublasLt", "-ldl")
        return program


def round_up(shape, multiples):
    """M, N and K, each rounded up to a multiple of the program's."""
    return [-(-int(edge) // by) * by for edge, by in zip(shape, multiples)]

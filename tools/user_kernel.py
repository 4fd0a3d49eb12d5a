"""A CUDA program from anywhere, ./run mine.cu: what it is, and how it is compiled, for the emulator and for a GPU."""
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
FLAG = re.compile(r"-(D\w+.*|I.+|U\w+|std=.*|O\d|g|G|w|lineinfo|arch=.*|gencode=?.*|l\w+|use_fast_math|-use_fast_math|"
                  r"-extended-lambda|-expt-.*|rdc=.*)")
# Flags for the emulator's compiler, too; the others are only for nvcc.
TAKEN = re.compile(r"-[DUI]|-std=c\+\+(20|23|2[ab])")
HAS_MAIN = re.compile(r"\bint\s+main\s*\(")


def codes(source, seen):
    """Yields the code, without comments and strings, of a source and of the files that it includes from its folder."""
    if source in seen or not source.is_file():
        return
    seen.add(source)
    text = programs.text_of(source)
    code = rewrite_launches.blank(text)
    yield code
    for include in rewrite_launches.includes(text, code):
        if include[1] == '"':
            yield from codes((source.parent / include[2]).resolve(), seen)


class UserKernel:
    """A .cu file outside the chapters. words: what follows it on the command line."""

    def __init__(self, word, words=()):
        self.path = pathlib.Path(word)
        if not self.path.is_file():
            fail(2, f"'{word}': no such file")
        if set('"\\\n\r') & set(str(self.path.resolve())):
            fail(2, f"'{word}': a path can't have \" or \\ or a line break in it, which C++ takes for its own; "
                    "rename it")
        self.name, self.flags, self.words, self.others = self.path.stem, [], [], []
        self.fast = self.cpu = False
        self.lines_csv = None
        self.read_words(words)
        code, *others = (each for source in (self.path, *self.others) for each in codes(source.resolve(), set()))
        self.has_main = any(map(HAS_MAIN.search, (code, *others)))
        has_launcher = re.search(r"\blaunch_matmul\s*\(", code)
        self.is_stage = bool(has_launcher and (not self.has_main or re.search(r"\brun_stage\s*\(", code)))
        if not self.is_stage and not self.has_main:
            fail(2, f"{self.path}: has neither launch_matmul(), to be verified as a stage is, nor main(), to be run as "
                    "it is")
        self.half = bool(re.search(r"\b(__)?(half|nv_bfloat16)\b", code))
        place = hashlib.sha1(os.fsencode(self.path.resolve())).hexdigest()[:8]
        self.folder = BUILD / "user_kernels" / f"{self.name[:50]}-{place}"

    def read_words(self, words):
        """Sorts the words: flags of the compiler may be anywhere; --fast, --cpu and other sources come before the
        program's words."""
        for word in words:
            if self.words[-1:] == ["--lines-csv"]:
                self.words.pop()
                self.lines_csv = word
            elif self.flags and self.flags[-1] in ("-I", "-D"):
                self.flags[-1] += word
            elif word in ("-I", "-D") or FLAG.fullmatch(word):
                self.flags.append(word)
            elif self.words:
                self.words.append(word)
            elif word == "--fast":
                self.fast = True
            elif word == "--cpu":
                self.cpu = True
            elif pathlib.Path(word).suffix in (".cu", ".cpp", ".cc", ".c"):
                self.others.append(pathlib.Path(word))  # another file of the same program
                if not self.others[-1].is_file():
                    fail(2, f"'{word}': no such file")
            else:
                self.words.append(word)

    def source(self):
        """The file to compile: this one, or one with a main() that includes it."""
        if self.has_main:
            return self.path
        made = self.folder / "main.cu"
        made.write_text(MAIN.format(path=self.path.resolve()), errors="surrogateescape")
        return made

    def libraries(self, target, made):
        """Brings the libraries up to date. CMake is run, which takes a moment, only if there is no build folder."""
        if not made.exists() or not build.reusable(BUILD / "CMakeCache.txt"):
            build.configure()
        build.build_configured([target])
        self.folder.mkdir(parents=True, exist_ok=True)

    def call(self, *words, generated=()):
        """Runs the compiler, and shows only the first errors. generated: {source of the program: compiled file}."""
        said = []
        if process.verbose:
            say(shlex.join(map(str, words)))
        if not process.call(words, line=said.append, stderr=subprocess.STDOUT, env={**os.environ, "LC_ALL": "C"}):
            return
        text = b"".join(said).decode(errors="replace").replace(f"{pathlib.Path.cwd()}/", "")
        found = []
        for error, file in errors(text.splitlines(), self.path, dict(generated)):
            if pathlib.Path(file).name == "main.cu" and not self.has_main:
                error = f"{self.path}: {SIGNATURE}"
            found += [error] if error not in found else []
        if process.verbose or not found:
            sys.stderr.write(text)
            fail(1, "build failed")
        sys.stderr.write("".join(f"{error}\n" for error in found[:3]))
        fail(1, f"build failed; ./run -v {shlex.quote(str(self.path))} shows all that the compiler said")

    def emulated(self, variant="trace"):
        """Builds the program for the emulator and returns its path. variant: the build, or "indices", which is linked
        with the test of large indices."""
        need_tools(cpu=True)
        replaced = []  # sources that replace the harness
        if variant == "indices":
            variant, replaced = "trace", [BUILD / "liblarge_indices.a"]
            self.libraries("large_indices", *replaced)
        self.libraries("harness_cpu", BUILD / "emulated.json")
        how = json.loads((BUILD / "emulated.json").read_text())
        made = self.folder / variant
        first, *others = how["includes"]
        its_folders = [flag[2:] for flag in self.flags if flag.startswith("-I")]
        folders = [first, self.path.parent, *its_folders, *others]
        flags = [*how["flags"][variant], *filter(TAKEN.match, self.flags)]
        if self.others:
            flags.append("-DEMULATOR_SEVERAL_FILES")
        if not process.verbose:
            flags.append("-w")
        includes = [f"-I{folder}" for folder in folders]
        objects, done = [], {}
        for number, source in enumerate((self.source(), *self.others)):
            objects.append(made.with_name(f"{variant}{number}.o"))
            generated = objects[-1].with_suffix(".cpp")
            try:
                paths = [pathlib.Path(folder) for folder in folders]
                compiled = rewrite_launches.rewrite_file(source, generated, paths)
            except SystemExit as refused:
                print(str(refused).replace(f"{pathlib.Path.cwd()}/", ""), file=sys.stderr)
                sys.exit(1)
            done |= {file: of_it for file, of_it in compiled.items() if ROOT / "common" not in file.parents}
            side = ["-D__CUDACC__", "-D__CUDA_ARCH__=800"] if source.suffix == ".cu" else ["-DEMULATOR_HOST_FILE"]
            self.call(how["compiler"], *flags, *side, *includes, "-c", generated, "-o", objects[-1], generated=done)
        self.call(how["compiler"], *objects, "-o", made, *replaced, *how["link"][variant])
        return made

    def compiled(self):
        """Builds the program for the GPU and returns its path."""
        need_tools()
        self.libraries("harness", BUILD / "libharness.a")
        made = self.folder / "gpu"
        self.call(build.NVCC, "-O3", "-std=c++17", "-lineinfo", f"-arch={build.nvcc_architecture()}",
                  *self.flags, f"-I{ROOT}", f"-I{self.path.parent}", self.source(), BUILD / "libharness.a",
                  BUILD / "libharness_host.a", "-o", made, "-lcublas", "-lcublasLt", "-ldl")
        return made


def rounded(shape, multiples):
    """The smallest shape that is at least as large and that a program takes, with M, N and K multiples of these."""
    return [-(-int(edge) // by) * by for edge, by in zip(shape, multiples)]

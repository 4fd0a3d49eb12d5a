"""./run mine.cu: builds and runs a CUDA program from anywhere. With launch_matmul() it is a stage of one's own: it is verified and
counted (on a GPU timed) as the chapters' are, and a verdict says what to try next. Any other program runs on the emulator as it is,
which then says what it found."""
import csv
import difflib
import hashlib
import json
import math
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap

import build
import process
import programs
from build import BUILD
from command_line import need_tools, steps_meant
from process import fail, say
from programs import ROOT
from results import unwritable, write_whole
from stages import call_stage, see_it

sys.path.append(str(ROOT / "emulator"))
import rewrite_launches  # noqa: E402

# What becomes of a file with launch_matmul() and no main().
MAIN = """#include "common/stage.h"
#include "{path}"
template <class In, class Out>
static constexpr Arithmetic usual(Launcher<In, Out>) {{
    return sizeof(In) == 4 ? kFp32 : sizeof(Out) == 4 ? kTensor : kHalf2;
}}
int main(int argc, char** argv) {{
    Facts facts;
    facts.arithmetic = usual(launch_matmul);
    return run_stage(launch_matmul, facts, argc, argv, "{path}");
}}
"""
SIGNATURE = "launch_matmul takes (int M, int N, int K, const T* A, const T* B, U* C), where T is float or half, and U is float or T"
FLAG = re.compile(r"-(D\w+.*|I.+|U\w+|std=.*|O\d|g|G|w|lineinfo|arch=.*|gencode=?.*|l\w+|use_fast_math|-use_fast_math|"
                  r"-extended-lambda|-expt-.*|rdc=.*)")
TAKEN = re.compile(r"-[DUI]|-std=c\+\+(20|23|2[ab])")  # of these the emulator's compiler takes; the others are nvcc's alone
# The first line of an error of g++ or of nvcc, or one of the linker's.
ERROR = re.compile(r"(\S[^:\n(]*)(?::(\d+):(?:(\d+):)?|\((\d+)\):) (?:fatal )?error: (.*)|(.*): undefined reference to (.*)")
REQUIRED = re.compile(r"((\S[^:\n]*):(\d+):(\d+)): +required from here")
SKIPPED = 77  # a program's exit code
UNITS = {"global": ("sectors", "neighbouring threads should access neighbouring elements", "docs/primer.md#where-the-data-are"),
         "shared": ("wavefronts", "bank conflicts", "03_shared_blocking/README.md#banks")}


class UserKernel:
    """A .cu file outside the chapters. words: what stands behind it on the command line."""

    def __init__(self, word, words=()):
        self.path = pathlib.Path(word)
        if not self.path.is_file():
            fail(2, f"'{word}': no such file")
        if set('"\\\n\r') & set(str(self.path.resolve())):
            fail(2, f"'{word}': a path can't have \" or \\ or a line break in it, which C++ takes for its own; rename it")
        self.name, self.flags, self.words, self.others = self.path.stem, [], [], []
        self.fast = self.cpu = False
        for word in words:
            if self.flags and self.flags[-1] in ("-I", "-D"):
                self.flags[-1] += word
            elif word in ("-I", "-D") or FLAG.fullmatch(word):
                self.flags.append(word)
            elif not self.words and word == "--fast":
                self.fast = True
            elif not self.words and word == "--cpu":
                self.cpu = True
            elif not self.words and pathlib.Path(word).suffix in (".cu", ".cpp", ".cc", ".c"):
                self.others.append(pathlib.Path(word))  # the rest of a program of several files
                if not self.others[-1].is_file():
                    fail(2, f"'{word}': no such file")
            else:
                self.words.append(word)
        text = programs.text_of(self.path)
        code = rewrite_launches.blank(text)
        launcher, self.has_main = (re.search(rf"\b{name}\s*\(", code) for name in ("launch_matmul", r"int\s+main"))
        self.has_main = self.has_main or any(re.search(r"\bint\s+main\s*\(", programs.text_of(other)) for other in self.others)
        self.is_stage = bool(launcher and (not self.has_main or re.search(r"\brun_stage\s*\(", code)))
        if not self.is_stage and not self.has_main:
            fail(2, f"{self.path}: has neither launch_matmul(), to be verified as a stage is, nor main(), to be run as it is")
        # A line of the file says which shapes it takes: // multiples of 128x128x8
        said = re.search(r"(?m)^//\s*multiples of (\d+) ?x ?(\d+) ?x ?(\d+)\s*$", text)
        self.half = bool(re.search(r"\b(__)?(half|nv_bfloat16)\b", code))
        # What it multiplies with.
        self.unit = next((unit for unit, words in (("wgmma", r"\bwgmma"), ("tensor cores", r"\bw?mma(_|\b)")) if re.search(words, code)),
                         "FP32 units")
        self.multiples = tuple(map(int, said.groups())) if said else (1, 1, 1)
        place = hashlib.sha1(os.fsencode(self.path.resolve())).hexdigest()[:8]
        self.folder = BUILD / "user_kernels" / f"{self.name[:50]}-{place}"

    def rounded(self, shape):
        """The least shape that it takes and that is no smaller."""
        return [-(-int(edge) // by) * by for edge, by in zip(shape, self.multiples)]

    def source(self):
        """The file that is compiled: this one, or one with a main() that includes it."""
        if self.has_main:
            return self.path
        made = self.folder / "main.cu"
        made.write_text(MAIN.format(path=self.path.resolve()), errors="surrogateescape")
        return made

    def libraries(self, target, made):
        """Brings the libraries up to date. That takes a moment: CMake looks at all sources only if there is no build folder yet."""
        if not made.exists() or not build.reusable(BUILD / "CMakeCache.txt"):
            build.configure()
        build.build_configured([target])
        self.folder.mkdir(parents=True, exist_ok=True)

    def call(self, *words, generated=()):
        """The compiler. Of its errors only the first ones are shown. generated: by each source of the program's, what is compiled."""
        said = []
        if process.verbose:
            say(shlex.join(map(str, words)))
        if not process.call(words, line=said.append, stderr=subprocess.STDOUT, env={**os.environ, "LC_ALL": "C"}):
            return
        text = b"".join(said).decode(errors="replace").replace(f"{pathlib.Path.cwd()}/", "")
        found = list(dict.fromkeys(self.errors(text.splitlines(), dict(generated))))
        sys.stderr.write(text if process.verbose or not found else "".join(f"{error}\n" for error in found[:3]))
        if found and not process.verbose:
            fail(1, f"build failed; ./run -v {shlex.quote(str(self.path))} shows all that the compiler said")
        fail(1, "build failed")

    def errors(self, lines, generated):
        """Each error of the compiler with the line of the source and the mark below it. One in a header of the emulator stands where
        the source asks for that."""
        asked = None
        for number, text in enumerate(lines):
            asked = REQUIRED.match(text) or asked
            match = ERROR.match(text)
            if not match:
                continue
            file, line, column, of_nvcc, what, place, name = match.groups()
            if name:
                yield f"{self.path}: {name} is declared, but nothing defines it"
            elif pathlib.Path(file).name == "main.cu" and not self.has_main:
                yield f"{self.path}: {SIGNATURE}"
            else:
                end = next((at for at in range(number + 1, len(lines)) if not lines[at].startswith(" ")), len(lines))
                shown = lines[number:end]
                if column and pathlib.Path(file).resolve() not in generated and asked:
                    shown, (file, line, column) = [text.replace(f"{file}:{line}:{column}", asked[1])], asked.groups()[1:]
                source = pathlib.Path(file).resolve()
                if column and generated.get(source, source) != source:
                    shown = in_source(shown, file, int(line), int(column), generated[source])
                shown[0] = re.sub(r" before '(?:emulator|EMULATOR)\w*'", "", shown[0]) + self.explained(what)
                yield "\n".join(map(process.coloured, shown))
            asked = None

    @staticmethod
    def explained(what):
        name = re.search(r"'((?:cuda|cu[A-Z]|CU[a-z]|CUDA_|CUBLAS_|__|atomic|make_|curand|cublas)\w*)' (?:was not|has not|does not|is not a)|"
                         r"'(\w+)' is not a member of '(?:cg|cooperative_groups|cuda)\b", what)
        return f" (the emulator has no {name[1] or name[2]})" if name else ""

    def emulated(self, variant="trace"):
        """The program on the emulator. variant: how it is compiled, or "indices": as the test of large indices (tests/)."""
        need_tools(cpu=True)
        self.libraries("harness_cpu", BUILD / "emulated.json")
        replaced = []  # what takes the place of the harness
        if variant == "indices":
            variant, replaced = "trace", [BUILD / "tests/liblarge_indices.a"]
            self.libraries("large_indices", *replaced)
        how = json.loads((BUILD / "emulated.json").read_text())
        made = self.folder / variant
        folders = [how["includes"][0], self.path.parent, *(flag[2:] for flag in self.flags if flag.startswith("-I")), *how["includes"][1:]]
        # Elsewhere than in a stage an integer may wrap on purpose, as it does on a GPU.
        traced = [flag if self.is_stage else flag.replace(",signed-integer-overflow", "") for flag in how["flags"][variant]]
        flags = [*traced, *["-DEMULATOR_SEVERAL_FILES"] * bool(self.others), "-fwrapv", *["-w"] * (not process.verbose),
                 *filter(TAKEN.match, self.flags)]
        includes = [f"-I{folder}" for folder in folders]
        objects, done = [], {}
        for number, source in enumerate((self.source(), *self.others)):
            objects.append(made.with_name(f"{variant}{number}.o"))
            generated = objects[-1].with_suffix(".cpp")
            try:
                compiled = rewrite_launches.rewrite_file(source, generated, [pathlib.Path(folder) for folder in folders])
            except SystemExit as refused:
                print(str(refused).replace(f"{pathlib.Path.cwd()}/", ""), file=sys.stderr)
                sys.exit(1)
            done |= {file: made_of_it for file, made_of_it in compiled.items() if ROOT / "common" not in file.parents}
            device = ["-D__CUDACC__", "-D__CUDA_ARCH__=800"] if source.suffix == ".cu" else ["-DEMULATOR_HOST_FILE"]
            self.call(how["compiler"], *flags, *device, *includes, "-c", generated, "-o", objects[-1], generated=done)
        self.call(how["compiler"], *objects, "-o", made, *replaced, *how["link"][variant])
        return made

    def compiled(self):
        """The program for the GPU."""
        need_tools()
        self.libraries("harness", BUILD / "libharness.a")
        made = self.folder / "gpu"
        self.call(build.NVCC, "-O3", "-std=c++17", "-lineinfo", f"-arch={build.nvcc_architecture()}",
                  *self.flags, f"-I{ROOT}", f"-I{self.path.parent}", self.source(), BUILD / "libharness.a",
                  BUILD / "libharness_host.a", "-o", made, "-lcublas", "-ldl")
        return made


def in_source(shown, file, line, column, generated):
    """An error as g++ shows it. If its line is another one in the file that was compiled, the mark stands where that is in the source."""
    source = programs.text_of(pathlib.Path(file)).splitlines()[line - 1]
    compiled = programs.text_of(generated).splitlines()[line + 1]  # below two lines of its own
    if source == compiled and shown[1:]:
        return shown
    blocks = difflib.SequenceMatcher(None, compiled, source, autojunk=False).get_matching_blocks()
    here = next((column + there - at for at, there, size in blocks if at < column <= at + size), None)
    head = shown[0].replace(f"{file}:{line}:{column}:", f"{file}:{line}:" + f"{here}:" * bool(here))
    mark = [f"      | {' ' * (here - 1)}^"] if here else []
    return [head, f"{line:5} | {source}", *mark]


def run_stage(own, cpu, csv_file):
    """Verifies, counts or times it, and says what to try next."""
    program = own.emulated() if cpu else own.compiled()

    def show(line):
        sys.stdout.buffer.write(line)
        sys.stdout.flush()

    with tempfile.TemporaryDirectory(prefix="run-") as scratch:
        of_rows, of_lines = (pathlib.Path(scratch, f"{name}.csv") for name in ("rows", "lines"))
        more = [] if {"--help", "-h"} & set(own.words) else ["--csv", of_rows] + ["--lines-csv", of_lines] * cpu
        if own.multiples != (1, 1, 1) and not {"--size", "--sizes", "-m", "-n", "-k"} & set(own.words):
            more += ["--sizes", ",".join("x".join(map(str, own.rounded([edge] * 3))) for edge in (1, 256 if cpu else 4096))]
        code, shape = call_stage([program, *own.words, *more], own.name, show)
        text, lines = (file.read_text(errors="surrogateescape") if file.exists() else ""
                       for file in (of_rows, of_lines))
    if code == 0 and csv_file:
        write_whole((csv_file, text))
    if code == 0 and text:
        row = list(csv.DictReader(text.splitlines()))[-1]
        print()
        for sentence in counted(own, row, list(csv.DictReader(lines.splitlines()))) if cpu else timed(own, row):
            print(textwrap.fill(sentence, 80, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False))
    if code == 1 and cpu:
        see_it(shlex.quote(str(own.path)), shape)
    return code


def chapters():
    """The last step of each chapter, as {its name: a file like one's own}."""
    return {programs.name(step): UserKernel(step) for step in programs.steps() if step.name == "matmul.cu"}


def counted(own, row, lines):
    """What the counts say: the line that could save most, the nearest stage, and a lesson to read."""
    of_its_kind = {name: stage for name, stage in chapters().items() if stage.unit == own.unit}
    lesson = ("03_shared_blocking" if row["shared_load_wavefronts"] == "0" else "04_unroll") if own.unit == "FP32 units" else min(of_its_kind)
    lesson, advice = f"{lesson}/README.md", []
    if row["global_load_bytes"] == "0":
        yield "Its kernels load nothing from global memory, where A and B are: there is nothing to compare with a stage."
        return
    if (row["m"], row["n"], row["k"]) == ("256",) * 3:  # as in that file
        rows = csv.DictReader((ROOT / "docs/results/counted.csv").read_text().splitlines())
        nearest, loads_more = nearest_of([each for each in rows if each["stage"] in of_its_kind], row, own.half and own.unit == "FP32 units")
        after = [step for step in programs.steps()
                 if programs.name(programs.before(step) or step) == nearest != programs.name(step)]
        lesson = f"{nearest}/README.md"
        advice.append(f"Nearest by its counts: {nearest}.")
        if loads_more > 1.5:  # so that it has that one's step before it
            advice.append(f"It loads {loads_more:.1f} times as much.")
        elif after:
            advice.append(f"The step after that: ./run diff {programs.short(after[0])}")
            lesson = f"{after[0].parent.name}/README.md"
    of_all = {memory: sum(int(each["cost"]) for each in lines if each["memory"] == memory) for memory in UNITS}

    def could_save(line):
        return (int(line["cost"]) - int(line["at_best"])) / of_all[line["memory"]]

    for line in sorted([line for line in lines if could_save(line) > 0.25], key=could_save)[-1:]:
        unit, why, lesson = UNITS[line["memory"]]
        cost, ideal = (int(line[column]) / int(line["requests"]) for column in ("cost", "at_best"))
        yield (f"{line['line']}: a warp's {line['kind']} takes {cost:.1f} {unit} of {line['memory']} memory where "
               f"{ideal:.1f} could do: {why}.")
    yield from advice
    yield f"Read: {lesson}"


def nearest_of(rows, row, in_halves):
    """The stage whose counts are nearest to the row's, and how many times as much it loads. The elements that are loaded count most,
    as bytes of float: in_halves says that the row's are of half, while the stages' are not."""
    def figures(of, times=1):
        return (times * float(of["global_load_bytes"]), *(1 + float(of[column].replace("-", "1")) for column in (
            "sectors_per_request", "bank_conflict_factor", "barriers_per_block")))

    def distance(stage):
        return sum(weight * abs(math.log(a / b)) for weight, a, b in zip((3, 1, 1, 1), mine, figures(stage)))

    mine = figures(row, 2 if in_halves else 1)
    nearest = min(rows, key=distance)
    return nearest["stage"], mine[0] / figures(nearest)[0]


def timed(own, row):
    """Where its speed stands in the ladder."""
    of_half = {name: stage.half for name, stage in chapters().items()}
    rows = [each for each in csv.DictReader((ROOT / "docs/results/h200/ladder.csv").read_text().splitlines())
            if of_half[each["stage"].partition("/")[0].split()[0]] == own.half]
    size = row["m"] if any(each["m"] == row["m"] for each in rows) else "8192"
    mine = float(row["percent_of_cublas"].replace("-", "0"))
    faster = [each for each in rows if each["m"] == size and float(each["percent_of_cublas"]) > mine]
    if not faster:
        yield "Faster than every stage of its precision, as a share of cuBLAS."
        return
    after = min(faster, key=lambda each: float(each["percent_of_cublas"]))
    yield f"{mine}% of cuBLAS. The next of the ladder, at {size} on an H200: {after['stage']}, {after['percent_of_cublas']}%."
    yield f"Read: {after['stage'].partition('/')[0].split()[0]}/README.md"


def run_any(own):
    """Runs a program as it is on the emulator, which then says what it found. --fast: it only runs it."""
    os.environ["EMULATOR_SUMMARY"] = "1"
    return process.call([own.emulated("plain" if own.fast else "trace"), *own.words], own.name)


def new(words):
    """./run new FILE.cu --from NN: a copy of that step to begin with."""
    if len(words) != 3 or words[1] != "--from" or not words[0].endswith(".cu"):
        fail(2, "new: takes a file and a step, such as ./run new mine.cu --from 03")
    if not steps_meant(words[2]):
        ladder = [each.source for each in programs.listed(*programs.LADDER)]
        fail(2, f"new: {programs.unknown(words[2], ladder)}")
    source = steps_meant(words[2])[-1].source
    try:
        pathlib.Path(words[0]).open("x").write(source.read_text())
    except FileExistsError:
        fail(2, f"new '{words[0]}': is there already")
    print(f"{words[0]} is a copy of {source.relative_to(ROOT)}; next: ./run {shlex.quote(words[0])}")
    return 0


def name_places(own):
    """Places are named as the file is on the command line: from this folder, or whole."""
    os.environ["EMULATOR_FOLDER"] = "/" if own.path.is_absolute() else f"{pathlib.Path.cwd()}/"


def run(words):
    """./run FILE.cu [OPTION...]"""
    own = UserKernel(words[0], words[1:])
    if own.is_stage:  # which has no such options; any other program may
        process.verbose = process.verbose or "-v" in own.words
        own.cpu = own.cpu or "--cpu" in own.words
        own.words = [word for word in own.words if word not in ("-v", "--cpu")]
    name_places(own)
    if not own.is_stage:
        return run_any(own)
    csv_file = None
    if "--csv" in own.words[:-1]:
        at = own.words.index("--csv")
        csv_file = own.words[at + 1]
        if why := unwritable(csv_file, "--csv"):
            fail(2, why)
        del own.words[at:at + 2]
    return run_stage(own, build.emulated(own.cpu), csv_file)


def test(words):
    """./test FILE.cu: what each stage has to pass, as ctest would run it on 01."""
    own = UserKernel(words[0], [word for word in words[1:] if word != "-V"])
    if not own.is_stage or own.words:
        fail(2, f"{words[0]}: takes a file with launch_matmul(), and no more options" if own.is_stage else
             f"{words[0]}: has no launch_matmul(); ./run {shlex.quote(words[0])} runs it")
    name_places(own)
    process.verbose = "-V" in words
    need_tools(cpu=True)
    build.configure(tests=True)
    registered = (BUILD / "tests/CTestTestfile.cmake").read_text()
    typed = dict(re.findall(r'add_test\(\[=\[01_naive\.(\w+)\]=\] "[^"]*" (.*)\)', registered))
    result = 0
    builds = [("plain", "cpu"), ("trace", "trace"), ("asan", "cpu")]
    if own.multiples == (1, 1, 1):
        builds.append(("indices", "indices"))
    typed["indices"] = ""
    for variant, name in builds:
        options = [",".join(dict.fromkeys("x".join(map(str, own.rounded(shape.split("x")))) for shape in word.split(",")))
                   if re.match(r"\d+x", word) else word for word in shlex.split(typed[name]) if word != "--all-forms"]
        run = subprocess.run([own.emulated(variant), *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        verdict = {0: "Passed", SKIPPED: "Skipped"}.get(run.returncode, "Failed")
        print(f"{own.name}.{variant:10}{verdict}", flush=True)
        sys.stderr.buffer.write(run.stderr)
        sys.stderr.flush()
        if verdict == "Failed":
            result = result or run.returncode
    return result

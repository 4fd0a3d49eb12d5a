"""./run ablation: measures what each optimization of a stage is worth.

Each file in a chapter's folder ablations/ makes a variant of a step: a line "without: A PART" names what it leaves out,
"in: NN_chapter/NAME.cu" the source, and below them stands the change (see edits.py). Each variant is built as a program
of its own, and so is the whole stage. All are verified, then timed alternately, each beside cuBLAS.
"""
import concurrent.futures
import csv
import io
import pathlib
import re
import shutil
import subprocess
import tempfile
from typing import NamedTuple

import build
import packages
import process
import programs
from book import tables
from book.markers import markdown
from build import BUILD, NVCC, has_gpu, has_nvcc
from command_line import Parser, check_writable, refuse
from edits import edited
from process import fail, show_progress
from programs import ROOT, meant
from results import InvalidInput, write_whole

ALL = "-"  # the value of `without` for the whole stage
COLUMNS = ("registers", "spilled_bytes", "loop_multiply_adds", "loop_others", "loop_three_operands", "loop_one_bank")
ROUNDS = 3  # each variant is timed once a round, and its row is that of the median
RAGGED = ("37x136x72", "37x129x65")  # no tile divides them; rows with and without 16-byte alignment


class Variant(NamedTuple):
    source: pathlib.PurePath  # of the stage, in the repository
    stage: str  # as in the ladder
    without: str
    text: str  # its source

    def __str__(self):
        return f"{self.stage} without {self.without.partition(':')[0]}"


def changes_of(chapter):
    """The files of a chapter that leave a part out."""
    return sorted(chapter.glob("ablations/*.diff"))


def variants(chapter):
    """The variants of a chapter: for each source that has some, the whole stage first, then those without a part.
    Raises InvalidInput for a change that is older than its source."""
    found = {}
    for file in changes_of(chapter):
        head, _, diff = file.read_text().partition("\n\n")
        given = dict(line.split(": ", 1) for line in head.split("\n"))
        source = pathlib.PurePath(given["in"])
        text = programs.text_of(ROOT / source)
        whole = Variant(source, programs.name(ROOT / source), ALL, text)
        changed = edited(text, diff, file.relative_to(ROOT))
        found.setdefault(source, [whole]).append(whole._replace(without=given["without"], text=changed))
    stage_first = sorted(found, key=lambda source: (source.stem != "matmul", source))
    return [variant for source in stage_first for variant in found[source]]


def timed_kernel_key(name):
    """A sort key for mangled names, which is greatest for the kernel that is timed: it is called matmul, and of several
    it is the one with vector accesses, matmul<true>. 09 has one for whole tiles, <true, false>, and one for partial
    tiles, <true, true>."""
    return "6matmul" in name, bool(re.search("(?<!Lb[01]E)Lb1E(?!Lb1E)", name))


def registers(report):
    """Registers and spills of the timed kernel, from ptxas."""
    kernels = re.findall(r"function '(\w+)'.*\n.*\n"
                         r".* (\d+) bytes spill stores, (\d+) bytes spill loads\n"
                         r".*Used (\d+) registers", report)
    _, stores, loads, used = max(kernels, key=lambda kernel: timed_kernel_key(kernel[0]))
    return {"registers": used, "spilled_bytes": int(stores) + int(loads)}


def main_loop(listing):
    """The instructions of the timed kernel's main loop in cuobjdump's listing, and how many of them are multiply-adds.
    Of the loops with multiply-adds it is the one with the largest share of them. ([], 0) if there is none."""
    kernels = listing.split("Function : ")[1:]
    if not kernels:
        return [], 0
    kernel = max(kernels, key=lambda kernel: timed_kernel_key(kernel.split()[0]))
    instruction = r"(?m)^\s+/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+ )?([^;]*?) *;"  # its address, without its predicate
    code = [(int(address, 16), text) for address, text in re.findall(instruction, kernel)]
    best, most = [], 0
    for end, text in code:
        jump = re.match(r"BRA\S* .*\b0x([0-9a-f]+)", text)
        if jump and int(jump[1], 16) < end:
            body = [text for address, text in code if int(jump[1], 16) <= address <= end]
            adds = sum(text.startswith(("FFMA", "HMMA")) for text in body)
            if adds and (not best or adds * len(best) > most * len(body)):
                best, most = body, adds
    return best, most


def fetches(body):
    """How many of these instructions are FFMAs that read three operands from the register file, and how many of those
    read all three from the same bank, and therefore stall. There are two banks, for even and for odd registers. An
    operand that the instruction before marks .reuse, in the same slot, comes from the reuse cache."""
    three, one_bank, cached = 0, 0, set()
    for text in body:
        fetched, reused = [], set()
        operands = text.partition(" ")[2].split(", ")[1:] if text.startswith("FFMA") else []
        for slot, operand in enumerate(operands):
            register = re.match(r"-?R(\d+)", operand)
            if register and (slot, int(register[1])) not in cached:
                fetched.append(int(register[1]))
            if ".reuse" in operand:
                reused.add((slot, int(re.search(r"R(\d+)", operand)[1])))
        if len(fetched) == 3:
            three += 1
            one_bank += len({number % 2 for number in fetched}) == 1
        cached = reused
    return three, one_bank


def loop(listing):
    """The columns that describe the main loop of the timed kernel in cuobjdump's listing; {} where it has none."""
    body, adds = main_loop(listing)
    return dict(zip(COLUMNS[2:], (adds, len(body) - adds, *fetches(body)))) if body else {}


def build_variant(variant, folder):
    """Builds a variant in the new folder `folder`. Returns its program, and the columns that describe its machine code.
    Raises CalledProcessError."""
    source, program = folder / variant.source, folder / "variant"
    source.parent.mkdir(parents=True)
    source.write_text(variant.text)
    words = (NVCC, "-std=c++17", "-O1", "-w", "-Xptxas=-v", f"-arch={build.nvcc_architecture()}",
             f"-I{ROOT}", source, BUILD / "libharness.a", BUILD / "libharness_host.a",
             "-lcublas", "-lcublasLt", "-ldl", "-o", program)
    report = subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    columns = {**dict.fromkeys(COLUMNS, "-"), **registers(report)}
    beside_nvcc = pathlib.Path(shutil.which(NVCC)).resolve().parent
    if dump := shutil.which("cuobjdump") or shutil.which("cuobjdump", path=beside_nvcc):
        columns.update(loop(subprocess.run([dump, "-sass", program], capture_output=True, text=True).stdout))
    return program, columns


def build_all(variants, folder):
    """Returns a list of what build_variant() returns. Exits if a variant does not build."""
    build.build(["harness", "harness_host"])
    with concurrent.futures.ThreadPoolExecutor(int(build.CORES)) as pool:
        jobs = [pool.submit(build_variant, variant, folder / str(number)) for number, variant in enumerate(variants)]
        try:
            for job, variant in zip(jobs, variants):
                show_progress(f"building {variant}")
                job.result()
        except subprocess.CalledProcessError as error:
            pool.shutdown(cancel_futures=True)
            show_progress("")
            print(error.output, end="", flush=True)
            fail(1, f"ablation: {variant} does not build")
    show_progress("")
    return [job.result() for job in jobs]


def rows_of(every, options, folder):
    """Builds variants, verifies them, and times them alternately. Returns a row for each. Exits if one is wrong."""
    programs, codes = zip(*build_all(every, folder))

    def call(variant, program, *words):
        if code := process.call([program, *words], str(variant)):
            fail(code, f"ablation: {variant} is wrong, or can't run")

    measured = [[] for _ in every]
    for variant, program in zip(every, programs):
        call(variant, program, "--sizes", ",".join(RAGGED), "--verify-only")
    for _ in range(ROUNDS):
        for variant, program, rows in zip(every, programs, measured):
            call(variant, program, *options, "--csv", folder / "variant.csv")
            rows += csv.DictReader((folder / "variant.csv").read_text().splitlines())
    median = [sorted(rows, key=lambda row: float(row["gflops"]))[ROUNDS // 2] for rows in measured]
    return [{"stage": variant.stage, "without": variant.without, **row,
             **{name: str(value) for name, value in code.items()}}
            for variant, row, code in zip(every, median, codes)]


def time_variants(chapters, options, path):
    """Builds, verifies and times the variants of these chapters, and adds each chapter's rows to the CSV `path`, if
    there is one. Raises InvalidInput before anything is built if a change is older than its source."""
    text = io.StringIO()
    for every in [variants(chapter) for chapter in chapters]:
        with tempfile.TemporaryDirectory(prefix="ablation-") as folder:
            rows = rows_of(every, options, pathlib.Path(folder))
        writer = csv.DictWriter(text, rows[0], lineterminator="\n")
        if not text.tell():
            writer.writeheader()
        writer.writerows(rows)
        if path:
            write_whole((pathlib.Path(path), text.getvalue()))
        print("\n" + markdown(tables.variants(rows)), flush=True)


def chosen_chapters(words):
    """The folders of the chapters with such changes; if there are words, of the chapters that they name."""
    chapters = [chapter for chapter in sorted(ROOT.glob("[0-9][0-9]_*")) if changes_of(chapter)]
    for word in words:
        if not any(meant(word, chapter.name, "matmul") for chapter in chapters):
            refuse("ablation: ", word, [chapter / "matmul.cu" for chapter in chapters])
    return [each for each in chapters if not words or any(meant(word, each.name, "matmul") for word in words)]


def run(words):
    parser = Parser("ablation", "-v", "--csv --size --repeat --device")
    parser.add_argument("stages", nargs="*")
    given = parser.parse_args(words)
    process.verbose = given.v
    chapters = chosen_chapters(given.stages)
    if given.csv is not None:
        check_writable(given.csv, "--csv")
    if not has_nvcc() or not has_gpu():
        fail(77, "ablation: times variants of the stages on a GPU, which takes one, and nvcc")
    options = ["--size", given.size or "8192"]
    if given.repeat:
        options += ["--repeat", given.repeat]
    if given.device:
        options += ["--device", given.device]
    try:
        time_variants(chapters, options, given.csv)
    except InvalidInput as wrong:  # a change is older than its source
        fail(1, str(wrong))
    return 0

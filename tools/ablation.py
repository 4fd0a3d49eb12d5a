"""What ./run ablation does: what each part of a stage is worth.

A patch in a chapter that has a line 'without: A PART' above its diff makes a form of the stage. All forms of a chapter, and the
stage with all parts, are built, verified, and timed in turns, with cuBLAS beside.
"""
import concurrent.futures
import csv
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
from typing import NamedTuple

import ladder
import machine
import tables
from machine import BUILD, NVCC, ROOT, fail, show_progress
from patches import patched, said
from results import read, write_whole

ALL = "-"  # the value of `without` for a form with all parts
COLUMNS = ("registers", "spilled_bytes", "loop_multiply_adds", "loop_others", "loop_three_operands", "loop_one_bank")
RAGGED = ("37x136x72", "37x129x65")  # no tile divides them; rows with and without 16-byte alignment


class Form(NamedTuple):
    name: str  # in messages
    stage: str  # as in the ladder
    without: str
    text: str  # its source


def forms(chapter):
    """The forms of a chapter: for each source that has patches, the whole stage first, then the forms without a part."""
    found = {}
    for patch in sorted(chapter.glob("*/*.patch")):
        if without := said(patch, "without"):
            [(source, text)] = patched(patch, ROOT).items()
            source = ROOT / source
            stage = ladder.name(source)
            whole = Form(stage.replace("/", "."), stage, ALL, source.read_text())
            found.setdefault(source, [whole]).append(Form(patch.stem, stage, without, text))
    return [form for source in sorted(found, key=lambda source: (source.stem != "matmul", source)) for form in found[source]]


def wrapped(form, number):
    """The form's source, in a namespace of its own and registered with common/forms.cu, so that one program can hold several."""
    include = re.compile(r"(?m)^#include .*$")
    return "\n".join((*include.findall(form.text), "bool add_form(int (*main)(int, char**));", f"namespace form_{number} {{",
                      f'#line 1 "{form.name}/matmul.cu"', include.sub("", form.text), "}",
                      f"static const bool added_{number} = add_form(form_{number}::main);", ""))


def program(its_forms):
    """The source of one program with all these forms."""
    return "".join((*map(wrapped, its_forms, range(len(its_forms))), '#include "common/forms.cu"\n'))


def timed(name):
    """Whether a kernel of that mangled name is the one whose code counts: that with wide accesses, matmul<true>. 09 has one for
    whole tiles, <true, false>, and another for parts, <true, true>."""
    return bool(re.search("(?<!Lb[01]E)Lb1E(?!Lb1E)", name))


def registers(report):
    """Registers and spills of the timed kernel, from ptxas."""
    kernels = re.findall(r"function '(\w+)'.*\n.*\n.* (\d+) bytes spill stores, (\d+) bytes spill loads\n.*Used (\d+) registers",
                         report)
    _, stores, loads, used = max(kernels, key=lambda kernel: timed(kernel[0]))
    return {"registers": used, "spilled_bytes": int(stores) + int(loads)}


def loop(listing):
    """The main loop of the timed kernel in cuobjdump's listing: how many multiply-adds, how many other instructions, how many FFMAs
    fetch three operands from the register file, and how many of these from one of its banks, which takes a cycle more. There are
    two banks, of the even registers and of the odd ones. An operand that the instruction before marks .reuse is not fetched."""
    kernels = listing.split("Function : ")[1:]
    if not kernels:
        return {}
    code = [(int(at, 16), text) for at, text in re.findall(r"(?m)^\s+/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+ )?([^;]*?) *;",
                                                            max(kernels, key=lambda kernel: timed(kernel.split()[0])))]
    jumps = [(int(to[1], 16), at) for at, text in code if (to := re.match(r"BRA\S* .*\b0x([0-9a-f]+)", text))]
    loops = [[text for at, text in code if begin <= at <= end] for begin, end in jumps if begin < end]
    count = [sum(text.startswith(("FFMA", "HMMA")) for text in body) for body in loops]
    adds, body = max(((n, body) for n, body in zip(count, loops) if n), key=lambda each: each[0] / len(each[1]), default=(0, []))
    three, one_bank, kept = 0, 0, set()
    for text in body:
        operands = list(enumerate(text.partition(" ")[2].split(", ")[1:])) if text.startswith("FFMA") else []
        fetched = [(place, int(each[1])) for place, operand in operands if (each := re.match(r"-?R(\d+)", operand))]
        fetched = [number for place, number in fetched if (place, number) not in kept]
        three += len(fetched) == 3
        one_bank += len(fetched) == 3 and len({number % 2 for number in fetched}) == 1
        kept = {(place, int(re.search(r"R(\d+)", operand)[1])) for place, operand in operands if ".reuse" in operand}
    return dict(zip(COLUMNS[2:], (adds, len(body) - adds, three, one_bank))) if body else {}


def compile_form(form, number, folder):
    """Compiles a form. Returns its object file and the columns that describe its machine code. Raises CalledProcessError."""
    source, made = folder / f"{number}.cu", folder / f"{number}.o"
    source.write_text(wrapped(form, number))
    report = nvcc("-Xptxas=-v", "-c", source, "-o", made, architecture=ladder.architecture(form.text))
    columns = {**dict.fromkeys(COLUMNS, "-"), **registers(report)}
    if dump := shutil.which("cuobjdump") or shutil.which("cuobjdump", path=pathlib.Path(shutil.which(NVCC) or "").resolve().parent):
        columns.update(loop(subprocess.run([dump, "-sass", made], capture_output=True, text=True).stdout))
    return made, columns


def nvcc(*words, architecture="native"):
    """Returns what it printed. Raises CalledProcessError. CUDAARCHS, such as 90, stands for a GPU that is not here, as in CMake."""
    if architecture == "native" and os.environ.get("CUDAARCHS"):
        architecture = f"sm_{os.environ['CUDAARCHS']}"
    command = [NVCC, "-std=c++17", "-O1", f"-arch={architecture}", f"-I{ROOT}", "-DHARNESS_COMPILED_APART", "-w", *map(str, words)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout


def program_of(chapter, folder):
    """The program of the chapter's forms as they are now. Beside it a .json has the columns of their machine code."""
    sources = [*(form.text for form in forms(chapter)), *(file.read_text() for file in sorted((ROOT / "common").iterdir()))]
    return folder / hashlib.sha256("".join(sources).encode()).hexdigest()[:12] / chapter.name


def build(chapters, folder, scratch):
    """Builds the programs that `folder` lacks. `scratch`: a folder for what they are made of. Exits if one does not build."""
    chapters = [chapter for chapter in chapters if not program_of(chapter, folder).with_suffix(".json").exists()]
    if not chapters:
        return
    machine.build(["harness", "harness_host"])
    every = [form for chapter in chapters for form in forms(chapter)]
    with concurrent.futures.ThreadPoolExecutor(int(machine.CORES)) as pool:
        try:
            main = pool.submit(nvcc, "-c", ROOT / "common/forms.cu", "-o", scratch / "forms.o")
            jobs = [pool.submit(compile_form, form, number, scratch) for number, form in enumerate(every)]
            for job, form in zip(jobs, every):
                show_progress(f"building {form.stage} without {form.without}")
                job.result()
            main.result()
            done = iter(jobs)
            for chapter in chapters:
                made = program_of(chapter, folder)
                made.parent.mkdir(exist_ok=True)
                objects, codes = zip(*(next(done).result() for _ in forms(chapter)))
                harness = (BUILD / "libharness.a", BUILD / "libharness_host.a", "-lcublas", "-ldl")
                nvcc(scratch / "forms.o", *objects, *harness, "-o", made)
                made.with_suffix(".json").write_text(json.dumps(codes))
        except subprocess.CalledProcessError as error:
            pool.shutdown(cancel_futures=True)
            show_progress("")
            print(error.output, end="", flush=True)
            fail(1, "ablation: that does not build")
    show_progress("")


def rows_of(chapter, made, options):
    """Verifies and times a chapter's forms and returns their rows. Exits if one of them is wrong."""
    codes, file = json.loads(made.with_suffix(".json").read_text()), made.with_suffix(".csv")
    for words in (["--sizes", ",".join(RAGGED), "--verify-only"], [*options, "--csv", file]):
        if code := machine.call([made, *words], made.name):
            fail(code, f"ablation: a form of {made.name} is wrong, or can't run")
    by_name = {row.pop("stage"): row for row in read(file, ("stage", "gflops"), (), "a form")}
    return [{"stage": form.stage, "without": form.without, **by_name[form.name], **code} for form, code in zip(forms(chapter), codes)]


def run(chapters, options, path, programs):
    """Builds, verifies and times the forms of these chapters; adds each chapter's rows to the CSV `path`, if there is one.
    programs: the folder that keeps the programs, or None. Without a GPU they are only built."""
    text = io.StringIO()
    with tempfile.TemporaryDirectory(prefix="ablation-") as scratch:
        folder = pathlib.Path(programs or scratch)
        build(chapters, folder, pathlib.Path(scratch))
        for chapter in chapters if machine.has_gpu() else ():
            rows = rows_of(chapter, program_of(chapter, folder), options)
            writer = csv.DictWriter(text, rows[0], lineterminator="\n")
            if not text.tell():
                writer.writeheader()
            writer.writerows(rows)
            if path:
                write_whole((pathlib.Path(path), text.getvalue()))
            print("\n" + tables.ablation(rows), flush=True)
    return 0

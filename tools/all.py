"""./run all: builds and runs every chapter, and writes CSVs, machine.txt and log.txt."""
import datetime
import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import time

import build
import packages
import process
from build import BUILD, COMPILER, NVCC
from command_line import Parser, need_tools, opencl_packages, results_folder
from compare import compare
from process import fail, output, say, show_progress
from programs import LADDER, ROOT, listed
from result_files import LIMITS, WITH_OPTIONS, Step
from results import plain, write_whole


def steps(cpu):
    """The steps of ./run all: those with options, and every other program that is not a step of the ladder. On a CPU
    without programs that time a GPU's library."""
    named = {step.name for step in WITH_OPTIONS}
    others = [Step(each.name) for each in listed() if each.kind not in LADDER and each.name not in named]
    times_a_gpu = {each.name for each in listed("gpu")}
    return [step for step in (*WITH_OPTIONS, *others) if not cpu or step.name not in times_a_gpu]


def describe_machine(cpu):
    """The text of machine.txt: everything that the results depend on, but nothing that identifies the owner."""
    def found(pattern, text):
        match = re.search(pattern, text, re.MULTILINE)
        return match[1].strip().strip('"') if match else "unknown"

    lines = [("date", f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}"),
             ("programs", "built for the CPU: what they time is the CPU" if cpu else "built for the GPU")]
    fields = ("name", "driver_version", "memory.total", "clocks.max.sm", "clocks.max.memory", "clocks.sm", "clocks.mem",
              "power.limit")
    gpus = output("nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader")
    for at, gpu in enumerate(gpus.splitlines()):
        lines += ((f"GPU {at}, {field}", value.strip()) for field, value in zip(fields, gpu.split(",")))
    if gpus:
        lines.append(("CUDA of the driver", found(r"CUDA Version: *([\d.]+)", output("nvidia-smi"))))
    else:
        lines.append(("GPU", "none"))
    commit = "not a git repository"
    if os.path.realpath(output("git", "-C", ROOT, "rev-parse", "--show-toplevel") or "/") == str(ROOT):
        commit = output("git", "-C", ROOT, "rev-parse", "HEAD") or "none yet"
        commit += ", changed" if output("git", "-C", ROOT, "status", "--porcelain", "-uno") else ""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    lines += [("CPU", found(r"^model name\s*: (.*)", output("cat", "/proc/cpuinfo"))),
              ("CPU cores", f"{build.CORES} of {os.cpu_count()}"),
              ("memory", f"{memory / 2**30:.1f} GiB"),
              ("OS", found(r"^PRETTY_NAME=(.*)", output("cat", "/etc/os-release"))),
              ("C++ compiler", found(r"^(.+)", output(*COMPILER, "--version"))),
              ("nvcc", found(r"release ([\d.]+, V[\d.]+)", output(NVCC, "--version"))),
              ("cmake", found(r"version (.*)", output("cmake", "--version"))),
              ("commit", commit)]
    return "".join(f"{name}: {value}\n" for name, value in lines)


def run_step(step, cpu, folder, scratch, log, has_limits):
    """Runs a step. Returns its exit code, its CSV or its last line on stderr, and whether the folder has a new CSV. The
    program writes into `scratch`, and its files are moved to `folder` only after success."""
    csv = step.csv if step.cpu_csv or not cpu else ""
    words = shlex.split(step.on_cpu if cpu else step.on_gpu)
    if words[-1:] == ["--limits"]:
        words = [*words, LIMITS] if has_limits else words[:-1]
    program = ROOT / "run" if step.name == "ladder" else BUILD / "bin" / step.program(cpu)
    if not program.exists():
        return 77, "not built", False
    log.write(f"\n$ {shlex.join([program.name, *words, *(['--csv', csv] if csv else [])])}\n".encode())
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        here = ["--csv", f"{scratch.name}/{csv}"] if csv else []
        code = process.call([program, *words, *here], step.name, cwd=folder,
                            stdin=subprocess.DEVNULL, stdout=log, stderr=errors)
        errors.seek(0)
        said = [line for line in errors.read().splitlines() if line.strip()]
    log.write("".join(f"{line}\n" for line in said).encode())
    if code == 0 and csv:
        (scratch / csv).replace(folder / csv)
    elif code:
        why = said[-1] if said else f"exit code {code}"
        csv = f"{why} ({csv} is an earlier run's)" if csv and (folder / csv).exists() else why
    return code, csv, code == 0 and bool(csv)


def run_steps(folder, cpu):
    """Runs all steps. Returns the exit code of the first one that failed."""
    write_whole((folder / "machine.txt", describe_machine(cpu)))
    first_failure, written, results, todo = 0, [], [], steps(cpu)
    with (tempfile.TemporaryDirectory(prefix=".running-", dir=folder) as scratch,
          open(folder / "log.txt", "wb", 0) as log):
        for at, step in enumerate(todo, 1):
            name = step.program(cpu)
            show_progress(f"[{at} of {len(todo)}] {name}")
            try:
                code, said, new = run_step(step, cpu, folder, pathlib.Path(scratch), log, LIMITS in written)
            except SystemExit:
                show_progress("")
                say(f"interrupted in {name}; complete: {', '.join(written) or 'nothing'}")
                raise
            results.append({0: "done", 77: "skipped"}.get(code, "failed"))
            if new:
                written.append(step.csv)
            if results[-1] == "failed":
                first_failure = first_failure or code
            show_progress("")
            print(f"{name:<22}{results[-1]:<8}  {plain(said)}".rstrip(), flush=True)
    counts = ", ".join(f"{results.count(each)} {each}" for each in ("done", "skipped", "failed"))
    print(f"{counts}. The results, and what the programs printed (log.txt): {folder}")
    return first_failure


def run(words):
    parser = Parser("all", "--cpu -v", "--against")
    parser.add_argument("folder", nargs="?", default=time.strftime("results-%Y%m%d-%H%M%S"))
    given = parser.parse_args(words)
    process.verbose = given.v
    folder, against = pathlib.Path(given.folder), None
    if given.against is not None:
        against = results_folder("--against", given.against)
        if folder.exists() and folder.samefile(against):
            fail(2, f"--against '{against}': that is where the results would go")
    if folder.exists() and not folder.is_dir():
        fail(2, f"all '{folder}': takes the name of a folder")
    cpu = build.emulated(given.cpu)
    need_tools(cpu)
    missing = packages.need((), optional=(*opencl_packages(cpu), "libopenblas0"))
    left_out = {"gpu"} if cpu else set()
    if set(missing) & set(packages.OPENCL):
        left_out.add("opencl")
    build.build([each.target(cpu) for each in listed() if each.kind not in left_out])
    folder.mkdir(parents=True, exist_ok=True)
    result = run_steps(folder, cpu)
    if against:
        compare(folder, against)
    return result

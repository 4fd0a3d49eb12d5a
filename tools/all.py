"""What ./run all does, once the programs are built: runs every chapter, and writes CSVs, machine.txt, log.txt and steps.csv."""
import contextlib
import datetime
import os
import pathlib
import re
import shlex
import signal
import statistics
import subprocess
import tempfile
import time
from typing import NamedTuple, Optional

from machine import BUILD, COMPILER, NVCC, ROOT, output, running, say, show_progress
from results import Wrong, naming, plain, read, write_whole

LIMITS = "limits.csv"


class Step(NamedTuple):
    name: str  # a program in build/bin, or "ladder", which ./run itself runs
    csv: str  # the CSV that it writes, or ""
    on_gpu: str = ""  # options; a --limits at the end gets the CSV of this run's first program
    suffix: Optional[str] = "_cpu"  # appended to the name of its CPU build; None: it has no CPU build
    cpu_csv: bool = True  # whether the CPU build writes the CSV, too
    on_cpu: str = ""

    def program(self, cpu):
        return self.name + (self.suffix if cpu else "")


SIZES = "--sizes 1024:8192:1024 --limits"
STEPS = (
    Step("roofline", LIMITS, cpu_csv=False),
    Step("roofline_host", "roofline_host.csv", suffix=""),
    Step("latency", "latency.csv", cpu_csv=False),
    Step("library_curves", "library_curves.csv", suffix=None),
    Step("blas_host", "blas_host.csv", suffix=""),
    Step("transfer", "transfer.csv", cpu_csv=False),
    Step("ladder", "ladder.csv", f"--steps {SIZES}", on_cpu="--cpu --steps"),
    Step("one_tile", ""),
    Step("half2", "half2.csv", SIZES, suffix="_cpu_trace"),
    Step("plain", "plain.csv", SIZES, suffix="_cpu_trace"),
    Step("types", "types.csv"),
    Step("probe", "", "--all", on_cpu="--all"),
    Step("volta_tables", ""),
    Step("ptx_check", ""),
    Step("mma_maps", ""),
    Step("custom_load", "custom_load.csv", cpu_csv=False),
    Step("alignment", "alignment.csv", cpu_csv=False),
    Step("victims", "victims.csv", cpu_csv=False),
    Step("08_opencl_gcn", "opencl.csv", SIZES, "", True, "--platform 'Portable Computing Language'"))


def steps(cpu):
    return [step for step in STEPS if not cpu or step.suffix is not None]


def today():
    return f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}"


def describe_machine(cpu):
    """The text of machine.txt: everything that the results depend on, but nothing that identifies the owner."""
    def found(pattern, text):
        match = re.search(pattern, text, re.MULTILINE)
        return match[1].strip().strip('"') if match else "unknown"

    def contents(path):
        with contextlib.suppress(OSError):
            return pathlib.Path(path).read_text()
        return ""

    lines = [("date", today()),
             ("programs", "built for the CPU: what they time is the CPU" if cpu else "built for the GPU")]
    fields = ("name", "driver_version", "memory.total", "clocks.max.sm", "clocks.max.memory", "clocks.sm", "clocks.mem",
              "power.limit")
    gpus = output("nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader")
    for at, gpu in enumerate(gpus.splitlines()):
        lines += ((f"GPU {at}, {field}", value.strip()) for field, value in zip(fields, gpu.split(",")))
    lines += [("GPU", "none")] if not gpus else [("CUDA of the driver", found(r"CUDA Version: *([\d.]+)", output("nvidia-smi")))]
    memory = found(r"^MemTotal: *(\d+) kB", contents("/proc/meminfo"))
    commit = "not a git repository"
    if os.path.realpath(output("git", "-C", str(ROOT), "rev-parse", "--show-toplevel") or "/") == str(ROOT):
        commit = output("git", "-C", str(ROOT), "rev-parse", "HEAD") or "none yet"
        commit += ", changed" if output("git", "-C", str(ROOT), "status", "--porcelain", "-uno") else ""
    lines += [("CPU", found(r"^model name\s*: (.*)", contents("/proc/cpuinfo"))),
              ("CPU cores", f"{len(os.sched_getaffinity(0))} of {os.cpu_count()}"),
              ("memory", f"{int(memory) / 2**20:.1f} GiB" if memory.isdigit() else memory),
              ("OS", found(r"^PRETTY_NAME=(.*)", contents("/etc/os-release"))),
              ("C++ compiler", found(r"^(.+)", output(*COMPILER, "--version"))),
              ("nvcc", found(r"release ([\d.]+, V[\d.]+)", output(NVCC, "--version"))),
              ("cmake", found(r"version (.*)", output("cmake", "--version"))),
              ("commit", commit)]
    return "".join(f"{name}: {value}\n" for name, value in lines)


def duration(seconds):
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def recorded(folder):
    """{step: row} of the folder's steps.csv, or {} if it is missing or bad."""
    try:
        return {row["step"]: row for row in read(folder / "steps.csv", ("step", "result", "date"), ("seconds",))}
    except Wrong:
        return {}


def usual_seconds(folders):
    """{step: seconds} of finished steps, from the first folder that has a record."""
    for folder in folders:
        if found := {step: row["seconds"] for step, row in recorded(folder).items() if row["result"] == "done"}:
            return found
    return {}


def seconds_left(left, running, done, usual):
    """Estimates how many seconds the steps `left` still take. The first of them has been running for `running` seconds. `done` and
    `usual` are {step: seconds} of this run and of a recorded one. The record is scaled by the speed of this run so far. A step
    without a record counts as the mean of the others. None: no data."""
    both = [step for step in done if step in usual]
    scale = sum(done[step] for step in both) / sum(usual[step] for step in both) if both else 1
    expected = {**{step: scale * seconds for step, seconds in usual.items()}, **done}
    if not expected:
        return None
    mean = statistics.mean(expected.values())
    first, *later = (expected.get(step, mean) for step in left)
    return max(0, first - running) + sum(later)


def execute(command, folder, log, tick):
    """Runs a command in `folder`, all its output going to `log`; calls `tick` every second. Returns its exit code, as a shell
    gives it, and its last line on stderr. It is stopped, with what it started, when this is interrupted."""
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        with running(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=errors, start_new_session=True) as child:
            while child.poll() is None:
                tick()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(timeout=1)
        errors.seek(0)
        said = errors.read()
    log.write(said.encode())
    if child.returncode < 0:
        return 128 - child.returncode, f"killed by {signal.Signals(-child.returncode).name}"
    return child.returncode, ([f"exit code {child.returncode}"] + [line for line in said.splitlines() if line.strip()])[-1]


def run_step(step, cpu, folder, scratch, log, tick, has_limits):
    """Runs a step. Returns its exit code, its last line of output, and whether the folder has a new CSV."""
    csv = step.csv if step.cpu_csv or not cpu else ""
    words = shlex.split(step.on_cpu if cpu else step.on_gpu)
    if words[-1:] == ["--limits"]:
        words = [*words, LIMITS] if has_limits else words[:-1]
    program = "run" if step.name == "ladder" else step.program(cpu)
    log.write(f"\n$ {shlex.join([program, *words, *(['--csv', csv] if csv else [])])}\n".encode())
    command = [ROOT / "run" if program == "run" else BUILD / "bin" / program, *words]
    try:
        code, said = execute([*command, "--csv", f"{scratch.name}/{csv}"] if csv else command, folder, log, tick)
    except FileNotFoundError:
        code, said = 77, "not built"
    if code == 0 and csv and not (scratch / csv).exists():
        code, said = 1, f"wrote no {csv}"
    if code == 0:
        if csv:
            os.replace(scratch / csv, folder / csv)
        return 0, csv, bool(csv)
    if csv and (folder / csv).exists():
        said += f" ({csv} is an earlier run's)"
    return code, said, False


def run(folder, against, cpu):
    """Runs all steps. Returns the exit code: that of the first that failed."""
    usual = usual_seconds([each for each in (against, None if cpu else ROOT / "docs/results/h200") if each])
    write_whole((folder / "machine.txt", describe_machine(cpu)))
    began, first_failure = time.monotonic(), 0
    rows = recorded(folder)  # rows of an earlier run stay until their step has run again
    todo = steps(cpu)
    names = [step.program(cpu) for step in todo]
    seconds, written, results = {}, [], []
    # A program writes its CSV to the scratch folder. It is moved to `folder` only after success.
    with tempfile.TemporaryDirectory(prefix=".running-", dir=folder) as scratch, open(folder / "log.txt", "wb", 0) as log:
        for at, (name, step) in enumerate(zip(names, todo)):
            start = time.monotonic()

            def tick():
                now = time.monotonic()
                left = seconds_left(names[at:], now - start, seconds, usual)
                show_progress(f"[{at + 1} of {len(todo)}] {name}: {duration(now - start)}; {duration(now - began)} in all" +
                     (f", about {duration(left)} left" if left is not None else ""))

            try:
                with naming(folder / "log.txt"):
                    code, said, new = run_step(step, cpu, folder, pathlib.Path(scratch), log, tick, LIMITS in written)
            except SystemExit:
                show_progress("")
                say(f"interrupted in {name}; complete: {', '.join(written) or 'nothing'}")
                raise
            took = time.monotonic() - start
            result = {0: "done", 77: "skipped"}.get(code, "failed")
            results.append(result)
            written += [step.csv] * new
            if result == "done":
                seconds[name] = took
            elif result == "failed":
                first_failure = first_failure or code
            show_progress("")
            print(f"{name:<20}{result:<8}{took:8.1f} s  {plain(said)}".rstrip(), flush=True)
            rows[name] = {"step": name, "seconds": max(took, 0.01), "result": result, "date": today()}
            write_whole((folder / "steps.csv", "step,seconds,result,date\n" + "".join(
                f"{row['step']},{row['seconds']:.2f},{row['result']},{row['date']}\n" for row in rows.values())))
    counts = ", ".join(f"{results.count(each)} {each}" for each in ("done", "skipped", "failed"))
    print(f"{counts}, in {duration(time.monotonic() - began)}. The results, and what the programs printed (log.txt): {folder}")
    return first_failure

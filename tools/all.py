"""What ./run --all does, once the programs are built:

all.py --programs [--cpu]                   prints the programs that it runs besides the stages
all.py FOLDER [--against FOLDER2] [--cpu]   runs every chapter; CSVs, machine.txt, log.txt and steps.csv come to lie in FOLDER
"""
import signal

BY_KEY = signal.getsignal(signal.SIGINT)
if __name__ == "__main__" and BY_KEY == signal.default_int_handler:  # it may be ignored
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C needs no traceback while nothing has begun

import argparse
import contextlib
import datetime
import os
import pathlib
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

from compare import compare
from results import Wrong, read

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD_DIR = pathlib.Path(os.environ.get("BUILD_DIR", ROOT / "build")).resolve()

# What is run, in this order: a program of build/bin, the CSV that it writes, its options. ./run itself runs the ladder. A --limits
# at the end takes the first program's CSV, the limits of this machine.
ON_GPU = (
    ("roofline", "limits.csv", ""),
    ("roofline_host", "roofline_host.csv", ""),
    ("latency", "latency.csv", ""),
    ("library_curves", "library_curves.csv", ""),
    ("transfer", "transfer.csv", ""),
    ("ladder", "ladder.csv", "--sizes 1024:8192:1024 --limits"),
    ("one_tile", "", ""),
    ("half2", "half2.csv", "--sizes 1024:8192:1024 --limits"),
    ("types", "types.csv", ""),
    ("probe", "", "--all"),
    ("volta_tables", "", ""),
    ("custom_load", "custom_load.csv", ""),
    ("08_opencl_gcn", "opencl.csv", "--sizes 4096:8192:4096 --limits"))
ON_CPU = (
    ("roofline_cpu", "", ""),
    ("roofline_host", "roofline_host.csv", ""),
    ("latency_cpu", "", ""),
    ("library_curves_cpu", "library_curves.csv", ""),
    ("transfer_cpu", "", ""),
    ("ladder_cpu", "ladder.csv", "--cpu"),
    ("one_tile_cpu", "", ""),
    ("half2_cpu_trace", "half2.csv", ""),
    ("types_cpu", "types.csv", ""),
    ("probe_cpu", "", "--all"),
    ("volta_tables_cpu", "", ""),
    ("custom_load_cpu", "", ""),
    ("08_opencl_gcn", "opencl.csv", "--platform 'Portable Computing Language'"))
LIMITS = "limits.csv"


def today():
    return f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}"


def write_whole(path, text):
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def output(*command):
    """What a command prints, stripped; "" when it is not here or fails."""
    try:
        run = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return run.stdout.strip() if run.returncode == 0 else ""


def describe_machine(cpu):
    """The text of machine.txt: what the results depend on, and nothing that tells whose machine it is."""
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
              ("C++ compiler", found(r"^(.+)", output(os.environ.get("CXX", "g++"), "--version"))),
              ("nvcc", found(r"release ([\d.]+, V[\d.]+)", output(os.environ.get("CUDACXX", "nvcc"), "--version"))),
              ("cmake", found(r"version (.*)", output("cmake", "--version"))),
              ("commit", commit)]
    return "".join(f"{name}: {value}\n" for name, value in lines)


def duration(seconds):
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def recorded(folder):
    """{step: row} of the folder's steps.csv; {} where there is no good one."""
    try:
        return {row["step"]: row for row in read(folder / "steps.csv", ("step", "result", "date"), ("seconds",))}
    except Wrong:
        return {}


def usual_seconds(folders):
    """{step: seconds} of the steps that were done, as the first of the folders that knows any recorded them."""
    for folder in folders:
        if found := {step: row["seconds"] for step, row in recorded(folder).items() if row["result"] == "done"}:
            return found
    return {}


def seconds_left(left, running, done, usual):
    """About how many seconds the steps `left` will take, the first of which has been running for `running`. `done` and `usual`:
    {step: seconds}, in this run and in a recorded one, which is scaled by how this one has been going. A step without a record
    counts as the mean of the others. None: there is nothing to judge by."""
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
        child = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=errors, start_new_session=True)
        try:
            while True:
                tick()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    code = child.wait(timeout=1)
                    break
        except BaseException:
            for how in (signal.SIGTERM, signal.SIGKILL):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, how)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(timeout=5)
            raise
        finally:
            errors.seek(0)
            said = errors.read()
            log.write(said)
            log.flush()
    if code < 0:
        return 128 - code, f"killed by {signal.Signals(-code).name}"
    return code, ([f"exit code {code}"] + [line for line in said.splitlines() if line.strip()])[-1]


def command_of(step, file, options, scratch, has_limits):
    words = shlex.split(options)
    if words[-1:] == ["--limits"]:
        words = [*words, LIMITS] if has_limits else words[:-1]
    if file:
        words += ["--csv", f"{scratch.name}/{file}"]
    return [str(ROOT / "run" if step.startswith("ladder") else BUILD_DIR / "bin" / step), *words]


def show(text):
    """Puts `text` in the place of the terminal's last line; nothing where stderr is no terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def run_steps(folder, steps, usual):
    """Runs them all, in the folder. Returns the exit code: that of the first that failed."""
    began, first_failure = time.monotonic(), 0
    rows = recorded(folder)  # of an earlier run, each until its step has been run again
    seconds, written, results = {}, [], []
    # A program writes its CSV here; it moves to the folder when all went well.
    with tempfile.TemporaryDirectory(prefix=".running-", dir=folder) as scratch, open(folder / "log.txt", "w") as log:
        scratch = pathlib.Path(scratch)
        for at, (step, file, options) in enumerate(steps):
            start = time.monotonic()

            def tick():
                now = time.monotonic()
                left = seconds_left([name for name, *_ in steps[at:]], now - start, seconds, usual)
                show(f"[{at + 1} of {len(steps)}] {step}: {duration(now - start)}; {duration(now - began)} in all" +
                     (f", about {duration(left)} left" if left is not None else ""))

            program, *words = command_of(step, file, options, scratch, LIMITS in written)
            command = shlex.join([pathlib.Path(program).name, *words]).replace(f"{scratch.name}/", "")
            print(f"\n$ {command}", file=log, flush=True)
            try:
                code, said = execute([program, *words], folder, log, tick)
            except FileNotFoundError:
                code, said = 77, "not built"
            except KeyboardInterrupt:
                raise KeyboardInterrupt(f"interrupted in {step}; complete: {', '.join(written) or 'nothing'}")
            took = time.monotonic() - start
            if code == 0 and file and not (scratch / file).exists():
                code, said = 1, f"wrote no {file}"
            result = {0: "done", 77: "skipped"}.get(code, "failed")
            results.append(result)
            if result == "done":
                seconds[step], said = took, file
                if file:
                    os.replace(scratch / file, folder / file)
                    written.append(file)
            elif file and (folder / file).exists():
                said += f" ({file} is an earlier run's)"
            if result == "failed":
                first_failure = first_failure or code
            show("")
            print(f"{step:<20}{result:<8}{took:8.1f} s  {said}".rstrip(), flush=True)
            rows[step] = {"step": step, "seconds": max(took, 0.01), "result": result, "date": today()}
            write_whole(folder / "steps.csv", "step,seconds,result,date\n" + "".join(
                f"{row['step']},{row['seconds']:.2f},{row['result']},{row['date']}\n" for row in rows.values()))
    counts = ", ".join(f"{results.count(each)} {each}" for each in ("done", "skipped", "failed"))
    print(f"{counts}, in {duration(time.monotonic() - began)}. The results, and what the programs printed (log.txt): {folder}")
    return first_failure


def main():
    parser = argparse.ArgumentParser(
        description="Runs every chapter, once ./run --all has built the programs.",
        epilog="Examples:    BUILD_DIR=build python3 tools/all.py mine --against docs/results/h200\n"
               "             python3 tools/all.py --programs --cpu\n\n"
               "Exit codes:  that of the first program that failed; 2 bad command line, or a file that can't be written; 130 Ctrl-C",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", metavar="FOLDER", type=pathlib.Path, help="where the CSVs, machine.txt and log.txt go")
    parser.add_argument("--against", metavar="FOLDER2", type=pathlib.Path, help="compare with the CSVs there, at the end")
    parser.add_argument("--cpu", action="store_true", help="the programs that are built for the CPU")
    parser.add_argument("--programs", action="store_true", help="list the programs that run besides the stages, and run nothing")
    given = parser.parse_args()
    if not given.programs and not (given.folder and given.folder.is_dir()):
        parser.error(f"'{given.folder or ''}': takes a folder that is there")
    steps = ON_CPU if given.cpu else ON_GPU
    if given.programs:
        print(*(step for step, *_ in steps if not step.startswith("ladder")), sep="\n")
        return 0
    h200 = ROOT / "docs/results/h200"
    usual = usual_seconds([folder for folder in (given.against, None if given.cpu else h200) if folder])
    os.environ["BUILD_DIR"] = str(BUILD_DIR)  # for ./run, which starts in the folder
    try:
        write_whole(given.folder / "machine.txt", describe_machine(given.cpu))
        result = run_steps(given.folder, steps, usual)
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    if given.against:
        compare(given.folder, given.against)
    return result


def stop(how, _):
    sys.exit(128 + how)


if __name__ == "__main__":
    for each in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(each) != signal.SIG_IGN:  # as nohup sets it
            signal.signal(each, stop)
    signal.signal(signal.SIGINT, BY_KEY)
    try:
        sys.exit(main())
    except KeyboardInterrupt as interrupt:
        show("")
        print(str(interrupt) or "interrupted", file=sys.stderr)
        sys.exit(130)

"""A folder of fakes, in which ./run and ./test are tested: the two commands with made-up chapters, whose programs are
scripts, and a PATH with a few ordinary tools and a cmake, a ctest and an apt-get that only note their calls."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

from support import ROOT

STAGES = ["01_one", "02_two", "03_three"]


def eventually(condition, seconds=20):
    """Polls until the condition's result is true, and returns it."""
    end = time.monotonic() + seconds
    while not (result := condition()) and time.monotonic() < end:
        time.sleep(0.01)
    return result


def runs(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def not_ignored():
    """Restores SIGINT, which is ignored by processes that a shell has put in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def press_ctrl_c(command, when, **options):
    """Runs a command on a terminal of its own. All of its processes get SIGINT just after its output has the words
    `when`. Returns its exit code and the text on the terminal."""
    terminal, its_end = os.openpty()
    process = subprocess.Popen([str(word) for word in command], stdin=its_end, stdout=its_end, stderr=its_end,
                               start_new_session=True, preexec_fn=not_ignored, **options)
    os.close(its_end)
    output, pressed = "", False
    with contextlib.suppress(OSError):  # no process has the terminal open any more
        while said := os.read(terminal, 65536):
            output += said.decode(errors="replace")
            if when in output and not pressed:
                time.sleep(0.1)  # continues
                os.killpg(process.pid, signal.SIGINT)
                pressed = True
    os.close(terminal)
    return process.wait(timeout=60), output


# Tests, and what they need.
NEEDS = {"01_one.cpu": "01_one_cpu", "03_three.cpu": "03_three_cpu", "03_three.faults": "harness_cpu python3-pytest",
         "emulator": "libgtest-dev", "book": "all", "style": "clang-format-14"}


def listed(*tests):
    """ctest's output for these tests."""
    return json.dumps({"tests": [{"name": name, "properties": [
        {"name": "ENVIRONMENT", "value": ["X=1", f"NEEDS={NEEDS[name]}"]}]} for name in tests]})


class Fakes:
    """A folder with run and test, the chapters, and the only tools on their PATH."""

    def __init__(self, here):
        self.here = here = pathlib.Path(here)
        self.bin, self.temporary, self.calls = here / "path", here / "tmp dir", here / "calls"
        for folder in (self.bin, self.temporary, here / "build/bin", here / "tools", here / "emulator"):
            folder.mkdir(parents=True)
        tools = [path.relative_to(ROOT) for path in (*ROOT.glob("tools/**/*.py"), *ROOT.glob("emulator/*.py"),
                                                         ROOT / "tools/programs.cmake")]
        for name in ("run", "test", *tools):
            (here / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, here / name)
        for tool in "cat cp diff dirname echo env id readlink rm sed sh sleep touch true".split():
            (self.bin / tool).symlink_to(shutil.which(tool))
        self.script(self.bin / "python3", f'exec {sys.executable} "$@"')
        self.tool("ctest", f"""case "$*" in *--show-only*) ;; *) exit;; esac
            case "$*" in *none*) echo '{listed()}';;
                *"-R ^(03_"*|*"-R 03"*) echo '{listed("03_three.cpu", "03_three.faults")}';;
                *-LE*) echo '{listed("01_one.cpu", "03_three.cpu", "emulator")}';;
                *) echo '{listed(*NEEDS)}';; esac""")
        # A package counts as installed if a program of its name exists.
        table = (ROOT / "tools/packages.txt").read_text().splitlines()
        names = [line.split()[0] for line in table if line[:1].isalpha()]
        lines = [f"{name}  {'cmake 3.22' if name == 'cmake' else f'programs {name}'}  -\n" for name in names]
        (here / "tools/packages.txt").write_text("".join(lines))
        for name in {*names, "ninja", "apt-get"} - {"cmake", "python3"}:
            self.tool(name, "")
        self.cmake("")
        self.tool("sudo", '[ "$1" = -n ] && shift; exec "$@"')
        for name in STAGES:
            self.source(f"{name}/matmul.cu")
            self.stage(name)
        self.source("02_two/1_first.cu")
        self.stage("02_two/1_first")
        self.source("00_zero/curves.cu")
        for source, program in (("04_four/matmul.cpp", "04_four"), ("00_zero/zero_host.cpp", "zero_host"),
                                ("00_zero/one.cu", "one_cpu")):
            self.source(source)
            self.script(here / "build/bin" / program, f'echo "{program} $*"')
        self.source("00_zero/programs.cmake",
                    "add_program(one.cu)\nadd_host_benchmark(zero_host.cpp)\nadd_gpu_benchmark(curves.cu)\n")
        self.configured_for(here)

    def configured_for(self, here):
        (self.here / "build/CMakeCache.txt").write_text(
            f"CMAKE_HOME_DIRECTORY:INTERNAL={here}\nCMAKE_CACHEFILE_DIR:INTERNAL={self.here}/build\n")

    def source(self, name, text=""):
        (self.here / name).parent.mkdir(exist_ok=True)
        (self.here / name).write_text(text)

    def script(self, path, text):
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def tool(self, name, text):
        self.script(self.bin / name, f'echo "{name} $*" >>"{self.calls}"\n{text}')

    def cmake(self, text):
        self.tool("cmake", f"""case "$1" in --version) echo "cmake version 3.22.1"; exit;;
            -P) exec {shutil.which("cmake")} "$@";; esac\n{text}""")

    def stage(self, name, code=0, before=""):
        """Makes a program that prints two lines of header and, unless it fails, a row, and writes a CSV."""
        options = [{"name": option} for option in ("--size", "--limits", "--sizes")]
        self.script(self.here / f"build/bin/{name.replace('/', '.')}_cpu_trace", f"""
            [ "$1" = --describe ] && echo '{json.dumps({"options": options})}' && exit
            {before}
            echo "header of {name}"; echo "stage  options"
            [ {code} = 0 ] || {{ echo "{name}: failed" >&2; exit {code}; }}
            echo "{re.sub('_.*/', '/', name)} $*"; echo "  below {name}"
            while [ $# -gt 0 ]; do [ "$1" != --csv ] || printf 'stage,x\\n{name},1\\n' >"$2"; shift; done""")

    def with_gpu(self):
        """Makes a GPU and nvcc; returns the environment in which they are found."""
        self.tool("nvcc", 'echo "Cuda compilation tools, release 13.0, V13.0.88"')
        self.tool("nvidia-smi", """case "$*" in
            --query-gpu=compute_cap*) echo 9.0;;
            --query-gpu*) echo 'Made-up GPU, 1.2.3, 100 MiB, 1980 MHz, 3201 MHz, 345 MHz, 3201 MHz, 700.00 W';;
            esac""")
        for stage in (*STAGES, "02_two.1_first"):
            (self.here / f"build/bin/{stage}").symlink_to(self.here / f"build/bin/{stage}_cpu_trace")
        return {"CUDACXX": "nvcc"}

    def environment(self, **more):
        self.calls.write_text("")
        return {"PATH": str(self.bin), "TMPDIR": str(self.temporary), "CUDACXX": "/nonexistent", "HOME": "/nonexistent",
                "OCL_ICD_VENDORS": str(self.bin), **more}

    def start(self, command, *words, **options):
        environment = self.environment(**options.pop("environment", {}))
        return subprocess.Popen([str(word) for word in (self.here / command, *words)], **{
            "env": environment, "cwd": self.here, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE, "text": True, "preexec_fn": not_ignored, **options})

    def call(self, command, *words, **options):
        """Runs a command; the CompletedProcess also has `calls`, the calls of the tools."""
        process = self.start(command, *words, **options)
        run = subprocess.CompletedProcess(words, None, *process.communicate(timeout=60))
        run.returncode, run.calls = process.returncode, self.calls.read_text()
        return run

    def left_behind(self):
        """Files that should not exist after a command."""
        return [path.name for path in (*self.temporary.iterdir(), *self.here.glob("*.csv"), *self.here.rglob(".*"))]


def failed(run, code, said):
    """Requires that exit code, and those words in the only line on stderr."""
    assert run.returncode == code and said in run.stderr and run.stderr.count("\n") == 1, run

"""A folder of stand-ins, in which run_test.py and all_test.py try ./run and ./test: the two commands beside made-up stages, whose
programs are scripts, and a PATH that holds a few ordinary tools and a cmake, a ctest and an apt-get that only note how they were
called.
"""
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import time

from checks import check

ROOT = pathlib.Path(__file__).resolve().parent.parent


def expect(run, code, what, *, out="", err="", lines=None):
    """Wants the exit code, `out` and `err` in the two outputs, and that many lines on stderr."""
    good = run.returncode == code and out in run.stdout and err in run.stderr
    good = good and (lines is None or len(run.stderr.splitlines()) == lines)
    check(good, what, f"exit code {run.returncode}\n--- stdout\n{run.stdout}--- stderr\n{run.stderr}")


def call(*command, **options):
    command = [str(word) for word in command]
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, **options)


def press_ctrl_c(command, when, **options):
    """Runs a command on a terminal of its own. SIGINT goes to all of its processes just after its output has the words `when`, or
    after so many seconds. Returns its exit code, what came to stand on the terminal, and what is left on the last line there."""
    terminal, its_end = os.openpty()
    process = subprocess.Popen([str(word) for word in command], stdin=its_end, stdout=its_end, stderr=its_end,
                               start_new_session=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), **options)
    os.close(its_end)
    output, start = "", time.monotonic()
    due = None if isinstance(when, str) else start + when
    while time.monotonic() < start + 60:
        if due is None and when in output:
            due = time.monotonic() + 0.1  # a shell that just starts its next command can miss it
        if due and time.monotonic() > due:
            os.killpg(process.pid, signal.SIGINT)
            due = float("inf")
        if select.select([terminal], [], [], 0.002)[0]:
            try:
                output += os.read(terminal, 65536).decode(errors="replace")
            except OSError:  # no process has it open any more
                break
    else:
        os.killpg(process.pid, signal.SIGKILL)
    os.close(terminal)
    return process.wait(), output, re.split(r"\n|\r\x1b\[K", output)[-1].strip("\r")


class StandIns:
    """A folder with run and test, the stages 01_one to 03_three, two other programs, and the only tools that they see."""

    tools = "awk basename bash cat diff dirname env grep head mkdir mktemp mv nproc python3 readlink rm rmdir sed sleep sort true"

    def __init__(self, here):
        self.here = here = pathlib.Path(here)
        self.bin, self.temporary, self.calls = here / "path", here / "tmp", here / "calls"
        for folder in (self.bin, self.temporary, here / "build/bin"):
            folder.mkdir(parents=True)
        for name in ("run", "test", "tools"):
            (shutil.copytree if name == "tools" else shutil.copy)(ROOT / name, here / name)
        for tool in self.tools.split():
            (self.bin / tool).symlink_to(shutil.which(tool))
        (self.bin / "python3").unlink()  # this one says that it has matplotlib
        self.script(self.bin / "python3", f'[ "$2" = "import matplotlib" ] || exec {sys.executable} "$@"')
        for tool in ("ninja", "ctest", "apt-get", "oclgrind", "clang-19", "clang-format-14"):
            self.tool(tool, "")
        (here / "path/pocl.icd").touch()
        (here / "path/opencl.bc").touch()
        self.tool("cmake", '[ "$1" != --version ] || echo "cmake version 3.24.0"')
        # It is asked where a library is.
        self.tool("g++", f"""[ "$1" != --version ] || {{ echo "g++ 1.2"; exit; }}
            [ -e {here}/no_libraries ] && echo none || echo {here}/run""")
        self.tool("sudo", 'shift; exec "$@"')
        for name in ("01_one", "02_two", "03_three"):
            (here / name).mkdir()
            (here / name / "matmul.cu").touch()
            self.stage(name)
        (here / "04_four").mkdir()
        (here / "04_four/matmul.cpp").touch()
        self.script(here / "build/bin/04_four", 'echo "04_four $*"')
        (here / "00_zero").mkdir()
        (here / "00_zero/zero_host.cpp").touch()
        self.script(here / "build/bin/zero_host", 'echo "zero_host $*"')
        self.script(self.bin / "ldconfig", "echo libopenblas.so.0")
        self.cache()

    def cache(self, **changed):
        values = {"CMAKE_HOME_DIRECTORY": self.here, "CMAKE_CACHEFILE_DIR": self.here / "build", **changed}
        for name, default in (("CXX_COMPILER", "g++"), ("MAKE_PROGRAM", "ninja"), ("CUDA_COMPILER", "NOTFOUND")):
            values.setdefault(f"CMAKE_{name}", default if default == "NOTFOUND" else self.bin / default)
        text = "".join(f"{name}:STRING={value}\n" for name, value in values.items())
        (self.here / "build/CMakeCache.txt").write_text(text)

    def script(self, path, text):
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def tool(self, name, text):
        self.script(self.bin / name, f'echo "{name} $*" >>{self.calls}\n{text}')

    def stage(self, name, code=0, before=""):
        """A program that prints two lines of header and, unless it fails, a row, and writes a CSV."""
        self.script(self.here / f"build/bin/{name}_cpu_trace", f"""{before}
            echo "header of {name}"; echo "stage  options"
            [ {code} = 0 ] || {{ echo "{name}: failed" >&2; exit {code}; }}
            echo "{name} $*"
            while [ $# -gt 0 ]; do [ "$1" != --csv ] || printf 'stage,x\\n{name},1\\n' >"$2"; shift; done""")

    def environment(self):
        self.calls.write_text("")
        return {"PATH": str(self.bin), "TMPDIR": str(self.temporary), "CUDACXX": "/nonexistent", "HOME": "/nonexistent",
                "OCL_ICD_VENDORS": str(self.bin), "HIP_DEVICE_LIB_PATH": str(self.bin)}

    def call(self, command, *words):
        return call(self.here / command, *words, env=self.environment(), cwd=self.here)

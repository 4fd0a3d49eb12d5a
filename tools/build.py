"""The build folder: the compilers that are installed, and what CMake builds from the sources."""
import contextlib
import fcntl
import functools
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import process
from programs import ROOT, files

BUILD = pathlib.Path(os.environ.get("BUILD_DIR") or ROOT / "build").resolve()
if "CUDACXX" not in os.environ and not shutil.which("nvcc") and os.access("/usr/local/cuda/bin/nvcc", os.X_OK):
    os.environ["CUDACXX"] = "/usr/local/cuda/bin/nvcc"
NVCC = os.environ.get("CUDACXX") or "nvcc"
COMPILER = shlex.split(os.environ.get("CXX") or "g++")
os.environ.update(BUILD_DIR=str(BUILD), PYTHONDONTWRITEBYTECODE="1")
os.environ.setdefault("POCL_CACHE_DIR", str(BUILD / "pocl"))  # HOME may be read-only
CORES = str(len(os.sched_getaffinity(0)))
STEP = re.compile(rb"\[ *\d+(/\d+|%)\] ")  # a line of ninja's or make's progress
LINKED = re.compile(rb"(?:executable bin/|Built target )(\S+)")
FAILED = re.compile(rb"FAILED: ")
BUILT_OF = (".c", ".cl", ".cpp", ".cu", ".cuh", ".h", ".py", ".txt")  # the sources
CHATTER = re.compile(rb"-- |ninja: (no work to do|Entering|build stopped)|Scanning dependencies|Consolidate compiler|"
                     rb".*Re-checking globbed|collect2: |g?make(\[\d+\])?: |$")


@functools.lru_cache(None)
def has_nvcc():
    return bool(shutil.which(NVCC))


@functools.lru_cache(None)
def compute_capabilities():
    """The compute capability of each GPU, such as 9.0, a line each. The result is cached, because the query takes
    a second where no other program keeps the driver loaded."""
    return process.output("nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader")


def has_gpu():
    return bool(re.match(r"\d+\.\d", compute_capabilities()))


def nvcc_architecture():
    """The argument of nvcc's -arch for the GPU at hand. Like CMakeLists.txt it is sm_90a for compute capability 9.0:
    only that architecture has all instructions, and the code of other kernels is the same."""
    return "sm_90a" if compute_capabilities().startswith("9.0") else "native"


def emulated(cpu):
    """Whether to use the CPU emulator."""
    if not cpu and has_gpu() and not has_nvcc():
        process.say("there is a GPU but no nvcc: running on the CPU emulator")
    return cpu or not has_gpu() or not has_nvcc()


def check_paths():
    """Exits if a path has characters that CMake or nvcc cannot handle, or if CXX names no compiler."""
    if "CXX" in os.environ and not shutil.which(COMPILER[0]):
        process.fail(2, f"CXX is '{os.environ['CXX']}', which is not a program; set it to a C++ compiler, or unset it")
    for path in (ROOT, BUILD, tempfile.gettempdir()):
        if bad := set('";#[]\\<>|\n') & set(str(path)):
            process.fail(2, f"{path}: CMake cannot use a path with {' '.join(sorted(bad))} in it; move it elsewhere")
    sources = {file.suffix for file in BUILD.glob("*")} & {".cu", ".h", ".md", ".py"}
    if BUILD in ROOT.parents or sources and not reusable(BUILD / "CMakeCache.txt"):
        process.fail(2, f"BUILD_DIR is {BUILD}, which has other files: takes a folder of its own")


@contextlib.contextmanager
def locked():
    """Locks the build folder, because two builds in it would break each other."""
    BUILD.mkdir(parents=True, exist_ok=True)
    check_space()
    with open(BUILD / "lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            process.say(f"waiting for another ./run, which is building in {BUILD}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def check_dates():
    """Exits if a source has a date in the future: its targets would always be older, and the build would never end."""
    soon = time.time() + 60
    later = [file for file in files("*.*") if file.suffix in BUILT_OF and file.stat().st_mtime > soon]
    if later:
        day = time.strftime("%Y-%m-%d %H:%M", time.localtime(later[0].stat().st_mtime))
        touch = f"touch {shlex.quote(str(later[0]))}"
        if len(later) > 1:
            day += f", as {len(later)} files are"
            touch = f"find {shlex.quote(str(ROOT))} -newermt now -exec touch {{}} +"
        file = later[0].relative_to(ROOT)
        process.fail(2, f"{file} is dated in the future, {day}: if the clock is right, {touch}")


def configure(tests=False):
    """Runs CMake on the sources. Shows on stderr what goes wrong, and then ends the program. tests: configures the
    tests, too, which takes a moment."""
    check_dates()
    with locked():
        cache, options = BUILD / "CMakeCache.txt", ["-DTESTS=ON"] if tests else []
        if not reusable(cache):
            why = " from scratch: it is of another place or compiler" if cache.exists() else ""
            process.say(f"configuring {BUILD}{why}")
            cache.unlink(missing_ok=True)
            shutil.rmtree(BUILD / "CMakeFiles", ignore_errors=True)
            # Only in a new folder, because a later change would rebuild everything.
            in_ci = os.environ.get("CI") not in (None, "", "0", "false")
            options = [f"-DTESTS={'ON' if tests else 'OFF'}", f"-DPython3_EXECUTABLE={sys.executable}",
                       "-G", "Ninja" if shutil.which("ninja") else "Unix Makefiles",
                       f"-DWARNINGS_ARE_ERRORS={'ON' if in_ci else 'OFF'}"]
        os.environ["COMPUTE_CAPABILITIES"] = compute_capabilities()  # for CMake, also when the build calls it again
        said = []
        command = ["cmake", "-S", ROOT, "-B", BUILD, "-DCMAKE_TARGET_MESSAGES=OFF", "--no-warn-unused-cli", *options]
        if process.call(command, line=said.append, stderr=subprocess.STDOUT):
            sys.stderr.write(b"".join(said).decode(errors="replace"))
            build_failed()


def check_space():
    """Exits if nothing can be written. CMake and ninja would try for a while, and not say why."""
    if shutil.disk_usage(BUILD).free <= 1 << 20:
        process.fail(1, f"build failed: no space left in {BUILD}")


def build_failed():
    check_space()
    process.fail(1, "build failed")


def build_command(targets):
    """The command that builds the targets."""
    return ["cmake", "--build", str(BUILD), "--parallel", CORES, "--target", *targets]


def build_configured(targets):
    """Builds the targets. Shows on stderr what goes wrong, and then ends the program."""
    with locked():
        code = process.call(build_command(targets), line=Shown(), stderr=subprocess.STDOUT)
        process.show_progress("")
        if code:
            build_failed()


def build(targets):
    configure()
    build_configured(targets)


def each_built(targets):
    """Builds, and yields each target as soon as it exists. The first one is built alone, so that its row appears early,
    and the others are built while earlier ones are used."""
    configure()
    build_configured(targets[:1])
    yield targets[0]
    if not targets[1:]:
        return
    linked, shown = set(), Shown()
    command = build_command(targets[1:])
    with locked(), subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as child:
        try:
            for target in targets[1:]:
                while target not in linked and (line := child.stdout.readline()):
                    shown(line)
                    linked.update(name.decode() for name in LINKED.findall(line))
                process.show_progress("")
                if target not in linked and child.wait():  # the build has ended; what it did not link existed before
                    build_failed()
                yield target
        finally:
            if child.poll() is None:
                process.end(child)


def tests_of_ctest(options):
    """The tests that ctest would run with these options, each as {"name": ..., "command": [...], "properties": [...]}.
    """
    said = process.output("ctest", "--test-dir", BUILD, "--show-only=json-v1", *options)
    if wrong := re.match(r"RegularExpression::compile\(\): (.*)", said):
        process.fail(2, f"a pattern is not a regular expression: {wrong[1]}")
    return json.loads(said or "{}").get("tests", [])


def reusable(cache):
    """Whether the build folder was configured here, for this place and with the compiler that CXX names."""
    text = cache.read_text(errors="replace") if cache.exists() else ""
    places = dict(re.findall(r"(?m)^CMAKE_(\w+):[A-Z]+=(.*)$", text))
    wanted = {"HOME_DIRECTORY": ROOT, "CACHEFILE_DIR": BUILD}
    if "CXX" in os.environ and places.get("CXX_COMPILER"):
        wanted["CXX_COMPILER"] = os.path.realpath(shutil.which(COMPILER[0]) or COMPILER[0])
    return bool(places) and all(os.path.realpath(places.get(key, "")) == str(place) for key, place in wanted.items())


class Shown:
    """Shows the output of a build: its progress in one line, and a compiler's errors, with paths from the root."""

    def __init__(self):
        self.command_follows = False  # the failed command, which is not shown

    def __call__(self, line):
        text = line.decode(errors="replace")
        if process.verbose:
            print(text, end="", file=sys.stderr, flush=True)
        elif STEP.match(line):
            process.show_progress("building " + text.strip())
        elif FAILED.match(line) or self.command_follows:
            self.command_follows = not self.command_follows
        elif not CHATTER.match(line):
            process.show_progress("")
            print(process.coloured(text.rstrip("\n").replace(f"{ROOT}/", "")), file=sys.stderr, flush=True)

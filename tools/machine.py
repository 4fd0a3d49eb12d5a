"""What ./run needs from the machine: packages, child processes, the build folder."""
import contextlib
import ctypes
import fcntl
import functools
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from programs import ROOT
from results import plain

BUILD = pathlib.Path(os.environ.get("BUILD_DIR") or ROOT / "build").resolve()
if "CUDACXX" not in os.environ and not shutil.which("nvcc") and os.access("/usr/local/cuda/bin/nvcc", os.X_OK):
    os.environ["CUDACXX"] = "/usr/local/cuda/bin/nvcc"
NVCC = os.environ.get("CUDACXX") or "nvcc"
COMPILER = shlex.split(os.environ.get("CXX") or "g++")
os.environ.update(BUILD_DIR=str(BUILD), PYTHONDONTWRITEBYTECODE="1")
os.environ.setdefault("POCL_CACHE_DIR", str(BUILD / "pocl"))  # because HOME may be read-only
CORES = str(len(os.sched_getaffinity(0)))
name = "run"  # in messages
DUMB = os.environ.get("TERM") == "dumb"  # a terminal that writes no line over
PLAIN = bool(os.environ.get("NO_COLOR")) or DUMB  # no colours
verbose = False  # show all output of the build tools
STEP = re.compile(rb"\[ *\d+(/\d+|%)\] ")  # a line of ninja's or make's progress
BUILT = re.compile(rb"(?:executable bin/|Built target )(\S+)")
FAILED = re.compile(rb"FAILED: ")
BUILT_OF = (".c", ".cl", ".cpp", ".cu", ".cuh", ".h", ".py", ".txt")  # the sources
CHATTER = re.compile(rb"-- |ninja: (no work to do|Entering|build stopped)|Scanning dependencies|Consolidate compiler|"
                     rb".*Re-checking globbed|collect2: |g?make(\[\d+\])?: |$")


def say(text):
    print(f"{name}: {plain(text)}", file=sys.stderr, flush=True)


def fail(code, text):
    say(text)
    sys.exit(code)


SHAPE = re.compile(rb"\b(\d+) x (\d+) x (\d+):\s")  # of a product, in what is said of it


def call(words, called=None, line=None, **options):
    """Runs a program and passes each line of its output to `line`. Returns the exit code as a shell does, and says so if a signal
    killed it. Stops it if this process is interrupted."""
    with subprocess.Popen([str(word) for word in words], **({"stdout": subprocess.PIPE} if line else {}), **options) as child:
        try:
            for each in child.stdout or ():
                line(each)
            child.wait()
        except BaseException:
            for stop in (lambda: None, child.terminate, child.kill):  # Ctrl-C has reached the child, too: let it clean up
                stop()
                try:
                    child.wait(timeout=2)
                    break
                except subprocess.TimeoutExpired:
                    pass
            raise
    if child.returncode == -signal.SIGINT:
        sys.exit(130)
    if child.returncode < 0 and child.returncode != -signal.SIGPIPE:
        say(f"{called or words[0]}: killed by {signal.Signals(-child.returncode).name}")
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


ERROR_MARK = b"\x15"  # options.cpp's


def call_stage(words, name, show):
    """Runs the program of a stage. Its errors come in its output, marked, so that they stay below the rows and the header that it had
    printed before: each goes to stderr, every other line to `show`. Returns the exit code and the shape (M, N, K) of the product that
    was wrong, or None."""
    shape = None

    def sort(line):
        nonlocal shape
        if not line.startswith(ERROR_MARK):
            return show(line)
        sys.stderr.buffer.write(line.removeprefix(ERROR_MARK))
        sys.stderr.flush()
        if found := SHAPE.search(line):
            shape = shape or tuple(map(int, found.groups()))

    return call(words, name, sort, env={**os.environ, "ERRORS_IN_OUTPUT": "1"}), shape


def see_it(what, shape):
    """What to type to see the product that was wrong, unless no page can show matrices of that shape."""
    import view
    if shape and max(shape) <= view.LONGEST:
        options = "".join(f" -{edge} {length}" for edge, length in zip("mnk", shape))
        print(f"  See it: ./run view {what}{options}", file=sys.stderr, flush=True)


def output(*words):
    """A program's output, stripped; "" if it is missing or fails."""
    try:
        run = subprocess.run(words, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return run.stdout.strip() if run.returncode == 0 else ""


@functools.lru_cache(None)
def has_nvcc():
    return bool(shutil.which(NVCC))


@functools.lru_cache(None)
def compute_capabilities():
    """Of each GPU, such as 9.0, a line each. Asked once: where nothing keeps the driver loaded an answer takes a second."""
    return output("nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader")


def has_gpu():
    return bool(re.match(r"\d+\.\d", compute_capabilities()))


def emulated(cpu):
    """Whether to use the CPU emulator."""
    if not cpu and has_gpu() and not has_nvcc():
        say("there is a GPU but no nvcc: running on the CPU emulator")
    return cpu or not has_gpu() or not has_nvcc()


def icds(pattern="*"):
    return list(pathlib.Path(os.environ.get("OCL_ICD_VENDORS", "/etc/OpenCL/vendors")).glob(f"{pattern}.icd"))


def python_with(module):
    """A Python that has the module. Packages install it for Debian's own Python, which may not be the first on the PATH."""
    return next((python for python in ("python3", "/usr/bin/python3")
                 if output(python, "-c", f"import {module}; print('yes')")), None)


def links(*files):
    """Whether the compiler finds one of these libraries."""
    return any(os.path.isabs(output(*COMPILER, f"-print-file-name={file}")) or os.path.exists(f"/usr/local/lib/{file}")
               for file in files)


def loads(library):
    try:
        return bool(ctypes.CDLL(library))
    except OSError:
        return False


BITCODE = "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode"
OLDEST_CMAKE = (3, 22)
OPENCL = ("opencl-clhpp-headers", "ocl-icd-opencl-dev", "pocl-opencl-icd")
# How to tell whether a Debian package's content is here, wherever it came from. Packages that are not listed have a program of
# the same name.
HAS = {
    "chromium-driver": lambda: shutil.which("chromedriver"),
    "cmake": lambda: (tuple(map(int, re.findall(r"\d+", output("cmake", "--version"))[:2])) or (0,)) >= OLDEST_CMAKE,
    "g++": lambda: shutil.which(COMPILER[0]),
    "ninja-build": lambda: shutil.which("ninja") or shutil.which("make"),
    "libboost-context-dev": lambda: links("libboost_context.so", "libboost_context.a"),
    "libgtest-dev": lambda: links("libgtest.a", "libgtest.so"),
    "opencl-clhpp-headers": lambda: output(*COMPILER, "-E", "-x", "c++", "-include", "CL/opencl.hpp", "/dev/null"),
    "ocl-icd-opencl-dev": lambda: links("libOpenCL.so"),
    "pocl-opencl-icd": lambda: icds("pocl*"),
    "libopenblas0": lambda: loads("libopenblas.so.0"),
    "rocm-device-libs": lambda: os.path.exists(os.path.join(os.environ.get("HIP_DEVICE_LIB_PATH", BITCODE), "opencl.bc")),
    "furo": lambda: python_with("furo"),
    "python3-myst-parser": lambda: python_with("myst_parser"),
    **{f"python3-{module}": functools.partial(python_with, module) for module in ("polib", "pytest", "selenium")}}


def missing_of(packages):
    return [package for package in packages if not HAS.get(package, lambda: shutil.which(package))()]


@functools.lru_cache(None)
def update(apt):
    """Once. Errors do not matter here: if they do, the installation fails."""
    call([*apt, "update"], line=bytes.strip, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT)


def install(packages, sudo):
    """Says what it installs, and returns why that failed."""
    if not shutil.which("apt-get"):
        return "there is no apt-get"
    if sudo and not output(*sudo, "echo", "allowed"):
        return "that takes root"
    say(f"installing {' '.join(packages)} ({'sudo ' if sudo else ''}apt-get)")
    apt = [*sudo, "env", "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-o", "Acquire::http::Timeout=15",
           "-o", "DPkg::Lock::Timeout=60"]
    said = []

    def quietly(*words):
        return call([*apt, *words], line=said.append, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT)

    update(tuple(apt))
    if quietly("install", "-y", "--no-install-recommends", *packages) and len(packages) > 1:
        for package in packages:  # a name that does not exist stops apt: one by one
            quietly("install", "-y", "--no-install-recommends", package)
    return next((line[3:].decode().strip() for line in said if line.startswith(b"E: ")), "apt-get's is too old")


def need(required, wanted=(), optional=()):
    """Installs missing packages once, if allowed: required and wanted ones as root or with sudo, optional ones only as root. Says
    what is still missing and returns it; exits if a required one is."""
    missing = missing_of(dict.fromkeys((*required, *wanted, *optional)))
    if not missing:
        return []
    sudo = ["sudo", "-n"] if os.geteuid() else []
    note = BUILD / f"not_installed_by_{os.geteuid()}"  # the packages that were tried before
    tried = note.read_text().split() if note.exists() else []
    now = [package for package in missing if package not in tried and not (sudo and package in optional)]
    why = f"{note} says that it was tried" if tried else "they are optional"
    if os.environ.get("NO_INSTALL"):
        why = "NO_INSTALL is set"
    elif now:
        why = install(now, sudo)
        missing = missing_of(missing)
        BUILD.mkdir(parents=True, exist_ok=True)
        note.write_text(" ".join([*tried, *(package for package in now if package in missing)]))
    if missing:
        names = ", ".join(package + f" ({'.'.join(map(str, OLDEST_CMAKE))} or later)" * (package == "cmake") for package in missing)
        say(f"missing, and not installed ({why}): {names}"
            + f"; to install: {'sudo ' * bool(sudo)}apt-get install {' '.join(missing)}" * bool(shutil.which("apt-get")))
    if set(missing) & set(required):
        sys.exit(2)
    return missing


def find_opencl():
    """NVIDIA's OpenCL library is often installed without the file that registers it with the loader. If so, makes a folder that
    registers it beside all libraries that /etc registers."""
    vendors = BUILD / "opencl_vendors"
    if "OCL_ICD_VENDORS" in os.environ or not has_gpu() or not loads("libnvidia-opencl.so.1") or any(
            "nvidia" in path.read_text(errors="replace") for path in icds()):
        return
    vendors.mkdir(parents=True, exist_ok=True)
    for path in icds():
        shutil.copy(path, vendors)
    (vendors / "nvidia.icd").write_text("libnvidia-opencl.so.1\n")
    os.environ["OCL_ICD_VENDORS"] = str(vendors)


def check_paths():
    """Exits if a path has characters that CMake or nvcc cannot handle, or if CXX names no compiler."""
    if "CXX" in os.environ and not shutil.which(COMPILER[0]):
        fail(2, f"CXX is '{os.environ['CXX']}', which is no program; it takes a C++ compiler, or unset it for g++")
    for path in (ROOT, BUILD, tempfile.gettempdir()):
        if bad := set('";#[]\\<>|\n') & set(str(path)):
            fail(2, f"{path}: a path can't have {' '.join(sorted(bad))} in it, which CMake takes for its own; move it elsewhere")
    sources = {file.suffix for file in BUILD.glob("*")} & {".cu", ".h", ".md", ".py"}
    if BUILD in ROOT.parents or sources and not reusable(BUILD / "CMakeCache.txt"):
        fail(2, f"BUILD_DIR is {BUILD}, which has other files: takes a folder of its own")


@contextlib.contextmanager
def locked():
    """Two in one build folder would break each other."""
    BUILD.mkdir(parents=True, exist_ok=True)
    check_space()
    with open(BUILD / "lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another ./run, which is building in {BUILD}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def check_dates():
    """Exits at sources from the future: what is built of them would always be older, and the build would not end."""
    soon = time.time() + 60
    later = [file for pattern in ("CMakeLists.txt", "*/*.*", "*/*/*.*") for file in ROOT.glob(pattern)
             if file.suffix in BUILT_OF and file.stat().st_mtime > soon and BUILD not in file.parents]
    if later:
        day = time.strftime("%Y-%m-%d %H:%M", time.localtime(later[0].stat().st_mtime))
        touch = f"touch {shlex.quote(str(later[0]))}"
        if len(later) > 1:
            touch = f"find {shlex.quote(str(ROOT))} -newermt now -exec touch {{}} +"
        others = f", as {len(later)} files are" * (len(later) > 1)
        fail(2, f"{later[0].relative_to(ROOT)} is dated in the future, {day}{others}: if the clock is right, {touch}")


def configure(tests=False):
    """Lets CMake look at the sources and at what is installed. Shows on stderr what goes wrong, and then ends the program.
    tests: with those, which take a moment."""
    check_dates()
    with locked():
        cache, options = BUILD / "CMakeCache.txt", ["-DTESTS=ON"] * tests
        if not reusable(cache):
            say(f"configuring {BUILD}" + " from scratch: it is of another place or compiler" * cache.exists())
            cache.unlink(missing_ok=True)
            shutil.rmtree(BUILD / "CMakeFiles", ignore_errors=True)
            # Only in a new folder, because a later change would rebuild everything.
            options = [f"-DTESTS={'ON' if tests else 'OFF'}", f"-DPython3_EXECUTABLE={sys.executable}",
                       "-G", "Ninja" if shutil.which("ninja") else "Unix Makefiles",
                       f"-DWARNINGS_ARE_ERRORS={'OFF' if os.environ.get('CI') in (None, '', '0', 'false') else 'ON'}"]
        os.environ["COMPUTE_CAPABILITIES"] = compute_capabilities()  # for CMake, now and when the build calls it again
        said = []
        if call(["cmake", "-S", ROOT, "-B", BUILD, "-DCMAKE_TARGET_MESSAGES=OFF", "--no-warn-unused-cli", *options],
                line=said.append, stderr=subprocess.STDOUT):
            sys.stderr.write(b"".join(said).decode(errors="replace"))
            check_built(1)


def building(targets):
    """The command that builds targets, for call() or Popen."""
    return ["cmake", "--build", str(BUILD), "--parallel", CORES, "--target", *targets]


def check_space():
    """Exits where nothing can be written. CMake and ninja would try for a while, and not say why."""
    if shutil.disk_usage(BUILD).free <= 1 << 20:
        fail(1, f"build failed: no space left in {BUILD}")


def check_built(code):
    show_progress("")
    if code:
        check_space()
        fail(1, "build failed")


def build(targets):
    """Configures and builds. Shows on stderr what goes wrong, and then ends the program."""
    configure()
    with locked():
        check_built(call(building(targets), line=Shown(), stderr=subprocess.STDOUT))


def each_built(targets):
    """Builds, and yields each target once it is there, while the next ones are being built."""
    build(targets[:1])
    yield targets[0]
    if not targets[1:]:
        return
    there, shown = set(), Shown()
    with contextlib.ExitStack() as until_built:
        until_built.enter_context(locked())
        child = until_built.enter_context(subprocess.Popen(building(targets[1:]), stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
        until_built.callback(child.terminate)
        for target in targets[1:]:
            while child.returncode is None and (target not in there or target == targets[-1]):
                line = child.stdout.readline()  # what the build said while a program ran waits in the pipe
                there.update(name.decode() for name in BUILT.findall(line))
                if line:
                    shown(line)
                else:
                    check_built(child.wait())
                    until_built.close()
            yield target


def reusable(cache):
    """Whether the build folder was configured here, for this place and with the compiler that CXX names."""
    places = dict(re.findall(r"(?m)^CMAKE_(\w+):[A-Z]+=(.*)$", cache.read_text(errors="replace"))) if cache.exists() else {}
    wanted = {"HOME_DIRECTORY": ROOT, "CACHEFILE_DIR": BUILD}
    if "CXX" in os.environ and places.get("CXX_COMPILER"):
        wanted["CXX_COMPILER"] = os.path.realpath(shutil.which(COMPILER[0]) or COMPILER[0])
    return bool(places) and all(os.path.realpath(places.get(key, "")) == str(place) for key, place in wanted.items())


def show_progress(text):
    """Overwrites the last line of the terminal with `text`, cut to its width. Does nothing if stderr is no terminal."""
    if sys.stderr.isatty() and not DUMB:
        width = os.get_terminal_size(sys.stderr.fileno()).columns or 80
        print(f"\r\033[K{text[:width - 1]}", end="", file=sys.stderr, flush=True)


def coloured(text):
    """A compiler's line as it would stand on a terminal. The compiler itself writes to the build tools."""
    if not sys.stderr.isatty() or PLAIN:
        return text
    text = re.sub(r"\b((?:fatal )?error:|warning:)", "\033[1;31m\\1\033[0m", text)
    return re.sub(r"^( *\|)([ ~^]+)$", "\\1\033[1;32m\\2\033[0m", text)


class Shown:
    """Shows the lines of a build: its progress in one line, of an error the compiler's lines, with paths from the root."""

    def __init__(self):
        self.command_follows = False  # the one that failed, which is not shown

    def __call__(self, line):
        text = line.decode(errors="replace")
        if verbose:
            print(text, end="", file=sys.stderr, flush=True)
        elif STEP.match(line):
            show_progress("building " + text.strip())
        elif FAILED.match(line) or self.command_follows:
            self.command_follows = not self.command_follows
        elif not CHATTER.match(line):
            show_progress("")
            print(coloured(text.rstrip("\n").replace(f"{ROOT}/", "")), file=sys.stderr, flush=True)

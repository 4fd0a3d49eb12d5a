"""What ./run needs from the machine: packages, child processes that end with it, the build folder."""
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

from results import plain

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("BUILD_DIR") or ROOT / "build").resolve()
if "CUDACXX" not in os.environ and not shutil.which("nvcc") and os.access("/usr/local/cuda/bin/nvcc", os.X_OK):
    os.environ["CUDACXX"] = "/usr/local/cuda/bin/nvcc"
NVCC = os.environ.get("CUDACXX") or "nvcc"
COMPILER = shlex.split(os.environ.get("CXX") or "g++")
os.environ.update(BUILD_DIR=str(BUILD), PYTHONDONTWRITEBYTECODE="1")
os.environ.setdefault("POCL_CACHE_DIR", str(BUILD / "pocl"))  # because HOME may be read-only
CORES = str(len(os.sched_getaffinity(0)))
prctl = getattr(ctypes.CDLL(None), "prctl", lambda *_: 0)
name = "run"  # in messages
verbose = False  # show all output of the build tools
STEP = re.compile(rb"\[ *\d+(/\d+|%)\] ")  # a line of ninja's or make's progress
CHATTER = re.compile(rb"-- |ninja: (no work to do|Entering)|Scanning dependencies|Consolidate compiler|.*Re-checking globbed|$")


def say(text):
    print(f"{name}: {plain(text)}", file=sys.stderr, flush=True)


def fail(code, text):
    say(text)
    sys.exit(code)


@contextlib.contextmanager
def running(words, **options):
    """Starts a child that ends with this process, even if this one is killed. Waits for it at the end."""
    die_too = 1  # PR_SET_PDEATHSIG
    child = subprocess.Popen([str(word) for word in words], preexec_fn=lambda: prctl(die_too, signal.SIGKILL), **options)
    try:
        yield child
        child.wait()
    except BaseException:  # Ctrl-C has reached the child, too, unless it has a session of its own
        own = options.get("start_new_session")
        for how, seconds in ((None, 0 if own else 1), (signal.SIGTERM, 5), (signal.SIGKILL, 5)):
            with contextlib.suppress(ProcessLookupError):
                if how:
                    os.killpg(child.pid, how) if own else child.send_signal(how)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(timeout=seconds)
                if not own:
                    break
        raise


def call(words, called=None, line=None, **options):
    """Runs a program and passes each line of its output to `line`. Returns the exit code as a shell does, and says so if a signal
    killed it."""
    with running(words, **({"stdout": subprocess.PIPE} if line else {}), **options) as child:
        for each in child.stdout or ():
            line(each)
    if child.returncode == -signal.SIGINT:
        sys.exit(130)
    if child.returncode < 0 and child.returncode != -signal.SIGPIPE:
        say(f"{called or words[0]}: killed by {signal.Signals(-child.returncode).name}")
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


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
def has_gpu():
    return output("nvidia-smi", "-L").startswith("GPU")


def icds(pattern="*"):
    return list(pathlib.Path(os.environ.get("OCL_ICD_VENDORS", "/etc/OpenCL/vendors")).glob(f"{pattern}.icd"))


def python_with(module):
    """A Python that has the module. Packages install it for Debian's own Python, which may not be the first on the PATH."""
    return next((python for python in ("python3", "/usr/bin/python3")
                 if output(python, "-c", f"import {module}; print('yes')")), None)


def links(library):
    """Whether the compiler can link the library."""
    return os.path.exists(output("env", f"LIBRARY_PATH=/usr/local/lib:{os.environ.get('LIBRARY_PATH', '')}", *COMPILER,
                                 f"-print-file-name=lib{library}") or "none")


def loads(library):
    """Whether the loader finds the library. Does not use ldconfig, which an ordinary user's PATH lacks."""
    folders = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    for conf in pathlib.Path("/etc/ld.so.conf.d").glob("*.conf"):
        folders += conf.read_text(errors="replace").split()
    folders += ["/usr/local/lib", "/usr/lib", "/usr/lib64", "/lib64"]
    return any((pathlib.Path(folder) / library).exists() for folder in folders if folder)


BITCODE = "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode"
OLDEST_CMAKE = (3, 22)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
OPENCL = ("opencl-clhpp-headers", "ocl-icd-opencl-dev", "pocl-opencl-icd")
# How to tell whether a Debian package's content is here, wherever it came from. Packages that are not listed have a program of
# the same name.
HAS = {
    "chromium": lambda: any(map(shutil.which, BROWSERS)),
    "cmake": lambda: (tuple(map(int, re.findall(r"\d+", output("cmake", "--version"))[:2])) or (0,)) >= OLDEST_CMAKE,
    "g++": lambda: shutil.which(COMPILER[0]),
    "ninja-build": lambda: shutil.which("ninja") or shutil.which("make"),
    "libboost-context-dev": lambda: links("boost_context.so") or links("boost_context.a"),
    "libgtest-dev": lambda: links("gtest.a") or links("gtest.so"),
    "opencl-clhpp-headers": lambda: output(*COMPILER, "-E", "-x", "c++", "-include", "CL/opencl.hpp", "/dev/null"),
    "ocl-icd-opencl-dev": lambda: links("OpenCL.so"),
    "pocl-opencl-icd": lambda: icds("pocl*"),
    "libopenblas0": lambda: loads("libopenblas.so.0"),
    "rocm-device-libs": lambda: os.path.exists(os.path.join(os.environ.get("HIP_DEVICE_LIB_PATH", BITCODE), "opencl.bc")),
    "python3-matplotlib": lambda: python_with("matplotlib"),
    "python3-pytest": lambda: python_with("pytest")}


def missing_of(packages):
    return [package for package in packages if not HAS.get(package, lambda: shutil.which(package))()]


def install(packages, sudo):
    """Says what it installs, and tries once. Returns why that failed."""
    if not shutil.which("apt-get"):
        return "there is no apt-get"
    if sudo and (not shutil.which("sudo") or subprocess.run([*sudo, "true"], capture_output=True).returncode):
        return "that takes root"
    say(f"installing {' '.join(packages)} ({'sudo ' if sudo else ''}apt-get)")
    apt = [*sudo, "env", "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-o", "Acquire::http::Timeout=15",
           "-o", "DPkg::Lock::Timeout=60"]

    def quietly(*words):
        said = []
        code = call([*apt, *words], line=said.append, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT)
        return b"".join(said).decode(errors="replace") if code else ""

    quietly("update")  # ignore errors: if they matter, the installation fails
    said = quietly("install", "-y", "--no-install-recommends", *packages)
    for package in packages if said and len(packages) > 1 else ():  # a name that does not exist stops apt: one by one
        quietly("install", "-y", "--no-install-recommends", package)
    return next((line[3:] for line in said.splitlines() if line.startswith("E: ")), "apt-get's is too old")


def need(required, wanted=(), optional=()):
    """Installs missing packages if allowed: required ones as root or with sudo, optional ones only as root. Exits if a required
    one is still missing. Reports the optional ones that are missing, and returns them."""
    missing = missing_of(dict.fromkeys((*required, *wanted, *optional)))
    if not missing:
        return []
    sudo = ["sudo", "-n"] if os.geteuid() else []
    why = "they are optional"
    note = BUILD / f"not_installed_by_{os.geteuid()}"  # what was tried before: a line for each package
    tried = dict(line.partition(": ")[::2] for line in note.read_text().splitlines()) if note.exists() else {}
    try_now = [package for package in missing if package not in tried and not (sudo and package in optional)]
    if os.environ.get("NO_INSTALL"):
        why = "NO_INSTALL is set"
    elif try_now:
        refusal = install(try_now, sudo)
        missing = missing_of(missing)
        if refused := [package for package in try_now if package in missing]:
            why = refusal
            BUILD.mkdir(parents=True, exist_ok=True)
            note.write_text("".join(f"{package}: {why}\n" for package, why in {**tried, **dict.fromkeys(refused, why)}.items()))
    elif known := [package for package in missing if package in tried]:
        why = tried[known[0]]
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
    if "OCL_ICD_VENDORS" in os.environ or not loads("libnvidia-opencl.so.1") or not has_gpu() or any(
            "nvidia" in path.read_text(errors="replace") for path in icds()):
        return
    vendors.mkdir(parents=True, exist_ok=True)
    for path in icds():
        shutil.copy(path, vendors)
    (vendors / "nvidia.icd").write_text("libnvidia-opencl.so.1\n")
    os.environ["OCL_ICD_VENDORS"] = str(vendors)


def check_paths():
    """Exits if a path has characters that CMake or nvcc cannot handle."""
    for path in (ROOT, BUILD, tempfile.gettempdir()):
        if bad := set('";#[]\\<>|\n') & set(str(path)):
            fail(2, f"{path}: a path can't have {' '.join(sorted(bad))} in it, which CMake takes for its own; move it elsewhere")


@contextlib.contextmanager
def lock(file, doing):
    """Locks out other processes until this one ends. If one of them holds the lock, says what it is `doing` and waits."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with open(BUILD / file, "a+") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            held.seek(0)
            say(f"waiting for process {held.read().strip() or '?'}, which is {doing}")
            fcntl.flock(held, fcntl.LOCK_EX)
        except OSError:
            pass  # a file system without locks
        held.truncate(0)
        print(os.getpid(), file=held, flush=True)
        yield


def build(targets):
    """Configures and builds. Shows on stderr what goes wrong, and then ends the program."""
    given = os.environ.get("CMAKE_GENERATOR", "")  # only a new build folder can use it
    if not given or "Multi-Config" in given:  # such generators put the programs elsewhere
        os.environ["CMAKE_GENERATOR"] = "Ninja" if shutil.which("ninja") else "Unix Makefiles"
    with lock("lock", f"building in {BUILD}"):
        cache, options = BUILD / "CMakeCache.txt", []
        if not reusable(cache):
            why = " from scratch: it is of another place or generator, or of tools that are gone"
            say(f"configuring {BUILD}" + why * cache.exists())
            cache.unlink(missing_ok=True)
            shutil.rmtree(BUILD / "CMakeFiles", ignore_errors=True)
            # Only in a new folder, because a later change would rebuild everything.
            options = [f"-DWARNINGS_ARE_ERRORS={'OFF' if os.environ.get('CI') in (None, '', '0', 'false') else 'ON'}"]
        said = []
        if call(["cmake", "-S", ROOT, "-B", BUILD, "-DCMAKE_TARGET_MESSAGES=OFF", "--no-warn-unused-cli", *options],
                line=said.append, stderr=subprocess.STDOUT):
            sys.stderr.write(b"".join(said).decode(errors="replace"))
            fail(1, "build failed")
        code = call(["cmake", "--build", BUILD, "--parallel", CORES, "--target", *targets],
                    line=show_building, stderr=subprocess.STDOUT)
        show_progress("")
        if code:
            fail(1, "build failed")


def show_progress(text):
    """Overwrites the last line of the terminal with `text`, cut to its width. Does nothing if stderr is no terminal."""
    if sys.stderr.isatty():
        width = os.get_terminal_size(sys.stderr.fileno()).columns or 80
        print(f"\r\033[K{text[:width - 1]}", end="", file=sys.stderr, flush=True)


def show_building(line):
    """Shows a line of the build's output. A progress line overwrites the one before; chatter is dropped."""
    text = line.decode(errors="replace")
    if not verbose and CHATTER.match(line):
        return
    if not verbose and STEP.match(line):
        show_progress("building " + text.strip())
    else:
        show_progress("")
        sys.stderr.write(text)
        sys.stderr.flush()


def reusable(cache):
    """Whether the build folder was configured at this path, with tools that still exist."""
    values = dict(re.findall(r"(?m)^CMAKE_(\w+):[A-Z]+=(.*)$", cache.read_text(errors="replace"))) if cache.exists() else {}
    places, tools = (("HOME_DIRECTORY", ROOT), ("CACHEFILE_DIR", BUILD)), ["MAKE_PROGRAM", "CXX_COMPILER"]
    if not values.get("CUDA_COMPILER", "NOTFOUND").endswith("NOTFOUND"):
        tools.append("CUDA_COMPILER")
    return (all(os.path.realpath(values.get(key, "")) == str(place) for key, place in places) and
            all(os.access(values.get(tool, ""), os.X_OK) for tool in tools) and "Multi-Config" not in values.get("GENERATOR", ""))

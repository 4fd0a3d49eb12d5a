"""What ./run needs of the machine: packages, programs that end with this one, the build folder."""
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
os.environ.setdefault("POCL_CACHE_DIR", str(BUILD / "pocl"))  # HOME need not be writable
CORES = str(len(os.sched_getaffinity(0)))
prctl = getattr(ctypes.CDLL(None), "prctl", lambda *_: 0)
name = "run"  # in messages
verbose = False  # show all that the build tools say
STEP = re.compile(rb"\[ *\d+(/\d+|%)\] ")  # of ninja and of make
CHATTER = re.compile(rb"-- |ninja: (no work to do|Entering)|Scanning dependencies|Consolidate compiler|.*Re-checking globbed|$")


def say(text):
    print(f"{name}: {plain(text)}", file=sys.stderr, flush=True)


def fail(code, text):
    say(text)
    sys.exit(code)


@contextlib.contextmanager
def running(words, **options):
    """A child that doesn't outlive this process, even where this is killed; on the way out it is waited for."""
    die_too = 1  # PR_SET_PDEATHSIG
    child = subprocess.Popen([str(word) for word in words], preexec_fn=lambda: prctl(die_too, signal.SIGKILL), **options)
    try:
        yield child
        child.wait()
    except BaseException:  # after Ctrl-C it is ending by itself, unless it has a session of its own
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
    """Runs a program to its end; hands each line that it prints to `line`. Returns the exit code as a shell gives it, and tells
    of a signal that killed it."""
    with running(words, **({"stdout": subprocess.PIPE} if line else {}), **options) as child:
        for each in child.stdout or ():
            line(each)
    if child.returncode == -signal.SIGINT:
        sys.exit(130)
    if child.returncode < 0 and child.returncode != -signal.SIGPIPE:
        say(f"{called or words[0]}: killed by {signal.Signals(-child.returncode).name}")
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def output(*words):
    """What a program prints, stripped; "" when it is not here or fails."""
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
    """A Python that has it: a package's is Debian's own, which need not be the first on the PATH."""
    return next((python for python in ("python3", "/usr/bin/python3")
                 if output(python, "-c", f"import {module}; print('yes')")), None)


def links(library):
    """Does the compiler find it?"""
    return os.path.exists(output("env", f"LIBRARY_PATH=/usr/local/lib:{os.environ.get('LIBRARY_PATH', '')}", *COMPILER,
                                 f"-print-file-name=lib{library}") or "none")


def loads(library):
    """Is it where the loader looks? Without ldconfig, which is not on an ordinary user's PATH."""
    folders = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    for conf in pathlib.Path("/etc/ld.so.conf.d").glob("*.conf"):
        folders += conf.read_text(errors="replace").split()
    folders += ["/usr/local/lib", "/usr/lib", "/usr/lib64", "/lib64"]
    return any((pathlib.Path(folder) / library).exists() for folder in folders if folder)


BITCODE = "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode"
OLDEST_CMAKE = (3, 22)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
OPENCL = ("opencl-clhpp-headers", "ocl-icd-opencl-dev", "pocl-opencl-icd")
# Is here what a Debian package brings, from that package or from elsewhere? Those that are not named bring a program of their name.
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

    quietly("update")  # the installation tells whether it mattered
    said = quietly("install", "-y", "--no-install-recommends", *packages)
    for package in packages if said and len(packages) > 1 else ():  # one that there is none of holds up the others
        quietly("install", "-y", "--no-install-recommends", package)
    return next((line[3:] for line in said.splitlines() if line.startswith("E: ")), "apt-get's is too old")


def need(required, wanted=(), optional=()):
    """Installs what is missing, where that is allowed: the optional ones as root, but not by sudo. Ends the program without the
    required ones. Returns the others that are missing, having said so."""
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
    """NVIDIA's OpenCL library is often here without a file that tells the loader of it. Names it in a folder of our own then,
    beside all that /etc names."""
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
    """CMake and nvcc can't take everything."""
    for path in (ROOT, BUILD, tempfile.gettempdir()):
        if bad := set('";#[]\\<>|\n') & set(str(path)):
            fail(2, f"{path}: a path can't have {' '.join(sorted(bad))} in it, which CMake takes for its own; move it elsewhere")


@contextlib.contextmanager
def lock(file, doing):
    """Keeps other processes out, as long as this one lives; waits for one that is `doing` something."""
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
    given = os.environ.get("CMAKE_GENERATOR", "")  # matters to a new build folder only
    if not given or "Multi-Config" in given:  # that has other places for the programs
        os.environ["CMAKE_GENERATOR"] = "Ninja" if shutil.which("ninja") else "Unix Makefiles"
    with lock("lock", f"building in {BUILD}"):
        cache, options = BUILD / "CMakeCache.txt", []
        if not reusable(cache):
            why = " from scratch: it is of another place or generator, or of tools that are gone"
            say(f"configuring {BUILD}" + why * cache.exists())
            cache.unlink(missing_ok=True)
            shutil.rmtree(BUILD / "CMakeFiles", ignore_errors=True)
            # Only here: changed later, it would build everything again.
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
    """Puts `text` in the place of the terminal's last line, as much as that holds; nothing where stderr is no terminal."""
    if sys.stderr.isatty():
        width = os.get_terminal_size(sys.stderr.fileno()).columns or 80
        print(f"\r\033[K{text[:width - 1]}", end="", file=sys.stderr, flush=True)


def show_building(line):
    """A line that the build prints: a step overwrites the last one; what tells nothing is left out."""
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
    """Was the build folder configured for this place, with tools that still are here?"""
    values = dict(re.findall(r"(?m)^CMAKE_(\w+):[A-Z]+=(.*)$", cache.read_text(errors="replace"))) if cache.exists() else {}
    places, tools = (("HOME_DIRECTORY", ROOT), ("CACHEFILE_DIR", BUILD)), ["MAKE_PROGRAM", "CXX_COMPILER"]
    if not values.get("CUDA_COMPILER", "NOTFOUND").endswith("NOTFOUND"):
        tools.append("CUDA_COMPILER")
    return (all(os.path.realpath(values.get(key, "")) == str(place) for key, place in places) and
            all(os.access(values.get(tool, ""), os.X_OK) for tool in tools) and "Multi-Config" not in values.get("GENERATOR", ""))

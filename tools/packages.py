"""Debian packages: finds those in packages.txt that are missing, and installs them."""
import ctypes
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import build
import process
from programs import ROOT

LINES = [re.split("  +", line) for line in (ROOT / "tools/packages.txt").read_text().splitlines()
         if line and line[0] != "#"]
PACKAGES = {name: how for name, how, _ in LINES}
OPENCL = ("opencl-clhpp-headers", "ocl-icd-opencl-dev", "pocl-opencl-icd")
APT = ["env", "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-o", "Acquire::http::Timeout=15",
       "-o", "DPkg::Lock::Timeout=60"]


def icds(pattern="*"):
    """The files that register OpenCL platforms."""
    return list(pathlib.Path(os.environ.get("OCL_ICD_VENDORS", "/etc/OpenCL/vendors")).glob(f"{pattern}.icd"))


def python_with(module):
    """A Python that has the module, or None. Packages install modules for Debian's own Python, which may not be the
    first on the PATH."""
    for python in ("python3", "/usr/bin/python3"):
        if process.output(python, "-c", f"import {module}; print('yes')"):
            return python
    return None


def links(file):
    """Whether the compiler finds this library."""
    return os.path.isabs(process.output(*build.COMPILER, f"-print-file-name={file}")) or os.path.exists(
        f"/usr/local/lib/{file}")


def loads(library):
    try:
        return bool(ctypes.CDLL(library))
    except OSError:
        return False


def compiles(header):
    return process.output(*build.COMPILER, "-E", "-x", "c++", "-include", header, "/dev/null")


def is_cmake(oldest):
    """Whether CMake is of that version or later."""
    def numbers(text):
        return [int(number) for number in re.findall(r"\d+", text)[:2]]

    return numbers(process.output("cmake", "--version")) >= numbers(oldest)


TESTS = {"programs": shutil.which, "compiler": lambda _: shutil.which(build.COMPILER[0]), "cmake": is_cmake,
         "libraries": links, "header": compiles, "loads": loads, "module": python_with, "file": os.path.exists,
         "opencl": lambda platform: icds(f"{platform}*")}


def is_there(package):
    kind, *words = PACKAGES[package].split()
    return any(TESTS[kind](word) for word in words or [""])


def missing_of(packages):
    return [package for package in dict.fromkeys(packages) if not is_there(package)]


def install(packages, sudo):
    """Installs packages and says so. Returns why that failed, or ""."""
    def quietly(*words):
        return process.call([*sudo, *APT, *words], line=said.append, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT)

    process.say("installing: " + shlex.join([*sudo, "apt-get", "install", "--no-install-recommends", *packages]))
    said = []
    quietly("update")  # if this fails and matters, the installation fails
    words = ("install", "-y", "--no-install-recommends")
    if quietly(*words, *packages) and len(packages) > 1:
        for package in packages:  # apt stops at a name that it does not know, so the others are installed one by one
            quietly(*words, package)
    errors = [line.decode().removeprefix("E: ").strip() for line in said if line.startswith(b"E: ")]
    return errors[0] if errors else ""


def refused(sudo):
    """The reason why nothing may be installed, or ""."""
    if os.environ.get("NO_INSTALL"):
        return "NO_INSTALL is set"
    if not shutil.which("apt-get"):
        return "there is no apt-get"
    if sudo and not process.output(*sudo, "echo", "allowed"):
        return "that takes root"
    return ""


def need(required, optional=()):
    """Installs missing packages if that is allowed, each of them only once. Prints what is still missing, and returns
    it; exits if a required package is."""
    missing = missing_of((*required, *optional))
    if not missing:
        return []
    sudo = ["sudo", "-n"] if os.geteuid() else []
    # The packages that were tried before. Without a network, or on a release that lacks one of them, every ./run and
    # ./test would otherwise wait for apt-get again.
    note = build.BUILD / "not_installed"
    tried = note.read_text().split() if note.exists() else []
    why = refused(sudo)
    if not why and set(missing) <= set(tried):
        why = f"{note} says that it was tried"
    if not why:
        why = install([package for package in missing if package not in tried], sudo) or "apt-get's is too old"
        missing = missing_of(missing)
        build.BUILD.mkdir(parents=True, exist_ok=True)
        note.write_text(" ".join({*tried, *missing}))
    if missing:
        names = ", ".join(f"cmake ({PACKAGES[name].split()[1]} or later)" if name == "cmake" else name
                          for name in missing)
        line = shlex.join([*sudo[:1], "apt-get", "install", *missing]) if shutil.which("apt-get") else ""
        process.say(f"missing, and not installed ({why}): {names}" + (f"; to install: {line}" if line else ""))
    if set(missing) & set(required):
        sys.exit(2)
    return missing


def find_opencl():
    """Registers NVIDIA's OpenCL library with the loader if it is installed without the file that does so: makes a
    folder that lists it beside all libraries that /etc registers."""
    vendors = build.BUILD / "opencl_vendors"
    if "OCL_ICD_VENDORS" in os.environ or not build.has_gpu() or not loads("libnvidia-opencl.so.1"):
        return
    if any("nvidia" in path.read_text(errors="replace") for path in icds()):
        return
    vendors.mkdir(parents=True, exist_ok=True)
    for path in icds():
        shutil.copy(path, vendors)
    (vendors / "nvidia.icd").write_text("libnvidia-opencl.so.1\n")
    os.environ["OCL_ICD_VENDORS"] = str(vendors)

"""Debian packages: which are missing, and their installation."""
import ctypes
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys

import build
import process


def icds(pattern="*"):
    return list(pathlib.Path(os.environ.get("OCL_ICD_VENDORS", "/etc/OpenCL/vendors")).glob(f"{pattern}.icd"))


def python_with(module):
    """A Python that has the module. Packages install it for Debian's own Python, which may not be the first on the PATH."""
    return next((python for python in ("python3", "/usr/bin/python3")
                 if process.output(python, "-c", f"import {module}; print('yes')")), None)


def links(*files):
    """Whether the compiler finds one of these libraries."""
    return any(os.path.isabs(process.output(*build.COMPILER, f"-print-file-name={file}")) or os.path.exists(f"/usr/local/lib/{file}")
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
    "cmake": lambda: (tuple(map(int, re.findall(r"\d+", process.output("cmake", "--version"))[:2])) or (0,)) >= OLDEST_CMAKE,
    "g++": lambda: shutil.which(build.COMPILER[0]),
    "ninja-build": lambda: shutil.which("ninja") or shutil.which("make"),
    "libboost-context-dev": lambda: links("libboost_context.so", "libboost_context.a"),
    "libgtest-dev": lambda: links("libgtest.a", "libgtest.so"),
    "opencl-clhpp-headers": lambda: process.output(*build.COMPILER, "-E", "-x", "c++", "-include", "CL/opencl.hpp", "/dev/null"),
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
    process.call([*apt, "update"], line=bytes.strip, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT)


def install(packages, sudo):
    """Says what it installs, and returns why that failed."""
    if not shutil.which("apt-get"):
        return "there is no apt-get"
    if sudo and not process.output(*sudo, "echo", "allowed"):
        return "that takes root"
    process.say(f"installing {' '.join(packages)} ({'sudo ' if sudo else ''}apt-get)")
    apt = [*sudo, "env", "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-o", "Acquire::http::Timeout=15",
           "-o", "DPkg::Lock::Timeout=60"]
    said = []

    def quietly(*words):
        return process.call([*apt, *words], line=said.append, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT)

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
    note = build.BUILD / f"not_installed_by_{os.geteuid()}"  # the packages that were tried before
    tried = note.read_text().split() if note.exists() else []
    now = [package for package in missing if package not in tried and not (sudo and package in optional)]
    why = f"{note} says that it was tried" if tried else "they are optional"
    if os.environ.get("NO_INSTALL"):
        why = "NO_INSTALL is set"
    elif now:
        why = install(now, sudo)
        missing = missing_of(missing)
        build.BUILD.mkdir(parents=True, exist_ok=True)
        note.write_text(" ".join([*tried, *(package for package in now if package in missing)]))
    if missing:
        names = ", ".join(package + f" ({'.'.join(map(str, OLDEST_CMAKE))} or later)" * (package == "cmake") for package in missing)
        process.say(f"missing, and not installed ({why}): {names}"
            + f"; to install: {'sudo ' * bool(sudo)}apt-get install {' '.join(missing)}" * bool(shutil.which("apt-get")))
    if set(missing) & set(required):
        sys.exit(2)
    return missing


def find_opencl():
    """NVIDIA's OpenCL library is often installed without the file that registers it with the loader. If so, makes a folder that
    registers it beside all libraries that /etc registers."""
    vendors = build.BUILD / "opencl_vendors"
    if "OCL_ICD_VENDORS" in os.environ or not build.has_gpu() or not loads("libnvidia-opencl.so.1") or any(
            "nvidia" in path.read_text(errors="replace") for path in icds()):
        return
    vendors.mkdir(parents=True, exist_ok=True)
    for path in icds():
        shutil.copy(path, vendors)
    (vendors / "nvidia.icd").write_text("libnvidia-opencl.so.1\n")
    os.environ["OCL_ICD_VENDORS"] = str(vendors)

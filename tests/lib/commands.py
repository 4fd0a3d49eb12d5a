"""Runs each command that the book shows once, as a reader types it, in a copy of the repository with its built
programs."""
import atexit
import functools
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile

import pytest

from command_line import programs_meant
from programs import PRODUCTS, files, listed
from support import BUILD, ROOT, program
from usage import HELP

STAND_INS = {  # replace programs that would take long without testing more
    **{f"build/bin/{each.target(True)}": 'exec REAL --size 48 "$@"' for each in listed(*PRODUCTS)},
    "nvcc": 'case " $* " in *" -cubin "*|*" -ptx "*) ;; *" -O3 "*) dry=--dryrun;; esac; exec REAL $dry "$@"',
    "cmake": 'case "$1" in --version|-P) exec REAL "$@";; esac',  # the programs are built already
    "build/bin/08_opencl_gcn": 'exec REAL "$@" --repeat 1 --size 64',
    "build/bin/blas_host": 'exec REAL --repeat 1 --sizes 256:256:1 "$@"'}


@functools.lru_cache(None)
def copy():
    """The copy's folder, and the environment for commands. Skips the test if the CPU programs are not built."""
    program("03_shared_blocking_cpu_trace")
    top = pathlib.Path(tempfile.mkdtemp(prefix="commands-"))
    atexit.register(shutil.rmtree, top, ignore_errors=True)
    folder = top / "copy"
    shutil.copytree(ROOT, folder, symlinks=True, ignore=lambda at, names: [
        name for name in names if pathlib.Path(at, name) == BUILD or
        pathlib.Path(at) == ROOT and name.startswith(("build", ".git", "results-"))])
    (folder / "build/bin").mkdir(parents=True)
    # For ctest, but without CMake's cache, which belongs to another place: ./run would configure anew.
    for path in (*BUILD.iterdir(), *(BUILD / "bin").iterdir()):
        if path.name not in ("bin", "CMakeCache.txt", "CMakeFiles", "Testing"):
            (folder / "build" / path.relative_to(BUILD)).symlink_to(path)
    for name, script in STAND_INS.items():
        real = BUILD / name.partition("/")[2] if "/" in name else shutil.which(name)
        path = folder / name if "/" in name else top / name
        if "REAL" not in script or real and os.path.exists(real):
            path.unlink(missing_ok=True)
            path.write_text("#!/bin/sh\n" + script.replace("REAL", shlex.quote(str(real))) + "\n")
            path.chmod(0o755)
    return folder, {**os.environ, "PATH": f"{top}:{os.environ['PATH']}", "BUILD_DIR": str(folder / "build"),
                    "NO_INSTALL": "1", "GIT_CEILING_DIRECTORIES": str(top), "PYTHONDONTWRITEBYTECODE": "1",
                    "LC_ALL": "C.UTF-8"}


@functools.lru_cache(None)
def run(command):
    """Runs a command and returns (exit code, output). Skips the test if the output says that something is missing here.
    """
    folder, environment = copy()
    for name in (each.split()[0] for each in re.split(r"&&|;|\|", command)):
        if name.startswith("build/bin/"):
            program(name.rpartition("/")[2])
        elif "/" not in name and not shutil.which(name):
            pytest.skip(f"{name} is not installed")
    if command.startswith("./run 08"):
        program("08_opencl_gcn")
    words = "timeout", "200", "bash", "-c", command  # timeout ends all processes that it started
    done = subprocess.run(words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")
    lines = done.stdout.strip().splitlines() or [f"{command} ended with 77"]
    said = [line for line in lines if re.search("left out|needs cuobjdump|missing, and (not|can't be) installed", line)]
    if done.returncode == 77 or done.returncode and said:
        pytest.skip((said or lines)[-1])
    return done.returncode, done.stdout


@functools.lru_cache(None)
def build_files():
    return "".join(path.read_text() for path in files("*.cmake")) + (ROOT / "tests/CMakeLists.txt").read_text()


def check_exists(command):
    """Checks that the stages, programs and files that a command names exist in the repository."""
    words = shlex.split(command)
    if words[0] == "./run" and words[1:] and words[1] not in HELP and re.match(r"\w[\w/]*$", words[1]):
        assert programs_meant(words[1])  # which fails the test if there is none
    for name in [word.removeprefix("build/bin/") for word in words if word.startswith("build/bin/")]:
        stem = re.sub("_cpu(_trace)?$", "", name).replace(".", "/")
        places = f"{stem}/matmul.c*", f"{stem}.cu", f"*/{stem}.c*", f"*/tests/{stem}.cu"
        there = any(list(ROOT.glob(place)) for place in places)
        assert there or re.search(rf"\b{name}\b", build_files()), f"`{command}`: no such program or stage"
    for word in words:
        if re.search(r"^(?!build)[^:]+/.*\.(cu|cpp|py|patch)$", word):
            assert list(ROOT.glob(word)), f"`{command}`: there is no {word}"


# These start a built program.
STARTERS = "ncu nsys gdb cuda-gdb compute-sanitizer cuobjdump oclgrind perf valgrind".split()


def sections(text):
    """For each section of a page, or for a patch, its commands in order: lines of code and code within text, and lines
    'run: ...'."""
    for section in re.split(r"(?m)^#+ ", text.partition("\n--- a/")[0]):
        yield ["".join(found) for found in re.findall(r"(?m)^ {4,}(\S.*)$|^run: (.*)$|`([^`\n]+)`", section)]


def builds(command, path):
    """Whether this command builds the file of that path."""
    words = command.split()
    if words[0] != "./run" or len(words) < 2 or words[1] in HELP:
        return words[0] == "nvcc" and f"-o {path}" in command
    return path in [f"build/bin/{each.target(cpu)}" for each in programs_meant(words[1]) for cpu in (False, True)]


def unbuilt(text):
    """The commands that start a program that no command above them in the same section has built, and that may
    therefore be outdated."""
    found = []
    for commands in sections(text):
        for at, command in enumerate(commands):
            first, *words = command.split()
            started = [word for word in words if word.startswith("build/")] if first in STARTERS else []
            if re.match(r"build/bin/\S+$|\w+_cpu(_trace)?$", first) or not all(
                    any(builds(above, path) for above in commands[:at]) for path in started):
                found.append(command)
    return found

"""The commands that the book shows, each run once: as a reader types them, in a copy of the repository with the programs that were
built, and with stand-ins for programs that take long and would show nothing more.
"""
import atexit
import contextlib
import functools
import importlib
import io
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile

import pytest

from support import BUILD, ROOT, program

SECONDS = 200  # of a command
STAND_INS = {  # a program's name, or a pattern of those in build/bin; what it does
    "cmake": '[ "$1" != --version ] || echo cmake version 3.31.0',  # the programs are there already
    # A stage at its default size, which many commands run: once for each build and the limits that it predicts from, then what
    # it printed again.
    "build/bin/[0-9]*_cpu_trace": """if [ $# = 0 ] || [ $# = 2 -a "$1" = --csv ]; then
    made=MADE/${0##*/}
    [ "$made" -nt REAL ] && [ "$made" -nt LIMITS ] || { REAL --csv "$made.$$.csv" >"$made.$$" && mv "$made.$$.csv" "$made.csv" && mv "$made.$$" "$made"; } || exit
    [ $# = 0 ] || cp "$made.csv" "$2"
    exec cat "$made"
fi
exec REAL "$@\"""",
    # The host's code takes longer to compile than all else. The build has compiled it, and one stage's line is typed as it stands by
    # its own test.
    "nvcc": 'case " $* " in *" -cubin "*|*" -ptx "*) ;; *" -o "*) ptx=-ptx;; esac; exec REAL -DHARNESS_COMPILED_APART $ptx "$@"',
    "build/bin/08_opencl_gcn": 'exec REAL --repeat 1 "$@"',  # how long a CPU takes shows nothing here
    "build/bin/blas_host": 'exec REAL --repeat 1 --sizes 256:256:1 "$@"'}


@functools.lru_cache(None)
def copy():
    """The copy's folder, and the environment to run commands in; skips the test where the CPU programs are not built."""
    program("03_shared_blocking_cpu_trace")
    top = pathlib.Path(tempfile.mkdtemp(prefix="commands-"))
    atexit.register(shutil.rmtree, top, ignore_errors=True)
    folder, bin_folder = top / "copy", top / "copy/build/bin"
    shutil.copytree(ROOT, folder, symlinks=True, ignore=lambda at, names: [
        name for name in names if name.startswith(("build", ".git", "results-")) or pathlib.Path(at, name) == BUILD])
    made = BUILD / "made"
    for path in (folder, bin_folder, made):
        path.mkdir(parents=True, exist_ok=True)
    for path in BUILD.iterdir():  # for ctest; ./run would configure a folder with a cache of another place
        if path.name not in ("bin", "CMakeCache.txt", "CMakeFiles", "Testing") and not (folder / "build" / path.name).exists():
            (folder / "build" / path.name).symlink_to(path)
    for path in (BUILD / "bin").iterdir():
        (bin_folder / path.name).symlink_to(path)
    for pattern, script in STAND_INS.items():
        for path in sorted(folder.glob(pattern)) if "/" in pattern else [top / pattern]:
            real = BUILD / "bin" / path.name if "/" in pattern else shutil.which(pattern)
            if "REAL" in script and not real:
                continue  # nothing to stand in for
            text = script
            for name, value in (("MADE", made), ("REAL", real), ("LIMITS", ROOT / "docs/results/h200/limits.csv")):
                text = text.replace(name, shlex.quote(str(value)))
            path.unlink(missing_ok=True)
            path.write_text(f"#!/bin/sh\n{text}\n")
            path.chmod(0o755)
    return folder, {**os.environ, "PATH": f"{top}:{os.environ['PATH']}", "BUILD_DIR": str(folder / "build"), "NO_INSTALL": "1",
                    "GIT_CEILING_DIRECTORIES": str(top), "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8"}


def within(module, words):
    """Runs main() of a script in tools/ here: what it compiled for one claim serves the next."""
    out, code = io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            importlib.import_module(module).main(words)
        except SystemExit as end:
            code = end.code or 0
    return subprocess.CompletedProcess(words, code, out.getvalue())


@functools.lru_cache(None)
def run(command):
    """The CompletedProcess of a command; its stdout has stderr, too."""
    folder, environment = copy()
    words = shlex.split(command)
    if words[0] == "python3" and words[1] in ("tools/claims.py", "tools/compile_claims.py"):
        if words[1].endswith("compile_claims.py") and words[2:]:
            run("python3 tools/compile_claims.py")  # all that it compiles, at once
        return within(pathlib.Path(words[1]).stem, words[2:])
    for name in (each.split()[0] for each in re.split(r"&&|;|\|", command)):
        if name.startswith("build/bin/"):
            program(name.rpartition("/")[2])
        elif "/" not in name and not shutil.which(name):
            pytest.skip(f"{name} is not installed")
    if words[:2] == ["./run", "08"]:
        program("08_opencl_gcn")
    return subprocess.run(["timeout", str(SECONDS), "bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")  # which ends all of it


def lacking(done):
    """The line in which a command says what it lacks here; "" if it lacks nothing."""
    lines = done.stdout.strip().splitlines() or [f"{done.args} ended with 77"]
    said = [line for line in lines if re.search("left out|needs cuobjdump|missing, and (not|can't be) installed", line)]
    return said[-1] if said else lines[-1] if done.returncode == 77 else ""


@functools.lru_cache(None)
def listed_tests():
    listed = subprocess.run(["ctest", "--test-dir", BUILD, "-N"], stdout=subprocess.PIPE, text=True).stdout
    return re.findall(r"Test +#\d+: (.+)", listed)


def check_named(command):
    """./test -R NAME: there is such a test. Skips where GoogleTest is missing, which brings many of their names."""
    words = shlex.split(command)
    assert words[-2] == "-R", f"`{command}` takes one name after -R"
    if not any(re.search(words[-1], test) for test in listed_tests()):
        program("verify_test")
        pytest.fail(f"`{command}`: ctest has no such test")

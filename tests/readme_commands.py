"""The commands that the READMEs show work: readme_commands.py ROOT BUILD. Those that take no GPU are run, in a copy, with the
programs that were built; those marked (GPU) are not. Of ./test it is asked which tests it would run. `cmake` does nothing here: the
programs are there already, and others are using the build folder.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from checks import check, end

root, build = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
PROGRAMS = ("./run", "./test", "build/bin/", "nvcc ", "ncu ", "cuda-gdb ", "compute-sanitizer ", "git ", "python3 ", "cuobjdump ",
            "cmake ", "ctest ")


def commands(text):
    """(command, what it takes) of the lines of code that begin with a program's name."""
    for line in re.findall(r"(?m)^    (\S.*)$", text):
        command, comment = (re.split(r"\s+#\s", line, maxsplit=1) + [""])[:2]
        if command.startswith(PROGRAMS):
            takes = re.search(r"\((GPU|toolkit)\b", comment)
            yield command.strip(), takes[1] if takes else ""


# What takes long, and other tests run: ./run --all (all_test.py), the sweep on the CPU (limits_roofline.py, articles.py).
ELSEWHERE = ("./run --all ", "./run roofline_host", "./run 00")


def tried(command, takes):
    """Is this to be run, and can it be here?"""
    program = command.split()[0]
    if takes == "GPU" or command.startswith(ELSEWHERE):
        return False
    if program in ("nvcc", "cuobjdump"):
        return bool(shutil.which(program)) and bool(shutil.which(command.split("|")[0].split()[0]))
    return True


with tempfile.TemporaryDirectory() as name:
    copy = pathlib.Path(name) / "copy"
    shutil.copytree(root, copy, ignore=lambda folder, names: [each for each in names if each.startswith(("build", ".git", "results-"))
                                                              and each != ".gitignore"], symlinks=True)
    (copy / "build").symlink_to(build)
    stand_ins = pathlib.Path(name) / "bin"
    stand_ins.mkdir()
    (stand_ins / "cmake").write_text('#!/bin/sh\n[ "$1" != --version ] || echo cmake version 3.31.0\n')
    (stand_ins / "cmake").chmod(0o755)
    environment = {**os.environ, "PATH": f"{stand_ins}:{os.environ['PATH']}", "BUILD_DIR": str(build),
                   "GIT_CEILING_DIRECTORIES": name}
    seen, left_out = set(), 0
    for page in [copy / "README.md", *sorted(copy.glob("[0-9][0-9]_*/README.md"))]:
        for command, takes in commands(page.read_text()):
            if command in seen:
                continue
            seen.add(command)
            if not tried(command, takes):
                left_out += 1
                continue
            words = f"{command} -N" if command.startswith("./test") else command
            run = subprocess.run(["timeout", "200", "bash", "-c", words], cwd=copy, env=environment, stdin=subprocess.DEVNULL,
                                 capture_output=True, text=True)  # timeout ends all that bash has started, too
            good = run.returncode == 0 or run.returncode == 1 and command.startswith("git diff --no-index")
            if command.startswith("./test"):
                good = good and "Total Tests: 0" not in run.stdout
            check(good, f"{page.relative_to(copy)}: {command}", f"exit code {run.returncode}\n{run.stdout[-800:]}{run.stderr[-800:]}")
    print(f"{left_out} take a GPU or a program that is not here, or are run by other tests")
    check(len(seen) > 40, "the commands are seen", sorted(seen))
end()

"""An exercise's solution, NN_chapter/exercises/NAME.patch: applied to a copy, built and run, it does what the patch says of it.

Above its diff the patch has, for each command that a reader types once it is applied:

    run: build/bin/02_register_blocking_cpu_trace --size 64 --lines
    exit: 0
    prints: a regular expression that the output matches; as many of these as it takes

Without the patch the same commands must not do all of that, or they would show nothing. Skipped (exit code 77) where a command
needs what this machine lacks: Oclgrind, an OpenCL device, clang for GCN.
"""
import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import emulated


def expectations(patch):
    """[(command, exit code, [regular expression])] of what stands above the diff."""
    found = []
    for line in patch.read_text().split("\n--- ")[0].split("\n"):
        what, _, value = line.strip().partition(": ")
        if what == "run":
            found.append((value, [0], []))
        elif what == "exit":
            found[-1][1][0] = int(value)
        elif what == "prints":
            found[-1][2].append(value)
    if not found or not all(patterns for _, _, patterns in found):
        sys.exit(f"{patch}: takes lines 'run: COMMAND' and, below each, 'prints: REGEX'")
    return found


def unmet(command, exit_code, patterns, programs, folder):
    """What the command, run in `folder`, does not do of what is expected; "" if it does it all."""
    words = [str(programs.get(word, word)) for word in shlex.split(command)]
    run = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                         timeout=300, env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
    if run.returncode == 77:
        print(run.stdout)
        sys.exit(77)
    lacking = [f"prints nothing like: {pattern}" for pattern in patterns if not re.search(pattern, run.stdout, re.M)]
    if run.returncode != exit_code[0]:
        lacking.append(f"exit code {run.returncode}, expected {exit_code[0]}")
    return "\n".join([*lacking, run.stdout]) if lacking else ""


def copy_of(root, chapter, patch, folder):
    """Copies what the chapter's programs are made of, makes docs/ appear beside it, and applies the patch."""
    for name in (chapter, "common"):
        shutil.copytree(root / name, folder / name)
    (folder / "docs").symlink_to(root / "docs")
    command = ["patch", "-p1", "--fuzz=0", "-s", "-i"] if shutil.which("patch") else ["git", "apply"]
    subprocess.run([*command, str(patch)], cwd=folder, check=True, env={**os.environ, "GIT_CEILING_DIRECTORIES": str(folder)})


def build(arguments, program, folder):
    """Builds `program`, such as build/bin/types_cpu_trace, from the sources in `folder`. None if it is no emulated one."""
    name, _, variant = program.rpartition("/")[2].rpartition("_cpu")
    sources = name and [*folder.glob(f"*/{name}.cu"), *folder.glob(f"{name}/matmul.cu")]
    if not sources:
        return None
    # Less optimised than a reader's build: it runs for a moment only, and counts the same.
    flags = {"": "-std=c++17 -O1", "_trace": arguments.trace + " -O1", "_asan": arguments.asan + " -O0"}[variant]
    emulated.build(arguments, sources[0].read_text(), sources[0].with_suffix(""), flags)  # beside its source, which messages name
    made = folder / program
    made.parent.mkdir(parents=True, exist_ok=True)
    return sources[0].with_suffix("").rename(made)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--patch", type=pathlib.Path, required=True)
    parser.add_argument("--built", type=pathlib.Path, required=True, help="the folder of the programs as they are")
    emulated.add_arguments(parser)
    arguments = parser.parse_args()
    patch, root = arguments.patch.resolve(), arguments.source.resolve()
    expected = expectations(patch)
    words = [shlex.split(command) for command, _, _ in expected]
    as_it_is = {word: arguments.built.resolve() / word.rpartition("/")[2] for word in sum(words, []) if word.startswith("build/")}
    for program in {first for first, *_ in words} | set(as_it_is):
        if "_cpu" not in program and not shutil.which(as_it_is.get(program, program)):
            print(f"{program} is not there")
            sys.exit(77)
    if not any(unmet(*each, as_it_is, root) for each in expected):
        sys.exit("without the patch all of this is so already: it shows nothing")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        copy_of(root, patch.parent.parent.name, patch, folder)
        arguments.compile = arguments.compile.replace(" -I", f" -I{folder} -I{folder / patch.parent.parent.name} -I", 1)
        programs = {program: build(arguments, program, folder) or path for program, path in as_it_is.items()}
        for each in expected:
            lacking = unmet(*each, programs, folder)
            print(f"{'FAIL' if lacking else 'ok  '} {each[0]}\n{lacking}", end="" if not lacking else "\n")
            if lacking:
                sys.exit(1)


main()

"""Shared by the emulator's Python tests: builds a program on the emulator, and runs one."""
import json
import os
import pathlib
import subprocess
import sys

EMULATOR = pathlib.Path(__file__).resolve().parents[1]
sys.path.append(str(EMULATOR))  # rewrite_launches.py


def call(*words, **options):
    """Runs a program by its argument vector; the CompletedProcess has stdout, stderr and returncode."""
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, errors="replace", timeout=600,
                          stdin=subprocess.DEVNULL, **options)


def line_of(source, text):
    """The number of the first line of a source that contains this text."""
    return source.partition(text)[0].count("\n") + 1


def program(name):
    """The path of a program that CMake has built."""
    return pathlib.Path(os.environ["BIN"], name)


def build(source, *options):
    """Builds a .cu file on the emulator, traced, and returns the program's path. -I and other options go to the
    compiler; if it fails, its messages are the stderr of the CalledProcessError."""
    how = json.loads(pathlib.Path(os.environ["EMULATED"]).read_text())
    generated, compiled, made = (source.with_suffix(suffix) for suffix in (".cpp", ".o", ""))
    emulators, *others = how["includes"]
    folders = [emulators, source.parent, *(option[2:] for option in options if option.startswith("-I")), *others]
    includes = [f"-I{folder}" for folder in folders]
    call(sys.executable, how["rewrite"], source, generated, *folders, check=True)
    call(how["compiler"], *how["flags"]["trace"], *options, *includes, "-c", generated, "-o", compiled, check=True)
    call(how["compiler"], compiled, "-o", made, *how["link"]["trace"], check=True)
    return made

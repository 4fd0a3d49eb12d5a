"""Builds a changed copy of a stage for the emulator, with the flags of the stage's own builds (tests/CMakeLists.txt gives them)."""
import pathlib
import shlex
import subprocess
import sys


def add_arguments(parser):
    parser.add_argument("source", type=pathlib.Path, help="the stage's matmul.cu")
    for option in ("--rewrite", "--compile", "--asan", "--trace", "--link"):
        parser.add_argument(option, required=True)


def build(arguments, text, program, flags):
    """Compiles `text`, the changed source, into `program`; `flags` is arguments.asan or arguments.trace."""
    cu, cpp, object_file = f"{program}.cu", f"{program}.cpp", f"{program}.o"
    pathlib.Path(cu).write_text(text)
    subprocess.run([sys.executable, arguments.rewrite, cu, cpp], check=True)
    compiler = shlex.split(arguments.compile)
    subprocess.run(compiler + ["-c", cpp, "-o", object_file] + shlex.split(flags) + ["-w"], check=True)
    # ThreadSanitizer itself is not linked: the emulator has its functions.
    link = [flag for flag in shlex.split(flags) if flag != "-fsanitize=thread"]
    subprocess.run(compiler + [object_file, "-o", program, *link, "-w"] + shlex.split(arguments.link), check=True)

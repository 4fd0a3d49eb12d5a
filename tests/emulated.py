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
    cu, cpp = f"{program}.cu", f"{program}.cpp"
    pathlib.Path(cu).write_text(text)
    subprocess.run([sys.executable, arguments.rewrite, cu, cpp], check=True)
    subprocess.run(shlex.split(arguments.compile) + [cpp, "-o", program] + shlex.split(flags) + ["-w"] +
                   shlex.split(arguments.link), check=True)

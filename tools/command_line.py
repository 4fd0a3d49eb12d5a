"""What the verbs of ./run share: their options, and how words name programs and files."""
import argparse
import pathlib

import packages
import programs
from build import has_gpu, has_nvcc
from process import fail
from programs import LADDER, ROOT, listed, meant
from results import unwritable
from usage import HELP


class Parser(argparse.ArgumentParser):
    """A parser that reports errors in one line. Its arguments are the names of flags, and of options with a value."""

    def __init__(self, verb, flags="", options=""):
        super().__init__(prog=verb, add_help=False, allow_abbrev=False)
        for flag in flags.split():
            self.add_argument(flag, action="store_true")
        for option in options.split():
            self.add_argument(option)

    def error(self, message):
        fail(2, f"{self.prog}: {message.removeprefix('argument ')}; see --help".removeprefix(": "))


def count(most):
    """The type of an option with a whole number up to `most`."""
    def number(text):
        if not (text.isdigit() and 1 <= int(text) <= most):
            raise argparse.ArgumentTypeError(f"'{text}': takes a whole number from 1 to {most}")
        return int(text)
    return number


def check_writable(path, option):
    """Ends the program now, rather than after the work, if a file can't be written or was not written by such an
    option."""
    if why := unwritable(path, option):
        fail(2, why)


def results_folder(verb, folder):
    """The folder of results that a word names."""
    if not list(pathlib.Path(folder).glob("*.csv")):
        fail(2, f"{verb} '{folder}': takes a folder of results")
    return pathlib.Path(folder)


def steps_meant(word):
    """The programs of the ladder that a word names: 04 names all of that chapter, 04/1 and 04/matmul one of them."""
    return [each for each in listed(*LADDER) if meant(word, each.chapter, each.source.stem)]


def programs_meant(word):
    """The programs of the ladder that a word names, or else all programs of that name or chapter. Ends the program if
    there is none."""
    others = [each for each in listed() if each.kind not in LADDER]
    chosen = steps_meant(word) or [each for each in others
                                   if each.name == word or meant(word, each.chapter, each.source.stem)]
    if not chosen:
        names = [*HELP, *(each.name for each in listed()), *map(str, pathlib.Path().glob("*.cu"))]
        fail(2, programs.unknown(word, sources(), names))
    return chosen


def sources():
    """The sources of the programs that ./run takes by chapter and file."""
    return [each.source for each in listed() if each.source.parent.parent == ROOT]


def refuse(verb, word, files):
    """Ends the program because a word names none of what the verb takes."""
    fail(2, f"{verb}{programs.unknown(word, files)}")


def need_tools(cpu=False):
    """Installs what is needed to build a program, for the emulator if there is no GPU or `cpu` is set."""
    emulator = () if has_gpu() and has_nvcc() and not cpu else ("libboost-context-dev",)
    packages.need(("cmake", "g++", "ninja-build", *emulator))


def opencl_packages(cpu):
    """The packages that OpenCL programs need. With `cpu` PoCL is among them, which runs OpenCL on the CPU."""
    packages.find_opencl()
    return packages.OPENCL if cpu or not packages.icds() else packages.OPENCL[:2]

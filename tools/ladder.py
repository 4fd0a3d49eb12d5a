"""The ladder's steps in reading order, and what each of them changes.

A step is a file: a chapter's 1_name.cu, 2_name.cu and last its matmul.cu. The OpenCL chapter has a
ladder of its own, NN_name.cl.
"""
import difflib
import itertools
import re

from machine import ROOT


def steps(root=ROOT):
    """The files of CUDA's ladder, then those of OpenCL's."""
    files = [*root.glob("[0-9][0-9]_*/[0-9]_*.cu"), *root.glob("[0-9][0-9]_*/matmul.cu")]
    return sorted(files) + sorted(root.glob("[0-9][0-9]_*/[0-9][0-9]_*.cl"))


def name(file):
    """What a program is called: 04_unroll/1_unroll, 04_unroll for the last step of that chapter, and
    half2 for what is no step. 04_unroll.cl in OpenCL."""
    if file.stem == "matmul":
        return file.parent.name
    if file.suffix == ".cl":
        return file.name
    return f"{file.parent.name}/{file.stem}" if file.stem[0].isdigit() else file.stem


def architecture(text):
    """What nvcc's -arch takes for a program: only code of sm_90a has the instructions of hopper.cuh."""
    return "sm_90a" if "/hopper.cuh" in text else "native"


def changes(step):
    """What its header comment says that it changes; "" where there is none."""
    found = re.search(r"(?m)^// Changed: *(?:\(from \w+\) *)?(.*)", step.read_text())
    return found[1] if found else ""


def before(step, root=ROOT):
    """The step that it continues from: the last of the chapter NN if its header comment says
    "Changed:  (from NN)", otherwise the one above it. None for the first of a ladder."""
    above = [other for other in steps(root) if other.suffix == step.suffix and other < step]
    if named := re.search(r"(?m)^// Changed: *\(from (\d\d)\)", step.read_text()):
        above = [other for other in above if other.parent.name.startswith(named[1])]
    return above[-1] if above else None


def twin(step):
    """The name of the step of CUDA's ladder that a stage of the OpenCL chapter says it mirrors."""
    return name(ROOT / re.search(r"(?m)^// See also: (\S+\.cu)", step.read_text())[1])


def changed_lines(old, new):
    """The number of lines that differ between two files: (in all, below the header comments)."""
    def count(*texts):
        return sum(line[0] in "+-" for line in list(difflib.unified_diff(*texts, n=0))[2:])

    texts = [file.read_text().splitlines() for file in (old, new)]
    below = [list(itertools.dropwhile(lambda line: line.startswith("//"), text)) for text in texts]
    return count(*texts), count(*below)

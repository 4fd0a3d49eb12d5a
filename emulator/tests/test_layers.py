"""The emulator's layers: a file includes and calls only what lies in its own layer or in a lower one, and no files
depend on each other in a circle. EMULATOR_LAYERS in emulator/CMakeLists.txt has the order of the layers, from the
lowest up."""
import collections
import os
import re
import subprocess
from pathlib import Path

EMULATOR = Path(__file__).resolve().parents[1]
LAYERS = re.search(r"set\(EMULATOR_LAYERS ([^)]*)\)", (EMULATOR / "CMakeLists.txt").read_text())[1].split()
SOURCES = [path.relative_to(EMULATOR) for layer in LAYERS for path in (EMULATOR / layer).glob("*.[ch]*")]
INTERFACE = [path.relative_to(EMULATOR) for path in (EMULATOR / "include").rglob("*.[ch]*")]


def layer(file):
    """The number of a file's layer. Declarations for programs lie below all layers."""
    return -1 if file.parts[0] in ("include", "emulator.h") else LAYERS.index(str(file.parent))


def included():
    """Yields pairs of files of which the first includes the second."""
    for source in SOURCES + INTERFACE:
        for name in re.findall(r'#include "emulator/(.*)"', (EMULATOR / source).read_text()):
            yield source, Path(name)


def called():
    """Pairs of files of which the first calls a function of the second or uses its variable, whichever file declares
    it."""
    library = Path(os.environ["EMULATED"]).with_name("libemulator.a")
    of_object = {source.name + ".o": source for source in SOURCES}
    defined, used = {}, []
    for line in subprocess.check_output(["nm", "-A", library], text=True).splitlines():
        place, kind, symbol = line.rsplit(maxsplit=2)
        source = of_object.get(place.split(":")[1])
        if kind == "U":
            used.append((source, symbol))
        elif kind in "TDBR":
            defined[symbol] = source
    return [(source, defined[symbol]) for source, symbol in used if source and symbol in defined]


def upward(arrows):
    return sorted({f"{a} needs {b}" for a, b in arrows if layer(a) < layer(b)})


def test_names_are_unique():
    """The names of files differ, because an object in the library has no folder in its name."""
    names = [source.name for source in SOURCES]
    assert len(names) == len(set(names))


def test_no_include_runs_up():
    assert upward(included()) == []


def test_no_call_runs_up():
    calls = called()
    assert calls
    assert upward(calls) == []


def test_no_circle():
    """No files depend on each other in a circle; a .cpp and its header count as one file."""
    needs = collections.defaultdict(set)
    for a, b in [*included(), *called()]:
        if layer(a) >= 0 and layer(b) >= 0 and a.with_suffix("") != b.with_suffix(""):
            needs[a.with_suffix("")].add(b.with_suffix(""))
    # A file that needs no other, or that no other needs, is not in a circle: such files are removed until none is left.
    while True:
        needed = set().union(*needs.values())
        free = [file for file, others in needs.items() if file not in needed or not others & needs.keys()]
        if not free:
            break
        for file in free:
            del needs[file]
    circles = {str(file): sorted(map(str, others & needs.keys())) for file, others in needs.items()}
    assert not circles, circles

"""The emulator's floors: a file includes and calls only what lies on its own floor or on a lower one, and no files need
each other in a circle. EMULATOR_FLOORS in emulator/CMakeLists.txt has the order of the floors, from the ground up."""
import collections
import os
import re
import subprocess
from pathlib import Path

EMULATOR = Path(__file__).resolve().parents[1]
FLOORS = re.search(r"set\(EMULATOR_FLOORS ([^)]*)\)", (EMULATOR / "CMakeLists.txt").read_text())[1].split()
SOURCES = [path.relative_to(EMULATOR) for floor in FLOORS for path in (EMULATOR / floor).glob("*.[ch]*")]
INTERFACE = [path.relative_to(EMULATOR) for path in (EMULATOR / "include").rglob("*.[ch]*")]


def floor(file):
    """Declarations for programs lie below all floors."""
    return -1 if file.parts[0] in ("include", "emulator.h") else FLOORS.index(str(file.parent))


def included():
    """Pairs of files, of which the first includes the second."""
    for source in SOURCES + INTERFACE:
        for name in re.findall(r'#include "emulator/(.*)"', (EMULATOR / source).read_text()):
            yield source, Path(name)


def called():
    """Pairs of files, of which the first calls a function of the second or uses a variable of it, whatever declares
    that."""
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
    return sorted({f"{a} needs {b}" for a, b in arrows if floor(a) < floor(b)})


def test_names_are_unique():
    """An object in the library has no folder in its name."""
    names = [source.name for source in SOURCES]
    assert len(names) == len(set(names))


def test_no_include_runs_up():
    assert upward(included()) == []


def test_no_call_runs_up():
    calls = called()
    assert calls
    assert upward(calls) == []


def test_no_circle():
    """A file is a .cpp with its header."""
    needs = collections.defaultdict(set)
    for a, b in [*included(), *called()]:
        if floor(a) >= 0 and floor(b) >= 0 and a.with_suffix("") != b.with_suffix(""):
            needs[a.with_suffix("")].add(b.with_suffix(""))
    # Neither a file that needs no other nor one that no other needs is in a circle: such are taken away, until none
    # is left.
    while True:
        needed = set().union(*needs.values())
        free = [file for file, others in needs.items() if file not in needed or not others & needs.keys()]
        if not free:
            break
        for file in free:
            del needs[file]
    circles = {str(file): sorted(map(str, others & needs.keys())) for file, others in needs.items()}
    assert not circles, circles

"""What probe and mma_maps find, on the emulator and on this GPU, is what layouts.inc says."""
import csv
import re

import pytest

from view import layouts
from support import ROOT, call, program

CHAPTER = ROOT / "07_fragment_probe"
PICTURES = {"sm_70 (Volta)": "volta_matrix_a.svg", "sm_75 and later": "today_matrix_a.svg"}


def printed(name, *words):
    done = call(program(name), *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def read(path, *named_by):
    """{name: places} of a CSV in whose rows these columns are the name; lane and element count up."""
    found = {}
    for row in csv.DictReader(path.read_text().splitlines()):
        found.setdefault(" ".join(row[column] for column in named_by), []).append(
            (int(row["lane"]), int(row["element"]), 16 * int(row["row"]) + int(row["col"])))
    for name, rows in found.items():
        elements = len(rows) // 32
        assert [row[:2] for row in rows] == [divmod(at, elements) for at in range(32 * elements)], name
    return {name: [place for *_, place in rows] for name, rows in found.items()}


def shown(text):
    """The places of the tables in what a program printed, in order."""
    rows = re.findall(r"(?m)^ *\d+ ((?: +\d+,\d+ *)+)$", text)
    return [16 * int(row) + int(col) for line in rows for row, col in re.findall(r"(\d+),(\d+)", line)]


def differing(found, expected):
    return [name for name in expected if found.get(name) != expected[name]]


@pytest.mark.parametrize("words", ("probe_cpu --arch sm_70", "probe_cpu --arch sm_75", "probe_cpu --arch sm_80",
                                   pytest.param("probe", marks=pytest.mark.gpu)))
def test_fragments(words, tmp_path):
    """On the emulator, and on this GPU."""
    name, *words = words.split()
    every, one, picture = (tmp_path / file for file in ("all.csv", "one.csv", "picture.svg"))
    arch = re.search(r", sm_(\d+)\n", printed(name, "--all", "--csv", every, *words))[1]
    chips = "sm_70 (Volta)" if arch == "70" else "sm_75 and later"
    expected = layouts.maps()[chips]
    whole = {f"16x16x16 {of}": places for of, places in expected.items()}
    assert not differing(read(every, "shape", "use", "type", "layout"), whole)
    for of, places in expected.items():
        use, kind, layout = of.split()
        text = printed(name, "--use", use, "--type", kind, "--layout", layout, "--csv", one, "--svg", picture, *words)
        assert read(one) == {"": places}, f"{of}: --csv"
        assert shown(text) == places, f"{of}: printed"
        assert chips in text.splitlines()[-1], f"{of}: not recognised"
    printed(name, "--svg", picture, *words)
    kept = CHAPTER / PICTURES[chips]
    assert picture.read_text() == kept.read_text(), f"not what probe --svg draws: {kept.name}"


@pytest.mark.parametrize("name", ("mma_maps_cpu", pytest.param("mma_maps", marks=pytest.mark.gpu)))
def test_instructions(name, tmp_path):
    text = printed(name, "--csv", tmp_path / "maps.csv")
    found, expected = read(tmp_path / "maps.csv", "map"), layouts.maps()["sm_80 and later"]
    assert list(found) == list(expected) and not differing(found, expected)
    assert shown(text) == [place for places in expected.values() for place in places]

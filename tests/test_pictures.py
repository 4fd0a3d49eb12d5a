"""Each picture in docs/pictures is in the book, with its title as the text for those who can't see it."""
import re
import xml.etree.ElementTree

import pytest

from book import plot
from book.measured import SIZE, Results
from records import record_of
from support import ROOT


def test_in_the_book():
    """Each picture is on a page, with its title as alternative text; and each chapter has a picture."""
    pages = (page for folder in ("[0-9][0-9]_*", "docs", "emulator") for page in ROOT.glob(f"{folder}/*.md"))
    texts = {page: page.read_text() for page in pages}
    shown = {page: re.findall(r"(?m)^!\[(.+)\]\((?:\S*/)?(\S+)\.svg\)$", text) for page, text in texts.items()}
    for file in ROOT.glob("docs/pictures/*.svg"):
        title, about = (next(xml.etree.ElementTree.parse(file).iter(f"{{http://www.w3.org/2000/svg}}{tag}")).text
                        for tag in ("title", "desc"))
        assert about and (title, file.stem) in sum(shown.values(), []), file.name
    assert not [page for page in shown if page.name == "README.md" and not shown[page]]


def test_bars_show_the_predictions():
    """Each scale has one line for cuBLAS, and each chapter's measured speed and prediction."""
    file = ROOT / "docs/results/h200/bars.svg"
    paths = {path.get("class"): re.findall(r"M([\d.]+) ([\d.]+)([^M]*)", path.get("d"))
             for path in xml.etree.ElementTree.parse(file).iter("{http://www.w3.org/2000/svg}path")}
    results = Results(file.parent)
    groups = [rows for *_, rows in plot.by_unit([row for row in plot.squares(results) if row.n == SIZE])]
    scales = [(float(line) - 150) / sorted(row.cublas_gflops for row in rows)[len(rows) // 2]
              for (line, *_), rows in zip(paths["edge"], groups, strict=True)]
    dashed = [max(map(float, [x, *re.findall(r"H([\d.]+)", rest)])) for x, _, rest in paths["dash"]]
    predicted = [(scale, row.predicted_gflops) for scale, rows in zip(scales, groups) for row in rows]
    assert dashed == pytest.approx([150 + scale * gflops for scale, gflops in predicted], abs=.2)


def test_the_descriptors_are_those_of_the_kernel():
    """11's picture shows the fields as bits, each below its own bits, and both descriptors: those of a wgmma of the
    kernel."""
    texts = [(float(text.get("x")), float(text.get("y")), text.text) for text in xml.etree.ElementTree.parse(
        ROOT / "docs/pictures/11_descriptor.svg").iter("{http://www.w3.org/2000/svg}text")]
    begins = {x: int(number) for x, _, text in texts if (number := text.split(", ")[-1]).isdigit() and _ == 60}
    numbers = []
    for row in "AB":
        y = next(y for _, y, text in texts if text == row)
        fields = [(x, text) for x, at, text in texts if abs(at - y) <= 10 and text.isdigit()]
        ends = [min(end for end in begins if end >= x) for x, _ in fields]
        numbers.append(sum(int(text) << begins[end] for end, (_, text) in zip(ends, fields)))
    assert [f"0x{number:016X}" for number in numbers] == re.findall(r"0x\w+", " ".join(text for *_, text in texts))
    record = record_of("11_wgmma.1_wgmma", (128, 256, 64))
    shared = 1024 // 16  # where dynamic shared memory begins; the picture counts from there
    notes = [note for block in record["blocks"] for note in block["notes"] if note[0] == "wgmma"]
    assert tuple(numbers) in {tuple(int(number) - shared for number in note[-2:]) for note in notes}

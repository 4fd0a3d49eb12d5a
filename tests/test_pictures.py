"""Each picture in docs/pictures is in the book, with its title as the text for those who can't see it."""
import itertools
import math
import re
import xml.etree.ElementTree

import pytest

from book import colours, openings, plot, svg
from book.measured import SIZE, Results
from records import record_of
from results import read
from support import ROOT
from view import flow


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


@pytest.mark.parametrize("chapter", sorted({row.stage for row in read(ROOT / "docs/results/flow.csv")}))
def test_openings_have_the_sizes_of_the_kernels(chapter):
    """A block's tile, the values of k in a k-tile, and the part of the tile that the first warp stores are those of the
    record."""
    of, number = next(row for row in read(ROOT / "docs/results/flow.csv") if row.stage == chapter), chapter[:2]
    svg = xml.etree.ElementTree.parse(ROOT / f"docs/pictures/{number}_opening.svg")
    labels = [text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert f"{of.rows} x {of.columns}, k {of.tile_k}" in labels
    if int(number) > 10:
        return  # TMA stores C
    record = record_of(chapter, (int(of.rows), int(of.columns), 64))
    _, begin, rows, columns, size = record["matrices"][2].values()
    block = flow.Block(record)
    stores = [(address - begin) // size for site, _, _, _, *lanes in block.warps[0]
              if record["sites"][site][0] == "global store" for address in block.spread(*lanes[:2])]
    height, width = (max(at) - min(at) for at in zip(*(divmod(each, columns) for each in stores)))
    down, across = openings.OPENINGS[number].warps
    assert (int(of.rows) // down, int(of.columns) // across) == pytest.approx((height + 1, width + 1), abs=3)


def test_every_class_has_a_style():
    """A box with another one would be black."""
    for file in [*ROOT.glob("docs/pictures/*.svg"), *ROOT.glob("docs/results/*/*.svg")]:
        style, *rest = re.split("(?<=</style>)", file.read_text())
        used = set(" ".join(re.findall(r'class="([^"]*)"', "".join(rest))).split())
        plain = {"step", "index", *(f"on-{fill}" for fill in svg.FILLS if "pale" in fill)}
        assert used <= plain | set(re.findall(r"\.([a-z][\w-]*)", style)), file.name


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


FLOW = sorted((ROOT / "docs/results/h200").glob("flow*.svg"))


@pytest.mark.parametrize("file", FLOW, ids=lambda file: file.stem)
def test_the_first_picture_moves_as_recorded(file):
    """In each chapter's part the tiles of A set off in the beats of their loads and go on in those of their products.
    The bar and the hollow tick have the lengths of the speeds. The file is small, and has no script."""
    svg = "{http://www.w3.org/2000/svg}"
    stages, shown, results = {}, [], Results(file.parent)
    for row in read(ROOT / "docs/results/flow.csv"):
        stages.setdefault(row.stage[:2], []).append(row)
    for step in xml.etree.ElementTree.parse(file).iter(f"{svg}g"):
        if step.get("class") != "step":
            continue
        number = step.get("data-step")
        shown.append(number)
        paths = [(path.get("class").split(), path.get("style", ""), path.get("d")) for path in step.iter(f"{svg}path")]
        moves = sorted(float(re.search(r"--t:([\d.]+)", style)[1]) for kinds, style, _ in paths
                       if "a" in kinds and "t" in kinds and "stay" not in kinds)
        tiles = stages[number]
        wanted = [tile.load for tile in tiles] + [tile.multiply for tile in tiles if tile.pipeline_stage != "-"]
        assert moves == sorted(wanted), number
        speed = next(row for name, row in results.stages().items() if name == tiles[0].stage)
        bar, tick = (next(path for kinds, _, path in paths if kind in kinds) for kind in ("bar", "hollow"))
        long = float(re.search(r"h([\d.]+)", bar)[1])
        at = float(re.match(r"M([\d.]+)", tick)[1]) + 3 - 20
        assert at / long == pytest.approx(speed.predicted_gflops / speed.gflops, rel=.03), number
    assert shown == ["01", "02", "03", "04", "05", "06", "10", "11"]
    assert file.stat().st_size < 150000 and "<script" not in file.read_text()


@pytest.mark.parametrize("scheme", ("LIGHT", "DARK"))
def test_colours_can_be_told_apart(scheme):
    """Marks differ from paper by a contrast of 3 at least, text by 4.5, on what is filled as well. A, B and C differ by
    more than a shade for those who see no green, or no red."""
    of = dict(re.findall(r"--([\w-]+): (#\w+)", getattr(colours, scheme)))
    wanted = {(text, back): 4.5 for text in ("ink", "lesser", "full", "wait") for back in ("paper", "idle")}
    wanted |= {(name, "paper"): 4.5 for name in "abc"} | {("edge", "paper"): 3}
    wanted |= {("ink", f"{name}-pale"): 4.5 for name in ("full", "a", "b", "c", "wait")}
    low = {pair for pair, least in wanted.items() if contrast(*(of[name] for name in pair)) < least}
    near = {(one, other, lacking) for lacking, seen in SEEN.items() for one, other in itertools.combinations("abc", 2)
            if math.dist(lab(of[one], seen), lab(of[other], seen)) < 25}
    assert not low and not near


# What is seen of red, green and blue light without the cones for green, or for red: Machado et al. 2009, severity 1.
SEEN = {
    "green": ((.367322, .860646, -.227968), (.280085, .672501, .047413), (-.011820, .042940, .968881)),
    "red": ((.152286, 1.052583, -.204868), (.114503, .786281, .099216), (-.003882, -.048116, 1.051998)),
}


def light(colour):
    """Red, green and blue of a colour such as #0072b2, as shares of their light."""
    parts = [int(each, 16) / 255 for each in re.findall("[0-9a-f]{2}", colour)]
    return [each / 12.92 if each <= .04 else ((each + .055) / 1.055) ** 2.4 for each in parts]


def contrast(one, other):
    low, high = sorted(sum(map(float.__mul__, (.2126, .7152, .0722), light(each))) for each in (one, other))
    return (high + .05) / (low + .05)


def lab(colour, seen):
    """The colour in CIELAB, where distances are about as large as they look."""
    rgb = [min(1, max(0, sum(map(float.__mul__, row, light(colour))))) for row in seen]
    to_xyz = (.4339, .3762, .1899), (.2126, .7152, .0722), (.0177, .1095, .8728)  # white is 1, 1, 1
    x, y, z = (each ** (1 / 3) if each > .008856 else 7.787 * each + 16 / 116 for each in (
        sum(map(float.__mul__, row, rgb)) for row in to_xyz))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


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

"""The fragment layouts: what probe finds equals the committed tables, is recognised, and is drawn as the committed pictures show.

    fragment_layouts.py PROBE CHAPTER

PROBE_cpu is asked for each architecture, a GPU's probe for its own. CHAPTER holds layouts/*.csv and the pictures.
"""
import csv
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

from checks import check, end

program, chapter = sys.argv[1], pathlib.Path(sys.argv[2])
names = {"sm70": "sm_70 (Volta)", "sm75_and_later": "sm_75 and later"}
pictures = {"sm70": "volta_matrix_a.svg", "sm75_and_later": "today_matrix_a.svg"}


def probe(*words):
    run = subprocess.run([program, *words], capture_output=True, text=True)
    if run.returncode == 77:
        print(run.stderr.strip())
        sys.exit(77)
    check(run.returncode == 0, " ".join(words), run.stderr.strip())
    return run.stdout


def printed_table(text):
    """lane,element,row,col as the device printed them."""
    rows = []
    for line in text.split("\n"):
        if m := re.fullmatch(r" {0,3}(\d+) ((?: +\d+,\d+ *)+)", line):
            rows += [[m[1], str(i), *cell.split(",")] for i, cell in enumerate(m[2].split())]
    return rows


def check_architecture(folder, words):
    every = folder / "all.csv"
    text = probe("--all", "--csv", str(every), *words)
    arch = int(re.match(r".*, sm_(\d+)\n", text)[1])
    layouts = "sm70" if arch == 70 else "sm75_and_later"
    with open(every) as file:
        rows = [list(row.values()) for row in csv.DictReader(file)]
    tables = sorted((chapter / "layouts").glob(f"{layouts}_*.csv"))
    check(len(tables) == 8, f"sm_{arch}: 8 tables in {chapter / 'layouts'}", len(tables))
    for table in tables:
        use, kind, layout = re.fullmatch(rf"{layouts}_(matrix_a|matrix_b|accumulator)_(half|float)_(row|col)", table.stem).groups()
        what, one = f"sm_{arch} {use} {kind} {layout}", folder / "one.csv"
        text = probe("--use", use, "--type", kind, "--layout", layout, "--csv", str(one), *words)
        expected = table.read_text()
        elements = [line.split(",") for line in expected.splitlines()[1:]]
        check(len(elements) == (256 if use == "accumulator" else 512), f"{what}: the table is whole", len(elements))
        check(one.read_text() == expected, f"{what}: the dump equals {table.name}")
        check(printed_table(text) == elements, f"{what}: so does what the device printed")
        check(text.endswith(f"\nlayout: {names[layouts]}\n"), f"{what}: recognised by the formulas", text[-100:])
        check([row[4:] for row in rows if row[:4] == ["16x16x16", use, kind, layout]] == elements, f"{what}: so does --all")
    picture = folder / "picture.svg"
    probe("--svg", str(picture), *words)
    check(picture.read_text() == (chapter / pictures[layouts]).read_text(), f"sm_{arch}: {pictures[layouts]} is up to date")
    texts = xml.etree.ElementTree.parse(picture).getroot().itertext()
    labels = {text for text in texts if re.fullmatch(r"\d+: x\[\d+\]", text)}
    check(len(labels) == 512, f"sm_{arch}: 512 different labels in the picture", len(labels))


with tempfile.TemporaryDirectory() as folder:
    for words in [["--arch", f"sm_{sm}"] for sm in (70, 75, 80)] if "_cpu" in pathlib.Path(program).name else [[]]:
        check_architecture(pathlib.Path(folder), words)
end()

#!/usr/bin/env python3
"""rooms.py: how large is each room of the repository? Prints its lines beside what it may have, the files over 330 lines, and
the words of the lessons.

    python3 tools/rooms.py [COMMIT...]      of the working tree, and beside it of these commits

Example: python3 tools/rooms.py main
"""
import re
import subprocess
import sys

from machine import ROOT
from tables import text_of

LONGEST = 330
LESSON, LONG_LESSON = 1500, 2000  # of a chapter on tensor cores; words
CHAPTER = r"\d\d_\w+/"
DATA = "data: CSV, SVG, TXT"
# Name, files (the first row that matches has a file), the lines that it may have.
ROOMS = (
    ("chapters' tests", CHAPTER + "tests/.*", ""),
    (DATA, r"(?!.*CMakeLists).*\.(csv|svg|txt|inc|ipynb|cff)|LICENSE", ""),
    ("patches", r".*\.patch", ""),
    ("translations", r".*\.(po|(ja|zh)\.md)", ""),
    ("the ladder's programs", CHAPTER + r"(\d_\w+|matmul)\.cu", ""),
    ("chapters' READMEs and notes", CHAPTER + r".*\.md", ""),
    ("chapters' other programs", CHAPTER + ".*", ""),
    ("common/ptx/", "common/ptx/.*", 690),
    ("common/lab/", "common/lab/.*", 900),
    ("common/", "common/.*", 1100),
    ("emulator/tests/", "emulator/tests/.*", ""),
    ("emulator/, its texts", r"emulator/.*\.md", ""),
    ("emulator/, code", "emulator/.*", ""),
    ("tools/tests/", "tools/tests/.*", ""),
    ("tools/: html, js, css", r"tools/.*\.(html|js|css)", ""),
    ("tools/", "tools/.*", ""),
    ("docs/tests/", "docs/tests/.*", ""),
    ("tests/", "tests/.*", ""),
    ("other texts", r".*\.md", ""),
    ("all else", ".*", ""),
)
SUMS = (("tests, tools, patches", r"(chapters' tests|docs/tests/|tests/|tools/.*|patches)", 7340),
        ("all but data", f"(?!{DATA}).*", ""))


def lines_of(*tree):
    """{file: its lines} of a commit, or of the working tree."""
    done = subprocess.run(("git", "-C", ROOT, "grep", "-Ic", "-e", "", *tree), stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(2)  # git has said why
    rows = (line.removeprefix(f"{tree[0]}:").rpartition(":") for line in done.stdout.splitlines())
    return {file: int(count) for file, _, count in rows}


def room_of(file):
    return next(name for name, pattern, _ in ROOMS if re.fullmatch(pattern, file))


def show(title, cells, most=""):
    print(f"{title:42}" + "".join(f"{cell:12,}" if isinstance(cell, int) else f"{cell:>12}" for cell in (*cells, most)))


def main(commits):
    trees = [lines_of(commit) for commit in commits] + [lines_of("--untracked")]
    show("Lines of", (*commits, "now"), "at most")
    for name, of, budget in [(name, re.escape(name), budget) for name, _, budget in ROOMS] + list(SUMS):
        show(name, [sum(files[file] for file in files if re.fullmatch(of, room_of(file))) for files in trees], budget)
    print(f"\nFiles of more than {LONGEST} lines")
    for file in sorted({file for files in trees for file in files if files[file] > LONGEST}):
        if room_of(file) != DATA and not file.endswith(".md"):
            show("  " + file, [files.get(file, "") for files in trees])
    print()
    show("Words before the exercises; in notes.md", ("lesson", "notes"), "at most")
    for lesson in sorted(ROOT.glob("[0-9][0-9]_*/README.md")):
        texts = [file.read_text().partition("\n## Exercises")[0] for file in (lesson, lesson.with_name("notes.md"))]
        words = [len(re.sub("(?s)<details><summary>If you come.*?</details>", "", text).split()) for text in texts]
        tensor = re.search("kTensor|kWgmma", text_of(lesson.parent.name))
        show(lesson.parent.name, words, LONG_LESSON if tensor else LESSON)


if __name__ == "__main__":
    if sys.argv[1:] in (["-h"], ["--help"]):
        sys.exit(print(__doc__.strip()))
    main(sys.argv[1:])

#!/usr/bin/env python3
"""How large is each room of the repository? Prints its lines beside what it may have, the files over 330 lines and how many tests
there are; for the working tree and, beside it, for other commits. --path also prints what lies between a stage's main() and its
launch.

    python3 tools/rooms.py [--at COMMIT]... [--path] [--names]
"""
import argparse
import io
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

from machine import BUILD, ROOT

LONGEST = 330
CHAPTER = r"\d\d_\w+/"
DATA = "data: CSV, SVG, TXT"
# Name, files (the first row that matches has a file), the lines that it may have.
ROOMS = (
    ("chapters' tests", CHAPTER + "tests/.*", ""),
    (DATA, r"(?!.*CMakeLists).*\.(csv|svg|txt|inc|ipynb|cff)|LICENSE", ""),
    ("patches", r".*\.patch", ""),
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


def git(*words):
    done = subprocess.run(("git", "-C", ROOT, *words), stdout=subprocess.PIPE)
    return done.stdout if done.returncode == 0 else sys.exit(2)  # git has said why


def contents(commit):
    """{file: its bytes} of a commit, or of the working tree."""
    if commit == "now":
        names = git("ls-files", "-co", "--exclude-standard").decode().splitlines()
        return {name: (ROOT / name).read_bytes() for name in names if (ROOT / name).is_file()}
    with tarfile.open(fileobj=io.BytesIO(git("archive", commit))) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}


def room_of(file):
    return next(name for name, pattern, _ in ROOMS if re.fullmatch(pattern, file))


def plain(name):
    """A function's name without templates' and functions' parameters."""
    while name != (name := re.sub(r"<[^<>]*>|\([^()]*\)(?: const)?", "", name)):
        pass
    return name


def way(files, folder):
    """[(function, file)] from a stage's main() to its launch: builds 03 for the emulator without optimisation, stops in its
    launcher and reads the stack. Functions that the tree does not define, those of std:: above all, are left out."""
    if not shutil.which("gdb"):
        sys.exit("rooms.py: --path needs gdb (package gdb)")
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text)
    program = folder / "build/bin/03_shared_blocking_cpu"
    debug = "-DCMAKE_CXX_COMPILER_LAUNCHER=sh;-c;exec \"$@\" -O0 -g;sh"  # behind CMake's own options
    for words in (("cmake", "-G", "Ninja", "-S", folder, "-B", folder / "build", "-DCMAKE_CUDA_COMPILER=NOTFOUND", debug),
                  ("ninja", "-C", folder / "build", program.name)):
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    orders = "set width 0", "set print frame-arguments none", "break launch_matmul", "run", "backtrace"
    said = subprocess.run(("gdb", "-q", "-batch", *(word for order in orders for word in ("-ex", order)), "--args", program,
                           *"-m 5 -n 6 -k 7".split()), stdout=subprocess.PIPE, text=True).stdout
    frames = re.findall(rf"(?m)^#\d+ +(?:0x\w+ in )?(.*) \(.*\) at {folder}/(\S+?):\d+$", said)
    return [(plain(name), file) for name, file in frames[::-1]] or sys.exit(f"rooms.py: gdb found no way to the launch\n{said}")


def tests():
    listed = subprocess.run(("ctest", "--test-dir", BUILD, "--show-only=json-v1"), capture_output=True)
    return [test["name"] for test in json.loads(listed.stdout)["tests"]] if listed.returncode == 0 else []


def show(title, *cells):
    print(f"{title:42}" + "".join(f"{cell:12,}" if isinstance(cell, int) else f"{cell:>12}" for cell in cells))


def main():
    parser = argparse.ArgumentParser(description="How large is each room of the repository?",
                                     epilog="Example: python3 tools/rooms.py --at HEAD~1 --path")
    parser.add_argument("--at", action="append", default=[], metavar="COMMIT", help="beside it that commit; may be given again")
    parser.add_argument("--path", action="store_true", help="also the functions from main() to a launch (builds 03; needs gdb)")
    parser.add_argument("--names", action="store_true", help="also the names of the tests in the build folder")
    options = parser.parse_args()
    trees = {commit: contents(commit) for commit in (*options.at, "now")}
    lines = {commit: {file: text.count(b"\n") for file, text in files.items() if b"\0" not in text}
             for commit, files in trees.items()}

    show("Lines of", *trees, "at most")
    for name, of, budget in [(name, re.escape(name), budget) for name, _, budget in ROOMS] + list(SUMS):
        show(name, *(sum(files[file] for file in files if re.fullmatch(of, room_of(file))) for files in lines.values()), budget)
    show("files, but for data", *(sum(room_of(file) != DATA for file in files) for files in lines.values()))

    long = {file: max(files.get(file, 0) for files in lines.values()) for files in lines.values() for file in files
            if room_of(file) != DATA and not file.endswith(".md")}
    show(f"\nFiles of more than {LONGEST} lines", *(sum(files.get(file, 0) > LONGEST for file in long) for files in lines.values()))
    for file in sorted((file for file in long if long[file] > LONGEST), key=long.get, reverse=True):
        show("  " + file, *(files.get(file, "") for files in lines.values()))

    for commit, files in trees.items() if options.path else ():
        with tempfile.TemporaryDirectory() as folder:
            frames = way(files, pathlib.Path(folder).resolve())
        passed = dict.fromkeys(file for _, file in frames)
        print(f"\nFrom main() to the launch, {commit}: {len(frames)} functions in {len(passed)} files, which have "
              f"{sum(lines[commit][file] for file in passed)} lines")
        for function, file in frames:
            print(f"  {file}: {function}")
    names = tests()
    print(f"\nTests in {BUILD}: {len(names) or 'it is not built'}")
    if options.names:
        print("  " + "\n  ".join(names))


if __name__ == "__main__":
    main()

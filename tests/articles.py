"""docs/articles.md holds what it says: articles.py ROOT BUILD [--nvcc NVCC] [--file FILE] [--claims NUMBERS]

Every claim has a row, a verdict, and a command or a reason. The commands that take no GPU are run, and what stands in code in the
column of figures must stand in what they print. `x.csv: a, b = 1.5` there is a figure of docs/results/h200/x.csv: of a row that has
cells with a and b in them, and one that is rounded 1.5; `x.txt: a` stands so in docs/results/x.txt. What lacks a tool here (a
command says so by exit code 77, or by "left out" or "needs cuobjdump" in its output) is left out, and named.
"""
import argparse
import collections
import concurrent.futures
import csv
import math
import os
import pathlib
import re
import shlex
import subprocess
import sys

CLAIMS = "1-34, 40-52, 60-65, 70-89, 100-129, 140-186, E1-E13"
VERDICTS = ("reproduced", "corrected", "out of reach")
COLUMNS = 6  # number, place, claim, verdict, command, figure
NUMBER = r"(E?)(\d+)(?:-(E?)(\d+))?"
SELECTOR = re.compile(r"([\w/]+\.csv): (.+) = (-?[\d.,]+)")
QUOTED = re.compile(r"(\w+\.txt): (.+)")
LEADING = re.compile(r"-?\d+(?:\.\d*)?(?:e[-+]?\d+)?(?=$|%| x\b)")  # the figure of '28761 x: impossible'
SECONDS = 120  # of a command

Row = collections.namedtuple("Row", "number place claim verdict command figure")


def numbers(text):
    """'8, 10-12, E3' as a list of claims; None where it is nothing of the kind."""
    found = []
    for part in text.split(","):
        match = re.fullmatch(NUMBER, part.strip())
        if not match or match[4] and (match[1] != match[3] or int(match[2]) > int(match[4])):
            return None
        found += [f"{match[1]}{n}" for n in range(int(match[2]), int(match[4] or match[2]) + 1)]
    return found


def spans(cell):
    return [span.strip() for span in re.findall(r"`([^`]+)`", cell) if span.strip()]


def collapsed(text):
    return " ".join(text.split())


def tables(text):
    """Of each table that has a column for everything: the rows below its header, as lists of cells."""
    width = 0
    for line in text.splitlines():
        line = line.strip()
        if not line.startswith("|"):
            width = 0
            continue
        cells = [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not width:
            width = len(cells)
        elif width == COLUMNS and not re.fullmatch(r"[-:]+", cells[0]):
            yield cells


class Commands:
    """What the commands print, each run once."""

    def __init__(self, root, build, nvcc):
        self.root, self.build, self.nvcc = root, build, nvcc
        listed = subprocess.run(["ctest", "--test-dir", build, "-N"], capture_output=True, text=True, check=True).stdout
        self.tests = re.findall(r"Test +#\d+: (.+)", listed)
        self.printed = {}

    def kind(self, command):
        words = command.split()
        if words[:2] == ["./test", "-R"]:
            return "test"
        return "GPU" if words[0] == "./run" and "--cpu" not in words and words[1:2] != ["diff"] else "run"

    def test_fault(self, command):
        """What is wrong with a command that names tests; they are not run."""
        words = shlex.split(command)
        if len(words) != 3:
            return "takes one name after -R"
        return "" if any(re.search(words[2], test) for test in self.tests) else "ctest has no such test"

    def gpu_fault(self, command):
        """What is wrong with a command that takes a GPU: there must be such a program, or such a stage."""
        name = (command.split() + [""])[1]
        there = name.startswith("--") or any(self.root.glob(f"[0-9][0-9]_*/{name}.c*")) or any(self.root.glob(f"{name}*/README.md"))
        return "" if name and there else "./run has no such program"

    def run(self, command):
        """(fault, whether a tool is missing, what it prints)"""
        words = shlex.split(command)
        if words[0].startswith("build/"):
            words[0] = str(self.build / words[0].removeprefix("build/"))
        elif words[0] == "python3":
            words[0] = sys.executable
        elif words[0] == "./run" and "--cpu" in words:  # ./run itself would configure the build folder
            found = list((self.build / "bin").glob(f"{words[1]}*_cpu"))
            if len(found) != 1:
                return f"'{words[1]}' names {len(found)} programs", False, ""
            words = [str(found[0]), *(word for word in words[2:] if word != "--cpu")]
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8"}
        if self.nvcc:
            environment["PATH"] = f"{self.nvcc.parent}{os.pathsep}{environment['PATH']}"
        try:
            done = subprocess.run(words, cwd=self.root, env=environment, capture_output=True, text=True, timeout=SECONDS)
        except OSError as error:
            return error.strerror, False, ""
        except subprocess.TimeoutExpired:
            return f"took more than {SECONDS} seconds", False, ""
        printed = collapsed(done.stdout + done.stderr)
        if done.returncode not in (0, 77):
            return f"exit code {done.returncode}: {printed[-300:]}", False, printed
        return "", done.returncode == 77 or "left out" in printed or "needs cuobjdump" in printed, printed

    def run_all(self, commands):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            self.printed = dict(zip(commands, pool.map(self.run, commands)))


def rounded(cell, figure):
    """Is the cell a number that is `figure`, rounded to as many decimals?"""
    match = LEADING.match(cell)
    if not match or not math.isfinite(float(match[0])):
        return False
    return f"{float(match[0]):.{len(figure.partition('.')[2])}f}" == figure.replace(",", "")


def csv_fault(root, file, words, figure):
    path = root / "docs/results/h200" / file
    if not path.exists():
        return f"there is no docs/results/h200/{file}"
    rows = [row for row in csv.reader(path.read_text().splitlines())
            if all(any(word in cell for cell in row) for word in words.split(", "))]
    if not rows:
        return f"{file} has no row with {words}"
    return "" if any(rounded(cell, figure) for row in rows for cell in row) else f"{file} has no {figure} in a row with {words}"


def results_faults(row, root):
    """What the committed results do not hold of a row's figures; and the figures that are not theirs."""
    faults, others = [], []
    for figure in spans(row.figure):
        if match := SELECTOR.fullmatch(figure):
            faults.append(csv_fault(root, match[1], match[2], match[3]))
        elif match := QUOTED.fullmatch(figure):
            path = root / "docs/results" / match[1]
            there = path.exists() and collapsed(match[2]) in collapsed(path.read_text())
            faults.append("" if there else f"docs/results/{match[1]} lacks: {match[2]}")
        else:
            others.append(figure)
    return [fault for fault in faults if fault], others


def evidence_faults(row, commands, root):
    """What is wrong with a row's commands and figures; and what of it can't be checked here."""
    faults, left_out, texts, incomplete = [], [], [], False
    kinds = collections.defaultdict(list)
    for command in spans(row.command):
        kind = commands.kind(command)
        kinds[kind].append(command)
        if kind == "test":
            fault = commands.test_fault(command)
        elif kind == "GPU":
            fault = commands.gpu_fault(command)
        else:
            fault, missing, printed = commands.printed[command]
            texts.append(printed)
            incomplete = incomplete or missing
        if fault:
            faults.append(f"`{command}`: {fault}")
    figures = spans(row.figure)
    if not figures and set(kinds) != {"test"}:
        faults.append("no figure in code")
    of_results, others = results_faults(row, root)
    faults += of_results
    if kinds["GPU"] and len(others) == len(figures):
        faults.append("takes a GPU, but names no figure of docs/results")
    for figure in others:
        if any(collapsed(figure) in text for text in texts):
            continue
        if incomplete:
            left_out.append(figure)
        elif texts:
            faults.append(f"`{figure}` is not in what {' and '.join(f'`{command}`' for command in kinds['run'])} prints")
        else:
            faults.append(f"`{figure}`: no command here prints it")
    return faults, left_out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--nvcc", type=pathlib.Path)
    parser.add_argument("--file", type=pathlib.Path, help="instead of ROOT/docs/articles.md")
    parser.add_argument("--claims", default=CLAIMS, help="the claims that there must be")
    arguments = parser.parse_args()
    root, build = arguments.root.resolve(), arguments.build.resolve()
    expected = numbers(arguments.claims)
    if not expected:
        parser.error("--claims: takes numbers and ranges, such as 1-34,E5")
    commands = Commands(root, build, arguments.nvcc)
    faults, rows, claims = [], [], collections.Counter()
    for cells in tables((arguments.file or root / "docs/articles.md").read_text()):
        those = numbers(cells[0]) if cells else None
        if len(cells) != COLUMNS:
            faults.append(f"row '{cells[0] if cells else ''}': has {len(cells)} columns, not {COLUMNS}")
        elif those is None:
            faults.append(f"row '{cells[0]}': its number is none; takes 7, E7, '8, 9' or 8-11")
        else:
            claims.update(those)
            rows.append(Row(*cells))
    for claim in expected:
        if claims[claim] != 1:
            faults.append(f"claim {claim}: has {claims[claim] or 'no'} rows")
    faults += [f"claim {claim}: there is none of that number" for claim in claims if claim not in expected]

    verdicts = collections.Counter(row.verdict for row in rows)
    to_check = [row for row in rows if row.verdict != "out of reach"]
    there = {command for row in to_check for command in spans(row.command)}
    to_run = sorted(command for command in there if commands.kind(command) == "run")
    commands.run_all(to_run)
    left_out = []
    for row in rows:
        wrong = [] if row.place and row.claim else ["place or claim is empty"]
        if row.verdict not in VERDICTS:
            wrong.append(f"verdict '{row.verdict}', not one of {', '.join(VERDICTS)}")
        if row.verdict == "out of reach":
            if row.command not in ("-", "–", "—"):
                wrong.append("out of reach, and has a command: takes a dash")
            if len(row.figure.split()) < 3:
                wrong.append("out of reach, and does not say why")
            wrong += results_faults(row, root)[0]
        elif not spans(row.command):
            wrong.append("has no command")
        else:
            more, unchecked = evidence_faults(row, commands, root)
            wrong += more
            left_out += [(row.number, figure) for figure in unchecked]
        faults += [f"row {row.number}: {fault}" for fault in wrong]
    if left_out:
        print("left out, as nvcc, cuobjdump or another tool is missing here: figures of the rows "
              + ", ".join(dict.fromkeys(number for number, _ in left_out)))
    for fault in faults:
        print(f"FAIL {fault}")
    print(f"{len(rows)} rows for {sum(claims.values())} claims: "
          + ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in VERDICTS)
          + f"; {len(to_run)} commands run, {len(there) - len(to_run)} take a GPU or name tests, {len(left_out)} figures left out")
    sys.exit(1 if faults or not rows else 0)


if __name__ == "__main__":
    main()

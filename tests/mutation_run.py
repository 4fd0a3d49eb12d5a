#!/usr/bin/env python3
"""Changes the stages at random and lists the changes that no check notices.

A mutant differs from its stage in one place, in the kernel or its launcher: an operator, a bound, an index, a constant, or a
barrier that is gone. It is run as the stages and their planted faults are, on the emulator's builds asan and trace; and what a stage
counts at the default size must stay what README.md shows. The mutants of a file are compiled together, each in a namespace of its
own. The survivors come last: each is equivalent to its stage, or shows a hole in the checks. docs/mutations.md explains those of the
last run.
"""
import argparse
import concurrent.futures
import contextlib
import functools
import io
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / folder) for folder in ("tests", "tools", "emulator")]
import mutate
from rewrite_launches import blank
from stage_faults import STAGES, shapes_of
from support import BUILD

MUTATIONS = (  # kind, what it looks like (group 1 is replaced, where there is one), what it becomes
    ("operator", r" (\+) ", "-"), ("operator", r" (-) ", "+"), ("operator", r" (\*) ", "+"),
    ("operator", r" (/) ", "*"), ("operator", r" (/) ", "%"), ("operator", r" (%) ", "/"),
    ("operator", r" (&&) ", "||"), ("operator", r" (\|\|) ", "&&"),
    ("operator", r" (\+)= ", "-"), ("operator", r" (\^)= ", "|"),
    ("bound", r" (<) ", "<="), ("bound", r" (<=) ", "<"), ("bound", r" (>) ", ">="), ("bound", r" (>=) ", ">"),
    ("bound", r" (==) ", "!="), ("bound", r" (!=) ", "=="),
    ("index", r"(?<=\w|\])(\[)(?=[^\]])", "[1 + "),
    ("index", r"\b(size_t)(?=\()", "int"),
    ("constant", r"(?<![\w.])(\d+)(?![\w.])", lambda digits: str(int(digits) + 1)),
    ("constant", r"(?<![\w.])([1-9]\d*)(?![\w.])", lambda digits: str(int(digits) - 1)),
    ("constant", r"(?<!constexpr int )\b(k[A-Z]\w+)", r"(\1 + 1)"),
    ("constant", r"(?<!constexpr int )\b(k[A-Z]\w+)", r"(\1 / 2)"),
    ("constant", r"\b(true|false)\b", lambda word: "false" if word == "true" else "true"),
    ("barrier", r"((?:\w+::)*\w*(?:sync(?:threads|warp)|wait|commit|fence|arrive)\w*\([^;{}]*\);)", ";"),
)
ARRAY = re.compile(r"\s*(?:__shared__ +)?(?:const )?[\w:]+(?:<[^;>]*>)?\*? \w+\[")  # declared: a larger one is the same program


class Mutant(mutate.Fault):
    def __str__(self):
        path, begin = ROOT / self.file, self.span[0]
        text = path.read_text()
        line = text[text.rfind("\n", 0, begin) + 1:text.find("\n", begin)].strip()
        return f"{self.file}:{text.count(chr(10), 0, begin) + 1}: {self.old} -> {self.new.strip()}    in  {line}"


def mutants(file):
    """Every mutant of a file."""
    text = (ROOT / file).read_text()
    code = blank(text)
    # Not what only nvcc reads or the compiler itself checks.
    elsewhere = r"(?m)^#.*|static_assert\([^;]*;|(?:__launch_bounds__|__align__|alignas)\([^)]*\)|bool kWide"
    code = re.sub(elsewhere, lambda match: " " * len(match[0]), code)
    code = code[:code.index("double loaded_elements(")]
    for kind, pattern, new in MUTATIONS:
        for match in re.finditer(pattern, code):
            begin, end = match.span(1)
            becomes = new(match[1]) if callable(new) else match.expand(new)
            larger = "+ 1" in becomes or "1 +" in becomes or match[1].isdigit() and int(becomes) > int(match[1])
            if not (larger and ARRAY.match(code, code.rfind("\n", 0, begin) + 1)):
                yield Mutant(kind, file, match[1], becomes, "", (begin, end))


def built(file, chosen, variant):
    """One program of those mutants (FAULT=1 is the first, 0 the stage itself), and which of them the compiler refuses."""
    chapter, name = file.split("/", 1)
    text, refused = (ROOT / file).read_text(), {}
    folder = mutate.tree(chapter)
    includes = "".join(re.findall(r"(?m)^#include.*\n", text)) + "#include <cstdlib>\n"
    while True:
        parts, number = [includes], range(len(chosen) + 1)
        for each in number:
            begin, end = chosen[each - 1].span if each else (0, 0)
            changed = text[:begin] + (chosen[each - 1].new if each else "") + text[end:]
            if each not in refused:
                body = re.sub(r"(?m)^#include.*", "", changed).replace("int main(", "int stage_main(")
                body = re.sub(r"(?<== )::(?=\w)", f"m{each}::", body)  # using Shared = ::Shared<...>
                parts.append(f"namespace m{each} {{\n#line 1 \"mutant_{each}/{file}\"\n{body}\n}}\n")
        cases = "".join(f"case {each}: return m{each}::stage_main(argc, argv); " for each in number if each not in refused)
        parts.append(f'int main(int argc, char** argv) {{ switch (atoi(getenv("FAULT"))) {{ {cases} }} return 99; }}\n')
        (folder / chapter / name).write_text("".join(parts))
        try:
            with contextlib.redirect_stderr(io.StringIO()):
                return mutate.build(folder, chapter, pathlib.Path(name).stem, variant, "-fwrapv"), refused  # 32 bits are 32 bits
        except subprocess.CalledProcessError as error:
            said = re.findall(r"mutant_(\d+)/\S+?:\d+:\d+:\s+(?:error: (.*)|required from)", error.stderr or "")
            if not said:
                raise SystemExit(f"{file} does not build:\n{error.stderr}") from None
            refused.update({int(each): why for each, why in said})
            if 0 in refused:
                raise SystemExit(f"{file}, unchanged: {refused[0]}")


def run(program, number, *words):
    """The exit code, and what it says of a failure."""
    try:
        done = subprocess.run([program, *words], timeout=60, capture_output=True, text=True, errors="replace",
                              env={**os.environ, "FAULT": str(number), "ASAN_OPTIONS": "detect_leaks=0"})
    except subprocess.TimeoutExpired:
        return 1, "it does not end"
    asan = re.search(r"AddressSanitizer: \S+", done.stderr)
    return done.returncode, asan[0] if asan else (done.stderr.strip().split("\n")[-1] or f"exit code {done.returncode}")


def counts(program, number):
    """The mutant's counts at the default size, as a CSV."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "csv"
        return run(program, number, "--csv", str(file)), file.read_text() if file.exists() else ""


@functools.lru_cache(None)
def checks(file):
    """The words of each run: the shapes of the planted faults, then those of the stage's own tests, then large indices."""
    name = next(name for name, path in STAGES.items() if path == ROOT / file)
    command = ["ctest", "--test-dir", str(BUILD), "--show-only=json-v1"]
    tests = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["tests"]
    words = next(test["command"] for test in tests if test["name"] == f"{name}.trace")
    return [("--sizes", shapes_of(name), "--verify-only"), tuple(words[words.index("--sizes"):]), ("--large-indices",)]


def killer(file, variant, program, number):
    """The check that notices the mutant, or None if it survives."""
    for words in checks(file):
        code, said = run(program, number, *words)
        if code:
            return f"{variant}, {words[0]}: {said}"
    if variant == "trace" and file.endswith("matmul.cu") and counts(program, number) != counts(program, 0):
        return "the counts: not those of README.md"
    return None


def verdicts(file, chosen, pool):
    """What kills each of the mutants; None for a survivor."""
    by = {}
    for variant in ("asan", "trace"):
        left = [mutant for mutant in chosen if mutant not in by]
        if not left:
            break
        program, refused = built(file, left, variant)
        by.update({left[each - 1]: f"the compiler: {why}" for each, why in refused.items()})
        numbers = [each for each in range(len(left) + 1) if each not in refused]
        for number, said in zip(numbers, pool.map(lambda number: killer(file, variant, program, number), numbers)):
            if number == 0 and said:
                raise SystemExit(f"{file}, unchanged: {said}")
            if said:
                by[left[number - 1]] = said
    return by


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog="Exit codes: 0 done, 1 a stage itself fails")
    parser.add_argument("files", nargs="*", metavar="FILE", help="such as 03_shared_blocking/matmul.cu (default: all)")
    parser.add_argument("--count", type=int, default=150, help="how many mutants (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="which ones (default %(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many run at a time (default %(default)s)")
    arguments = parser.parse_args()
    files = arguments.files or [str(path.relative_to(ROOT)) for path in STAGES.values()]
    every = [mutant for file in files for mutant in mutants(file)]
    chosen = random.Random(arguments.seed).sample(range(len(every)), min(arguments.count, len(every)))
    chosen = [every[index] for index in sorted(chosen)]
    survivors, killed_by = [], {}
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for file in files:
            of_file = [mutant for mutant in chosen if mutant.file == file]
            by = verdicts(file, of_file, pool) if of_file else {}
            for mutant in of_file:
                said = by.get(mutant)
                print(f"{mutant.program:8} {mutant}\n         {said or 'SURVIVES'}", flush=True)
                what = re.split("[,:]", said)[0] if said else "nothing"
                killed_by[what] = killed_by.get(what, 0) + 1
                survivors += [] if said else [mutant]
    print(f"\n{len(chosen)} of {len(every)} mutants (seed {arguments.seed}), killed by {killed_by}; the survivors:")
    print("\n".join(f"    {mutant}" for mutant in survivors))


main()

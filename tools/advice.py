"""What ./run mine.cu prints below its row: how the counts or the time compare with those of the chapters' stages, and
what to read next. docs/results/counted.csv has each stage's counts and what it computes with."""
import csv
import math

import programs
from programs import ROOT

ABOUT = {"global": "docs/primer.md#where-the-data-are", "shared": "03_shared_blocking/README.md#banks"}
COMPARED = ("sectors_per_request", "bank_conflict_factor", "barriers_per_block")


def rows_of(file):
    return list(csv.DictReader((ROOT / "docs/results" / file).read_text().splitlines()))


def counted(row, lines, arithmetic, half):
    """Sentences about the emulator's counts: the line with the largest possible saving, the nearest stage, and a
    lesson. arithmetic: what the program computes with, by its own account; half: whether on halves or bfloat16."""
    if row["global_load_bytes"] == "0":
        yield ("Its kernels load nothing from global memory, where A and B are: there is nothing to compare with a "
               "stage.")
        return
    if arithmetic == "FP16 pairs":  # no stage uses them, and their loads are like those of FP32
        arithmetic = "FP32"
    stages = [each for each in rows_of("counted.csv") if each["arithmetic"] == arithmetic]
    lesson = stages[0]["stage"]
    if arithmetic == "FP32":
        lesson = "03_shared_blocking" if row["shared_load_wavefronts"] == "0" else "04_unroll"
    advice = []
    if (row["m"], row["n"], row["k"]) == ("256",) * 3:  # the size of counted.csv
        lesson, advice = compared(stages, row, half and arithmetic == "FP32")
    lesson += "/README.md"
    if costly := costliest(lines):
        lesson = ABOUT[costly["memory"]]
        yield f"{costly['said']} {costly['remedy']}."
    yield from advice
    yield f"Read: {lesson}"


def compared(stages, row, in_halves):
    """The chapter to read, and sentences on the nearest stage."""
    nearest, loads_more = nearest_of(stages, row, in_halves)
    advice = [f"Nearest by its counts: {nearest}."]
    after = [step for step, before in programs.compared().items() if programs.name(before) == nearest]
    if loads_more > 1.5:  # so that this stage is the next step
        return nearest, [*advice, f"It loads {loads_more:.1f} times as much."]
    if after:
        return after[0].parent.name, [*advice, f"The step after that: ./run diff {programs.short(after[0])}"]
    return nearest, advice


def costliest(lines):
    """The line with the largest possible saving, if it is more than a quarter of the cost of all lines in that memory.
    """
    of_all = {memory: sum(int(each["cost"]) for each in lines if each["memory"] == memory) for memory in ABOUT}

    def could_save(line):
        return (int(line["cost"]) - int(line["at_best"])) / of_all[line["memory"]]

    costly = max(lines, key=could_save, default=None)
    return costly if costly and could_save(costly) > 0.25 else None


def nearest_of(stages, row, in_halves):
    """The stage whose counts are nearest to the row's, and how many times as much the row loads. The loaded elements
    count most, as bytes of float: in_halves says that the row's elements are halves, while the stages' are not."""
    def figures(counts, times=1):
        others = [1 + float(counts[column].replace("-", "1")) for column in COMPARED]
        return [times * float(counts["global_load_bytes"]), *others]

    def distance(stage):
        differences = [abs(math.log(a / b)) for a, b in zip(ours, figures(stage))]
        return 3 * differences[0] + sum(differences[1:])

    ours = figures(row, 2 if in_halves else 1)
    nearest = min(stages, key=distance)
    return nearest["stage"], ours[0] / figures(nearest)[0]


def place_in_ladder(kernel, row):
    """Sentences about the place of a measured speed in the ladder."""
    of_its_type = {each["stage"] for each in rows_of("counted.csv") if (each["type"] != "fp32") == kernel.half}
    rows = [{**each, "chapter": each["stage"].partition("/")[0].split()[0]} for each in rows_of("h200/ladder.csv")]
    rows = [each for each in rows if each["chapter"] in of_its_type]
    size = row["m"] if any(each["m"] == row["m"] for each in rows) else "8192"
    ours = float(row["percent_of_cublas"].replace("-", "0"))
    faster = [each for each in rows if each["m"] == size and float(each["percent_of_cublas"]) > ours]
    if not faster:
        yield "Faster than every stage of its precision, as a share of cuBLAS."
        return
    after = min(faster, key=lambda each: float(each["percent_of_cublas"]))
    yield (f"{ours}% of cuBLAS. The next of the ladder, at {size} on an H200: {after['stage']}, "
           f"{after['percent_of_cublas']}%.")
    yield f"Read: {after['chapter']}/README.md"

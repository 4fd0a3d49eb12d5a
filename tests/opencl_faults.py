"""Plants faults in the OpenCL chapter's kernels, one at a time, and demands that Oclgrind or the program's own verification catches
every one: opencl_faults.py PROGRAM FOLDER_OF_CL_FILES [PLATFORM]

With PLATFORM, such as portable (PoCL), each fault also runs on a device of that platform, without Oclgrind: "right by luck" marks
those that gave the right result there.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from opencl_oclgrind import EVERYTHING, RACES, need_oclgrind, simulate

# Each file, and the smallest shape that shows its faults: one tile of C, and two steps of k to find what one step leaves behind
# for the next. For resize, which runs with 01, whose tiles are the smallest: rows and columns that are not whole tiles.
FILES = {
    "01_naive": (16, 16, 2),
    "02_register_blocking": (128, 128, 2),
    "03_lds_blocking": (128, 128, 2),
    "04_unroll": (128, 128, 16),
    "05_double_buffer": (128, 128, 16),
    "resize": (17, 3, 5),
}

# kind, what it looks like, what it becomes, and at how many places each file has it, in the order of FILES; None: not planted.
FAULTS = (
    ("no barrier", r"\bbarrier\([^;]*;", r";", (0, 0, 2, 2, 2, 0)),
    ("wrong fence", r"CLK_LOCAL_MEM_FENCE", r"CLK_GLOBAL_MEM_FENCE", (0, 0, 2, 2, 2, 0)),
    ("barrier for half", r"\bbarrier\(", r"if (item < 128) \g<0>", (0, 0, 2, 2, 2, 0)),
    ("no toggle", r"buffer \^= 1", r"buffer ^= 0", (0, 0, 0, 0, 1, 0)),
    ("no toggle", r"buffer \^ 1", r"buffer", (0, 0, 0, 0, 2, 0)),
    ("not zeroed", r" = (?:\{\{0\.0f\}\}|0\.0f);", r";", (1, 1, 1, 1, 1, 0)),
    ("no guard", r"if \(k \+ kStepK < K\)", r"", (0, 0, 0, 0, 1, 0)),
    ("a step too many", r"(?<=; )k < K(?=;)", r"k <= K", (1, 1, 1, 1, 1, 0)),
    # Off by one: rows and columns in global memory, of loads and stores; then places in local memory. Not in 04 (None): the lines
    # are those of 05, and the simulator takes its time.
    ("tile", r"get_group_id\(\d\) \* kTile[MN]", r"\g<0> + 1", (0, 0, 2, None, 2, 0)),
    ("row", r"\(size_t\)(row|k|c_row|b_k|\([^()]*\)) \* (?=[KN]\b|\w+_cols)", r"(size_t)(\1 + 1) * ", (3, 3, 2, None, 3, 2)),
    ("step of the pointer", r"\(size_t\)kStepK \* N", r"(size_t)(kStepK + 1) * N", (0, 0, 0, None, 1, 0)),
    ("step of the pointer", r"_from \+= kStepK|\bfrom \+= advance", r"\g<0> + 1", (0, 0, 1, None, 1, 0)),
    ("column", r"\+ (?:k|col|col \+ j|c_col)(?=\])", r"\g<0> + 1", (3, 3, 1, None, 1, 2)),
    ("column", r"(?<=tile_col \+ )item(?= - kTileM)|\+ (?:a_k|b_col)(?=;)", r"\g<0> + 1", (0, 0, 1, None, 2, 0)),
    ("local store", r"(?<=[AB]s\[)item(?: - kTileM)?(?=\])", r"\g<0> + 1", (0, 0, 2, 0, 0, 0)),
    ("local store", r"(?<=As\[)a_k \+ 3|(?<=a_k \+ 0\]\[)a_row|(?<=\[)b_(?:k|col)(?=\])", r"\g<0> + 1", (0, 0, 0, None, 4, 0)),
    ("local load", r"(?<=\[)s(?=\])", r"s + 1", (0, 0, 0, None, 2, 0)),
    ("local load", r"(?<=\[)(?:row|col)(?= \+ [ij] / 4)", r"\g<0> + 1", (0, 0, 2, None, 2, 0)),
    ("place in the tile", r"(?:item|warp) [/%] 2\b", r"(\g<0> + 1)", (0, 0, 2, None, 4, 0)),
    # Padding and unpadding.
    ("no guard", r"row >= to_rows|col >= to_cols", r"0", (0, 0, 0, 0, 0, 2)),
    ("no guard", r"row < from_rows|col < from_cols", r"1", (0, 0, 0, 0, 0, 2)),
    ("no guard", r"inside \? (.*) : 0\.0f", r"\1", (0, 0, 0, 0, 0, 1)),
    ("from for to", r"(?<=[=*<] )to_(?=rows|cols)", r"from_", (0, 0, 0, 0, 0, 3)),
    ("to for from", r"(?<=[=*<] )from_(?=rows|cols)", r"to_", (0, 0, 0, 0, 0, 3)),
)


def plant(folder):
    """Returns the faults as (kind, file, where and what, changed source); exits where FAULTS expects more or fewer places."""
    planted = []
    for column, file in enumerate(FILES):
        source = (folder / f"{file}.cl").read_text()
        code = re.sub(r"//.*", lambda comment: " " * len(comment[0]), source)  # comments are left alone, places stay where they are
        for kind, pattern, replacement, counts in FAULTS:
            places = list(re.finditer(pattern, code)) if counts[column] is not None else []
            if len(places) != (counts[column] or 0):
                sys.exit(f"{file}.cl: '{pattern}' ({kind}) is there {len(places)} times, not {counts[column]}")
            for place in places:
                begin, end = place.span()
                number, now = source.count("\n", 0, begin), place.expand(replacement)
                where = f"{file}.cl, line {number + 1}, {kind}: '{place[0]}' -> '{now}' in: {source.splitlines()[number].strip()}"
                planted.append((kind, file, where, source[:begin] + now + source[end:]))
    return planted


def words_for(file):
    stage = "01" if file == "resize" else file[:2]
    return ["--stage", stage] + [word for option, length in zip(("-m", "-n", "-k"), FILES[file]) for word in (option, str(length))]


def caught(program, file, folder, checks):
    """What Oclgrind or else the program says of `file` among the .cl files in `folder`; None if nothing."""
    run, found = simulate(checks, program, "--kernels", folder, *words_for(file))
    if "does not compile" in run.stderr:
        sys.exit(f"a changed {file}.cl does not compile:\n{run.stderr}")  # it must not pass for a fault that was found
    if found:
        line = re.search(r"At line (\d+)", found[0])
        return "Oclgrind: " + found[0].split("\n")[0] + (f", line {line[1]}" if line else "")
    if run.returncode != 0:
        return "verification: " + (run.stderr.strip().split("\n")[-1].split(": ", 2)[-1] or f"exit code {run.returncode}")
    return None


def right_by_luck(program, file, folder, platform):
    """Whether a device without Oclgrind computes the right result all the same."""
    try:
        run = subprocess.run([program, "--platform", platform, "--verify-only", "--kernels", folder, *words_for(file)], timeout=60,
                             env={**os.environ, "POCL_CACHE_DIR": f"{folder}/cache"}, capture_output=True)
    except subprocess.TimeoutExpired:  # work-items that wait for others forever
        return False
    return run.returncode == 0


def try_fault(program, kernels, platform, file, changed):
    """(How the fault was caught, whether it was right by luck on the platform.)"""
    with tempfile.TemporaryDirectory() as folder:
        for unchanged in kernels.glob("*.cl"):
            pathlib.Path(folder, unchanged.name).write_text(unchanged.read_text())
        pathlib.Path(folder, f"{file}.cl").write_text(changed)
        # Following uninitialised values takes three times as long, and few faults need it.
        said = caught(program, file, folder, RACES) or caught(program, file, folder, EVERYTHING)
        return said, bool(platform) and right_by_luck(program, file, folder, platform)


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit("opencl_faults.py PROGRAM FOLDER_OF_CL_FILES [PLATFORM]")
    program, kernels, platform = sys.argv[1], pathlib.Path(sys.argv[2]), (sys.argv[3:] or [""])[0]
    need_oclgrind()
    planted = plant(kernels)
    missed = lucky = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, said in zip(FILES, pool.map(lambda file: caught(program, file, kernels, EVERYTHING), FILES)):
            if said:
                sys.exit(f"{file}.cl without a fault: {said}")
        results = pool.map(lambda fault: try_fault(program, kernels, platform, fault[1], fault[3]), planted)
        for (_, _, where, _), (said, luck) in zip(planted, results):
            print(f"{where}\n    {said or 'NOT CAUGHT'}{'; right by luck' if luck else ''}", flush=True)
            missed += said is None
            lucky += luck
    kinds = {kind: sum(kind == k for k, *_ in planted) for kind, *_ in planted}
    print(f"{len(planted)} faults planted {kinds}, {len(planted) - missed} caught")
    if platform:
        print(f"{lucky} of them gave the right result on {platform}")
    sys.exit(1 if missed else 0)


main()

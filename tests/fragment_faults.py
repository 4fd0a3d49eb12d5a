"""Plants faults in the fragment chapter's programs, tables and pictures, one at a time, and demands that a check catches each.

    fragment_faults.py CHAPTER --rewrite ... (see emulated.py)

Every fault goes into a copy of the chapter, which is built with AddressSanitizer or with tracing and run, or given to
fragment_layouts.py.
"""
import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import emulated

# What is run; the file, what stands there, what is put in its place; what must be said. trace: it takes the traced build. layouts:
# fragment_layouts.py with probe.
FAULTS = (
    ("volta_tables", "volta_tables.cu", "{0, 0, 2, 2, 1, 1, 3, 3}", "{0, 0, 2, 2, 1, 1, 3, 2}", "the proof did not come out"),
    ("volta_tables", "volta_tables.cu", "<half>(b, a, c), 0", "<half>(a, b, c), 0", "the proof did not come out"),
    ("volta_tables", "volta_tables.cu", "i < 8; ++i) c[lane", "i < 7; ++i) c[lane", "the proof did not come out"),  # leaves NaN
    ("volta_tables", "volta_tables.cu", "set < 4", "set < 3", "the proof did not come out"),
    ("volta_tables", "ptx.cuh", "lane / 4 % 4 * 4", "0", "the proof did not come out"),
    ("custom_load", "loads.cuh", "f.x[i + 8] = two.x", "f.x[i + 8] = two.y", "pairs from global memory: lane 0 has"),
    ("custom_load", "loads.cuh", "f.x[i] = f.x[i + 8] = M[", "f.x[i] = M[", "halves from global memory: lane 0 has"),
    ("custom_load", "loads.cuh", "threadIdx.x / 16 * 8", "0", "ldmatrix from shared memory: lane"),
    ("custom_load", "custom_load.cu", "i < f.num_elements", "i < 15", "load_matrix_sync nan"),  # NaN beside NaN
    ("custom_load trace", "custom_load.cu", "__syncthreads();", "", "race"),
    ("probe", "probe.cu", "i < f.num_elements; ++i) x[", "i < 15; ++i) x[", "lane 0 holds nan in x[15], no element of M"),
    ("probe", "probe.cu", "float(row * cols + col)", "float(row * cols)", "no lane holds 240 of the 256 elements"),
    ("layouts", "layouts.h", "lane / 4 + i / 2 % 2 * 8, lane % 4 * 2", "lane / 4 + i / 2 % 2 * 8, lane % 2 * 2",
     "FAIL sm_75 matrix_a half col: recognised by the formulas"),
    ("layouts", "probe.cu", "int(float(f.x[i])) % cols", "int(float(f.x[i])) % 8",
     "FAIL sm_70 accumulator float col: so does what the device printed"),
    ("layouts", "layouts/sm75_and_later_matrix_b_half_row.csv", "31,15,", "31,14,",
     "FAIL sm_75 matrix_b half row: the dump equals"),
    ("layouts", "layouts/sm70_accumulator_float_col.csv", "\n0,1,0,1", "\n0,1,1,0",
     "FAIL sm_70 accumulator float col: the dump equals"),
    ("layouts", "volta_matrix_a.svg", "0: x[0]", "0: x[1]", "FAIL sm_70: volta_matrix_a.svg is up to date"),
)


intact_probe = []  # once it is built


def run(arguments, copy, what, is_code=True):
    """(exit code, what was said) of the program or test on the copy of the chapter."""
    name, _, variant = what.partition(" ")
    program = copy.parent / f"{'probe' if name == 'layouts' else name}_cpu"
    source = copy / f"{program.name[:-4]}.cu"
    changed = argparse.Namespace(**vars(arguments))
    compiler, *rest = arguments.compile.split(" ")
    changed.compile = " ".join([compiler, f"-I{copy.parent}", *rest])  # the copy's headers come first
    if intact_probe and name == "layouts" and not is_code:  # a table or a picture: the program is the one without a fault
        shutil.copy(intact_probe[0], program)
    else:
        emulated.build(changed, source.read_text(), str(program), arguments.trace if variant else arguments.asan)
    test = pathlib.Path(__file__).with_name("fragment_layouts.py")
    command = [sys.executable, "-B", test, program, copy] if name == "layouts" else [program]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def plant(fault):
    """(whether it was caught, a line that says how)."""
    what, file, old, new, expected = fault
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(shutil.copytree(arguments.source, f"{folder}/07_fragment_probe"))
        if not file:
            code, said = run(arguments, copy, what)
            if what == "layouts":
                intact_probe.append(shutil.copy(f"{folder}/probe_cpu", keep))
            return code == 0, f"{what} without a fault: {code}"
        text = (copy / file).read_text()
        code, said = 0, "its place is not there: the list of faults is out of date"
        if old in text:
            (copy / file).write_text(text.replace(old, new, 1))
            code, said = run(arguments, copy, what, not file.endswith((".csv", ".svg")))
    lines = [line for line in said.split("\n") if expected in line]
    caught = code == 1 and bool(lines)
    seen = lines[0].strip() if caught else f"{code}, {said[-300:]}"
    return caught, f"{what}, {file}: {old.strip()} -> {new.strip() or 'nothing'}: {seen}"


parser = argparse.ArgumentParser()
emulated.add_arguments(parser)  # `source` is the chapter
arguments = parser.parse_args()
arguments.asan += " -O0"  # these programs run for milliseconds
failures = 0
intact = [(what, "", "", "", "") for what in ("layouts", "volta_tables", "custom_load", "custom_load trace")]
with tempfile.TemporaryDirectory() as keep, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    for good, line in pool.map(plant, intact + list(FAULTS)):
        print("ok  " if good else "FAIL", line)
        failures += not good
sys.exit(1 if failures else 0)

"""What programs say to bad input: their exit code, and one line that names what was wrong and what is accepted; and to --help."""
import os
import re
import shlex
import subprocess
import sys

import pytest

from run import PROGRAMS, STAGE_NAMES
from support import BUILD, ROOT, program

# The builds of the programs in a row: "cpu", with _cpu after their names; "gpu"; "both"; "host", of programs that are built once.
# "device": as built for a device, and skipped without one.
STAGE, STAGES, WMMA = "03_shared_blocking", "03_shared_blocking 06_wmma", "one_tile types"
FRAGMENT, BENCHES = "probe volta_tables custom_load", "custom_load latency roofline transfer"
HOSTS, OPENCL = "roofline_host blas_host", "08_opencl_gcn"
AMOUNT, WHOLE, NAME = "-m 1 -n 1000000000 -k 8388608", "takes a whole number from ", "takes the name of a file"
MISSING, FOLDER = "can't be written: No such file or directory", "can't be written: Is a directory"
FULL, NO_TIMES = "can't be written: No space left on device", "--csv: there are no times with "

# Programs, builds, words, exit code (77: run with all devices hidden), what stands in the one line on stderr.
ROWS = [
    (f"{STAGES} {FRAGMENT} transfer latency roofline", "both", "--fast", 2, "unknown option '--fast'"),
    (f"{HOSTS} library_curves", "host", "--fast", 2, "unknown option '--fast'"),
    (f"{STAGES} {WMMA} {FRAGMENT}", "both", "-x", 2, "unknown option '-x'"),
    (WMMA, "both", "--size 16", 2, "unknown option '--size'"),
    ("one_tile", "both", "--csv a.csv", 2, "unknown option '--csv'"),
    (OPENCL, "host", "--order forward", 2, "unknown option '--order'"),
    (f"{STAGES} {WMMA} {FRAGMENT} transfer latency roofline", "both", "04", 2,
     "unexpected argument '04'"),
    (f"{OPENCL} {HOSTS} library_curves", "host", "04", 2, "unexpected argument '04'"),
    (STAGES, "both", "--size", 2, "--size: needs a value"),
    (WMMA, "both", "--seed", 2, "--seed: needs a value"),
    (f"{FRAGMENT} latency", "both", "--device", 2, "--device: needs a value"),
    (HOSTS, "host", "--device 0", 2, "unknown option '--device'"),

    (STAGE, "cpu", "-xm 5", 2, "unknown option '-x'"),
    (STAGE, "cpu", "--lines=3", 2, "--lines=3: takes no value"),
    (STAGE, "cpu", "--lines", 2, "--lines: only the traced CPU builds"),
    (STAGE, "cpu", "--record x", 2, "--record: only the traced CPU builds"),
    (f"{STAGE}_cpu_trace", "host", "--record ''", 2, "--record '': takes the name of a file"),
    (STAGE, "cpu", "--device 1", 2, "--device '1': takes a number from 0 to 0"),
    (STAGE, "both", "--limits /dev/zero", 2, "has more than 16 MiB"),
    (STAGE, "cpu", "--large-indices --csv a.csv", 2, "--csv: there are no rows with --large-indices"),
    (STAGE, "gpu", "--large-indices", 2, "--large-indices: only the CPU builds"),
    ("probe", "cpu", "--csv x --svg ./x", 2, "--csv writes to that file, too"),

    (STAGES, "both", "--sizes 64:128:0", 2, "--sizes '0': takes"),
    (STAGES, "both", "--sizes 64:32:8", 2, f"--sizes '32': {WHOLE}64"),
    (STAGES, "both", "--sizes 16x16", 2, "--sizes '16x16': takes MxNxK or several"),
    (STAGES, "both", "--sizes 1x1x1,,", 2, "--sizes '': takes MxNxK or several"),
    (STAGES, "both", "--sizes 1x2x3x4", 2, "--sizes '1x2x3x4': takes"),
    (STAGES, "both", "--sizes 1x0x3", 2, "--sizes '1x0x3': takes"),
    (STAGES, "both", "--sizes 1x1x8388609", 2, "--sizes '1x1x8388609': takes"),
    (STAGES, "both", "--gpu gtx", 2, "--gpu 'gtx': takes one of h200, h100, fury-x"),
    (STAGES, "both", "--limits /", 2, "--limits '/': can't be read: Is a directory"),
    (STAGES, "both", "--limits ''", 2, "--limits '': can't be read: No such file or directory"),
    (STAGES, "both", f"--limits {__file__!r}", 2, f"--limits '{__file__}': has no column 'what'"),
    (STAGES, "cpu", "--order sideways", 2, "--order 'sideways': takes one of forward, reverse, random, all"),
    (STAGES, "both", "--bf16", 2, "--bf16: only these stages take it: 10_async_mma, 11_wgmma"),
    (STAGES, "both", "--half-c", 2, "--half-c: only a stage with half_c takes it, as that of 11_wgmma's exercise 3"),
    (STAGE, "gpu", "--order forward", 2, "--order: only the CPU builds"),
    (STAGES, "cpu", AMOUNT, 3, "GiB are available; try a smaller size"),
    (STAGE, "device", AMOUNT, 3, "GiB are available; try a smaller size"),
    (STAGE, "device", "--device 99", 2, "--device '99': takes a number from 0 to"),
    (f"{FRAGMENT} {BENCHES} types", "cpu", "--device 7", 2,
     "--device '7': takes a number from 0 to 0"),
    (f"{FRAGMENT} types", "gpu", "--arch sm_80", 2, "--arch: only the CPU builds (their names end in _cpu) take it"),
    (f"{BENCHES} types", "cpu", "--repeat 3", 2,
     "--repeat: only the GPU build takes it; the CPU build times nothing"),
    ("custom_load", "cpu", "--arch sm_70", 3, "sm_70 lays fragments out in another way: these loads are for sm_75 and later"),
    ("probe", "both", "--use a", 2, "--use 'a': takes one of matrix_a, matrix_b, accumulator"),
    ("probe", "both", "--type double", 2, "--type 'double': takes one of half, float"),
    ("probe", "both", "--layout row_major", 2, "--layout 'row_major': takes one of row, col"),
    ("probe", "both", "--type float", 2, "--type 'float': only --use accumulator takes it; matrix_a takes half"),
    ("probe", "both", "--all --svg a.svg", 2, "--svg: draws one fragment, not --all of them"),
    ("probe", "cpu", "--arch sm_70 --shape 32x8x16 --csv a.csv", 2,
     "--shape '32x8x16': of sm_70 the CPU build knows 16x16x16 alone"),

    (f"{STAGES} types probe", "both", "--csv ''", 2, f"--csv '': {NAME}"),
    (f"{STAGES} types probe", "both", "--csv missing/a.csv", 2, f"--csv 'missing/a.csv': {MISSING}"),
    (f"{STAGES} types probe", "both", "--csv .", 2, f"--csv '.': {FOLDER}"),
    (f"{STAGES} types probe", "cpu", "--csv /dev/full", 2, f"--csv '/dev/full': {FULL}"),
    ("probe", "both", "--svg ''", 2, f"--svg '': {NAME}"),
    ("probe", "both", "--svg missing/a.svg", 2, f"--svg 'missing/a.svg': {MISSING}"),
    ("probe", "both", "--svg .", 2, f"--svg '.': {FOLDER}"),
    ("probe", "cpu", "--svg /dev/full", 2, f"--svg '/dev/full': {FULL}"),
    ("custom_load latency", "gpu", "--csv ''", 2, f"--csv '': {NAME}"),
    ("custom_load latency", "gpu", "--csv missing/a.csv", 2, f"--csv 'missing/a.csv': {MISSING}"),
    (HOSTS, "host", "--csv ''", 2, f"--csv '': {NAME}"),
    (HOSTS, "host", "--csv missing/a.csv", 2, MISSING),
    (OPENCL, "device", "--size 8 --csv missing/a.csv", 2, f"--csv 'missing/a.csv': {MISSING}"),
    (OPENCL, "device", "--stage 1 --size 8 --repeat 1 --csv /dev/full", 2, f"--csv '/dev/full': {FULL}"),
    (BENCHES, "cpu", "--csv a.csv", 2,
     "--csv: only the GPU build takes it; the CPU build times nothing"),
    ("roofline", "cpu", "--csv ''", 2, "--csv: only"),
    ("roofline", "cpu", "--clock", 2, "--clock: only the GPU build takes it"),
    ("custom_load latency library_curves", "gpu", "--verify-only --csv a.csv", 2,
     NO_TIMES + "--verify-only"),
    (HOSTS, "host", "--verify-only --csv a.csv", 2, NO_TIMES + "--verify-only"),

    (STAGE, "gpu", "--size 8", 77, "no usable GPU"),
    (f"{WMMA} {FRAGMENT}", "gpu", "", 77, "no usable GPU"),
    ("latency library_curves", "gpu", "--csv a.csv", 77, "no usable GPU"),
    ("probe", "gpu", "--csv a.csv --svg a.svg", 77, "no usable GPU"),
    (OPENCL, "host", "--list", 77, "no OpenCL device; the package pocl-opencl-icd"),
    (OPENCL, "host", "--stage 6", 2, "--stage '6': takes one of 01_naive, 02_register_blocking"),
    (OPENCL, "host", "--stage ''", 2, "--stage '': takes one of"),
    (OPENCL, "device", "--platform nobody --list", 2, "--platform 'nobody': takes a part of one of these names: "),
    (OPENCL, "device", "--device 99", 2, "--device '99': takes a number from 0 to"),
    (OPENCL, "device", "--kernels /nowhere", 2, "'/nowhere/resize.cl': can't be read; --kernels takes the folder"),
    (OPENCL, "device", AMOUNT, 3, "; try a smaller size"),
    (OPENCL, "device", "--size 200000", 3, "; try a smaller size"),
]
# Programs, builds, options, values that none of them takes (with commas between), and what they take.
VALUES = (
    (STAGES, "cpu", "--size -m -n -k --repeat", "0,-5,abc,1000000000000,4x,,99999999999999999999", WHOLE + "1 to"),
    (STAGE, "gpu", "--size -m -n -k --repeat", "0", WHOLE + "1 to"),  # the same parser: each start loads cuBLAS
    (OPENCL, "host", "--size", "0,-5,abc,4x,,99999999999999999999", WHOLE + "1 to"),
    ("roofline_host", "host", "--size", "0,abc,1048577", WHOLE + "1 to 1048576"),
    (HOSTS, "host", "--repeat", "0,-1,abc,,1x,1001", WHOLE + "1 to 1000"),
    ("custom_load latency transfer library_curves", "gpu", "--repeat", "0,-1,1001,many,,1x",
     WHOLE + "1 to 1000"),
    (f"{STAGES} transfer", "both", "--sizes", "64", "takes FIRST:LAST:STEP"),
    ("library_curves blas_host", "host", "--sizes", "64", "takes FIRST:LAST:STEP"),
    (WMMA, "both", "--seed", "-1,abc,,1x,4294967296", WHOLE + "0 to 4294967295"),
    (STAGES, "both", "--seed", "-1", WHOLE + "0"),
    ("library_curves blas_host", "host", "--seed", "-1", WHOLE + "0"),
    ("latency", "both", "--device", "-1,1024,first,", WHOLE + "0 to 1023"),
    (f"{STAGES} {WMMA} {FRAGMENT}", "both", "--device", "-1", WHOLE + "0 to"),
    (OPENCL, "host", "--device", "-1", WHOLE + "0 to"),
    (f"types {FRAGMENT}", "cpu", "--arch", "sm_60,80,sm_90,", "takes one of sm_70, sm_75, sm_80"),
    ("probe", "both", "--shape", "1x2x3,16,16x16x8,", "takes one of 16x16x16, 32x8x16, 8x32x16"),
)
ROWS += [(programs, builds, f"{option} '{value}'", 2, f"{option} '{value}': {accepted}")
         for programs, builds, options, values, accepted in VALUES for option in options.split() for value in values.split(",")]
SUFFIXES = {"cpu": ["_cpu"], "gpu": [""], "both": ["_cpu", ""], "host": [""], "device": [""]}
CASES = [pytest.param(name + suffix, builds == "device", shlex.split(words), code, said, id=f"{name}{suffix} {words}")
         for programs, builds, words, code, said in ROWS for name in programs.split() for suffix in SUFFIXES[builds]
         if name + suffix != "06_wmma"]  # each start loads cuBLAS: one stage's GPU build is enough


@pytest.mark.parametrize("name, needs_device, words, code, said", CASES)
def test_bad_input(name, needs_device, words, code, said, tmp_path):
    hidden = {"CUDA_VISIBLE_DEVICES": "", "OCL_ICD_VENDORS": str(tmp_path)} if code == 77 else {}
    run = subprocess.run([program(name), *words], capture_output=True, text=True, cwd=tmp_path, env={**os.environ, **hidden})
    if needs_device and run.returncode == 77:
        pytest.skip(run.stderr.strip())
    if name == OPENCL and code == 77 and run.returncode == 0:
        pytest.skip("the OpenCL loader looks elsewhere, too")
    assert run.returncode == code and said in run.stderr and run.stderr.strip().count("\n") == 0, run.stderr
    assert not os.listdir(tmp_path), "something is left behind"


def helped():
    """What a person may ask: (path, what the program calls itself, a word that must be in the answer)."""
    words = {**dict.fromkeys(("latency", "transfer", "library_curves", "blas_host"), "--verify-only"),
             **dict.fromkeys(WMMA.split(), "--seed"), **dict.fromkeys(FRAGMENT.split(), "--arch"), OPENCL: "--platform", "half2": "--sizes"}
    for each in PROGRAMS:
        for suffix in ("", "_cpu")[:1 + (each.kind in ("stage", "other"))]:
            yield (BUILD / "bin" / (each.target(False) + suffix), each.name,
                   words.get(each.name, "--sizes" if each.kind == "stage" else "Exit codes"))
    yield ROOT / "run", "run", STAGE_NAMES
    for path in (ROOT / "test", *sorted(ROOT.glob("tools/*.py")), *sorted(ROOT.glob("[0-9][0-9]_*/*.py"))):
        if path.stem != "run" and (path.suffix != ".py" or re.search(r"ArgumentParser|sys\.argv", path.read_text())):
            yield path, path.stem, ""


@pytest.mark.parametrize("path, name, word", [pytest.param(*each, id=each[0].name) for each in helped()])
def test_help(path, name, word):
    """On stdout and nowhere else; the first line names the program; there is an example; no line is over 132 characters."""
    if path.parent == BUILD / "bin":
        program(path.name)
    answers = [subprocess.run([*([sys.executable, "-B"] if path.suffix == ".py" else []), path, option], capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=60) for option in ("--help", "-h")]
    for run in answers:
        assert run.returncode == 0 and not run.stderr, run.stderr
        lines = run.stdout.replace(str(path), f"./{path.name}").splitlines()  # as it is called from its own folder
        assert re.search(rf"(?<!\w){re.escape(name)}(?!\w)", lines[0])
        assert "xample" in run.stdout and word in " ".join(run.stdout.split())
        assert not word or "Exit codes" in run.stdout
        assert all(len(line) <= 132 for line in lines)
    assert answers[0].stdout == answers[1].stdout

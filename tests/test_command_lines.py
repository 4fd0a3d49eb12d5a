"""What programs say to bad input: their exit code, and one line that names what was wrong and what is accepted; and to --help."""
import os
import re
import shlex
import subprocess
import sys

import pytest

from support import BUILD, ROOT, program

# Rows are given to these, with _cpu after the name where the row says "cpu", as they are for "gpu", and both ways for "both". A
# "device" row is for GPU builds, too, and is skipped where they find no device.
STAGE, STAGES, WMMA = "03_shared_blocking", "03_shared_blocking 06_wmma", "one_tile types"
FRAGMENT, CURVES, OPENCL = "probe volta_tables custom_load", "transfer library_curves", "08_opencl_gcn"
WHOLE, AMOUNT = "takes a whole number from ", "-m 1 -n 1000000000 -k 8388608"
PATH, FULL = "can't be written: No such file or directory", "'/dev/full': can't be written: No space left on device"

# Programs, builds, words, exit code (77: run with all devices hidden), what stands in the one line on stderr.
ROWS = [
    (STAGES, "both", "--seed -1", 2, "--seed '-1': takes"),
    (STAGES, "both", "--fast", 2, "unknown option '--fast'"),
    (STAGES, "both", "-x", 2, "unknown option '-x'"),
    (STAGES, "both", "4096", 2, "unexpected argument '4096'"),
    (STAGES, "both", "--size", 2, "--size: needs a value"),
    (STAGES, "both", "--sizes 64", 2, "--sizes '64': takes FIRST:LAST:STEP"),
    (STAGES, "both", "--sizes 64:128:0", 2, "--sizes '0': takes"),
    (STAGES, "both", "--sizes 64:32:8", 2, "--sizes '32': takes a whole number from 64"),
    (STAGES, "both", "--gpu gtx", 2, "--gpu 'gtx': takes one of h200, fury-x"),
    (STAGES, "both", "--device -1", 2, "--device '-1': takes"),
    (STAGES, "both", "--limits /", 2, "--limits '/': can't be read: Is a directory"),
    (STAGES, "both", "--limits ''", 2, "--limits '': can't be read: No such file or directory"),
    (STAGES, "both", f"--limits {__file__!r}", 2, f"--limits '{__file__}': has no column 'what'"),
    (STAGES, "both", "--csv ''", 2, "--csv '': takes"),
    (STAGES, "both", "--size 8 --csv missing/a.csv", 2, f"--csv 'missing/a.csv': {PATH}"),
    (STAGES, "both", "--size 8 --csv .", 2, "--csv '.': can't be written: Is a directory"),
    (STAGES, "cpu", "--size 8 --csv /dev/full", 2, f"--csv {FULL}"),
    (STAGES, "cpu", "--order sideways", 2, "--order 'sideways': takes one of forward, reverse, random, all"),
    (STAGES, "cpu", AMOUNT, 3, "cudaMalloc"),
    (STAGE, "gpu", "--order forward", 2, "--order: only the CPU builds"),
    (STAGE, "gpu", "--size 8", 77, "no usable GPU"),
    (STAGE, "device", "--device 99", 2, "--device '99': takes a number from 0 to"),
    (STAGE, "device", AMOUNT, 3, "cudaMalloc"),

    (WMMA, "both", "--device -1", 2, f"--device '-1': {WHOLE}0"),
    (WMMA, "both", "--seed", 2, "--seed: needs a value"),
    (WMMA, "both", "--size 16", 2, "unknown option '--size'"),
    (WMMA, "both", "-x", 2, "unknown option '-x'"),
    (WMMA, "both", "16", 2, "unexpected argument '16'"),
    (WMMA, "gpu", "", 77, "no usable GPU"),
    ("one_tile", "both", "--csv a.csv", 2, "unknown option '--csv'"),
    ("types", "both", "--csv ''", 2, "--csv '': takes the name of a file"),
    ("types", "both", "--csv missing/a.csv", 2, f"--csv 'missing/a.csv': {PATH}"),
    ("types", "both", "--csv .", 2, "--csv '.': can't be written: Is a directory"),
    ("types", "cpu", "--csv /dev/full", 2, f"--csv {FULL}"),
    ("types", "cpu", "--device 1", 2, "--device '1': takes a number from 0 to 0"),
    ("types", "gpu", "--arch sm_80", 2, "--arch: only the CPU builds"),

    (FRAGMENT, "both", "--fast", 2, "unknown option '--fast'"),
    (FRAGMENT, "both", "-x", 2, "unknown option '-x'"),
    (FRAGMENT, "both", "all", 2, "unexpected argument 'all'"),
    (FRAGMENT, "both", "--device", 2, "--device: needs a value"),
    (FRAGMENT, "both", "--device -1", 2, f"--device '-1': {WHOLE}0 to"),
    (FRAGMENT, "cpu", "--device 7", 2, "--device '7': takes a number from 0 to 0"),
    (FRAGMENT, "gpu", "--arch sm_80", 2, "--arch: only the CPU builds (their names end in _cpu) take it"),
    (FRAGMENT, "gpu", "", 77, "no usable GPU"),
    *(("probe", builds, f"{option} {value}", 2, f"{option} {said}") for option in ("--csv", "--svg") for builds, value, said in (
        ("both", "missing/a", f"'missing/a': {PATH}"), ("both", ".", "'.': can't be written: Is a directory"),
        ("both", "''", "'': takes the name of a file"), ("cpu", "/dev/full", FULL))),
    ("probe", "both", "--use a", 2, "--use 'a': takes one of matrix_a, matrix_b, accumulator"),
    ("probe", "both", "--type double", 2, "--type 'double': takes one of half, float"),
    ("probe", "both", "--layout row_major", 2, "--layout 'row_major': takes one of row, col"),
    ("probe", "both", "--type float", 2, "--type 'float': only --use accumulator takes it; matrix_a takes half"),
    ("probe", "both", "--all --svg a.svg", 2, "--svg: draws one fragment, not --all of them"),
    ("probe", "cpu", "--arch sm_70 --shape 32x8x16 --csv a.csv", 2,
     "--shape '32x8x16': of sm_70 the CPU build knows 16x16x16 alone"),
    ("probe", "gpu", "--csv a.csv --svg a.svg", 77, "no usable GPU"),
    ("custom_load latency", "cpu", "--repeat 3", 2, "--repeat: only the GPU build takes it; the CPU build times nothing"),
    ("custom_load latency", "cpu", "--csv a.csv", 2, "--csv: only the GPU build takes it; the CPU build times nothing"),
    ("custom_load latency", "gpu", "--csv missing/a.csv", 2, f"--csv 'missing/a.csv': {PATH}"),
    ("custom_load latency", "gpu", "--csv ''", 2, "--csv '': takes the name of a file"),
    ("custom_load", "cpu", "--arch sm_70", 3, "sm_70 lays fragments out in another way: these loads are for sm_75 and later"),
    ("custom_load", "gpu", "--check-only --csv a.csv", 2, "--csv: there are no times with --check-only"),

    ("latency", "both", "--fast", 2, "unknown option '--fast'"),
    ("latency", "both", "all", 2, "unexpected argument 'all'"),
    ("latency", "both", "--device", 2, "--device: needs a value"),
    ("latency", "cpu", "--device 7", 2, "--device '7': takes a number from 0 to 0"),
    ("latency", "gpu", "--verify-only --csv a.csv", 2, "--csv: there are no times with --verify-only"),
    ("latency", "gpu", "--csv a.csv", 77, "no usable GPU"),

    (CURVES, "cpu", "--sizes 64", 2, "--sizes '64': takes FIRST:LAST:STEP"),
    (CURVES, "cpu", "--fast", 2, "unknown option '--fast'"),
    (CURVES, "cpu", "64", 2, "unexpected argument '64'"),
    (CURVES, "cpu", "--device 0", 2, "--device"),
    ("transfer", "cpu", "--csv x.csv", 2, "--csv: only the GPU build takes it"),
    ("transfer", "cpu", "--fit ''", 2, "--fit '': takes the name of a file"),
    ("transfer", "cpu", "--fit missing.csv", 2, "can't be read: No such file"),
    ("library_curves", "cpu", "--seed -1", 2, f"--seed '-1': {WHOLE}0"),
    ("library_curves", "cpu", "--csv x.csv --verify-only", 2, "--csv: there are no times with --verify-only"),

    ("roofline", "cpu", "--csv x.csv", 2, "--csv: only the GPU build takes it"),
    ("roofline", "cpu", "--csv ''", 2, "--csv: only"),
    ("roofline", "cpu", "--repeat 2", 2, "--repeat: only the GPU build takes it"),
    ("roofline", "cpu", "--device 0", 2, "--device: only the GPU build takes it"),
    ("roofline", "cpu", "--fast", 2, "unknown option '--fast'"),
    ("roofline", "cpu", "4", 2, "unexpected argument '4'"),
    ("roofline_host", "host", "--csv ''", 2, "--csv '': takes the name of a file"),
    ("roofline_host", "host", "--verify-only --csv x.csv", 2, "--csv: there are no times with --verify-only"),
    ("roofline_host", "host", "--csv missing/x.csv", 2, PATH),
    ("roofline_host", "host", "--fast", 2, "unknown option '--fast'"),
    ("roofline_host", "host", "4", 2, "unexpected argument '4'"),

    (OPENCL, "host", "--list", 77, "no OpenCL device; the package pocl-opencl-icd"),
    (OPENCL, "host", "--stage 6", 2, "--stage '6': takes one of 01_naive, 02_register_blocking"),
    (OPENCL, "host", "--stage ''", 2, "--stage '': takes one of"),
    (OPENCL, "device", "--platform nobody --list", 2, "--platform 'nobody': takes a part of one of these names: "),
    (OPENCL, "device", "--device 99", 2, "--device '99': takes a number from 0 to"),
    (OPENCL, "host", "--device -1", 2, "--device '-1': takes"),
    (OPENCL, "host", "--order forward", 2, "unknown option '--order'"),
    (OPENCL, "host", "04", 2, "unexpected argument '04'"),
    (OPENCL, "device", "--kernels /nowhere", 2, "'/nowhere/resize.cl': can't be read; --kernels takes the folder"),
    (OPENCL, "device", AMOUNT, 3, "; try a smaller size"),
    (OPENCL, "device", "--size 200000", 3, "; try a smaller size"),
    (OPENCL, "device", "--size 8 --csv missing/a.csv", 2, f"--csv 'missing/a.csv': {PATH}"),
    (OPENCL, "device", "--stage 1 --size 8 --csv /dev/full", 2, f"--csv {FULL}"),
]
# Programs, builds, options, values that none of them takes (with commas between), and what they take.
VALUES = (
    (STAGES, "both", "--size -m -n -k --repeat", "0,-5,abc,1000000000000,4x,,99999999999999999999", WHOLE + "1 to"),
    (WMMA, "both", "--seed", "-1,abc,,1x,4294967296", WHOLE + "0 to 4294967295"),
    ("types " + FRAGMENT, "cpu", "--arch", "sm_60,80,sm_90,", "takes one of sm_70, sm_75, sm_80"),
    ("probe", "both", "--shape", "1x2x3,16,16x16x8,", "takes one of 16x16x16, 32x8x16, 8x32x16"),
    ("custom_load latency", "gpu", "--repeat", "0,-1,1001,many,", WHOLE + "1 to 1000"),
    ("latency", "both", "--device", "-1,1024,first,", WHOLE + "0 to 1023"),
    (CURVES, "cpu", "--repeat", "0,abc,,1x", WHOLE + "1 to"),
    ("roofline_host", "host", "--repeat", "0,-1,abc,,1x,1001", WHOLE + "1 to 1000"),
    ("roofline_host", "host", "--size", "0,abc,1048577", WHOLE + "1 to 1048576"),
    (OPENCL, "host", "--size", "0,-5,abc,4x,,99999999999999999999", WHOLE + "1 to"),
)
ROWS += [(programs, builds, f"{option} '{value}'", 2, f"{option} '{value}': {accepted}")
         for programs, builds, options, values, accepted in VALUES for option in options.split() for value in values.split(",")]
SUFFIXES = {"cpu": ["_cpu"], "gpu": [""], "both": ["_cpu", ""], "host": [""], "device": [""]}
CASES = [pytest.param(name + suffix, builds == "device", shlex.split(words), code, said, id=f"{name}{suffix} {words}")
         for programs, builds, words, code, said in ROWS for name in programs.split() for suffix in SUFFIXES[builds]
         if name + suffix != "06_wmma"]  # each start loads cuBLAS: one stage's GPU build is enough


@pytest.mark.parametrize("name, needs_device, words, code, said", CASES)
def test_bad_input(name, needs_device, words, code, said, folder):
    environment = {**os.environ, **({"CUDA_VISIBLE_DEVICES": "", "OCL_ICD_VENDORS": str(folder)} if code == 77 else {})}
    run = subprocess.run([program(name), *words], capture_output=True, text=True, cwd=folder, env=environment)
    if needs_device and run.returncode == 77:
        pytest.skip(run.stderr.strip())
    if name == OPENCL and code == 77 and run.returncode == 0:
        pytest.skip("the OpenCL loader looks elsewhere, too")
    assert run.returncode == code and said in run.stderr and run.stderr.strip().count("\n") == 0, run.stderr
    assert not os.listdir(folder), "something is left behind"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("empty")


def helped():
    """What a person may ask: (path, a word that must be in the answer)."""
    words = {**dict.fromkeys(("latency", "transfer", "library_curves"), "--verify-only"), **dict.fromkeys(WMMA.split(), "--seed"),
             **dict.fromkeys(FRAGMENT.split(), "--arch"), OPENCL: "--platform", "half2": "--sizes"}
    for path in (*sorted(ROOT.glob("[0-9][0-9]_*/*.cu")), *ROOT.glob("[0-9][0-9]_*/*_host.cpp"), ROOT / OPENCL / "matmul.cpp"):
        name = path.parent.name if path.stem == "matmul" else path.stem
        for build in (name, name + "_cpu")[:1 + (path.suffix == ".cu")]:
            yield BUILD / "bin" / build, words.get(name, "--sizes" if path.name == "matmul.cu" else "Exit codes")
    for path in (ROOT / "run", ROOT / "test", *sorted(ROOT.glob("tools/*.py")), *sorted(ROOT.glob("[0-9][0-9]_*/*.py"))):
        if path.suffix != ".py" or "ArgumentParser" in path.read_text():
            yield path, ""


@pytest.mark.parametrize("path, word", [pytest.param(*each, id=each[0].name) for each in helped()])
def test_help(path, word):
    """On stdout and nowhere else; the first line names the program; there is an example; no line is over 132 characters."""
    if path.parent == BUILD / "bin":
        program(path.name)
    answers = [subprocess.run([*([sys.executable, "-B"] if path.suffix == ".py" else []), path, option], capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=60) for option in ("--help", "-h")]
    for run in answers:
        assert run.returncode == 0 and not run.stderr, run.stderr
        lines = run.stdout.replace(str(path), f"./{path.name}").splitlines()  # as it is called from its own folder
        assert re.search(rf"(?<!\w){re.escape(path.stem.removesuffix('_cpu'))}(?!\w)", lines[0])
        assert "xample" in run.stdout and word in run.stdout
        assert not word or "Exit codes" in run.stdout
        assert all(len(line) <= 132 for line in lines)
    assert answers[0].stdout == answers[1].stdout

"""How programs respond to bad input: their exit code, and one line that names what is wrong and what is accepted; and
which files they do not replace. test_describe.py compares the output of --help with their options."""
import os
import pty
import shlex
import subprocess

import pytest

from programs import listed
from support import call, program

# One program of each kind. Programs that share a table of options share its parser.
STAGE, PRODUCT, PROBE, BENCHMARK, HOST, OPENCL = (
    "03_shared_blocking", "half2", "probe", "latency", "roofline_host", "08_opencl_gcn")

# Programs, arguments, the exit code (77: with all devices hidden), and words of the line on stderr.
BAD = (
    (f"{STAGE}_cpu {STAGE} {PRODUCT}_cpu_trace {PROBE}_cpu {BENCHMARK}_cpu {HOST} {OPENCL}", "--typo", 2, "--typo"),
    (f"{STAGE}_cpu {PRODUCT}_cpu_trace {OPENCL}", "--size 0", 2, "--size 1"),
    (f"{STAGE}_cpu {HOST}", "--size 4x", 2, "--size 1"),
    (f"{STAGE}_cpu", "'--typo\x1b[31m'", 2, "--typo"),
    (f"{STAGE}_cpu", "--sizes 1x0x3", 2, "--sizes 1 MxNxK"),
    (f"{STAGE}_cpu {STAGE}", "--device first", 2, "--device 0"),
    (f"{STAGE}_cpu", "--gpu gtx", 2, "--gpu h200 fury-x"),
    (f"{STAGE}_cpu", f"--limits {shlex.quote(__file__)}", 2, "--limits"),
    (f"{STAGE}_cpu {PROBE}_cpu {OPENCL}", "--csv missing/a.csv", 2, "--csv"),
    (f"{STAGE}_cpu {STAGE} {OPENCL}", "-m 1 -n 1000000000 -k 8388608", 3, "smaller"),
    (f"{STAGE}_cpu {STAGE}", "--bf16", 2, "--bf16"),
    (f"{STAGE}_cpu {PRODUCT}_cpu_trace", "--best-lt", 2, "--best-lt"),
    (f"{PRODUCT}_cpu_trace", "--accuracy", 2, "--accuracy"),  # its operands are halves
    ("custom_load_cpu", "--arch sm_70", 3, "sm_75"),
    (f"{PROBE}_cpu", "--arch sm_70 --shape 32x8x16 --csv a.csv", 2, "--shape 16x16x16"),
    (f"{PROBE}_cpu", "--all --svg a.svg", 2, "--svg --all"),
    (OPENCL, "--platform nobody", 2, "--platform"),
    (f"{STAGE} {PROBE}", "", 77, "GPU"),
    (OPENCL, "--list", 77, "pocl-opencl-icd"))


def cases():
    """Each program with each command line. Programs built by nvcc exist only beside a GPU."""
    without_gpu = [each.target() for each in listed("host", "opencl")]
    for names, words, code, wanted in BAD:
        for name in names.split():
            marks = [] if name.endswith("_cpu") or name in without_gpu else [pytest.mark.gpu]
            yield pytest.param(name, shlex.split(words), code, wanted.split(), id=f"{name} {words}", marks=marks)


@pytest.mark.parametrize("name, words, code, wanted", cases())
def test_bad_input(name, words, code, wanted, tmp_path):
    hidden = {"CUDA_VISIBLE_DEVICES": "", "OCL_ICD_VENDORS": str(tmp_path)} if code == 77 else {}
    run = subprocess.run([program(name), *words], capture_output=True, text=True, cwd=tmp_path,
                         env={**os.environ, **hidden})
    if name == OPENCL and code != 77 == run.returncode:
        pytest.skip(run.stderr.strip())
    if name == OPENCL and code == 77 and run.returncode == 0:
        pytest.skip("the OpenCL loader looks elsewhere, too")
    assert (run.returncode, run.stderr.count("\n")) == (code, 1) and "\x1b" not in run.stderr, run.stderr
    assert all(word in run.stderr for word in wanted), (wanted, run.stderr)
    assert not os.listdir(tmp_path), "something is left behind"


@pytest.mark.parametrize("typed", ("\n x " + 90 * "a" + "\nb", " x " + 90 * "a", "a\nb"))
def test_bad_input_on_a_terminal(typed, tmp_path):
    """A message is wrapped, whatever was typed, and no line of it begins with what was typed."""
    ours, terminal = pty.openpty()
    run = subprocess.run([program(f"{STAGE}_cpu"), "--size", typed], stdout=subprocess.DEVNULL, stderr=terminal,
                         cwd=tmp_path, timeout=20)
    os.close(terminal)
    with os.fdopen(ours, "rb") as pipe:
        lines = pipe.read1(10000).decode().splitlines()
    first = next(at for at, line in enumerate(lines) if "--size" in line)
    assert run.returncode == 2 and all(line.startswith("    ") for line in lines[first + 1:]), lines


@pytest.mark.parametrize("name, option", ((f"{STAGE}_cpu", "--csv"), (f"{STAGE}_cpu_trace", "--record"),
                                          (f"{PROBE}_cpu", "--svg"), (f"{PROBE}_cpu", "--csv")))
def test_no_other_file_is_replaced(name, option, tmp_path):
    """Only a file that the option itself wrote is replaced."""
    file = tmp_path / "notes"
    small = [] if name == f"{PROBE}_cpu" else ["--size", "8"]
    for _ in range(2):
        assert call(program(name), option, file, *small).returncode == 0
    file.write_text("mine, all of it\n")
    run = call(program(name), option, file)
    assert (run.returncode, run.stderr.count("\n")) == (2, 1) and "already" in run.stderr
    assert file.read_text() == "mine, all of it\n"

"""What programs say to bad input: their exit code, and one line that names what was wrong and what is accepted; and to
--help."""
import fcntl
import os
import pty
import re
import resource
import shlex
import signal
import struct
import subprocess
import sys
import termios

import pytest

from programs import listed
from support import BUILD, ROOT, call, program

# One program for each of the tables of options that programs share.
STAGE, FRAGMENT, OPENCL, HOST, BENCH = "03_shared_blocking", "probe", "08_opencl_gcn", "roofline_host", "latency"
ARCHS = "sm_70 sm_75 sm_80"

# Programs in their builds, options, values that each of them refuses, and what the line on stderr names besides the
# option.
VALUES = (
    (f"{STAGE}_cpu", "--size", "0 -5 abc 1000000000000 4x '' 99999999999999999999", "1"),
    (f"{STAGE}_cpu {STAGE}", "-m -n -k --repeat", "0", "1"),
    (HOST, "--size", "0 1048577", "1 1048576"),
    ("one_tile_cpu types_cpu", "--seed", "-1 4294967296", "0 4294967295"),
    (f"{STAGE}_cpu {STAGE} {FRAGMENT}_cpu {FRAGMENT}", "--device", "-1 first", "0"),
    (f"{STAGE}_cpu", "--device", "1", "0"),
    (f"types_cpu {FRAGMENT}_cpu", "--arch", "sm_60 80 ''", ARCHS),
    (f"{FRAGMENT}_cpu", "--shape", "1x2x3 16 16x16x8 ''", "16x16x16 32x8x16 8x32x16"),
    (f"{FRAGMENT}_cpu", "--type", "double", "half float"),
    (f"{STAGE}_cpu transfer_cpu", "--sizes", "64:128:0 64:32:8 1:9000000:1", "FIRST:LAST:STEP"),
    (f"{STAGE}_cpu", "--sizes", "16x16 1x2x3x4 1x0x3 1x1x8388609 1x1x1,, 0", "1 MxNxK"),
    (f"{STAGE}_cpu", "--gpu", "gtx", "h200 h100 fury-x"),
    (f"{STAGE}_cpu", "--limits", f"/ '' {__file__}", ""),
    (f"{STAGE}_cpu {FRAGMENT}_cpu", "--csv", "'' missing/a.csv .", ""),
    (OPENCL, "--stage", "6 ''", "01_naive 05_double_buffer"))

# Programs in their builds, words, the exit code (77: run with all devices hidden), and what the line on stderr names.
WORDS = (
    (f"{STAGE}_cpu {STAGE} {FRAGMENT}_cpu {BENCH}_cpu one_tile_cpu types_cpu {HOST} {OPENCL}", "--fast", 2, "--fast"),
    (f"{STAGE}_cpu {OPENCL}", "04", 2, "04"),
    (f"{STAGE}_cpu", "--size", 2, "--size"),
    (f"{STAGE}_cpu", "'--fast\x1b[31m'", 2, "--fast"),
    (OPENCL, "--size 8 --csv missing/a.csv", 2, "--csv"),
    (OPENCL, "--platform nobody", 2, "--platform"),
    (OPENCL, "--device 99", 2, "--device 0"),
    (OPENCL, "--kernels /nowhere", 2, "--kernels folder"),
    (f"{STAGE}_cpu {STAGE}", "--bf16", 2, "--bf16"),
    (f"{STAGE}_cpu", "--lines", 2, "--lines build"),
    ("roofline_cpu", "--clock", 2, "--clock build"),
    ("custom_load_cpu", "--arch sm_70", 3, "sm_75"),
    (f"{FRAGMENT}_cpu", "--type float", 2, "--type accumulator"),
    (f"{FRAGMENT}_cpu", "--all --svg a.svg", 2, "--svg --all"),
    (f"{FRAGMENT}_cpu", "--arch sm_70 --shape 32x8x16 --csv a.csv", 2, "--shape 16x16x16"),
    (f"{STAGE}_cpu {STAGE} {OPENCL}", "-m 1 -n 1000000000 -k 8388608", 3, "smaller"),
    (f"{STAGE} {FRAGMENT} one_tile", "", 77, "GPU"),
    (OPENCL, "--list", 77, "pocl-opencl-icd"))


def marks(name):
    """What nvcc builds is there only beside a GPU."""
    kind = next((each.kind for each in listed() if each.target() == name), "host")
    return [pytest.mark.gpu] * (kind not in ("host", "opencl"))


def cases():
    """Each program with each command line."""
    def case(name, words, code, wanted):
        return pytest.param(name, words, code, wanted.split(), id=f"{name} {words}", marks=marks(name))

    for names, options, values, wanted in VALUES:
        for name in names.split():
            for option in options.split():
                for value in shlex.split(values):
                    yield case(name, [option, value], 2, f"{option} {wanted}")
    for names, words, code, wanted in WORDS:
        for name in names.split():
            yield case(name, shlex.split(words), code, wanted)


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


@pytest.mark.parametrize("settings, red", (({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False),
                                           ({"TERM": "dumb"}, False)))
def test_a_wrong_result_is_red_on_a_terminal(settings, red):
    """Wrong here is that not all forms were launched."""
    reader, terminal = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    run = call(program("04_unroll_cpu_trace"), "--size", 8, "--verify-only", "--all-forms", capture_output=False,
               stdout=subprocess.DEVNULL, stderr=terminal, env={**environment, **settings})
    os.close(terminal)
    said = os.read(reader, 4096)
    assert run.returncode == 1 and b"never launched" in said and (b"\x1b[31m" in said) == red, said


@pytest.mark.parametrize("columns", (47, 60, 0))  # 0: it does not say, and has 80
def test_lines_break_on_a_terminal(columns):
    """Between words, and not within a shape; what is piped stays one line."""
    command = program("03_shared_blocking_cpu"), "--option " + "of some words " * 9 + "and of 16 x 512 x 4096"
    reader, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    call(*command, capture_output=False, stdout=subprocess.DEVNULL, stderr=terminal, env={**os.environ, "TERM": "dumb"})
    os.close(terminal)
    lines = os.read(reader, 4096).decode().splitlines()
    assert len(lines) > 1 and max(map(len, lines)) <= (columns or 80), lines
    assert all(line.startswith("    ") for line in lines[1:]), lines
    assert any("16 x 512 x 4096" in line for line in lines), lines
    assert " ".join(line.strip() for line in lines) + "\n" == call(*command).stderr


@pytest.mark.parametrize("name", ("03_shared_blocking_cpu", "probe_cpu"))
def test_full_disk(name, tmp_path):
    """As a disk is full for files that may not grow."""
    def no_growth():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    run = call(program(name), "--csv", tmp_path / "x.csv", preexec_fn=no_growth)
    assert run.returncode == 2 and run.stderr.count("\n") == 1, run.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name, option", ((f"{STAGE}_cpu", "--csv"), (f"{STAGE}_cpu_trace", "--record"),
                                          ("probe_cpu", "--svg"), ("probe_cpu", "--csv")))
def test_no_other_file_is_replaced(name, option, tmp_path):
    """What the option wrote may be."""
    file = tmp_path / "notes"
    for _ in range(2):
        assert call(program(name), option, file, *["--size", "8"] * (name != "probe_cpu")).returncode == 0
    file.write_text("mine, all of it\n")
    run = call(program(name), option, file)
    assert (run.returncode, run.stderr.count("\n")) == (2, 1) and "already" in run.stderr
    assert file.read_text() == "mine, all of it\n"


def test_opencl_without_a_home(tmp_path):
    unset = ("POCL_CACHE_DIR", "XDG_CACHE_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    run = call(program(OPENCL), "--size", 8, "--verify-only", "--stage", "01",
               env={**environment, "HOME": "/proc/none", "TMPDIR": str(tmp_path)})
    assert run.returncode == 0 and not list(tmp_path.iterdir()), run.stderr


def helped():
    """What a person may ask: (path, what the program calls itself). Of a chapter's steps the last."""
    for each in [each for each in listed() if each.kind != "step"]:
        for cpu in (False, True)[:1 + (each.kind not in ("gpu", "host", "opencl"))]:
            yield BUILD / "bin" / each.target(cpu), each.name
    for path in (ROOT / "run", ROOT / "test", *ROOT.glob("tools/*.py"), *ROOT.glob("[0-9][0-9]_*/*.py")):
        if path.stem != "run" and path.suffix != ".py" or re.search(r"ArgumentParser\(|sys\.argv", path.read_text()):
            yield path, path.stem


@pytest.mark.parametrize("path, name", [pytest.param(*each, id=each[0].name, marks=marks(each[0].name))
                                        for each in helped()])
def test_help(path, name):
    """On stdout and nowhere else; the first line names the program; there is an example; no line is over 132
    characters."""
    if path.parent == BUILD / "bin":
        program(path.name)
    command = [sys.executable, "-B", path] if path.suffix == ".py" else [path]
    long, short = (subprocess.run([*command, option], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                                  timeout=60) for option in ("--help", "-h"))
    lines = long.stdout.splitlines()
    assert (long.returncode, long.stderr) == (0, "") and short.stdout == long.stdout
    assert re.search(rf"(?<!\w){re.escape(name)}(?!\w)", lines[0]) and "xample" in long.stdout
    assert all(len(line) <= 132 for line in lines)

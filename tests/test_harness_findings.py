"""What the programs do on an odd machine: outputs that can't be written, files of the same name, little
memory, a home that can't be written."""
import os
import resource
import subprocess

import pytest

from support import call, program

STAGE = "03_shared_blocking_cpu"
SMALL = ("--size", "8", "--verify-only")


def said(run, code, text):
    """Demands one line on stderr, with that text, and the exit code."""
    lines = run.stderr.splitlines()
    assert run.returncode == code and len(lines) == 1 and text in lines[0], (run.returncode, run.stderr)


@pytest.mark.parametrize("name, words", ((STAGE, SMALL), (STAGE, ("--help",)), ("probe_cpu", ()), ("08_opencl_gcn", SMALL)))
def test_full_disk(name, words):
    with open("/dev/full", "w") as full:
        run = call(program(name), *words, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    said(run, 2, "standard output can't be written: No space left on device")


def test_closed_output(tmp_path):
    run = call(program(STAGE), *SMALL, "--csv", tmp_path / "x.csv", preexec_fn=lambda: os.close(1))
    said(run, 2, "standard output is closed")
    assert not list(tmp_path.iterdir())


def test_closed_error_output_does_not_end_in_the_csv(tmp_path):
    assert call(program(STAGE), *SMALL, "--csv", tmp_path / "x.csv", preexec_fn=lambda: os.close(2)).returncode == 0
    assert (tmp_path / "x.csv").read_text().startswith("stage,m,n,k,")


def test_no_escape_passes_through(tmp_path):
    path = tmp_path / "a\x1b[31m\n.csv"
    said(call(program(STAGE), *SMALL, "--limits", path), 2, "a?[31m?.csv': can't be read")
    path.write_text("what,gbs,gflops,limit,gpu\ncopy,1,-,-,\x1b[2Jx\nshared_memory,1,-,-,x\nfp32_fma,-,1,-,x\n")
    run = call(program(STAGE), *SMALL, "--limits", path)
    assert run.returncode == 0 and "Predicted for the ?[2Jx" in run.stdout and "\x1b" not in run.stdout


@pytest.mark.parametrize("limit", (resource.RLIMIT_AS, resource.RLIMIT_DATA))
def test_little_memory(limit):
    run = call(program(STAGE), "-m", 100000000, "-n", 1, "-k", 1, preexec_fn=lambda: resource.setrlimit(limit, (1 << 30, 1 << 30)))
    said(run, 3, "try a smaller size")


def test_opencl_without_a_home(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name not in ("POCL_CACHE_DIR", "XDG_CACHE_HOME")}
    listed = call(program("08_opencl_gcn"), "--list", env={**environment, "TMPDIR": str(tmp_path)})
    assert "OpenCL" not in listed.stderr
    run = call(program("08_opencl_gcn"), *SMALL, "--stage", "01", env={**environment, "HOME": "/proc/none", "TMPDIR": str(tmp_path)})
    assert run.returncode == 0, run.stderr
    assert not list(tmp_path.iterdir())

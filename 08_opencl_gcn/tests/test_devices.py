"""The stages verify on an OpenCL device: test_devices.py -k cpu (PoCL), mesa (rusticl, another OpenCL for the CPU) or
gpu."""
import os
import re

import pytest

from support import ROOT, call, program

SHAPES = ("1x1x1", "7x5x3", "16x16x16", "129x130x20", "130x257x9", "255x1x33", "1x300x17", "200x260x40")
LARGE = ("256x256x256", "300x517x129", "5000x3000x4001", "2000000x16x8", "4096x4096x4096", "8192x8192x8192")
DEVICES = {  # what its line in --list holds; the shapes; the environment
    "cpu": ("Portable Computing Language", SHAPES, {}),
    "mesa": ("rusticl", SHAPES, {"RUSTICL_ENABLE": "llvmpipe", "OCL_ICD_VENDORS": "/etc/OpenCL/vendors/rusticl.icd"}),
    "gpu": (", GPU,", SHAPES + LARGE, {}),
}


def verify_on(device):
    """A function that verifies on that device, with the options that it is given; skips the test where there is
    none."""
    said, _, environment = DEVICES[device]
    command, environment = program("08_opencl_gcn"), {**os.environ, **environment}
    number = re.search(rf"^[* ] (\d+)  .*{said}", call(command, "--list", env=environment).stdout, re.M)
    if not number:
        pytest.skip(f"no OpenCL device here matches '{said}'")
    return lambda *options: call(command, "--device", number[1], "--verify-only", *options, env=environment)


@pytest.mark.parametrize("device", DEVICES)
def test_verifies(device):
    verify = verify_on(device)
    for shape in DEVICES[device][1]:
        m, n, k = shape.split("x")
        run = verify("-m", m, "-n", n, "-k", k)
        assert run.returncode == 0, run.stderr


def test_rows_taken_for_columns_show_by_default_on_a_cpu(tmp_path):
    """At the default size alone, which is square, they would not."""
    verify = verify_on("cpu")
    chapter = ROOT / "08_opencl_gcn"
    (tmp_path / "resize.cl").write_text((chapter / "resize.cl").read_text())
    kernel = (chapter / "01_naive.cl").read_text()
    words = ["--stage", "01", "--kernels", tmp_path]
    (tmp_path / "01_naive.cl").write_text(kernel)
    assert verify(*words).returncode == 0
    swapped = {"get_global_id(0)": "get_global_id(1)", "get_global_id(1)": "get_global_id(0)"}
    wrong = re.sub(r"get_global_id\(.\)", lambda place: swapped[place[0]], kernel)
    (tmp_path / "01_naive.cl").write_text(wrong)
    run, square = verify(*words), verify(*words, "--size", 256)
    assert square.returncode == 0, square.stderr
    assert run.returncode == 1 and re.search(r"C\[\d+]\[\d+] is ", run.stderr), run.stderr

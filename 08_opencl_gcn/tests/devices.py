"""The stages verify on an OpenCL device: devices.py -k cpu (PoCL), mesa (rusticl, another OpenCL for the CPU) or gpu."""
import os
import re

import pytest

from support import call, program

SHAPES = ("1x1x1", "7x5x3", "16x16x16", "129x130x20", "130x257x9", "255x1x33", "1x300x17", "200x260x40")
LARGE = ("256x256x256", "300x517x129", "5000x3000x4001", "2000000x16x8", "4096x4096x4096", "8192x8192x8192")
DEVICES = {  # what its line in --list holds; the shapes; the environment
    "cpu": ("Portable Computing Language", SHAPES, {}),
    "mesa": ("rusticl", SHAPES, {"RUSTICL_ENABLE": "llvmpipe", "OCL_ICD_VENDORS": "/etc/OpenCL/vendors/rusticl.icd"}),
    "gpu": (", GPU,", SHAPES + LARGE, {}),
}


@pytest.mark.parametrize("device", DEVICES)
def test_verifies(device):
    said, shapes, environment = DEVICES[device]
    command, environment = program("08_opencl_gcn"), {**os.environ, **environment}
    number = re.search(rf"^[* ] (\d+)  .*{said}", call(command, "--list", env=environment).stdout, re.M)
    if not number:
        pytest.skip(f"no OpenCL device here matches '{said}'")
    for shape in shapes:
        m, n, k = shape.split("x")
        run = call(command, "--device", number[1], "-m", m, "-n", n, "-k", k, "--verify-only", env=environment)
        assert run.returncode == 0, run.stderr

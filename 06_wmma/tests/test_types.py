"""types: how many rows an architecture has."""
import pytest

from support import call, program


@pytest.mark.parametrize("arch, rows", (("sm_70", "4 exact, 0 wrong, 25 not run"), ("sm_75", "23 exact, 0 wrong, 6 not run"),
                                        ("sm_80", "29 exact, 0 wrong, 0 not run")))
def test_rows_of_an_architecture(arch, rows):
    run = call(program("types_cpu"), "--arch", arch)
    assert run.returncode == 0 and rows in run.stdout

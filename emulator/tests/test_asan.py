"""The build under AddressSanitizer reports nothing for the last element, and names the line that accesses the next one.
"""
import pytest

from emulated import EMULATOR, call, program

SOURCE = EMULATOR / "tests/asan_test.cu"
FAULTS = [  # the two arguments of asan_test.cu, the report, and code of its line
    (0, 10, "heap-buffer-overflow", "*out = in[i]"),
    (1, 10, "heap-buffer-overflow", "out[i] = 1"),
    (1, -1, "heap-buffer-overflow", "out[i] = 1"),
    (2, 10, "global-buffer-overflow", "// static"),
    (3, 10, "heap-buffer-overflow", "// dynamic"),
    (4, 0, "heap-use-after-free", "*out = in[i]"),
    (5, 10, "heap-buffer-overflow", "load_matrix_sync"),
    (6, 10, "heap-buffer-overflow", "store_matrix_sync"),
    (7, 10, "heap-buffer-overflow", "__pipeline_memcpy_async"),
    (8, 10, "global-buffer-overflow", "__pipeline_memcpy_async"),
]


@pytest.mark.parametrize("kind", [0, 1, 2, 3, 5, 6, 7, 8])
def test_silent_about_the_last_element(kind):
    run = call(program("emulator_test_asan"), kind, 9)
    assert (run.returncode, run.stdout + run.stderr) == (0, "")


@pytest.mark.parametrize("kind, index, fault, code", FAULTS)
def test_sees_the_element_after_the_last(kind, index, fault, code):
    run = call(program("emulator_test_asan"), kind, index)
    line = next(number for number, text in enumerate(SOURCE.read_text().splitlines(), 1) if code in text)
    assert run.returncode != 0
    assert f"AddressSanitizer: {fault}" in run.stderr and f"asan_test.cu:{line}" in run.stderr

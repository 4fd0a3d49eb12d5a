"""Each form, at a shape of two clusters each way with little in the second; the model may never choose it on the emulator."""
import re

from support import call, program


def test_each_form_is_exact():
    stage = program("12_stream_k_cpu_trace")
    forms = re.findall(r"\d+x\d+\S*-\d+x\d+x\d+", call(stage, "--form", "none of them").stderr)
    assert forms
    wrong = {}
    for form in forms:
        m, n, down, across, deep = map(int, re.findall(r"\d+", form))
        turned = "turned" in form
        shape = m * down + 5, n * across + (1 if turned else 4), 64 * max(1 + turned, deep) + 8
        run = call(stage, "--form", form, "--sizes", "x".join(map(str, shape)), "--verify-only")
        if run.returncode:
            wrong[form, shape] = run.stderr
    assert not wrong, wrong


def test_a_form_asks_for_no_shape():
    """Forms that take only some N are not tried on the odd shapes before the default."""
    run = call(program("12_stream_k_cpu_trace"), "--form", "128x256-1x1x1", "--verify-only")
    assert run.returncode == 0 and "256 x 256 x 256" in run.stdout, run.stderr


def test_each_form_of_fp32_is_exact():
    """With aligned rows and without, in whole tiles and in parts."""
    fp32 = program("fp32_cpu_trace")
    forms = re.findall(r"\d+x\d+", call(fp32, "--form", "none of them").stderr)
    assert forms
    for form in forms:
        m, n = map(int, form.split("x"))
        shapes = ",".join(f"{M}x{N}x{K}" for M, K in ((m + 5, 9), (5, 250)) for N in (n + 4, n + 5))
        for words in (("--sizes", shapes, "--verify-only"), ("--large-indices",)):
            run = call(fp32, "--form", form, *words)
            assert not run.returncode, run.stderr

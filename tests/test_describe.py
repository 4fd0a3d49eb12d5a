"""Every program describes itself as JSON (--describe), without a GPU, and suggests an option's name when one is
mistyped."""
import json

import pytest

from programs import listed
from support import BUILD, call, program

KINDS = {"stage": "stage", "step": "stage", "product": "stage", "opencl": "stage",
         "gpu": "benchmark", "host": "benchmark"}
BUILDS = {"host": "host", "opencl": "opencl"}


def described(file):
    run = call(file, "--describe")
    assert (run.returncode, run.stderr) == (0, ""), run.stderr
    return json.loads(run.stdout)


# A program of kind gpu has no build for the CPU.
PROGRAMS = [pytest.param(each, id=each.target(), marks=[pytest.mark.gpu] if each.kind == "gpu" else [])
            for each in listed()]


@pytest.mark.parametrize("each", PROGRAMS)
def test_description(each):
    gpu = BUILD / "bin" / each.target()
    files = [gpu] if gpu.exists() else []
    if each.kind not in ("gpu", *BUILDS):
        files.append(program(each.target(cpu=True)))
    if not files:
        pytest.skip(f"{each.target()} is not built")
    for file in files:
        what, shown = described(file), call(file, "--help").stdout
        assert what["name"] == each.name
        assert what["kind"] == KINDS.get(each.kind, what["kind"]) and what["kind"] in ("stage", "benchmark", "probe")
        assert what["build"] == BUILDS.get(each.kind, "gpu" if file == gpu else "emulator")
        assert all(f"  {option['name']} {option['takes']}".rstrip() in shown for option in what["options"]), shown
        is_product = each.kind in ("stage", "step", "product")
        assert is_product == (what["multiples"] is not None) == bool(what["arithmetic"])
        assert bool(what["types"]) == (what["kind"] == "stage")


def test_what_a_stage_takes():
    assert "04_unroll" in described(program("08_opencl_gcn"))["stages"]
    assert "128x256-1x1x1" in described(program("13_stream_k_cpu_trace"))["configs"]
    assert described(program("11_wgmma_cpu_trace"))["types"] == ["fp16", "bf16"]


@pytest.mark.parametrize("typed, meant", (("--siez", "--size"), ("--sizes=1,2", "--sizes"),
                                          ("--verify", "--verify-only"),
                                          ("--fast", None), ("--lines", None), ("--q", None)))
def test_an_option_that_was_perhaps_meant(typed, meant):
    run = call(program("03_shared_blocking_cpu"), typed)
    assert run.returncode == 2 and typed in run.stderr, run.stderr
    assert f"did you mean {meant}?" in run.stderr if meant else "did you mean" not in run.stderr

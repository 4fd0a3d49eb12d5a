"""gcn.py reads small loops written by hand as a person would, and without its compiler names the packages."""
import os
import re
import subprocess
import sys

import pytest

from support import ROOT

CHAPTER = ROOT / "08_opencl_gcn"
sys.path.append(str(CHAPTER))
import gcn  # noqa: E402

METADATA = "".join(f"    .{name}: {value}\n" for name, value in {
    "vgpr_count": 101, "sgpr_count": 16, "group_segment_fixed_size": 16640, "vgpr_spill_count": 3, "sgpr_spill_count": 4}.items())
MAC = "v_mac_f32_e32 v0, v1, v2\n"


def assembly(code, metadata=METADATA, kernel="k"):
    return f"helper:\n{MAC}.Lfunc_end0:\n{kernel}:   ; @{kernel}\n; %bb.0:\n{code}.Lfunc_end1:\n.amdhsa_kernel {kernel}\n{metadata}"


def loop(*body, label=".LBB0_1", end="s_endpgm\n"):
    return "".join((f"{label}:    ; =>This Inner Loop Header\n", *(line.rstrip("\n") + "\n" for line in body),
                    f"s_cbranch_scc1 {label}\n", end))


TWO_BLOCKS = "\n".join((  # entered in its middle, closed by falling through: as 05 is
    "s_branch .LBB0_2", ".LBB0_1: ; in Loop", MAC + MAC + "s_waitcnt vmcnt(0)", "ds_write_b32 v3, v4", "s_barrier",
    "s_cbranch_vccnz .LBB0_4", ".LBB0_2:", "s_cbranch_vccnz .LBB0_1", "; %bb.3:", "flat_load_dword v4, v[5:6]",
    "s_branch .LBB0_1", ".LBB0_4:", "s_endpgm\n"))
LOAD, LOAD_TWO = "flat_load_dword v4, v[8:9]", "flat_load_dwordx2 v[6:7], v[8:9]"
USE = [MAC, "s_waitcnt vmcnt(1)", "v_mac_f32 v0, v4, v1", MAC]
REST = ["s_waitcnt vmcnt(0)", "v_fma_f32 v0, v7, v1, v0"]
INNER = loop(MAC, MAC, end="")


@pytest.mark.parametrize("what, code, expected", (
    ("a loop of two blocks and a branch around one", TWO_BLOCKS,
     dict(loop_instructions=9, macs=2, global_loads=1, lds_reads=0, lds_writes=1, barriers=1, macs_of_all=round(2 / 9, 4),
          macs_of_valu=1.0, macs_load_to_wait=2)),
    ("the metadata", TWO_BLOCKS,
     dict(vgprs=101, sgprs=16, lds_bytes=16640, vgpr_spills=3, sgpr_spills=4, waves_per_simd=2, waves_per_cu=8)),
    ("vmcnt(1) completes the first of two loads", loop(LOAD, LOAD_TWO, *USE, *REST), dict(macs_load_to_wait=1, macs=4)),
    ("the second waits for vmcnt(0)", loop(LOAD_TWO, MAC, MAC, MAC, *REST), dict(macs_load_to_wait=3)),
    ("a store counts as outstanding", loop(LOAD, "flat_store_dword v[8:9], v0", *USE), dict(macs_load_to_wait=1)),
    ("a load at the end, its wait in the next turn", loop(MAC, MAC, *REST, MAC, LOAD_TWO), dict(macs_load_to_wait=2)),
    ("of two loops the one with more MACs", loop(MAC, "s_nop 0", label=".LBB0_7", end="") + INNER + "s_endpgm\n",
     dict(macs=2, loop_instructions=3)),
    ("of two nested loops with the same MACs the inner one", f".LBB0_9:\n{INNER}s_cbranch_vccz .LBB0_9\ns_endpgm\n",
     dict(macs=2, loop_instructions=3)),
    ("the outer one, where it adds some", f".LBB0_9:\n{MAC}{INNER}s_cbranch_vccz .LBB0_9\ns_endpgm\n",
     dict(macs=3, loop_instructions=5)),
), ids=lambda value: value if isinstance(value, str) and "\n" not in value else "")
def test_reads(what, code, expected):
    row = gcn.read("00_made_up", assembly(code))
    assert expected.items() <= row.items()


EARLY = "comes before any wait for"


@pytest.mark.parametrize("what, text, said", (
    ("a loaded register used before its wait", assembly(loop(LOAD, LOAD_TWO, "v_mac_f32 v0, v4, v1", *REST)), EARLY),
    ("vmcnt(2) is no wait for the first of two", assembly(loop(LOAD, LOAD_TWO, *USE).replace("vmcnt(1)", "vmcnt(2)")), EARLY),
    ("lgkmcnt is none for either", assembly(loop(LOAD, LOAD_TWO, *USE).replace("vmcnt(1)", "lgkmcnt(0)")), EARLY),
    ("a wait written as a number", assembly(loop(LOAD, "s_waitcnt 0xf70", MAC)), "s_waitcnt 0xf70"),
    ("no loop with MACs", assembly(MAC + loop("s_nop 0")), "no loop"),
    ("a branch to nowhere", assembly(loop(MAC).replace("scc1 .LBB0_1", "scc1 .LBB0_2")), "no such label"),
    ("two kernels", assembly(loop(MAC)) + assembly(loop(MAC), "", "l"), "2 kernels"),
    ("no metadata", assembly(loop(MAC), ""), "0 times .vgpr_count"),
), ids=lambda value: value if "\n" not in value else "")
def test_refuses_to_read(what, text, said):
    with pytest.raises(gcn.Unreadable, match=re.escape(said)):
        gcn.read("00_made_up", text)


def test_waves():
    waves = {24: 10, 25: 9, 28: 9, 29: 8, 32: 8, 36: 7, 40: 6, 48: 5, 64: 4, 65: 3, 84: 3, 85: 2, 128: 2, 129: 1, 256: 1, 257: 0}
    assert {vgprs: gcn.waves_per_simd(vgprs) for vgprs in waves} == waves
    waves = {0: 10, 1024: 10, 6144: 10, 6657: 9, 8320: 7, 16640: 3, 32768: 2, 32769: 1, 65536: 1}
    assert {lds: gcn.waves_per_simd(24, 16, lds) for lds in waves} == waves
    assert gcn.waves_per_simd(24, 80) == 10 and gcn.waves_per_simd(24, 102) == 7  # by SGPRs


@pytest.mark.parametrize("words, environment", (((), {"PATH": "/nonexistent"}), (("--clang", "/nonexistent/clang-19"), {})), ids=str)
def test_without_the_compiler_one_line_names_the_packages(words, environment):
    run = subprocess.run([sys.executable, "-B", CHAPTER / "gcn.py", *words], capture_output=True, text=True,
                         env={**os.environ, **environment})
    assert run.returncode == 77 and not run.stdout
    said = r"gcn\.py: no compiler '.*clang-19': install the Debian packages clang-19 and rocm-device-libs\n"
    assert re.fullmatch(said, run.stderr), run.stderr

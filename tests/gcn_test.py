"""gcn.py reads machine code as it should, and its gates can fail: gcn_test.py GCN_PY CHAPTER

The stages pass; with a fault planted they don't; small loops written by hand are read as a person would; bad input ends with one
clear line. Ends with 77 where gcn.py does: without clang-19 or the device libraries.
"""
import csv
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from checks import check, end

script, chapter = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
spec = importlib.util.spec_from_file_location("gcn", script)
gcn = importlib.util.module_from_spec(spec)
spec.loader.exec_module(gcn)

# What is broken; the file; what is changed there: patterns that are found once each, and what they become; what must be said.
UNROLL, DOUBLE = "04_unroll.cl", "05_double_buffer.cl"
KERNEL = r"(?=void matmul\()"
LOADS = r"(        if \(k \+ kStepK < K\) \{\n(?:            .*\n)*)        \}\n(\n(?:.*\n)*?)"  # and what follows
STORES = r"(        store_tiles.*\n)"
SPILLS = r"[1-9]\d* VGPRs and 0 SGPRs spilled, expected none"
MANY = r"(1[3-9]|2\d)\d VGPRs, expected 128 or fewer .*"
SHARE = r"[5-9]\d\.\d\d% of the VALU instructions are MACs, expected 97% or more"
NO_WAIT = "0 MACs between a global load and its wait, expected 400 to 512"
FAULTS = (
    ("spills: room for 4 waves wanted", "02_register_blocking.cl", [(KERNEL, "__attribute__((amdgpu_waves_per_eu(4)))\n")], SPILLS),
    ("spills: few SGPRs allowed", "03_lds_blocking.cl", [(KERNEL, "__attribute__((amdgpu_num_sgpr(12)))\n")],
     r"0 VGPRs and [1-9]\d* SGPRs spilled, expected none"),
    ("spills: in 05, where reloads are loads, too", DOUBLE, [(KERNEL, "__attribute__((amdgpu_waves_per_eu(4)))\n")], SPILLS),
    ("VGPRs: multiply-adds that can't be v_mac", UNROLL,
     [(r"acc\[i\]\[j\] \+= a\[i\] \* b\[j\];", "acc[i][j] = fma(a[i], b[j], acc[i][j]);")], MANY),
    ("VGPRs: loads behind the multiplies", DOUBLE, [(LOADS + STORES, r"\2\1        }\n\3")], MANY),
    ("MACs: the loop over s isn't unrolled", UNROLL, [(r"#pragma unroll\n(?= *for \(int s)", "#pragma nounroll\n")],
     "64 MACs in the main loop, expected 512"),
    ("MACs: half as deep", DOUBLE, [("enum { kStepK = 8 }", "enum { kStepK = 4 }")], "256 MACs in the main loop, expected 512"),
    ("VALU: an index computed for every element", UNROLL,
     [(r"vstore4\(\*\(local const float4\*\)&As\[s\]\[row \+ i / 4 \* 16\], 0, &a\[i\]\);",
       "for (int e = 0; e < 4; ++e) a[i + e] = As[s][(row + k / K + i / 4 * 16 + e) % kTileM];")], SHARE),
    ("VALU: guards at the edges of A and B", DOUBLE,
     [(r"(?<=            a_next = )(?=\*)", "tile_row + item / 2 >= M ? (float4)(0.0f) : "),
      (r"(?<=            b_next = )(?=\*)", "tile_col + item % 32 * 4 >= N ? (float4)(0.0f) : ")], SHARE),
    ("wait: loads behind the multiplies, beside the stores", DOUBLE, [(LOADS + STORES, r"\2\1    \3        }\n")], NO_WAIT),
    ("wait: stores before the multiplies", DOUBLE, [(LOADS + STORES, r"\1        }\n\3\2")], NO_WAIT),
    ("wait: a barrier that waits for global memory", DOUBLE,
     [(LOADS + STORES, r"\1        }\n        barrier(CLK_GLOBAL_MEM_FENCE);\n\2\3")], NO_WAIT),
    ("wait: no load in the loop that multiplies", UNROLL, [(r"#pragma unroll\n(?= *for \(int s)", "#pragma nounroll\n")],
     "None MACs between a global load and its wait, expected 0 to 0"),
    ("wait: in 04, loads a step ahead", UNROLL,
     [(r"(    float acc.*\n.*\n)        const (float4 a_next.*\n)        const (float4 b_next.*\n)", r"    \2    \3\1"),
      (r"(?<=barrier\(CLK_LOCAL_MEM_FENCE\);)(?=.*complete\n)",
       "\na_next = *(global const float4*)a_from; b_next = *(global const float4*)b_from;")],
     r"[1-9]\d* MACs between a global load and its wait, expected 0 to 0"),
)


def run(*words, **environment):
    command = [sys.executable, "-B", script, *words]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env={**os.environ, **environment})


def expect(run, code, what, said, lines=1):
    good = run.returncode == code and re.search(said, run.stderr) and (lines is None or len(run.stderr.splitlines()) == lines)
    check(good, what, f"exit code {run.returncode}\n{run.stderr}")


def stages(scratch):
    """They pass; what is printed agrees with the CSV, and the waves with what the compiler says of them."""
    done = run("--check", "--csv", scratch / "t.csv", "--save", scratch / "s", chapter)
    if done.returncode == 77:
        print(done.stderr, end="")
        sys.exit(77)
    check(done.returncode == 0 and not done.stderr, "the stages pass", done.stderr)
    if done.returncode:
        return
    rows = list(csv.DictReader((scratch / "t.csv").read_text().splitlines()))
    check([row["stage"] for row in rows] == [path.stem for path in sorted(chapter.glob("0*.cl"))], "a row a stage in the CSV", rows)
    check(list(scratch.glob("t.csv*")) == [scratch / "t.csv"], "and nothing lies beside it")
    for row in rows:
        printed = re.search(rf"^{row['stage']} .*$", done.stdout, re.M)[0].split()
        for at, (name, value) in enumerate(row.items()):
            value = f"{float(value):.1%}" if name in ("macs_of_all", "macs_of_valu") else value
            if printed[at] != value:
                check(False, f"{row['stage']}: {name} is {value} in the CSV", printed)
        occupancy = re.findall(r"^; Occupancy: (\d+)$", (scratch / "s" / f"{row['stage']}.s").read_text(), re.M)
        check(occupancy == [row["waves_per_simd"]], f"{row['stage']}: {occupancy} waves per SIMD, says LLVM", row)
    for figure in ("= 8601.6 GFLOP/s", "= 21.94 flop per byte", "= 98 GFLOP/s", "= 40 per CU", "n = 88 ", " 6272\n", "= 80: 3 wave",
                   "567 GFLOP/s, 6.6%", "2018 GFLOP/s, 23.5%", "5141 GFLOP/s, 59.8%", "6351 GFLOP/s, 73.8%"):
        check(figure in done.stdout, f"as on the slides: {figure.strip()}", done.stdout)


def faults(scratch):
    for what, name, edits, expected in FAULTS:
        folder = scratch / "fault"
        folder.mkdir()
        for stage in {UNROLL, DOUBLE, name}:  # --check wants the first two
            shutil.copy(chapter / stage, folder)
        text = (chapter / name).read_text()
        for pattern, replacement in edits:
            text, times = re.subn(pattern, replacement, text)
            if times != 1:
                sys.exit(f"{what}: found {times} times in {name}, expected once: {pattern}")
        (folder / name).write_text(text)
        done = run("--check", folder)
        said = done.stderr.splitlines()
        good = done.returncode == 1 and all(line.startswith(f"gcn.py: {name[:-3]}: ") for line in said)
        good = good and any(re.fullmatch(f"gcn.py: {name[:-3]}: {expected}", line) for line in said)
        check(good, what, f"expected: {expected}\n{done.stderr}")
        print("".join(f"     caught: {line}\n" for line in said), end="")
        shutil.rmtree(folder)


METADATA = "".join(f"    .{name}: {value}\n" for name, value in {
    "vgpr_count": 101, "sgpr_count": 16, "group_segment_fixed_size": 16640, "vgpr_spill_count": 3, "sgpr_spill_count": 4}.items())
MAC = "v_mac_f32_e32 v0, v1, v2\n"


def assembly(code, metadata=METADATA, kernel="k"):
    return f"helper:\n{MAC}.Lfunc_end0:\n{kernel}:   ; @{kernel}\n; %bb.0:\n{code}.Lfunc_end1:\n.amdhsa_kernel {kernel}\n{metadata}"


def loop(*body):
    return "".join((".LBB0_1:    ; =>This Inner Loop Header\n", *(line.rstrip("\n") + "\n" for line in body),
                    "s_cbranch_scc1 .LBB0_1\n", "s_endpgm\n"))


def reads(what, code, **expected):
    try:
        row = gcn.read("00_made_up", assembly(code))
        check(expected.items() <= row.items(), what, row)
    except gcn.Unreadable as error:
        check(False, what, error)


def unreadable(what, text, said):
    try:
        check(False, what, gcn.read("00_made_up", text))
    except gcn.Unreadable as error:
        check(said in str(error), f"{what}: {error}", f"expected: {said}")


def parser():
    two_blocks = "\n".join((  # entered in its middle, closed by falling through: as 05 is
        "s_branch .LBB0_2", ".LBB0_1: ; in Loop", MAC + MAC + "s_waitcnt vmcnt(0)", "ds_write_b32 v3, v4", "s_barrier",
        "s_cbranch_vccnz .LBB0_4", ".LBB0_2:", "s_cbranch_vccnz .LBB0_1", "; %bb.3:", "flat_load_dword v4, v[5:6]",
        "s_branch .LBB0_1", ".LBB0_4:", "s_endpgm\n"))
    reads("a loop of two blocks and a branch around one", two_blocks, loop_instructions=9, macs=2, global_loads=1, lds_reads=0,
          lds_writes=1, barriers=1, macs_of_all=round(2 / 9, 4), macs_of_valu=1.0, macs_load_to_wait=2)
    reads("the metadata", two_blocks, vgprs=101, sgprs=16, lds_bytes=16640, vgpr_spills=3, sgpr_spills=4, waves_per_simd=2,
          waves_per_cu=8)

    two_loads = ["flat_load_dword v4, v[8:9]", "flat_load_dwordx2 v[6:7], v[8:9]", MAC, "s_waitcnt vmcnt(1)",
                 "v_mac_f32 v0, v4, v1", MAC]
    rest = ["s_waitcnt vmcnt(0)", "v_fma_f32 v0, v7, v1, v0"]
    reads("vmcnt(1) completes the first of two loads", loop(*two_loads, *rest), macs_load_to_wait=1, macs=4)
    reads("the second waits for vmcnt(0)", loop(two_loads[1], MAC, MAC, MAC, *rest), macs_load_to_wait=3)
    reads("vmcnt(0) completes both", loop(*two_loads[:2], "s_waitcnt vmcnt(0) lgkmcnt(0)", *two_loads[2:]), macs_load_to_wait=0)
    reads("a store counts as outstanding", loop(two_loads[0], "flat_store_dword v[8:9], v0", *two_loads[2:]), macs_load_to_wait=1)
    reads("an access to LDS doesn't", loop(two_loads[0], "ds_read_b32 v3, v8", MAC, "s_waitcnt vmcnt(1)", MAC, *rest[:1]),
          macs_load_to_wait=2)
    reads("a load at the end, its wait in the next turn", loop(MAC, MAC, *rest, MAC, *two_loads[1:2]), macs_load_to_wait=2)
    reads("no load", loop(MAC), macs_load_to_wait=None)

    first, inner = (loop(*body).replace("s_endpgm\n", "") for body in ([MAC, "s_nop 0"], [MAC, MAC]))
    reads("of two loops the one with more MACs", first.replace("B0_1", "B0_7") + inner + "s_endpgm\n", macs=2, loop_instructions=3)
    reads("of two nested loops with the same MACs the inner one", f".LBB0_9:\n{inner}s_cbranch_vccz .LBB0_9\ns_endpgm\n",
          macs=2, loop_instructions=3)
    reads("the outer one, where it adds some", f".LBB0_9:\n{MAC}{inner}s_cbranch_vccz .LBB0_9\ns_endpgm\n", macs=3,
          loop_instructions=5)

    early = "comes before any wait for"
    unreadable("a loaded register used before its wait", assembly(loop(*two_loads[:2], "v_mac_f32 v0, v4, v1", *rest)), early)
    unreadable("one of a range", assembly(loop(*two_loads, "ds_write_b64 v1, v[5:6]", *rest)), early)
    unreadable("vmcnt(2) is no wait for the first of two", assembly(loop(*two_loads).replace("vmcnt(1)", "vmcnt(2)")), early)
    unreadable("lgkmcnt is none for either", assembly(loop(*two_loads).replace("vmcnt(1)", "lgkmcnt(0)")), early)
    unreadable("no wait at all", assembly(loop(two_loads[0], MAC)), "nothing waits for 'flat_load_dword v4, v[8:9]'")
    unreadable("a wait written as a number", assembly(loop(two_loads[0], "s_waitcnt 0xf70", MAC)), "s_waitcnt 0xf70")
    unreadable("no loop with MACs", assembly(MAC + loop("s_nop 0")), "no loop")
    unreadable("a call", assembly(loop(MAC, "s_swappc_b64 s[30:31], s[4:5]")), "calls a function")
    unreadable("a branch to nowhere", assembly(loop(MAC).replace("scc1 .LBB0_1", "scc1 .LBB0_2")), "no such label")
    unreadable("two kernels", assembly(loop(MAC)) + assembly(loop(MAC), "", "l"), "2 kernels")
    unreadable("no metadata", assembly(loop(MAC), ""), "0 times .vgpr_count")

    waves = {24: 10, 25: 9, 28: 9, 29: 8, 32: 8, 36: 7, 40: 6, 48: 5, 64: 4, 65: 3, 84: 3, 85: 2, 128: 2, 129: 1, 256: 1, 257: 0}
    check({vgprs: gcn.waves_per_simd(vgprs) for vgprs in waves} == waves, "waves by VGPRs")
    waves = {0: 10, 1024: 10, 6144: 10, 6657: 9, 8320: 7, 16640: 3, 32768: 2, 32769: 1, 65536: 1}
    check({lds: gcn.waves_per_simd(24, 16, lds) for lds in waves} == waves, "waves by LDS")
    check(gcn.waves_per_simd(24, 80) == 10 and gcn.waves_per_simd(24, 102) == 7, "waves by SGPRs")


def bad_input(scratch):
    for stage in chapter.glob("0*.cl"):
        shutil.copy(stage, scratch)
    (scratch / "old.csv").write_text("as it was\n")
    source = scratch / "02_register_blocking.cl"
    source.write_text(source.read_text().replace("acc[i][j] +=", "acc[i][j] =+ ;", 1))
    done = run("--csv", scratch / "old.csv", scratch)
    expect(done, 3, "a syntax error", r"^gcn.py: .*/02_register_blocking\.cl:\d+:\d+: error: ")
    check(not done.stdout and (scratch / "old.csv").read_text() == "as it was\n", "no table, and the CSV is as it was")
    (scratch / UNROLL).unlink()
    source.unlink()
    expect(run("--check", scratch), 1, "a stage is missing", "04_unroll: there is no 04_unroll.cl")
    expect(run("--csv", scratch / "none/t.csv", scratch), 2, "a CSV that can't be written", "--csv '.*': can't be written: No such")
    expect(run("--csv", scratch, scratch), 2, "a CSV that is a folder", "--csv '.*': takes the name of a file", None)
    expect(run("--save", scratch / "old.csv", scratch), 2, "a folder that is a file", "--save '.*': File exists", None)
    expect(run(scratch / "none"), 2, "no stages", "none': takes a folder with stages", None)
    expect(run("--odd"), 2, "an odd option", "--odd", None)
    packages = "install the Debian packages clang-19 and rocm-device-libs"
    expect(run("--clang", "/nonexistent", chapter), 77, "no clang", f"^gcn.py: no compiler '/nonexistent': {packages}$")
    old = scratch / "clang"
    old.write_text("#!/bin/sh\necho Debian clang version 14.0.6\n")
    old.chmod(0o755)
    expect(run("--clang", old, chapter), 77, "another clang", "is 'Debian clang version 14.0.6', but pinned is clang 19")
    expect(run(HIP_DEVICE_LIB_PATH="/nonexistent"), 77, "no device libraries", f"^gcn.py: no device libraries in /nonexistent: {packages}$")


parser()
for part in (stages, faults, bad_input):
    with tempfile.TemporaryDirectory() as folder:
        part(pathlib.Path(folder))
end()

#!/usr/bin/env python3
"""What would a Radeon R9 Fury X run? Compiles every stage for it (GCN3, gfx803) and reads the machine code. No GPU is
needed.

    python3 08_opencl_gcn/gcn.py [--clang CLANG] [--save FOLDER] [--csv FILE] [--check] [FOLDER]

The compiler is pinned, since another one allocates other registers: clang 19 with the ROCm device libraries (Debian:
clang-19 and rocm-device-libs). Exit codes: 0 fine, 1 --check found a gate violated (or there is code that this script
can't read), 2 bad command line, 3 a stage doesn't compile, 77 no clang 19 or no device libraries.
Articles: Fixstars slides 31 to 51 (the machine, and how blocking follows from it), 59 (let the VALUs do as little else
as possible)
"""
import argparse
import csv
import functools
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# The Fury X on slides 31 to 38.
CUS, SIMDS, LANES = 64, 4, 16  # SIMDs of a CU, lanes of a SIMD
WAVE, MAX_WAVES, CLOCK_GHZ = 64, 10, 1.05  # lanes of a wave, waves of a SIMD
VGPR_BYTES, LDS_BYTES, LDS_BYTES_PER_CLOCK = 64 * 1024, 64 * 1024, 128  # of a SIMD, of a CU, of a CU
MEASURED_GBS, THEORY_GBS = 392, 512  # device memory, measured by the slides' authors
VGPRS = VGPR_BYTES // (WAVE * 4)
PEAK = CUS * SIMDS * LANES * 2 * CLOCK_GHZ  # GFLOP/s
# Registers and LDS are allocated in granules (LLVM, "User Guide for AMDGPU Backend"). A SIMD of GCN3 has 800 SGPRs.
SGPRS, VGPR_GRANULE, SGPR_GRANULE, LDS_GRANULE = 800, 4, 16, 512
GROUP, TILE = 256, 8  # work-items per work-group; 02 to 05: a work-item has 8 x 8 elements
# GFLOP/s of the slides' own kernels on their Fury X (slides 43, 53, 56, 58); 03 has only a curve there.
SLIDES = {"01_naive": 567, "02_register_blocking": 2018, "03_lds_blocking": "lower than that", "04_unroll": 5141,
          "05_double_buffer": 6351}

DEVICE_LIBRARIES = os.environ.get("HIP_DEVICE_LIB_PATH", "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode")
FLAGS = ("-x cl -cl-std=CL1.2 -target amdgcn-amd-amdhsa -mcpu=gfx803 -Xclang -finclude-default-header -O3 "
         f"-cl-mad-enable --rocm-path=/usr --rocm-device-lib-path={DEVICE_LIBRARIES} -S").split()
MAC = r"v_(mac|mad|fma)_f32"
LOAD = r"(flat|global|buffer|scratch)_load_"
VECTOR_MEMORY = r"(flat|global|t?buffer|scratch|image)_"  # what vmcnt counts on GCN3: loads, stores, atomics

# Of a row: what stands above each column of the table. None: only the CSV has it.
COLUMNS = {"stage": "|stage", "vgprs": "|VGPR", "sgprs": "|SGPR", "lds_bytes": "LDS|bytes", "vgpr_spills": None,
           "sgpr_spills": None, "waves_per_simd": "waves|/SIMD", "waves_per_cu": None,
           "loop_instructions": "main|loop", "global_loads": "|loads", "lds_reads": "LDS|reads",
           "lds_writes": "LDS|writes", "barriers": "bar-|riers", "macs": "|MACs", "macs_of_all": "of|all",
           "macs_of_valu": "of|VALU", "macs_load_to_wait": "load-|wait"}


class Unreadable(Exception):
    pass


def fail(code, message):
    print(f"gcn.py: {message}", file=sys.stderr)
    sys.exit(code)


def control_flow(text):
    """The kernel's basic blocks, lists of (opcode, operands), and for each the numbers of its successors."""
    kernels = re.findall(r"^\s*\.amdhsa_kernel (\w+)", text, re.M)
    body = len(kernels) == 1 and re.search(rf"^{kernels[0]}:(.*?)^\.Lfunc_end", text, re.M | re.S)
    if not body:
        raise Unreadable(f"{len(kernels)} kernels, expected one")
    blocks, labels = [[]], {}
    for line in body[1].split("\n"):
        line = line.split(";")[0].strip()
        if label := re.fullmatch(r"(\S+):", line):
            blocks += [[]] if blocks[-1] else []
            labels[label[1]] = len(blocks) - 1
        elif line and not line.startswith("."):
            blocks[-1].append((*line.split(None, 1), "")[:2])
            blocks += [[]] if re.match(r"s_(c?branch|endpgm|setpc)", line) else []
            if line.startswith("s_swappc"):
                raise Unreadable("it calls a function, and the instructions in there would not be counted")
    blocks, successors = [block for block in blocks if block], []  # only the last may be empty
    for number, (*_, (opcode, operands)) in enumerate(blocks):
        ends = re.match(r"s_(branch|endpgm|setpc)", opcode) or number + 1 == len(blocks)
        if "branch" in opcode and operands not in labels:
            raise Unreadable(f"{opcode} to '{operands}', where there is no such label")
        successors.append(([] if ends else [number + 1]) + ([labels[operands]] if "branch" in opcode else []))
    return blocks, successors


def reachable(edges, start, without=None):
    seen, todo = {without}, [start]
    while todo:
        if (block := todo.pop()) not in seen:
            seen.add(block)
            todo += edges[block]
    return seen - {without}


def main_loop(blocks, successors):
    """The natural loop with the most MACs, of equals the innermost: its instructions, and those of one iteration
    in their order."""
    def dominates(a, b):
        return b not in reachable(successors, 0, without=a)

    def code(numbers):
        return [instruction for number in numbers for instruction in blocks[number]]

    loops = []
    for latch in reachable(successors, 0):
        for header in successors[latch]:
            # A back edge: the loop is what leads to the latch without passing the header again.
            if dominates(header, latch):
                onward = reachable(successors, header)
                loop = [b for b in sorted(onward) if b == header or latch in reachable(successors, b, without=header)]
                loops.append((count(MAC, code(loop)), -len(code(loop)), header, latch, loop))
    macs, _, header, latch, loop = max(loops, default=(0, 0, 0, 0, []))
    if not macs:
        raise Unreadable("there is no loop with multiply-adds")

    @functools.cache
    def iteration(block):
        """The path to the latch with the most loads. Only the last iteration branches around them."""
        if block == latch:
            return [latch]
        paths = [iteration(onward) for onward in successors[block] if onward in loop and not dominates(onward, block)]
        return max(([block] + path for path in paths if path), key=lambda path: count(LOAD, code(path)), default=[])

    return code(loop), code(iteration(header))


def count(pattern, instructions):
    return sum(bool(re.match(pattern, opcode)) for opcode, _ in instructions)


def registers(operands):
    """The numbers of the VGPRs in 'v7, v[8:11]'."""
    found = re.findall(r"\bv(?:(\d+)\b|\[(\d+):(\d+)\])", operands)
    return {n for one, first, last in found for n in range(int(one or first), int(one or last) + 1)}


def macs_load_to_wait(iteration):
    """The MACs between a global load and the first s_waitcnt that waits for it, which may stand in the next iteration:
    the least of all loads, or None."""
    least = []
    for at, (opcode, operands) in enumerate(iteration):
        if not re.match(LOAD, opcode):
            continue
        load, loaded, after = f"{opcode} {operands}", registers(operands.split(",")[0]), []
        for opcode, operands in iteration[at + 1:] + iteration[:at]:
            if opcode == "s_waitcnt":
                if not re.fullmatch(r"((vm|exp|lgkm)cnt\(\d+\)[ &,]*)+", operands):
                    raise Unreadable(f"s_waitcnt {operands}")
                outstanding = re.search(r"vmcnt\((\d+)\)", operands)
                # If no more are outstanding than were issued after it, it isn't one of them: they complete in order.
                # (FLAT loads need not, if some of them read LDS. All of these read global memory.)
                if outstanding and int(outstanding[1]) <= count(VECTOR_MEMORY, after):
                    break
            elif registers(operands) & loaded:
                raise Unreadable(f"'{opcode} {operands}' comes before any wait for '{load}'")
            after.append((opcode, operands))
        else:
            raise Unreadable(f"nothing waits for '{load}'")
        least.append(count(MAC, after))
    return min(least, default=None)


def waves_per_simd(vgprs, sgprs=0, lds=0):
    def fit(available, used, granule):
        return available // (max(1, math.ceil(used / granule)) * granule)

    groups = fit(LDS_BYTES, lds, LDS_GRANULE)  # each has as many waves on every SIMD
    by_registers = min(fit(VGPRS, vgprs, VGPR_GRANULE), fit(SGPRS, sgprs, SGPR_GRANULE))
    return min(MAX_WAVES, by_registers, groups * (GROUP // WAVE // SIMDS))


def read(stage, text):
    """The stage's row of the table."""
    figures = {}
    for name in ("vgpr_count", "sgpr_count", "group_segment_fixed_size", "vgpr_spill_count", "sgpr_spill_count"):
        found = re.findall(rf"^\s+\.{name}: +(\d+)$", text, re.M)
        if len(found) != 1:
            raise Unreadable(f"{len(found)} times .{name} in the metadata, expected once")
        figures[name] = int(found[0])
    vgprs, sgprs, lds, *spills = figures.values()
    waves = waves_per_simd(vgprs, sgprs, lds)
    loop, iteration = main_loop(*control_flow(text))
    macs, valu = count(MAC, loop), count("v_", loop)
    counts = [count(pattern, loop) for pattern in (LOAD, "ds_read", "ds_write", "s_barrier", MAC)]
    shares = [round(macs / len(loop), 4), round(macs / valu, 4)]
    row = (stage, vgprs, sgprs, lds, *spills, waves, waves * SIMDS, len(loop), *counts, *shares,
           macs_load_to_wait(iteration))
    return dict(zip(COLUMNS, row, strict=True))


def cell(value):
    if value is None:
        return "-"
    return f"{value:.1%}" if isinstance(value, float) else str(value)


def table(rows):
    shown = {column: heading.split("|") for column, heading in COLUMNS.items() if heading}
    lines = [[heading[part] for heading in shown.values()] for part in (0, 1)]
    for row in rows:
        lines.append([cell(row[column]) for column in shown])
    widths = [max(map(len, column)) for column in zip(*lines)]
    return [" ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]) for line in lines]


def reasoning(rows):
    """What the slides conclude from the machine, every figure computed."""
    ratio, theory, lds_flop, sums = PEAK / MEASURED_GBS, PEAK / THEORY_GBS, SIMDS * LANES * 2, TILE * TILE + TILE + TILE
    blocks = [f"{n:16} {8 * n:13} {2 * n * n:12} {n / 4:22} {min(PEAK, MEASURED_GBS * n / 4):17.0f}"
              for n in (2, 4, 8, 64, 128)]
    used = [f"{re.match(r'[0-9_]*[0-9]', row['stage'])[0]} {row['vgprs']} ({row['waves_per_simd']})" for row in rows]
    ceilings = []
    for row in rows:
        slides, share = SLIDES.get(row["stage"]), row["macs_of_valu"]
        slides = f"{slides} GFLOP/s, {slides / PEAK:.1%} of peak" if isinstance(slides, int) else slides
        beside = f"    the slides: {slides}" if slides else ""
        ceilings.append(f"  {row['stage']:22}{share * PEAK:5.0f} GFLOP/s, {share:.1%}{beside}")
    in_theory = f"{theory:.2f} at {THEORY_GBS} GB/s, in theory"
    naive = f"min({PEAK:.0f}, {MEASURED_GBS} x {1 / 4}) = {min(PEAK, MEASURED_GBS / 4):.0f} GFLOP/s"
    lds_ratio = lds_flop / LDS_BYTES_PER_CLOCK
    return [f"""
The slides' reasoning, computed:
  peak       {CUS} CUs x {SIMDS} SIMDs x {LANES} lanes x 2 flop x {CLOCK_GHZ} GHz = {PEAK:.1f} GFLOP/s
  memory     {PEAK:.1f} / {MEASURED_GBS} GB/s measured = {ratio:.2f} flop per byte ({in_theory})
  naive      {1 / 4} flop per byte: {naive}
  blocks     n x n   bytes per k   flop per k   flop per byte, n / 4   GFLOP/s at most""", *blocks, f"""\
             From n = {math.ceil(4 * ratio)} (4 x {ratio:.2f}) on device memory is no longer the limit (slides: 128).
  LDS        {lds_flop} flop and {LDS_BYTES_PER_CLOCK} bytes per clock and CU = {lds_ratio:g} flop per byte
             In registers n = {4 * lds_ratio:g} suffices; {TILE} x {TILE} have {TILE / 4:g}.
  waves      {SIMDS} SIMDs x {MAX_WAVES} = {SIMDS * MAX_WAVES} per CU, where registers and LDS leave room for them
  registers  {VGPR_BYTES // 1024} KiB per SIMD / {WAVE} lanes / 4 bytes = {VGPRS} VGPRs
             {TILE} x {TILE} accumulators + {TILE} of A + {TILE} of B = {sums}: {waves_per_simd(sums)} waves per SIMD
             The compiler takes (waves): {', '.join(used[:4])},
             {', '.join(used[4:])}.

If all VALU instructions took as long as a MAC, and nothing else any time, a stage would have
its MACs' share of the peak. Beside it what the slides measured, with kernels of their own:""", *ceilings, f"""
The counts are static: each instruction of the main loop once. Nothing ran on a GCN chip.
waves: as many as VGPRs, LDS and SGPRs ({SGPRS} per SIMD: never the limit here) leave room for, in
  whole work-groups of {GROUP}. A stage that spills a register is refused.
load-wait: MACs between a load from global memory and the instruction that waits for it, the
  least of the stage's loads."""]


def gates(rows):
    """A line per violated gate."""
    rows = {row["stage"]: row for row in rows}
    for stage, row in rows.items():
        if row["vgpr_spills"] or row["sgpr_spills"]:
            yield f"{stage}: {row['vgpr_spills']} VGPRs and {row['sgpr_spills']} SGPRs spilled, expected none"
    for stage, least, most in (("04_unroll", 0, 0), ("05_double_buffer", 400, 512)):
        if not (row := rows.get(stage)):
            yield f"{stage}: there is no {stage}.cl"
            continue
        if row["vgprs"] > 128:
            yield f"{stage}: {row['vgprs']} VGPRs, expected 128 or fewer (more leave room for one wave per SIMD)"
        if row["macs"] != 512:
            yield f"{stage}: {row['macs']} MACs in the main loop, expected 512"
        if row["macs_of_valu"] < 0.97:
            yield f"{stage}: {row['macs_of_valu']:.2%} of the VALU instructions are MACs, expected 97% or more"
        if (wait := row["macs_load_to_wait"]) is None or not least <= wait <= most:
            yield f"{stage}: {wait} MACs between a global load and its wait, expected {least} to {most}"


def write_csv(path, rows):
    """Whole or not at all."""
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with open(beside, "w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        fail(2, f"--csv '{path}': can't be written: {error.strerror}")


def compile_and_read(clang, source, folder):
    target = folder / f"{source.stem}.s"
    run = subprocess.run([clang, *FLAGS, source, "-o", target], capture_output=True, text=True)
    if run.returncode:
        lines = run.stderr.strip().split("\n")
        fail(3, next((line for line in lines if "error:" in line), lines[0]))
    try:
        return read(source.stem, target.read_text())
    except Unreadable as error:
        fail(1, f"{source.stem}: the machine code can't be read: {error}")


def find_compiler(clang):
    """Finds clang and returns its version line."""
    for there, what in ((shutil.which(clang), f"compiler '{clang}'"),
                        (os.path.exists(f"{DEVICE_LIBRARIES}/opencl.bc"), f"device libraries in {DEVICE_LIBRARIES}")):
        if not there:
            fail(77, f"no {what}: install the Debian packages clang-19 and rocm-device-libs")
    version = subprocess.run([clang, "--version"], capture_output=True, text=True).stdout.split("\n")[0]
    if " version 19." not in version:
        fail(77, f"'{clang}' is '{version}', but pinned is clang 19: install the Debian package clang-19")
    return version


def main():
    parser = argparse.ArgumentParser(
        description="Compiles every stage for a Radeon R9 Fury X and reads the machine code. No GPU is needed.",
        epilog="Examples:    python3 08_opencl_gcn/gcn.py --check\n"
               "             python3 08_opencl_gcn/gcn.py --save code --csv gcn.csv\n\n"
               "Exit codes:  0 fine, 1 --check found something, or code that can't be read, 2 bad command line,\n"
               "             3 a stage doesn't compile, 77 no clang 19 or no device libraries",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).parent,
                        help="of the stages (default: the chapter's own)")
    parser.add_argument("--clang", default="clang-19", help="the compiler, of version 19 (default: clang-19)")
    parser.add_argument("--save", metavar="FOLDER", type=pathlib.Path, help="keep the machine code there")
    parser.add_argument("--csv", metavar="FILE", type=pathlib.Path, help="also write the table to FILE")
    parser.add_argument("--check", action="store_true", help="exit code 1 where a stage isn't what its chapter says")
    arguments = parser.parse_args()
    sources = sorted(arguments.folder.glob("[0-9][0-9]_*.cl"))
    if not sources:
        parser.error(f"'{arguments.folder}': takes a folder with stages, 01_....cl and so on")
    if arguments.csv and arguments.csv.exists() and not arguments.csv.is_file():
        parser.error(f"--csv '{arguments.csv}': takes the name of a file")
    version = find_compiler(arguments.clang)

    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.save or pathlib.Path(scratch)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            parser.error(f"--save '{folder}': {error.strerror}")
        rows = [compile_and_read(arguments.clang, source, folder) for source in sources]
    print(f"Machine code for gfx803, the Radeon R9 Fury X, by {version}\n", *table(rows), *reasoning(rows), sep="\n")
    if arguments.csv:
        write_csv(arguments.csv.resolve(), rows)
    violated = list(gates(rows)) if arguments.check else []
    for line in violated:
        print(f"gcn.py: {line}", file=sys.stderr)
    sys.exit(1 if violated else 0)


if __name__ == "__main__":
    main()

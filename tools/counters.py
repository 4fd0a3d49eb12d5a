#!/usr/bin/env python3
"""counters.py: a GPU's own counters, through ncu (Nsight Compute), and the emulator's beside them.

    counters.py measure BIN FOLDER       profiles one launch of each stage built in BIN, such as build/bin. FOLDER/counters.csv, at
                                         256 x 256 x 256: requests, sectors and wavefronts, which the emulator counts as well.
                                         FOLDER/rates.csv, at 4096: how busy each part is, what the caches serve, what warps wait
                                         for. Needs a GPU, ncu and the right to read its counters.
    counters.py table BIN FOLDER         writes what the emulator counts (of the traced CPU builds in BIN) between the markers of
                                         the READMEs and of the emulator's pages: beside counters.csv, or as ./run prints it.
                                         And docs/results/counted.csv, what ./run mine.cu compares with.

Examples:    python3 tools/counters.py measure build/bin docs/results/h200
             python3 tools/counters.py table build/bin docs/results/h200

Exit codes:  0 done, 1 no counters, or a file that is wrong, 2 bad command line
"""
import argparse
import csv
import io
import pathlib
import re
import subprocess
import sys
import tempfile

from programs import ROOT
from programs import listed
from results import Wrong, read, write_whole
from book.tables import Head, filled, markdown, with_rows

# Column: metric of ncu, or several that are added. Asynchronous copies are among the loads from global memory, TMA's as well.
COUNTERS = {column: ",".join(f"{metric}.sum" for metric in metrics.split()) for column, metrics in {
    "global_load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld sm__sass_inst_executed_op_tma_ld",
    "global_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld",
    "global_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st",
    "shared_load_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld",
    "shared_store_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st",
    "shared_load_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld",
    "shared_store_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st"}.items()}
# Those that the emulator counts, too, as its README names them.
COMPARED = dict(zip(COUNTERS, ("global loads: requests", "sectors", "global stores: sectors", "shared loads: wavefronts",
                               "shared stores: wavefronts")))
SIZE = 256  # of the counts
# Those of the table that ./run prints without a GPU.
TABLE = ("stage", "global_load_bytes", "sectors_per_request", "bank_conflict_factor", "barriers_per_block")
STAGES = [each.name for each in listed("stage")]
STALLS = ("long_scoreboard", "short_scoreboard", "barrier", "dispatch_stall", "math_pipe_throttle", "mio_throttle", "lg_throttle",
          "wait", "not_selected", "no_instruction")
RATES = {
    "registers_per_thread": "launch__registers_per_thread",
    **{f"{column}_percent": f"{metric}.avg.pct_of_peak_sustained_{of}" for column, metric, of in (
        ("warps_active", "sm__warps_active", "active"), ("issue_active", "smsp__issue_active", "active"),
        ("fma_pipe", "sm__pipe_fma_cycles_active", "active"), ("tensor_pipe", "sm__pipe_tensor_op_hmma_cycles_active", "active"),
        ("l1_throughput", "l1tex__throughput", "active"), ("l2_throughput", "lts__throughput", "elapsed"),
        ("device_memory", "dram__throughput", "elapsed"))},
    "l1_hit_percent": "l1tex__t_sector_hit_rate.pct",
    "l2_hit_percent": "lts__t_sector_hit_rate.pct",
    "device_memory_bytes": "dram__bytes.sum",
    **{f"waiting_{stall}": f"smsp__average_warps_issue_stalled_{stall}_per_issue_active.ratio" for stall in STALLS},
}


def lines(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def profile(program, size, metrics):
    """The metrics of the program's first launch of its kernel. Ends the script with one line where there are none."""
    run = subprocess.run(["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base", "--kernel-name", "matmul",
                          "--launch-count", "1", "--metrics", ",".join(metrics.values()), program, "--size", str(size), "--verify-only"],
                         capture_output=True, text=True)
    start = run.stdout.find('"ID"')
    if run.returncode != 0 or start < 0:
        sys.exit(f"counters.py: ncu failed on {program.name}: {(run.stdout + run.stderr).strip().splitlines()[-1]}")
    _, row = csv.DictReader(io.StringIO(run.stdout[start:]))  # below the units
    values = {column: [(row.get(metric) or "-").replace(",", "") for metric in named.split(",")] for column, named in metrics.items()}
    return {column: each[0] if len(each) == 1 else str(sum(int(value) for value in each if value != "-"))
            for column, each in values.items()}


def measure(bin_folder, folder):
    stages = [path for stage in STAGES if (path := bin_folder / stage).exists()]
    if not stages:
        sys.exit(f"counters.py: '{bin_folder}' holds no stage that was built for a GPU")
    gpu, driver = lines("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader", "-i", "0")[0].split(", ")
    ncu = re.search(r"Version ([\d.]+)", "\n".join(lines("ncu", "--version")))[1]
    for name, size, metrics in (("counters.csv", SIZE, COUNTERS), ("rates.csv", 4096, RATES)):
        rows = [{"stage": stage.name, "size": size, **profile(stage, size, metrics), "gpu": gpu, "driver": driver, "ncu": ncu}
                for stage in stages]
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([rows[0], *(row.values() for row in rows)])
        write_whole((folder / name, text.getvalue()))
        print(folder / name)


def by_stage(path):
    """{stage: its counts in the columns of counters.csv}"""
    return {row.stage: {column: int(getattr(row, column)) for column in COMPARED} for row in read(path)}


def counted(bin_folder):
    """({stage: its row as ./run prints it}, {stage: the emulator's counts in the columns of counters.csv}, the text of counted.csv)"""
    printed, counts, text = {}, {}, ",".join(TABLE) + "\n"
    with tempfile.TemporaryDirectory() as folder:
        for stage in STAGES:
            said = "\n".join(lines(bin_folder / f"{stage}_cpu_trace", "--csv", f"{folder}/csv"))
            printed[stage] = said[said.index(f"\n{stage} ") + 1:]  # its row, and what is said below it
            counts |= by_stage(pathlib.Path(folder) / "csv")
            text += "".join(",".join(f"{getattr(row, column)}" for column in TABLE) + "\n" for row in read(pathlib.Path(folder) / "csv"))
    return printed, counts, text


def pages(counted, folder):
    """{file: its text} of the pages that have these tables: what the emulator counts beside counters.csv, or as ./run prints it. And
    of counted.csv, the same for `./run mine.cu` to compare with."""
    printed, counts, text = counted
    hardware = by_stage(folder / "counters.csv")
    table = markdown([Head(" | ".join(("stage", "<counted by", *COMPARED.values()))), *(
        " | ".join((stage, who, *(f"{count:,}" for count in rows[stage].values())))
        for stage in hardware for who, rows in (("ncu", hardware), ("emulator", counts)))])

    def made(name, old):
        return {"counters": table, "counted": with_rows(old, printed.values())}.get(name, old)

    return {ROOT / "docs/results/counted.csv": text,
            **{page: filled(page, made) for page in (ROOT / "README.md", *ROOT.glob("emulator/*.md"))}}


def main():
    parser = argparse.ArgumentParser(prog="counters.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("measure", "table"))
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    given = parser.parse_args()
    if given.what == "measure":
        return measure(given.bin, given.folder)
    texts = pages(counted(given.bin), given.folder)
    write_whole(*texts.items())
    print(*texts, sep="\n")


if __name__ == "__main__":
    try:
        main()
    except Wrong as wrong:
        sys.exit(f"counters.py: {wrong}")

#!/usr/bin/env python3
"""counters.py: a GPU's own counters, through ncu (Nsight Compute), and the emulator's beside them.

    counters.py measure BIN FOLDER    profiles one launch of each stage built in BIN, such as build/bin.
                                      FOLDER/counters.csv, at 256 x 256 x 256: requests, sectors and wavefronts, which
                                      the emulator counts as well. FOLDER/rates.csv, at 4096: how busy each part is,
                                      the hit rates of caches, why warps stall. Needs a GPU, ncu and the right to
                                      read its counters.
    counters.py table BIN FOLDER      writes what the emulator counts (of the traced CPU builds in BIN) between the
                                      markers of the READMEs and of the emulator's pages: beside counters.csv, or as
                                      ./run prints it. And docs/results/counted.csv, what ./run mine.cu compares with,
                                      and flow.csv, how the first page's picture moves.

Examples:    python3 tools/counters.py measure build/bin docs/results/h200
             python3 tools/counters.py table build/bin docs/results/h200

Exit codes:  0 done, 1 no counters, or a file that is wrong, 2 bad command line
"""
import argparse
import csv
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import view
from book.markers import Head, filled, markdown, with_rows
from programs import ROOT, described, listed
from results import InvalidInput, read, write_whole
from view import flow

# {column: metrics of ncu, which are added up}. Asynchronous copies count as loads from global memory, TMA's as well.
COUNTERS = {
    "global_load_requests": ["l1tex__t_requests_pipe_lsu_mem_global_op_ld", "sm__sass_inst_executed_op_tma_ld"],
    "global_load_sectors": [
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld",
        "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld",
    ],
    "global_store_sectors": ["l1tex__t_sectors_pipe_lsu_mem_global_op_st"],
    "shared_load_wavefronts": ["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld"],
    "shared_store_wavefronts": ["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st"],
    "shared_load_conflicts": ["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld"],
    "shared_store_conflicts": ["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st"],
}
# The columns that the emulator counts, too, under the names in its reference.
COMPARED = {
    "global_load_requests": "global loads: requests",
    "global_load_sectors": "sectors",
    "global_store_sectors": "global stores: sectors",
    "shared_load_wavefronts": "shared loads: wavefronts",
    "shared_store_wavefronts": "shared stores: wavefronts",
}
SIZE = 256  # for the counts
FLOW_TILES = 6  # for the picture: as many as fill a pipeline and begin to fill it again
# The columns of the table that ./run prints without a GPU.
TABLE = ("global_load_bytes", "sectors_per_request", "bank_conflict_factor", "barriers_per_block")
STAGES = [each.name for each in listed("stage")]
STALLS = (
    "long_scoreboard short_scoreboard barrier dispatch_stall math_pipe_throttle mio_throttle lg_throttle wait "
    "not_selected no_instruction"
).split()
# {column: metric of ncu}
RATES = {
    "registers_per_thread": "launch__registers_per_thread",
    "warps_active_percent": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "issue_active_percent": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "fma_pipe_percent": "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active",
    "tensor_pipe_percent": "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active",
    "l1_throughput_percent": "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "l2_throughput_percent": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "device_memory_percent": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1_hit_percent": "l1tex__t_sector_hit_rate.pct",
    "l2_hit_percent": "lts__t_sector_hit_rate.pct",
    "device_memory_bytes": "dram__bytes.sum",
    **{f"waiting_{stall}": f"smsp__average_warps_issue_stalled_{stall}_per_issue_active.ratio" for stall in STALLS},
}
NCU = (
    "ncu --clock-control none --csv --page raw --print-units base --kernel-name matmul --launch-count 1 --metrics"
).split()


def lines(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def profile(program, size, metrics):
    """{metric: its cell} of the first launch of the program's kernel. Ends the script with one line if there are none.
    """
    words = [*NCU, ",".join(metrics), program, "--size", str(size), "--verify-only"]
    run = subprocess.run(words, capture_output=True, text=True)
    start = run.stdout.find('"ID"')
    if run.returncode != 0 or start < 0:
        sys.exit(f"counters.py: ncu failed on {program.name}: {(run.stdout + run.stderr).strip().splitlines()[-1]}")
    _, row = csv.DictReader(io.StringIO(run.stdout[start:]))  # the line below the header has the units
    return {metric: (row.get(metric) or "-").replace(",", "") for metric in metrics}


def counts_of(program):
    """The columns of counters.csv."""
    cells = profile(program, SIZE, [f"{metric}.sum" for metrics in COUNTERS.values() for metric in metrics])
    found = {}
    for column, metrics in COUNTERS.items():
        its = [cells[f"{metric}.sum"] for metric in metrics]
        found[column] = its[0] if len(its) == 1 else str(sum(int(cell) for cell in its if cell != "-"))
    return found


def rates_of(program):
    """The columns of rates.csv."""
    cells = profile(program, 4096, RATES.values())
    return {column: cells[metric] for column, metric in RATES.items()}


def measure(bin_folder, folder):
    stages = [path for stage in STAGES if (path := bin_folder / stage).exists()]
    if not stages:
        sys.exit(f"counters.py: '{bin_folder}' holds no stage that was built for a GPU")
    first_gpu = lines("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader", "-i", "0")[0]
    gpu, driver = first_gpu.split(", ")
    ncu = re.search(r"Version ([\d.]+)", "\n".join(lines("ncu", "--version")))[1]
    where = {"gpu": gpu, "driver": driver, "ncu": ncu}
    for name, size, columns_of in (("counters.csv", SIZE, counts_of), ("rates.csv", 4096, rates_of)):
        rows = [{"stage": stage.name, "size": size, **columns_of(stage), **where} for stage in stages]
        text = io.StringIO()
        writer = csv.DictWriter(text, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        write_whole((folder / name, text.getvalue()))
        print(folder / name)


def by_stage(path):
    """{stage: its counts in the columns of counters.csv}"""
    return {row.stage: {column: int(getattr(row, column)) for column in COMPARED} for row in read(path)}


def counted(bin_folder):
    """({stage: its row as ./run prints it}, {stage: the emulator's counts in the columns of counters.csv}, the text of
    counted.csv, which also has what a stage computes with)"""
    printed, counts, text = {}, {}, ",".join(("stage", "type", "arithmetic", *TABLE)) + "\n"
    with tempfile.TemporaryDirectory() as folder:
        for stage in STAGES:
            said = "\n".join(lines(bin_folder / f"{stage}_cpu_trace", "--csv", f"{folder}/csv"))
            printed[stage] = said[said.index(f"\n{stage} ") + 1 :]  # its row, and the lines below it
            counts |= by_stage(pathlib.Path(folder) / "csv")
            about = json.loads("".join(lines(bin_folder / f"{stage}_cpu_trace", "--describe")))
            for row in read(pathlib.Path(folder) / "csv"):
                figures = (f"{getattr(row, column)}" for column in TABLE)
                cells = [stage, about["types"][0], about["arithmetic"], *figures]
                text += ",".join(cells) + "\n"
    return printed, counts, text


def flows(bin_folder, folder):
    """The text of flow.csv, which has the first k-tiles of each stage that is timed in FOLDER/ladder.csv. A stage with
    several configurations is recorded in the first one, which has the largest tile and is the one of large matrices."""
    lines = [",".join(("stage", *flow.COLUMNS))]
    for stage in sorted({row.stage for row in read(folder / "ladder.csv")} & {*STAGES}):
        program = bin_folder / f"{stage}_cpu_trace"
        options = [word for name in described(program)["configs"][:1] for word in ("--config", name)]

        def recorded(k):
            return view.read(view.record(program, (128, 256, k), *options), stage, (128, 256, k))

        tile_k = flow.Block(recorded(64)).tile_k()  # TMA takes rows of whole 16 bytes
        tiles = flow.tiles_of(recorded(FLOW_TILES * tile_k))
        lines += [",".join([stage, *(str(tile[column]) for column in flow.COLUMNS)]) for tile in tiles]
    return "\n".join(lines) + "\n"


def pages(counted, folder):
    """{file: its text} of the pages with these tables, which have the emulator's counts beside counters.csv or as ./run
    prints them, and of counted.csv, with which `./run mine.cu` compares."""
    printed, counts, text = counted
    hardware = by_stage(folder / "counters.csv")
    lines = [Head(" | ".join(["stage", "<counted by", *COMPARED.values()]))]
    for stage in hardware:
        for who, rows in (("ncu", hardware), ("emulator", counts)):
            lines.append(" | ".join([stage, who, *(f"{count:,}" for count in rows[stage].values())]))
    table = markdown(lines)

    def made(name, old):
        return {"counters": table, "counted": with_rows(old, printed.values())}.get(name, old)

    texts = {page: filled(page, made) for page in (ROOT / "README.md", *ROOT.glob("emulator/*.md"))}
    texts[ROOT / "docs/results/counted.csv"] = text
    return texts


def main():
    parser = argparse.ArgumentParser(
        prog="counters.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("measure", "table"))
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    given = parser.parse_args()
    if given.what == "measure":
        return measure(given.bin, given.folder)
    texts = pages(counted(given.bin), given.folder)
    texts[ROOT / "docs/results/flow.csv"] = flows(given.bin, given.folder)
    write_whole(*texts.items())
    print(*texts, sep="\n")


if __name__ == "__main__":
    try:
        main()
    except InvalidInput as wrong:
        sys.exit(f"counters.py: {wrong}")

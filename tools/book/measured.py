"""A folder of results, and what the tables and pictures read from it."""
import functools

import programs
from results import InvalidInput, read

SIZE, RATES_SIZE = 8192, 4096
# The arithmetic of the programs in ladder.csv: for each word that their facts use for it (common/facts.h), the row in
# limits.csv, its name, and the memory whose bandwidth predicts how fast they load global memory. "" is any other text.
UNITS = {
    "kWgmma": ("tensor_wgmma", "wgmma on tensor cores", "l2"),
    "kTensor": ("tensor_mma_sync", "mma_sync on tensor cores", "l2"),
    "": ("fp32_fma", "FP32 multiply-adds", "copy"),
}

# The CSV with the speeds of a chapter's programs, if it is not ladder.csv. OpenCL is not timed beside cuBLAS.
SPEEDS = {"08_opencl_gcn": "opencl", "14_fp32_accuracy": "../h100/fp32_accuracy"}


class Results:
    """A folder's CSVs, read once for each choice of figures. All methods raise InvalidInput."""

    def __init__(self, folder):
        self.folder = folder

    @functools.lru_cache(None)
    def __call__(self, name, figures=""):
        """The rows of NAME.csv, which have numbers above 0, or '-', in the columns `figures`."""
        path = self.folder / f"{name}.csv"
        if not path.exists():
            raise InvalidInput(f"{path}: is missing: './run all' on a GPU writes it")
        return read(path, figures.split())

    def one(self, name, **cells):
        """The row of NAME.csv with these cells."""
        for row in self(name):
            if all(getattr(row, column) == value for column, value in cells.items()):
                return row
        raise InvalidInput(f"{self.folder / name}.csv: has no row of {', '.join(map(str, cells.values()))}")

    def stages(self, name="ladder"):
        """{stage: its row of SIZE}"""
        found = {row.stage: row for row in self(name) if row.m == row.n == row.k == SIZE}
        if missing := {row.stage for row in self(name)} - set(found):
            raise InvalidInput(f"{self.folder / name}.csv: has no row of {SIZE} x {SIZE} x {SIZE} for {min(missing)}")
        return found


def machine(row):
    return f"{row.gpu}, driver {row.driver}, CUDA {row.cuda}"


def text_of(stage):
    """The source of a stage. ./run plot reads the text and does not run the program, because it may run on a machine
    that builds nothing."""
    return "".join(programs.text_of(file) for file in programs.steps() if programs.name(file) == stage)


def unit(stage):
    """The key in UNITS for the arithmetic that a stage states. Split floats are multiplied by wgmma."""
    text = text_of(stage).replace("split_arithmetic", "kWgmma")
    return next(word for word in UNITS if word in text)


def cycles_per_issue(row):
    """The warp cycles per issued instruction, by a row of rates.csv: the active ones of a scheduler's 16 warps (a
    quarter of an SM's 64), divided by the instructions that it issues in a cycle."""
    return 16 * row.warps_active_percent / row.issue_active_percent

"""The programs that ./run all runs with options, and the CSVs that it leaves, which ./run compare reads."""
from typing import NamedTuple

from programs import listed

LIMITS = "limits.csv"


class Step(NamedTuple):
    """A program, or the ladder, which ./run itself runs; the CSV that it writes; and how ./run compare reads that CSV:
    the columns that identify its rows, and those with figures (a/b: the first of the two that has one)."""
    name: str
    csv: str = ""
    keys: str = ""
    figures: str = ""
    on_gpu: str = ""  # options; a --limits at the end gets the CSV of this run's first program
    on_cpu: str = ""
    cpu_csv: bool = True  # whether the CPU build writes the CSV, too

    def program(self, cpu):
        return next((each.target(cpu) for each in listed() if each.name == self.name), self.name)


PRODUCT, SIZES = ("stage m n k", "gflops"), "--sizes 1024:8192:1024 --limits"
WITH_OPTIONS = (
    Step("roofline", LIMITS, "what flop_per_byte", "gflops/gbs", cpu_csv=False),
    Step("roofline_host", "roofline_host.csv", "what flop_per_byte", "gflops/gbs"),
    Step("latency", "latency.csv", "what kind bytes", "cycles", cpu_csv=False),
    Step("library_curves", "library_curves.csv", "precision n", "gflops"),
    Step("blas_host", "blas_host.csv", "precision n", "gflops"),
    Step("transfer", "transfer.csv", "n memory", "h2d_ms kernel_ms d2h_ms", cpu_csv=False),
    Step("victims", "victims.csv", cpu_csv=False),
    Step("ladder", "ladder.csv", *PRODUCT, f"--steps {SIZES}", "--cpu --steps"),
    Step("half2", "half2.csv", *PRODUCT, SIZES),
    Step("plain", "plain.csv", *PRODUCT, SIZES),
    Step("types", "types.csv", "a_b c d operation m_n_k", "ns_each"),
    Step("probe", on_gpu="--all", on_cpu="--all"),
    Step("custom_load", "custom_load.csv", "load from result", "ns_per_load", cpu_csv=False),
    Step("alignment", "alignment.csv", cpu_csv=False),
    Step("08_opencl_gcn", "opencl.csv", *PRODUCT, SIZES, "--platform 'Portable Computing Language'"))

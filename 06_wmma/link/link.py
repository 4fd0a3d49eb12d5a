#!/usr/bin/env python3
"""The API article's section 5: nvcc compiles fragA.cu and fragB.cu, each for another architecture, and device-links
them (-dlink). What does nvcc report?

    python3 06_wmma/link/link.py [--nvcc NVCC] [--also OPTION...]

--also: more options for NVCC, such as -ccbin g++-12. Prints the three commands of each pair, and their output. Exit
codes: 0 done, 2 bad command line, 77 no nvcc.
"""
import argparse
import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAIRS = ((70, 75), (75, 80), (80, 86))  # Volta and Turing, the article's; Turing and Ampere; two Amperes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvcc", default=shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc")
    parser.add_argument("--also", default=[], nargs=argparse.REMAINDER)
    given = parser.parse_args()

    def say(command):
        """The lines of a command's output that begin with "nv", which are nvcc's and nvlink's, joined; "failed" if
        there is none but the command failed, "" if there is none."""
        words = [given.nvcc, *command.split()[1:], f"-I{ROOT}", *given.also]
        run = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        lines = [re.sub(" +", " ", line) for line in run.stdout.splitlines() if re.match("nv", line)]
        return "; ".join(lines) or ("failed" if run.returncode else "")

    try:
        version = subprocess.run([given.nvcc, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        print(f"link.py: no nvcc: {given.nvcc}", file=sys.stderr)
        return 77
    release = re.search(r"release ([\d.]+)", version)[1]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for file in ("fragA.cu", "fragB.cu"):
            (folder / file).symlink_to(ROOT / "06_wmma/link" / file)
        compiles = {(file, sm): f"nvcc -dc -arch=compute_{sm} -code=sm_{sm} {file}.cu -o {file}_{sm}.o"
                    for pair in PAIRS for file, sm in zip(("fragA", "fragB"), pair)}
        with concurrent.futures.ThreadPoolExecutor() as pool:
            said = dict(zip(compiles, pool.map(say, compiles.values())))
        for a, b in PAIRS:
            objects, refused = f"fragA_{a}.o fragB_{b}.o", said["fragA", a] or said["fragB", b]
            link = f"nvcc -dlink -arch=sm_{b} {objects} -o frag.o"
            print(f"$ {compiles['fragA', a]}", f"$ {compiles['fragB', b]}", sep="\n")
            if refused:
                result = f"refused: {refused}"
            else:
                print(f"$ {link}")
                result = say(link) or "linked, and nothing is said"
            print(f"nvcc {release}, sm_{a} + sm_{b}: {result}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""An editor opens any stage and finds the headers: editor.py ROOT [--clangd CLANGD]

clangd, which editors ask, reads each stage's matmul.cu, a header of common/, one for kernels, an OpenCL stage and its program by
ROOT/.clangd, and must report no error. Without the include paths it must. Ends with 77 where there is no clangd, or one before 14.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from checks import check, end

parser = argparse.ArgumentParser()
parser.add_argument("root", type=pathlib.Path)
parser.add_argument("--clangd", default="clangd")
given = parser.parse_args()
ROOT = given.root.resolve()


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def errors_of(file):
    """What clangd has to say against a file, and a word more where it did not come to the end; "" when all is well."""
    command = [given.clangd, f"--check={file}", "--check-lines=1-1", "--log=info"]
    run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=150)
    said = [re.sub(r"^E\[[^]]*\] *", "  ", line) for line in run.stderr.splitlines() if line.startswith("E[")]
    if not said and (run.returncode or "All checks completed, 0 errors" not in run.stderr):
        said = [f"  clangd ended with {run.returncode}: {run.stderr[-300:]}"]
    return "\n".join(said[:5])


try:
    version = subprocess.run([given.clangd, "--version"], capture_output=True, text=True).stdout
except OSError:
    skip(f"there is no {given.clangd}")
number = re.search(r"clangd version (\d+)", version)
if not number or int(number[1]) < 14:
    skip(f"takes clangd 14 or later, here is {version.strip()}")

files = sorted(ROOT.glob("[0-9][0-9]_*/matmul.cu"))
check(len(files) >= 6, f"{len(files)} stages", str(ROOT))
files += [ROOT / name for name in ("common/harness.h", "07_fragment_probe/loads.cuh", "08_opencl_gcn/03_lds_blocking.cl")]
with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as two:
    folder = pathlib.Path(folder)
    os.environ["XDG_CONFIG_HOME"] = str(folder / "no config of the user's own")
    (folder / "stage").mkdir()
    shutil.copy(files[0], folder / "stage")
    (folder / ".clangd").write_text((ROOT / ".clangd").read_text().replace("-I", "-Ino/such/"))
    planted = two.submit(errors_of, folder / "stage/matmul.cu")
    for file, errors in zip(files, two.map(errors_of, files)):
        check(not errors, f"clangd {number[1]} reads {file.relative_to(ROOT)}", errors)
    check("'__global__'" in planted.result(), "and without the include paths it reports what is missing", planted.result())
end()

"""tour.ipynb types what README.md or docs/usage.md shows, holds no output, and runs from top to bottom without a GPU, where Jupyter is installed."""
import json
import re

import pytest

import commands
from support import ROOT

PATH = ROOT / "tour.ipynb"
CODE = [cell for cell in json.loads(PATH.read_text())["cells"] if cell["cell_type"] == "code"]


def test_its_commands_are_the_readmes():
    typed = re.findall(r"(?m)^!(\./.*)$", "\n".join("".join(cell["source"]) for cell in CODE))
    assert len(typed) == 3
    shown = [command for page in ("README.md", "docs/usage.md")
             for command in re.findall(r"(?m)^    (\S.*?)(?: +#.*)?$", (ROOT / page).read_text())]
    assert not set(typed) - set(shown)


def test_no_output_is_committed():
    assert not [cell for cell in CODE if cell["outputs"] or cell["execution_count"]]


def test_it_runs():
    nbformat, nbclient, _ = (pytest.importorskip(name, reason="Jupyter is missing (python3-nbclient, python3-ipykernel)")
                             for name in ("nbformat", "nbclient", "ipykernel"))
    folder, environment = commands.copy()
    notebook = nbformat.read(PATH, as_version=4)
    for cell in notebook.cells:
        if cell.source.startswith("!"):  # IPython goes on after a command that failed
            cell.source = cell.source.replace("./test", "./test -N") + "\nassert _exit_code == 0, _exit_code"
    client = nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}})
    client.execute(env={**environment, "CUDA_VISIBLE_DEVICES": ""})
    said = "".join(output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", ()))
    for wanted in (r"06_wmma .* exact ", r"03_shared_blocking +-> 04_unroll", r"Test +#\d+: 03_shared_blocking"):
        assert re.search(wanted, said), f"nothing like {wanted} in:\n{said[-3000:]}"
    assert sum("image/svg+xml" in output.get("data", ()) for cell in notebook.cells for output in cell.get("outputs", ())) == 3

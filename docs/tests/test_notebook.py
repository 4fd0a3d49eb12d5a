"""tour.ipynb runs from top to bottom without a GPU, where Jupyter is installed, and holds what it then prints."""
import json
import re

import pytest

import commands
from support import ROOT

PATH = ROOT / "tour.ipynb"


def stages(cells):
    """Of the ladder's table."""
    return [line.split()[0] for cell in cells for output in cell.get("outputs", ()) if output["output_type"] == "stream"
            for line in "".join(output["text"]).splitlines() if re.match(r"\d\d_\w+ +\d", line)]


def code_cells():
    return [cell for cell in json.loads(PATH.read_text())["cells"] if cell["cell_type"] == "code"]


def test_outputs_are_committed():
    """Each cell's, whole: no error, and no line that was to be written over."""
    assert code_cells()
    for cell in code_cells():
        assert cell["outputs"], cell["source"]
        for output in cell["outputs"]:
            assert output["output_type"] != "error" and not re.search("[\r\033]", "".join(output.get("text", []))), cell["source"]


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
    assert stages(code_cells()) == stages(notebook.cells) != []

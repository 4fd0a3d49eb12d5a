"""Shared by the tests: paths, built programs, and a way to run them."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BUILD_DIR", ROOT / "build")).resolve()


def call(*words, **options):
    """Runs a program by its argument vector; the CompletedProcess has stdout, stderr and returncode. Exit code 77 skips
    the test."""
    words = [str(word) for word in words]
    usual = {"capture_output": True, "text": True, "errors": "replace", "stdin": subprocess.DEVNULL, "timeout": 600}
    run = subprocess.run(words, **{**usual, **options})
    if run.returncode == 77:
        pytest.skip(f"{pathlib.Path(words[0]).name}: {(run.stderr or run.stdout or '').strip().splitlines()[-1:]}")
    # Two tests may build at once, and the note that one waits for the other does not matter.
    if isinstance(run.stderr, str):
        run.stderr = re.sub("(?m)^run: waiting for another .*\n", "", run.stderr)
    return run


def program(name):
    """The path of build/bin/NAME. Skips the test if it was not built."""
    path = BUILD / "bin" / name
    if not path.exists():
        pytest.skip(f"{name} is not built here")
    return path


def tool(name):
    """The path of an installed program; skips the test if it is missing."""
    path = shutil.which(name)
    if not path:
        pytest.skip(f"{name} is not installed")
    return path


def without_code(text):
    """The text of a page without blocks of code and code within text, which have no links, headings or terms."""
    return re.sub(r"(?ms)^ *```\w.*?^ *```$|^    [^\n]*$|`[^`\n]*`", "", text)

"""The patches of exercises: what `git diff` writes, below lines that describe it, which git skips.

    python3 tools/patches.py           # refreshes all of them from the current sources
    python3 tools/patches.py FILE...   # refreshes these

A patch whose context lines have changed is merged with them. One whose own lines have changed is listed and left to the
user. Example: python3 tools/patches.py 03_shared_blocking/exercises/*.patch
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from results import Wrong

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN = "\ndiff --git "  # the beginning of the diff


def git(folder, *words):
    """Runs git in a folder, as if no repository were around it. Returns what it prints; raises CalledProcessError."""
    alone = {**os.environ, "GIT_CEILING_DIRECTORIES": str(pathlib.Path(folder).resolve().parent)}
    return subprocess.run(["git", *words], cwd=folder, env=alone, check=True, capture_output=True, text=True).stdout


def description(patch):
    """The descriptive lines above the diff."""
    return patch.read_text().partition(BEGIN)[0]


def copy_files(paths, root, folder):
    """Copies files from below `root` to the same places below `folder`."""
    for path in paths:
        copy = pathlib.Path(folder, path)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text((root / path).read_text())


def applied(patch, root):
    """{path below `root`: text} of the files that the patch changes, as `git apply` leaves copies of them.
    Raises Wrong."""
    paths = re.findall(r"(?m)^\+\+\+ b/(.*)", patch.read_text())
    with tempfile.TemporaryDirectory(prefix="patch-") as folder:
        copy_files(paths, root, folder)
        try:
            git(folder, "apply", patch.resolve())
        except subprocess.CalledProcessError as error:
            why = error.stderr.strip().splitlines()[0]
            raise Wrong(f"{patch}: does not apply ({why}); python3 tools/patches.py FILE refreshes it")
        return {path: pathlib.Path(folder, path).read_text() for path in paths}


def merged(patch, root):
    """The same for a patch whose context lines have changed: its change is merged with the changes since the blobs that
    its index lines name, which the repository at `root` has. Raises Wrong."""
    blobs = re.findall(r"(?m)^diff --git a/(.*) b/.*\nindex (\w+)", patch.read_text())
    texts = {}
    with tempfile.TemporaryDirectory(prefix="patch-") as folder:
        base, changed = pathlib.Path(folder, "base"), pathlib.Path(folder, "changed")
        try:
            for path, blob in blobs:
                (base / path).parent.mkdir(parents=True, exist_ok=True)
                (base / path).write_text(git(root, "cat-file", "blob", blob))
            for path, text in applied(patch, base).items():
                changed.write_text(text)
                texts[path] = git(folder, "merge-file", "-p", root / path, base / path, changed)
        except subprocess.CalledProcessError:
            raise Wrong(f"{patch}: the lines that it changes, or those beside them, have changed; make the change by "
                        "hand, and put what git diff prints below the patch's first lines")
    return texts


def refresh(patch, root):
    """Rewrites the patch for the current sources. Raises Wrong."""
    try:
        texts = applied(patch, root)
    except Wrong:
        texts = merged(patch, root)
    with tempfile.TemporaryDirectory(prefix="patch-") as folder:
        copy_files(texts, root, folder)
        git(folder, "init", "-q")
        git(folder, "add", ".")
        for path, text in texts.items():
            pathlib.Path(folder, path).write_text(text)
        patch.write_text(f"{description(patch)}\n{git(folder, 'diff')}")


def main(names):
    """Returns the exit code."""
    if {"-h", "--help"} & set(names):
        print(__doc__.strip())
        return 0
    every = sorted(ROOT.glob("[0-9][0-9]_*/exercises/*.patch"))
    code = 0
    for patch in map(pathlib.Path, names) if names else every:
        try:
            refresh(patch, ROOT)
        except Wrong as wrong:
            print(wrong, file=sys.stderr)
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

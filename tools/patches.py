"""Applies patches. A patch is a unified diff below some lines that describe it. It has no more context than it takes to find its
places by their lines alone, whatever their numbers are now. `git apply --unidiff-zero` finds them, too, and -R takes it back."""
import re

from results import Wrong


def changed(file, diff, patch):
    """The text of `file` as a diff leaves it. What a piece of that replaces must stand there once, word by word. Raises Wrong, which
    names the `patch`."""
    text = file.read_text(errors="replace")
    for piece in filter(None, re.split(r"(?m)^@@.*\n", diff)):
        lines = [line or " " for line in piece.splitlines()]
        old, new = ("".join(f"{line[1:]}\n" for line in lines if line[0] in kinds) for kinds in (" -", " +"))
        places = [place.start() for place in re.finditer(rf"(?m)^(?={re.escape(old)})", text)]
        if len(places) != 1:
            line = old.strip().partition("\n")[0]
            raise Wrong(f"{patch}: '{line}' stands {len(places)} times in {file.name}, expected once")
        text = text[:places[0]] + new + text[places[0] + len(old):]
    return text


def patched(patch, root):
    """{path below `root`: text} of the files that the diffs in the file `patch` change, as they leave them. Raises Wrong."""
    diffs = (part.split("\n", 1) for part in re.split(r"(?m)^--- a/.*\n\+\+\+ b/", patch.read_text())[1:])
    return {name: changed(root / name, diff, patch) for name, diff in diffs}


def said(patch, what):
    """The value of the line 'WHAT: VALUE' above the diff; "" where there is none."""
    found = re.search(rf"(?m)^{what}: (.*)", patch.read_text().split("\n--- ")[0])
    return found[1] if found else ""

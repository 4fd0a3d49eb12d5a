"""Applies patches. A patch is a unified diff below some lines that describe it."""
import re

from results import Wrong


def patched(patch, root):
    """{path below `root`: text} of the files that the diff in the file `patch` changes, as it leaves them. What a piece of it
    replaces must stand there once, word by word. Raises Wrong."""
    changed = {}
    for part in re.split(r"(?m)^--- a/.*\n\+\+\+ b/", patch.read_text())[1:]:
        name, hunks = part.split("\n", 1)
        text = "\n" + (root / name).read_text()
        for hunk in re.split(r"(?m)^(?=@@ )", hunks)[1:]:
            where, *lines = [line or " " for line in hunk.splitlines()]
            old, new = ("\n" + "".join(f"{line[1:]}\n" for line in lines if line[0] in kinds) for kinds in (" -", " +"))
            if text.count(old) != 1:
                raise Wrong(f"{patch}: what it replaces at {where} stands {text.count(old)} times in {name}, expected once")
            text = text.replace(old, new)
        changed[name] = text[1:]
    return changed


def said(patch, what):
    """The value of the line 'WHAT: VALUE' above the diff; "" where there is none."""
    found = re.search(rf"(?m)^{what}: (.*)", patch.read_text().split("\n--- ")[0])
    return found[1] if found else ""

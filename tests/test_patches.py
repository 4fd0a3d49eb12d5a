"""Every patch of an exercise or an ablation applies to the sources as they are, with `git apply` as README says; and a
patch whose source has changed can be rewritten."""
import pytest

import patches
from results import Wrong
from support import ROOT, tool

PATCHES = sorted([*ROOT.glob("[0-9][0-9]_*/exercises/*"), *ROOT.glob("[0-9][0-9]_*/ablations/*")])
LINES = [f"line {number}\n" for number in range(1, 12)]


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: ".".join(patch.relative_to(ROOT).with_suffix("").parts))
def test_it_applies(patch):
    tool("git")
    assert all(text != (ROOT / path).read_text() for path, text in patches.patched(patch, ROOT).items())


@pytest.fixture
def patch(tmp_path):
    """A patch of line 6 of a file of eleven lines, in a repository."""
    tool("git")
    (tmp_path / "file").write_text("".join(LINES))
    patches.git(tmp_path, "init", "-q")
    patches.git(tmp_path, "add", ".")
    (tmp_path / "file").write_text("".join([*LINES[:5], "changed\n", *LINES[6:]]))
    made = tmp_path / "a.patch"
    made.write_text("what it does\n\nwithout: line 6\n\n" + patches.git(tmp_path, "diff"))
    return made


def test_it_is_made_anew(patch, tmp_path):
    """Line 3 is in the patch's context."""
    (tmp_path / "file").write_text("".join(["new\n", *LINES[:2], "neighbour\n", *LINES[3:]]))
    with pytest.raises(Wrong, match="a.patch: does not apply"):
        patches.patched(patch, tmp_path)
    patches.renew(patch, tmp_path)
    assert patches.described(patch) == "what it does\n\nwithout: line 6\n"
    assert patches.said(patch, "without") == "line 6"
    assert patches.patched(patch, tmp_path) == {
        "file": "".join(["new\n", *LINES[:2], "neighbour\n", *LINES[3:5], "changed\n", *LINES[6:]])}


def test_it_is_left_to_a_person(patch, tmp_path):
    (tmp_path / "file").write_text("".join([*LINES[:5], "another\n", *LINES[6:]]))
    before = patch.read_text()
    with pytest.raises(Wrong, match="a.patch: .* by hand"):
        patches.renew(patch, tmp_path)
    assert patch.read_text() == before

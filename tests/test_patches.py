"""Every patch of an exercise applies to the current sources with `git apply`, as README says; and a
patch whose source has changed can be refreshed."""
import pytest

import patches
from results import Wrong
from support import ROOT, tool

PATCHES = sorted(ROOT.glob("[0-9][0-9]_*/exercises/*"))
LINES = [f"line {number}\n" for number in range(1, 12)]


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: ".".join(patch.relative_to(ROOT).with_suffix("").parts))
def test_patch_applies(patch):
    tool("git")
    assert all(text != (ROOT / path).read_text() for path, text in patches.applied(patch, ROOT).items())


@pytest.fixture
def patch(tmp_path):
    """A patch that changes line 6 of an eleven-line file, in a git repository."""
    tool("git")
    (tmp_path / "file").write_text("".join(LINES))
    patches.git(tmp_path, "init", "-q")
    patches.git(tmp_path, "add", ".")
    (tmp_path / "file").write_text("".join([*LINES[:5], "changed\n", *LINES[6:]]))
    path = tmp_path / "a.patch"
    path.write_text("what it does\n\nrun: line 6\n\n" + patches.git(tmp_path, "diff"))
    return path


def test_refresh_merges_changed_context(patch, tmp_path):
    """Line 3, which has changed, is a context line of the patch."""
    (tmp_path / "file").write_text("".join(["new\n", *LINES[:2], "neighbour\n", *LINES[3:]]))
    with pytest.raises(Wrong, match="a.patch: does not apply"):
        patches.applied(patch, tmp_path)
    patches.refresh(patch, tmp_path)
    assert patches.description(patch) == "what it does\n\nrun: line 6\n"
    assert patches.applied(patch, tmp_path) == {
        "file": "".join(["new\n", *LINES[:2], "neighbour\n", *LINES[3:5], "changed\n", *LINES[6:]])}


def test_conflict_is_left_to_the_user(patch, tmp_path):
    (tmp_path / "file").write_text("".join([*LINES[:5], "another\n", *LINES[6:]]))
    before = patch.read_text()
    with pytest.raises(Wrong, match="a.patch: .* by hand"):
        patches.refresh(patch, tmp_path)
    assert patch.read_text() == before

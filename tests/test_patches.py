"""Exercises are applied and taken back as README says, by git apply --unidiff-zero, also where their places have
moved: it leaves what tests take for the patched files."""
import pytest

from patches import patched
from results import Wrong
from support import ROOT, call, tool

PATCHES = sorted(ROOT.glob("[0-9][0-9]_*/exercises/*.patch"))


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: f"{patch.parent.parent.name}.{patch.stem}")
def test_git_applies_it_and_takes_it_back(patch, tmp_path):
    files = {name: "// moved\n" * 7 + (ROOT / name).read_text() for name in patched(patch, ROOT)}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    def git(*way):
        run = call(tool("git"), "apply", "--unidiff-zero", *way, patch, cwd=tmp_path)
        assert run.returncode == 0, run.stderr
        return {name: (tmp_path / name).read_text() for name in files}

    there = patched(patch, tmp_path)
    assert git() == there
    assert git("-R") == files


@pytest.mark.parametrize("diff, times", [("-a", 0), ("-b\n+d", 2), ("+d", 4)])
def test_a_place_must_stand_there_once(diff, times, tmp_path):
    (tmp_path / "file").write_text("b\nb\nc\n")
    patch = tmp_path / "a.patch"
    patch.write_text(f"--- a/file\n+++ b/file\n@@ -9 +9 @@\n{diff}\n")
    with pytest.raises(Wrong, match=f"stands {times} times in file, expected once"):
        patched(patch, tmp_path)

"""The emulator is a self-contained library, which needs only its folder of the repository."""
import json
import shutil

import pytest

from support import BUILD, ROOT, call


def named(build):
    listed = json.loads(call("ctest", "--test-dir", build, "--show-only=json-v1").stdout)["tests"]
    return {test["name"] for test in listed if test["name"].startswith("emulator.")}


def test_registers_its_tests(tmp_path):
    """A copy outside the repository, in a folder of another name, registers the same tests."""
    if not named(BUILD):
        pytest.skip("the emulator is not built here")
    shutil.copytree(ROOT / "emulator", tmp_path / "copy")
    made = call("cmake", "-S", tmp_path / "copy", "-B", tmp_path / "build", "-G", "Ninja")
    assert made.returncode == 0, made.stderr
    assert named(tmp_path / "build") == named(BUILD)


def test_includes_nothing_of_the_repository():
    """Ninja's dependency log (.ninja_deps) lists every file from which the library and its tests were compiled."""
    objects, outside = 0, {}
    for line in call("ninja", "-C", BUILD, "-t", "deps").stdout.splitlines():
        if line and line[0] != " ":
            compiled = line.partition(":")[0]
            objects += compiled.startswith("emulator/")
        elif line and compiled.startswith("emulator/"):
            file = (BUILD / line.strip()).resolve()
            if ROOT in file.parents and not {ROOT / "emulator", BUILD} & set(file.parents):
                outside[compiled] = file
    if not objects:
        pytest.skip("the emulator is not built here")
    assert not outside

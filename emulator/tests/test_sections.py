"""The sections of a program's variables are there without such variables, too."""
import json
import os
import pathlib

from emulated import call

NO_VARIABLES = """#include <initializer_list>
#include "emulator/engine/sections.h"
int main() {
    for (const emulator::Section& s : {emulator::kDeviceVariables, emulator::kManagedVariables, emulator::kConstants})
        if (s.contains(0) || s.begin != s.end) return 1;
}
"""


def test_without_variables_they_are_empty(tmp_path):
    """And nothing is undefined then: the compiler's checks end the program."""
    how = json.loads(pathlib.Path(os.environ["EMULATED"]).read_text())
    (tmp_path / "empty.cpp").write_text(NO_VARIABLES)
    checks = "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"
    includes = [f"-I{folder}" for folder in how["includes"]]
    program = tmp_path / "empty"
    call(how["compiler"], "-std=c++17", *checks, *includes, tmp_path / "empty.cpp", "-o", program, check=True)
    assert call(program).returncode == 0

"""Reports name file and line wherever the source and the program lie, and nothing of a path is executed."""
import os

from emulated import build, call, line_of

KERNEL = """#include <cstdio>
#include "emulator/emulator.h"
__global__ void race(int* out) {
    for (int i = 0; i < 9; ++i) out[i] = i < int(threadIdx.x) ? out[i + 1] : 0;
}
int main() {
    int* out;
    cudaMalloc(&out, 40);
    cudaMemset(out, 0, 40);
    race<<<1, 64>>>(out);
    for (const std::string& problem : emulator::counts().problems) std::puts(problem.c_str());
    for (const emulator::Line& line : emulator::lines()) std::puts(line.where.c_str());
}
"""


def test_any_folder(tmp_path):
    """The path has a blank, an apostrophe, a command of a shell, and what looks like a remark of addr2line. It is
    TMPDIR, too."""
    top = tmp_path / "a b';touch INJECTED;'$(touch INJECTED) (discriminator 9)"
    folder = top / "chapter ;touch INJECTED;'"
    folder.mkdir(parents=True)
    (folder / "race.cu").write_text(KERNEL)
    program = build(folder / "race.cu")
    run = call(program, cwd=tmp_path, env={**os.environ, "TMPDIR": str(top)})
    lines = run.stdout.splitlines()
    line = line_of(KERNEL, "out[i + 1]")
    place = f"{folder.name}/race.cu:{line}"
    assert run.returncode == 0 and run.stderr == ""
    race = f"race in global memory: {place} writes what race.cu:{line} "
    assert any(line.startswith(race) for line in lines), run.stdout
    assert {line for line in lines if " (block" not in line} == {place}, run.stdout
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith("INJECTED")]

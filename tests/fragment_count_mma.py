"""count_mma.py counts what it should, where the tools are: fragment_count_mma.py COUNT_MMA --nvcc NVCC"""
import re
import shutil
import subprocess
import sys

from checks import check, end

script, options = sys.argv[1], sys.argv[2:]


def count(*words):
    run = subprocess.run([sys.executable, "-B", script, *words], capture_output=True, text=True)
    return run.returncode, run.stdout, run.stderr


def check_counts(text, expected):
    """`expected`: for the architectures, the numbers of (half, float) or (global, shared) instructions by what they belong to."""
    seen = 0
    line = r"(sm_\d+) +(mma_sync|mma\.m8n8k4|load_matrix_sync),? [ A]*\w+: (\d+) .*; \w+: (\d+) "
    for arch, what, first, second in re.findall(line, text):
        numbers = expected(int(arch[3:]), what)
        if numbers:
            check((int(first), int(second)) == numbers, f"{arch} {what}: {numbers}", (first, second))
            seen += 1
    check(seen >= 4, "the output can be read", text)


def machine_code(arch, what):
    if what == "mma_sync":
        return {70: (8, 16), 75: (4, 4)}.get(arch, (2, 2))
    if what == "mma.m8n8k4":
        return (2, 4) if arch <= 75 else None  # the steps of one set; later chips have no such instruction
    return {70: None, 75: (4, 2)}.get(arch, (4, 1))


code, out, err = count(*options, "--cuobjdump", "/nonexistent/cuobjdump")
check(code == 0 and "PTX" in out and "cuobjdump" in out, "without cuobjdump it counts PTX and says so", out + err)
check_counts(out, lambda arch, what: (1, 1))
code, out, err = count("--nvcc", "/nonexistent/nvcc")
check(code == 77 and len(err.strip().split("\n")) == 1, "without nvcc: one line, exit code 77", out + err)
code, out, err = count("--odd")
check(code == 2, "an odd option: exit code 2", out + err)

if shutil.which("cuobjdump"):
    code, out, err = count(*options)
    check(code == 0 and "SASS" in out, "with cuobjdump it counts machine code", out + err)
    check_counts(out, machine_code)
    turned = [line for line in out.split("\n") if "column-major: 4 LDG" in line and "4 MOVM" in line]
    check(len(turned) >= 2, "on sm_75 and later a column-major A is turned in registers", out)
    check("sm_70" in out, "sm_70 is counted, or named as not built", out)
else:
    print("left out: there is no cuobjdump, so the machine code can't be counted")
end()

"""Every program that a reader can call answers --help and -h: help.py PROGRAM...

Exit code 0; on stdout and nowhere else; the first line names the program; there is an example; no line is over 132 characters.
A program's CPU builds (NAME_cpu, NAME_cpu_trace, NAME_cpu_asan) go by its name.
"""
import pathlib
import re
import subprocess
import sys

from checks import check, end

WIDTH = 132


def faults(path, option):
    """What is wrong with the answer of the program at `path`, and the answer."""
    command = [sys.executable, "-B", path, option] if path.suffix == ".py" else [path, option]
    run = subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=60)
    lines = run.stdout.replace(str(path), f"./{path.name}").splitlines()  # as it is called from its own folder
    name = re.sub(r"_cpu(_trace|_asan)?$", "", path.stem)
    wrong = {f"exit code {run.returncode}": run.returncode != 0,
             f"on stderr: {run.stderr.strip()[-200:]}": run.stderr,
             f"the first line does not name {name}": not lines or not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", lines[0]),
             "no example": "xample" not in run.stdout,
             f"a line over {WIDTH} characters": any(len(line) > WIDTH for line in lines)}
    return [f"  {option}: {what}" for what, so in wrong.items() if so], run.stdout


for program in sys.argv[1:]:
    path = pathlib.Path(program).resolve()
    (wrong, text), (wrong_too, text_too) = faults(path, "--help"), faults(path, "-h")
    if text != text_too:
        wrong_too.append("  -h: another text than --help's")
    check(not wrong + wrong_too, f"{path.name} --help: {len(text.splitlines())} lines", "\n".join(wrong + wrong_too))
check(len(sys.argv) > 1, f"{len(sys.argv) - 1} programs asked")
end()

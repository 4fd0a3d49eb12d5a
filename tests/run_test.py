"""What ./run and ./test do with bad input, failing stages, old build folders and missing packages: run_test.py ROOT BUILD

Most of it happens in a folder of stand-ins; see stand_ins.py.
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from checks import check, end
from stand_ins import StandIns, call, expect, press_ctrl_c

root, build = (pathlib.Path(path).resolve() for path in sys.argv[1:3])


def tree():
    """What git sees as changed."""
    known = (root / ".git").exists() and shutil.which("git")
    return call("git", "-C", root, "status", "--porcelain").stdout if known else ""


def clean(s, what):
    left = [path.name for path in (*s.temporary.iterdir(), *s.here.glob("*.csv*"))]
    check(not left, f"{what}: nothing is left behind", left)


def ladder(s):
    """One table and one CSV out of several programs."""
    every = ["01_one", "02_two", "03_three"]
    for words in ([], ["02"], ["2"], ["02_two"], ["02_two/"]):
        stages = ["02_two"] if words else every
        run = s.call("run", *words, "--size", "8")
        rows = [f"header of {stages[0]}", "stage  options", *(f"{stage} --size 8" for stage in stages)]
        rows.append("Counted on the CPU: the prediction is the roofline's, and nothing was timed.")
        check(run.returncode == 0 and run.stdout.splitlines() == rows, f"run {' '.join(words)}: header, rows, note", run)
    check("apt-get" not in s.calls.read_text(), "with everything installed apt-get is not called", s.calls.read_text())
    run = s.call("run", "--csv", "all.csv")
    csv = (s.here / "all.csv").read_text() if (s.here / "all.csv").exists() else "none"
    check(run.returncode == 0 and csv == "stage,x\n01_one,1\n02_two,1\n03_three,1\n", "--csv gathers all stages", csv)
    (s.here / "all.csv").unlink()
    run = s.call("run", "--csv=/dev/stdout", "03")
    expect(run, 0, "--csv to what is no regular file", out="stage,x\n03_three,1\n")
    (s.here / "link.csv").symlink_to(s.here / "linked.csv")
    s.call("run", "--csv", "link.csv", "03")
    check((s.here / "link.csv").is_symlink() and (s.here / "linked.csv").exists(), "--csv to a link writes what it links to")
    (s.here / "link.csv").unlink()
    (s.here / "linked.csv").unlink()
    expect(s.call("run", "04", "--size", "8"), 0, "the OpenCL chapter", out="04_four --size 8\n", lines=0)
    expect(s.call("run", "04", "--cpu"), 0, "and on the CPU", out="04_four --platform Portable Computing Language\n", lines=0)
    for word in ("zero_host", "00", "0"):
        run = s.call("run", word, "--cpu", "--repeat", "3")
        expect(run, 0, f"run {word}: a program of the CPU alone, which has no other build", out="zero_host --repeat 3\n", lines=0)
    check("--target zero_host\n" in s.calls.read_text(), "it is what is built", s.calls.read_text())
    clean(s, "after CSVs")


def steps(s):
    """./run diff."""
    for stage, text in (("01_one", "// Changed: nothing\na\nb\nc\n"), ("02_two", "// Changed:  b; and d\na\nB\nc\nd\n"),
                        ("03_three", "a\n")):
        (s.here / stage / "matmul.cu").write_text(text)
    run = s.call("run", "diff", "01", "2")
    lines = run.stdout.splitlines()
    expect(run, 0, "diff: a step", out="\nlook for: b; and d\n--- 01_one\n+++ 02_two\n@@ -1,4 +1,5 @@\n", lines=0)
    check(lines[0].split() == "01_one -> 02_two 5 changed lines".split() and lines[-1] == "+d" and "-b" in lines, "its lines", lines)
    expect(s.call("run", "diff", "02_two/", "02_two"), 0, "diff: of a stage with itself", out=" 0 changed lines\n", lines=0)
    run = s.call("run", "diff", "--sizes")
    expect(run, 0, "diff --sizes", out="01_one                   -> 02_two                     5 changed lines\n", lines=0)
    check(run.stdout.count("\n") == 2, "a line for every step", run.stdout)
    for words, said in ((["01"], "diff: takes two stages, such as 03 04, or --sizes"), ([], "diff: takes two stages"),
                        (["01", "9"], "diff '9': takes one of 01_one 02_two"), (["", "01"], "diff '': takes one of"),
                        (["0", "01"], "diff '0': takes one of"), (["01", "04/1"], "diff '04/1': takes one of")):
        expect(s.call("run", "diff", *words), 2, f"diff {' '.join(words)}", err=said, lines=1)
    check(s.calls.read_text() == "", "nothing is built for it", s.calls.read_text())


def failing_stages(s):
    for code, others in ((1, True), (2, False), (3, False), (77, False), (139, False)):
        s.stage("02_two", code)
        run = s.call("run", "--csv", "all.csv")
        expect(run, code, f"a stage that ends with {code}", out="01_one", err="02_two: failed", lines=1)
        check(("03_three" in run.stdout) == others, f"after {code} the others run: {others}", run.stdout)
        check("header of 02_two" not in run.stdout, "its header isn't repeated", run.stdout)
        clean(s, f"after {code}")
    s.stage("01_one", 1)
    s.stage("02_two", 3)
    expect(s.call("run"), 1, "the exit code is that of the first stage that failed")
    s.stage("02_two")
    expect(s.call("run"), 1, "a header is above the first row", out="header of 02_two\nstage  options\n02_two \n03_three \n")
    s.stage("01_one", before="sleep 30")
    process = subprocess.Popen([s.here / "run", "--csv", "all.csv"], env=s.environment(), cwd=s.here, start_new_session=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    while process.poll() is None and not list(s.temporary.iterdir()):
        time.sleep(0.01)
    time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    check(process.wait(timeout=20) == 130, "interrupted: exit code 130", process.returncode)
    clean(s, "interrupted")
    s.stage("01_one")


def ctrl_c(s):
    """Leaves the terminal and the files in order, whenever it comes."""
    old = s.here / "all.csv"
    old.write_text("old\n")

    def press(what, command, when, codes=(130,), **environment):
        code, output, left = press_ctrl_c(command, when, env={**s.environment(), **environment}, cwd=s.here)
        there = [path.name for path in (*s.temporary.iterdir(), *s.here.glob("*.csv*"))]
        good = code in codes and left == "" and "Traceback" not in output and there == ["all.csv"] and old.read_text() == "old\n"
        check(good, f"Ctrl-C {what}", (code, output, left, there))
        return output

    s.stage("02_two", before="printf 'header\\rworking' >&2; sleep 30")
    press("in a stage's line of progress", [s.here / "run", "--csv", old], "working")
    s.stage("02_two")
    # As ninja does: it says so, and ends with a code of its own.
    s.tool("cmake", """[ "$1" = --version ] && echo cmake version 4.0.1
        [ "$1" != --build ] || { trap 'echo stopped; exit 2' INT; echo building; sleep 30; }""")
    for command in ("run", "test"):
        output = press(f"while {command} builds", [s.here / command], "building")
        check("build failed" not in output, "is no failure of the build", output)
    s.tool("cmake", '[ "$1" != --version ] || echo "cmake version 3.24.0"')
    (s.here / "matplotlib.py").write_text("import time\nprint('drawing', flush=True)\ntime.sleep(30)\n")
    press("while plot.py draws", [sys.executable, "-B", s.here / "tools/plot.py", s.here], "drawing", (-signal.SIGINT,),
          PYTHONPATH=str(s.here))


def bad_input(s):
    names = "01_one 02_two 03_three"
    missing = s.here / "missing/out.csv"
    empty, full, file = s.here / "empty", s.here / "full", s.here / "file"
    empty.mkdir()
    full.mkdir()
    (full / "limits.csv").touch()
    file.touch()
    for words, said in ((["99"], f"unknown stage '99': takes one of {names}"),
                        ([""], f"unknown stage '': takes one of {names}"),
                        (["--plot", "a", "b"], "unexpected argument 'b': --plot takes one folder of results, or none"),
                        (["--all", "--against", s.here / "none"], f"--against '{s.here}/none': takes a folder of results"),
                        (["--all", f"--against={empty}"], f"--against '{empty}': takes a folder of results"),
                        (["--all", "--against="], "--against '': takes a folder of results"),
                        (["--all", "--against"], "--against: needs a value"),
                        (["--all", "--against", full, full], f"--against '{full}': that is where the results would go"),
                        (["--all", "--size", "8"], "unknown option '--size': --all takes a folder"),
                        (["--all", "new", "b"], "unexpected argument 'b': --all takes the name of one folder"),
                        (["--all", ""], "unexpected argument '': --all takes the name of one folder"),
                        (["--all", file], f"--all '{file}': can't be written: File exists"),
                        (["--all", file / "b"], f"--all '{file}/b': can't be written: Not a directory"),
                        (["--compare", full], "--compare: takes two folders of results"),
                        (["--compare", full, full, full], "--compare: takes two folders of results"),
                        (["--compare", full, empty], f"--compare '{empty}': takes a folder of results"),
                        (["--csv"], "--csv: needs a value"), (["--csv", ""], "--csv '': takes the name of a file"),
                        (["--csv", missing], f"--csv '{missing}': can't be written: No such file or directory"),
                        (["--csv", s.here], f"--csv '{s.here}': can't be written: Is a directory")):
        run = s.call("run", *words)
        expect(run, 2, f"run {' '.join(map(str, words))}", err=said, lines=1)
        check(run.stdout == "" and s.calls.read_text() == "", "found before building", s.calls.read_text())
    check(not list(s.here.glob("results-*")) and not (s.here / "new").exists(), "and no folder is made", list(s.here.iterdir()))
    clean(s, "after bad input")


def build_folder(s):
    """What is in it is kept where it can be."""
    gone = s.here / "gone"
    for changed in ("", "HOME_DIRECTORY", "CACHEFILE_DIR", "MAKE_PROGRAM", "CXX_COMPILER", "CUDA_COMPILER"):
        s.cache(**({f"CMAKE_{changed}": gone} if changed else {}))
        run = s.call("run", "01")
        good = ("--fresh" in s.calls.read_text()) == bool(changed)
        check(good and run.stderr.count("\n") == bool(changed), f"a build folder with another {changed or '-'}", run)
    s.cache()
    for step in ("-S", "--build"):
        s.tool("cmake", f"""case $1 in
            --version) echo cmake version 4.0.1;;
            {step}) echo said {step}; exit 1;;
            esac""")
        for command in ("run", "test"):
            run = s.call(command)
            expect(run, 1, f"{command}: cmake {step} fails", err=f"said {step}\n{s.here / command}: build failed\n", lines=2)
        expect(s.call("run", "--all"), 1, f"run --all: cmake {step} fails", err=": build failed\n", lines=2)
        check(not list(s.here.glob("results-*")), "and leaves no empty folder", list(s.here.iterdir()))


def missing_packages(s):
    (s.here / "no_libraries").touch()
    libraries = "libboost-context-dev libgtest-dev ocl-icd-opencl-dev"
    s.tool("apt-get", "echo 'E: Unable to locate package' >&2; exit 100")
    run = s.call("run")
    expect(run, 2, "run: a package that can't be had", err="(Unable to locate package): libboost-context-dev\n", lines=2)
    expect(s.call("test"), 2, "test: packages that can't be had", err=f"): {libraries}\n", lines=2)
    (s.bin / "apt-get").unlink()
    expect(s.call("run"), 2, "run without apt-get", err="(there is no apt-get): libboost-context-dev\n", lines=1)
    s.tool("nvcc", "")
    s.tool("nvidia-smi", "echo 'GPU 0: made up'")
    environment = s.environment()
    del environment["CUDACXX"]
    run = call(s.here / "test", "-R", "03", env=environment)
    expect(run, 0, "test with nvcc goes on without them", 
           err=f"): {libraries}; left out: the tests on the CPU emulator, the unit tests, tests of 08_opencl_gcn\n")
    check(" -R 03" in s.calls.read_text().splitlines()[-1], "ctest gets the options", s.calls.read_text())
    shutil.copy(s.here / "build/bin/01_one_cpu_trace", s.here / "build/bin/01_one")
    run = call(s.here / "run", "01", env=environment)
    expect(run, 0, "run with nvcc and a GPU needs neither", out="01_one")
    check("nothing was timed" not in run.stdout, "and says nothing of the CPU", run.stdout)
    expect(call(s.here / "run", "01", "--cpu", env=environment), 2, "but for --cpu", err="libboost-context-dev\n", lines=1)
    for tool in ("nvcc", "nvidia-smi"):
        (s.bin / tool).unlink()
    s.tool("apt-get", f'case "$*" in *install*) rm {s.here}/no_libraries;; esac')
    run = s.call("test")
    expect(run, 0, "test installs what it may", err=f"installing {libraries} (apt-get)\n")
    calls = [line for line in s.calls.read_text().splitlines() if line.startswith("apt-get")]
    check(len(calls) == 2 and calls[0].endswith(" update") and calls[1].endswith(
        f" install -y --no-install-recommends {libraries}"), "by one update and one install", calls)
    s.tool("cmake", 'echo "cmake version 3.22.1"')
    expect(s.call("run"), 2, "a cmake that is too old", err=": cmake (3.24 or later)\n", lines=2)


def real_commands():
    """In the real tree and build folder, which are up to date when ctest runs this."""
    stages = sorted(path.parent.name for path in root.glob("[0-9][0-9]_*/matmul.cu"))
    environment = {**os.environ, "BUILD_DIR": str(build)}
    run = call(root / "run", "--help", env=environment)
    expect(run, 0, "run --help", out=" ".join(stages), lines=0)
    check("--sizes" in run.stdout and "Examples:" in run.stdout, "run --help: examples, the options of a stage", run.stdout)
    run = call(root / "run", "diff", "--sizes")
    sizes = {line.split()[2]: int(line.split()[3]) for line in run.stdout.splitlines()}
    check(len(sizes) == 9 and all(size <= 120 for name, size in sizes.items() if name != "06_wmma"),
          "no step but that to 06 changes more than 120 lines", run.stdout)
    expect(call(root / "run", "diff", "04", "05"), 0, "a real step", out="look for: As, Bs, a and b twice", lines=0)
    expect(call(root / "test", "--help"), 0, "test --help", out="Examples:", lines=0)
    if all((build / f"bin/{stage}_cpu_trace").exists() for stage in stages):
        run = call(root / "run", "--cpu", "--size", "16", env=environment, cwd=tempfile.gettempdir())
        expect(run, 0, "run --cpu --size 16, from another folder", out="nothing was timed")
        first = [line.split()[0] for line in run.stdout.splitlines()]  # words
        good = first[-len(stages) - 1:-1] == stages and first.count("stage") == 1
        check(good, "its table has a row a stage under one header", run.stdout)
        with tempfile.TemporaryDirectory() as folder:
            program, csv = build / f"bin/{stages[0]}_cpu_trace", pathlib.Path(folder, "new.csv")
            code, output, left = press_ctrl_c([program, "--size", "512", "--csv", csv], "forward order")
            good = code == -signal.SIGINT and left == "" and not list(csv.parent.iterdir())
            check(good, "Ctrl-C in a program's line of progress: the line goes, and nothing is written", (code, output, left))
            os.mkfifo(f"{csv}.part")  # where it waits for a reader, its CSV half written
            code, output, left = press_ctrl_c([program, "--csv", csv], 1)
            check(code == -signal.SIGINT and not list(csv.parent.iterdir()), "and a half-written file goes, too", (code, output))
    else:
        print("left out: the programs for the CPU are not built")


before = tree()
for part in (ladder, steps, failing_stages, ctrl_c, bad_input, build_folder, missing_packages):
    with tempfile.TemporaryDirectory() as folder:
        part(StandIns(folder))
real_commands()
check(tree() == before, "the source tree is as it was", tree())
end()

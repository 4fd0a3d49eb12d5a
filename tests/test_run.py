"""What ./run and ./test do with bad input, failing stages, old build folders and missing packages: in a folder of stand-ins. The
last tests take the real programs."""
import fcntl
import os
import re
import shutil
import signal
import subprocess

import pytest

from stand_ins import STAGES, StandIns, eventually, failed, press_ctrl_c, runs, s, shared  # noqa: F401  (the fixtures)
from support import BUILD, ROOT, call, program

all_py, machine, run_py = (__import__(name) for name in ("all", "machine", "run"))

LIBRARIES = "libboost-context-dev libgtest-dev ocl-icd-opencl-dev"
NOTE = "Counted on the CPU: the prediction is the roofline's, and nothing was timed."


@pytest.fixture(scope="module", autouse=True)
def source_tree():
    """It stays as git sees it."""
    def changed():
        known = (ROOT / ".git").exists() and shutil.which("git")
        return known and subprocess.run(["git", "-C", ROOT, "status", "--porcelain"], capture_output=True).stdout

    before = changed()
    yield
    assert changed() == before


# One table and one CSV out of several programs.

@pytest.mark.parametrize("words", ([], ["02"], ["2"], ["02_two"], ["02_two/"]), ids=str)
def test_ladder(shared, words):
    run = shared.call("run", *words, "--size", "8")
    stages = ["02_two"] if words else STAGES
    assert run.returncode == 0 and run.stdout.splitlines() == [
        f"header of {stages[0]}", "stage  options", *(f"{stage} --size 8" for stage in stages), NOTE]
    assert "apt-get" not in run.calls and "sudo" not in run.calls


def test_steps_of_a_chapter(s):
    (s.here / "02_two/1_first.cu").write_text("")
    s.stage("02_two/1_first")
    for words, rows in ((["02"], ["02_two/1_first", "02_two"]), (["2/1"], ["02_two/1_first"]),
                        ([], STAGES), (["--steps"], ["01_one", "02_two/1_first", *STAGES[1:]])):
        run = s.call("run", *words, "--csv", "steps.csv")
        assert run.returncode == 0
        assert [line.split(",")[0] for line in (s.here / "steps.csv").read_text().splitlines()] == ["stage", *rows]
    failed(s.call("run", "02/7"), 2, "unknown stage '02/7'")


def test_csv_gathers_all_stages(s):
    (s.here / "all.csv").write_text("old")
    (s.here / "all.csv").chmod(0o640)
    victim, link = s.here / "victim", s.here / "link.csv"
    victim.write_text("mine")
    for name in ("all.csv.part", ".all.csv.part"):
        (s.here / name).symlink_to(victim)
    assert s.call("run", "--csv", "all.csv").returncode == 0
    assert (s.here / "all.csv").read_text() == "stage,x\n01_one,1\n02_two,1\n03_three,1\n"
    assert (s.here / "all.csv").stat().st_mode & 0o777 == 0o640
    assert victim.read_text() == "mine" and (s.here / "all.csv.part").is_symlink()  # no file of a predictable name is overwritten
    assert "stage,x\n03_three,1\n" in s.call("run", "--csv=/dev/stdout", "03").stdout
    link.symlink_to(s.here / "linked")
    s.call("run", "--csv", "link.csv", "03")
    assert link.is_symlink() and (s.here / "linked").read_text() == "stage,x\n03_three,1\n"
    for name in ("all.csv", "all.csv.part", ".all.csv.part", "link.csv"):
        (s.here / name).unlink()
    (s.here / "-x").mkdir()
    assert s.call("run", "03", "--csv", "./-x/-y.csv").returncode == 0 and (s.here / "-x/-y.csv").exists() and not s.left_behind()
    umask = os.umask(0)
    os.umask(umask)
    assert (s.here / "-x/-y.csv").stat().st_mode & 0o777 == 0o666 & ~umask


@pytest.mark.parametrize("words, printed, target", (
    (["04", "--size", "8"], "04_four --size 8\n", "04_four"),
    (["04", "--cpu"], "04_four --platform Portable Computing Language\n", "04_four"),
    (["zero_host", "--cpu", "--repeat", "3"], "zero_host --repeat 3\n", "zero_host"),
    (["one", "--csv", "a b.csv"], "one_cpu --csv a b.csv\n", "one_cpu"),
    (["00", "-x"], "one_cpu:\none_cpu -x\nzero_host:\nzero_host -x\n", "one_cpu zero_host"),
    (["0"], "one_cpu:\none_cpu \nzero_host:\nzero_host \n", "one_cpu zero_host")), ids=str)
def test_other_programs(shared, words, printed, target):
    run = shared.call("run", *words)
    assert (run.returncode, run.stdout, run.stderr) == (0, printed, "") and f"--target {target}\n" in run.calls


# ./run diff

def test_diff(s):
    for file, text in (("01_one/matmul.cu", "// Changed: nothing\na\nb\nc\n"),
                       ("02_two/matmul.cu", "// Changed:  b; and d\na\nB\nc\nd\n"), ("03_three/matmul.cu", "// Changed:  (from 01) less\na\n"),
                       ("02_two/1_first.cu", "// Changed: b\na\nB\nc\n"), ("04_four/01_x.cl", "a\n"),
                       ("04_four/02_y.cl", "b\n")):
        (s.here / file).write_text(text)
    run = s.call("run", "diff", "01", "2")
    lines = run.stdout.splitlines()
    assert run.returncode == 0 and run.stderr == "" and run.calls == "" and not run.stdout.count("\033")
    assert lines[0].split() == "01_one -> 02_two 3 changed lines, 5 with the comment".split()
    assert lines[1:3] == ["    b; and d", "--- 01_one"]
    assert lines[3:5] == ["+++ 02_two", "@@ -1,4 +1,5 @@"] and lines[-1] == "+d" and "-b" in lines
    assert " 0 changed lines, " in s.call("run", "diff", "02_two/", "02_two").stdout
    steps = ["01_one -> 02_two/1_first 2", "02_two/1_first -> 02_two 1", "01_one -> 03_three 2", "01_x.cl -> 02_y.cl 2"]
    for words, shown in (([], steps), (["--sizes"], steps), (["02"], steps[:2]), (["02/1"], steps[:1]), (["3"], steps[2:3]),
                         (["04"], steps[3:]), (["01"], []), (["02/1", "02"], steps[1:2]), (["1", "2/1_first"], steps[:1]),
                         (["04/01", "04/02_y.cl"], steps[3:])):
        run = s.call("run", "diff", *words)
        assert run.returncode == 0
        assert [" ".join(line.split()[:4]) for line in run.stdout.splitlines() if " -> " in line] == shown


def test_ablation(s):
    """Without a GPU it says so. (tests/test_ablation.py verifies what it would time.)"""
    (s.here / "02_two/matmul.cu").write_text("a\n")
    (s.here / "02_two/ablations").mkdir()
    patch = s.here / "02_two/ablations/a.patch"
    patch.write_text("without: a\n\n--- a/02_two/matmul.cu\n+++ b/02_two/matmul.cu\n@@ -1 +1 @@\n-a\n+b\n")
    for words in ([], ["2"], ["02_two", "--repeat", "3"]):
        failed(s.call("run", "ablation", *words), 77, "ablation: times forms of the stages on a GPU")
    failed(s.call("run", "ablation", "3"), 2, "ablation '3': takes one of 02_two, or its number")
    failed(s.call("run", "ablation", "--sizes", "8:8:8"), 2, "ablation: unrecognized arguments: --sizes")
    failed(s.call("run", "ablation", "--csv", "no/such"), 2, "--csv 'no/such': can't be written")
    failed(s.call("run", "ablation", "--programs", "no/such"), 2, "--programs 'no/such': takes a folder")
    patch.write_text(patch.read_text().replace("-a", "-c"))
    failed(s.call("run", "ablation"), 1, "a.patch: what it replaces at @@ -1 +1 @@ stands 0 times in 02_two/matmul.cu, expected once")


SIDE_BY_SIDE = """\
int a = 1;    | int a = 2;
same            same
long line tha | long line tha
t goes on 1   | t goes on 2
gone          | came instead
also gone     <
last            last
              >
              > new
"""


def test_diff_side_by_side(s):
    for file, text in (
            ("01_one", "int a = 1;\nsame\nlong line that goes on 1\ngone\nalso gone\nlast\n"),
            ("02_two", "int a = 2;\nsame\nlong line that goes on 2\ncame instead\nlast\n\nnew\n")):
        (s.here / file / "matmul.cu").write_text(text)
    run = s.call("run", "diff", "--side", "01", "02", environment={"COLUMNS": "29"})
    assert run.returncode == 0 and run.stdout.splitlines()[1:] == SIDE_BY_SIDE.splitlines()
    failed(s.call("run", "diff", "--side"), 2, "diff: takes a chapter, two steps such as 03 04/1, or none")
    terminal, its_end = os.openpty()
    s.call("run", "diff", "--side", "01", "02", environment={"COLUMNS": "29"}, stdout=its_end)
    os.close(its_end)
    shown = os.read(terminal, 65536).decode()
    os.close(terminal)
    assert "\033[31mint a = 1;   \033[0m | \033[32mint a = 2;\033[0m\r\n" in shown
    assert "\nsame            same\r\n" in shown



# Failing stages

@pytest.mark.parametrize("code, others, before", ((1, True, ""), (2, False, ""), (3, False, ""), (139, False, ""),
                                                  (139, False, "kill -SEGV $$")), ids=str)
def test_failing_stage(s, code, others, before):
    s.stage("02_two", code, before)
    run = s.call("run", "--csv", "all.csv")
    failed(run, code, "run: 02_two: killed by SIGSEGV" if before else "02_two: failed")
    assert "01_one" in run.stdout and "header of 02_two" not in run.stdout and ("03_three" in run.stdout) == others
    assert not s.left_behind()


def test_stage_that_this_gpu_lacks_something_for(s):
    s.stage("02_two", 77)
    run = s.call("run", "--csv", "all.csv")
    assert run.returncode == 0 and run.stderr.endswith("02_two: failed\n") and "03_three" in run.stdout
    assert (s.here / "all.csv").read_text() == "stage,x\n01_one,1\n03_three,1\n"
    s.stage("01_one", 77)  # the first one: there is no GPU
    run = s.call("run")
    failed(run, 77, "01_one: failed")
    assert "03_three" not in run.stdout


def test_first_failure_counts(s):
    s.stage("01_one", 1)
    s.stage("02_two", 3)
    assert s.call("run").returncode == 1
    s.stage("02_two")
    run = s.call("run")
    assert run.returncode == 1 and "header of 02_two\nstage  options\n02_two \n03_three \n" in run.stdout
    s.script(s.here / "build/bin/one_cpu", "exit 3")
    s.script(s.here / "build/bin/zero_host", "exit 1")
    run = s.call("run", "00")
    assert run.returncode == 3 and run.stdout == "one_cpu:\nzero_host:\n"


@pytest.mark.parametrize("how, group, code", ((signal.SIGINT, True, 130), (signal.SIGINT, False, 130), (signal.SIGTERM, False, 143),
                                              (signal.SIGKILL, False, -9)), ids=str)
def test_ended(s, how, group, code):
    """By a signal: its programs end with it, and nothing is left; not even a process after kill -9."""
    s.stage("01_one", before=f'echo $$ >"{s.here}/pid"; exec sleep 30')
    process = s.start("run", "--csv", "all.csv")
    pid = eventually(lambda: (s.here / "pid").exists() and (s.here / "pid").read_text().strip())
    (os.killpg if group else os.kill)(process.pid, how)
    assert process.wait(timeout=20) == code and eventually(lambda: not runs(pid), 5)
    process.communicate()
    assert how == signal.SIGKILL or not s.left_behind()


@pytest.mark.parametrize("where, code, said", (("full", 2, "run: stdout: No space left on device\n"),
                                               ("closed", 2, "run: stdout: is closed\n"), ("pipe", 141, ""),
                                               ("no stderr", 0, "")), ids=str)
def test_output_fails(s, where, code, said):
    with open("/dev/full", "w") as full:
        options = {"full": {"stdout": full}, "closed": {"preexec_fn": lambda: os.close(1)}, "pipe": {},
                   "no stderr": {"preexec_fn": lambda: os.close(2)}}[where]
        process = s.start("run", **options)
        if where == "pipe":
            process.stdout.close()
        assert (process.wait(timeout=20), process.stderr.read()) == (code, said) and not s.left_behind()


# Ctrl-C leaves the terminal and the files in order, whenever it comes.

BUILDING = '[ "$1" != --build ] || { trap "echo stopped; exit 2" INT; echo building; sleep 30; }'  # as ninja ends


@pytest.mark.parametrize("command, when", (("run", "working"), ("run", "building"), ("test", "building"), ("run", "waiting for"),
                                           ("plot", "drawing")))
def test_ctrl_c(s, command, when):
    old = s.here / "all.csv"
    old.write_text("old\n")
    words = [s.here / command]
    holder = None
    if when == "working":
        s.stage("02_two", before="printf 'header\\rworking' >&2; sleep 30")
        words += ["--csv", old]
    elif when == "building":
        s.cmake(BUILDING)
    elif when == "waiting for":
        holder = open(s.here / "build/lock", "w")
        print(7, file=holder, flush=True)
        fcntl.flock(holder, fcntl.LOCK_EX)
    else:
        (s.here / "matplotlib.py").write_text("import time\nprint('drawing', flush=True)\ntime.sleep(30)\n")
        words = [s.here / "run", "plot", s.here]
    code, output, left = press_ctrl_c(words, when, env=s.environment(PYTHONPATH=str(s.here)), cwd=s.here)
    if holder:
        holder.close()
        assert f"waiting for process 7, which is building in {s.here}/build" in output
    assert code == 130 and left == "" and "Traceback" not in output and "build failed" not in output, (code, output, left)
    assert s.left_behind() == ["all.csv"] and old.read_text() == "old\n"


# Bad input is found before anything is built.

BAD = (  # {0}: the folder; {1}: one without results; {2}: one with; {3}: a file
    ("99", f"unknown stage '99': takes one of {run_py.STAGE_NAMES}, or its number, or {run_py.OTHER_NAMES}"),
    ("|", "unknown stage '': takes one of 01_naive 02_"), ("\x1b[31m", "unknown stage '?[31m'"),
    ("plot|a|b", "plot: unexpected argument 'b': takes one folder of results, or none"),
    ("all|--against|{0}/none", "--against '{0}/none': takes a folder of results"),
    ("all|--against={1}", "--against '{1}': takes a folder of results"),
    ("all|--against=", "--against '': takes a folder of results"),
    ("all|--against", "--against: expected one argument"),
    ("all|--against|{2}|{2}", "--against '{2}': that is where the results would go"),
    ("all|--size|8", "unrecognized arguments: --size"), ("all|new|b", "all: unrecognized arguments: b"),
    ("all|", "all '': takes the name of a folder"), ("all|{3}", "all '{3}': can't be written: File exists"),
    ("all|{3}/b", "all '{3}/b': can't be written: Not a directory"),
    ("compare|{2}", "compare: takes two folders of results"), ("compare|{2}|{2}|{2}", "compare: takes two folders of results"),
    ("compare|{2}|{1}", "compare '{1}': takes a folder of results"),
    ("pictures|x", "pictures: unexpected argument 'x': takes none"),
    ("--csv", "--csv: expected one argument"), ("--csv=", "--csv '': takes the name of a file"),
    ("--csv|-x.csv", "--csv: expected one argument"),
    ("--csv=-x.csv", "--csv '-x.csv': takes the name of a file; for one of that name"),
    ("--csv|--size|8", "--csv: expected one argument"), ("00|--csv|f", "name one of blas_host latency "),
    ("--csv|{0}/missing/out.csv", "--csv '{0}/missing/out.csv': can't be written: No such file or directory"),
    ("probe|--csv|{0}/missing/out.csv", "can't be written: No such file or directory"),
    ("--csv|{0}", "--csv '{0}': can't be written: Is a directory"),
    ("diff|01|02|03", "diff: takes a chapter, two steps such as 03 04/1, or none"),
    ("diff|--sizes|01", "diff: takes a chapter"),
    ("diff|01|99", "diff '99': takes one of 01_naive 02_"),
    ("diff||01", "diff '': takes one of"), ("diff|0|01", "diff '0': takes one of"),
    ("diff|01|04/7", "diff '04/7': takes one of"), ("diff|01|*", "diff '*': takes one of"),
    ("test|--bogus", "test: unrecognized arguments: --bogus"), ("test|03", "test: unrecognized arguments: 03"),
    ("test|-R", "-R: expected one argument"))


@pytest.mark.parametrize("words, said", BAD, ids=[words.replace("\x1b", "ESC") for words, _ in BAD])
def test_bad_input(words, said, tmp_path, monkeypatch, capsys):
    empty, full, file = places = [tmp_path / name for name in ("empty", "full", "file")]
    for folder in (empty, full):
        folder.mkdir()
    (full / "limits.csv").touch()
    file.touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(machine, "name", "run")
    monkeypatch.setattr(machine, "running", None)  # nothing is started
    monkeypatch.setattr(machine, "BUILD", tmp_path / "build")  # nor is the real one touched
    with pytest.raises(SystemExit) as ended:
        run_py.main(words.format(tmp_path, *places).split("|"))
    out, error = capsys.readouterr()
    assert (ended.value.code, out, error.count("\n")) == (2, "", 1) and said.format(tmp_path, *places) in error, error
    assert sorted(tmp_path.iterdir()) == sorted(places)


@pytest.mark.parametrize("place", ("ROOT", "BUILD", "tempfile.tempdir"))
@pytest.mark.parametrize("bad", '";#[<\\')
def test_paths_that_cmake_cannot_take(bad, place, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(machine, "running", None)  # nothing is started
    monkeypatch.setattr(machine, "BUILD", tmp_path / "build")
    monkeypatch.setattr(f"machine.{place}", f"/a{bad}b")
    for words in ([], ["test"], ["all", "x"]):
        with pytest.raises(SystemExit) as ended:
            run_py.main(words)
        out, error = capsys.readouterr()
        assert (ended.value.code, out, error.count("\n")) == (2, "", 1) and f"{bad} in it, which CMake takes for its own" in error


def test_a_path_that_cmake_cannot_take(tmp_path):
    s = StandIns(tmp_path / "a;b")
    for command in ("run", "test"):
        run = s.call(command)
        failed(run, 2, "; in it, which CMake takes for its own")
        assert run.stdout == "" and not run.calls
    assert s.call("run", "diff", "01", "02").returncode == 0


# The build folder is kept where it can be.

@pytest.mark.parametrize("changed, to", (("", ""), ("CMAKE_HOME_DIRECTORY", "gone"), ("CMAKE_CACHEFILE_DIR", "gone"),
                                         ("CMAKE_MAKE_PROGRAM", "gone"), ("CMAKE_CXX_COMPILER", "gone"),
                                         ("CMAKE_CUDA_COMPILER", "gone"),
                                         ("CMAKE_GENERATOR", "Ninja Multi-Config")))
def test_build_folder(s, changed, to):
    files = s.here / "build/CMakeFiles"
    files.mkdir()
    s.cache(**{changed: to} if changed else {})
    run = s.call("run", "01")
    again = "-DWARNINGS_ARE_ERRORS=OFF" in run.calls
    assert run.returncode == 0 and again == (not files.exists()) == ("from scratch" in run.stderr) == bool(changed)


def test_warnings_and_generator(s):
    """CI and CMAKE_GENERATOR matter to a new build folder only."""
    s.cmake('echo "$CMAKE_GENERATOR" >>"$BUILD_DIR/generators"')
    for ci, given, expected in (("true", "", "ON"), ("", "Unix Makefiles", "OFF"), (None, "Ninja Multi-Config", "OFF")):
        environment = {"CMAKE_GENERATOR": given, **({} if ci is None else {"CI": ci})}
        assert "WARNINGS" not in s.call("run", "01", environment=environment).calls
        (s.here / "build/CMakeCache.txt").unlink()
        assert f"-DWARNINGS_ARE_ERRORS={expected}\n" in s.call("run", "01", environment=environment).calls
        s.cache()
    used = (s.here / "build/generators").read_text().splitlines()
    assert set(used[:4]) == {"Ninja"} and set(used[4:8]) == {"Unix Makefiles"} and set(used[8:]) == {"Ninja"}


@pytest.mark.parametrize("step", ("-S", "--build"))
@pytest.mark.parametrize("command", ("run", "test", "run all"))
def test_build_fails(s, command, step):
    s.cmake(f'[ "$1" != {step} ] || {{ echo said {step}; exit 1; }}')
    run = s.call(*command.split())
    assert run.returncode == 1 and run.stderr == f"said {step}\n{command[:4].strip()}: build failed\n"
    assert not list(s.here.glob("results-*"))


def test_building_is_quiet(s):
    """What a build says is shown with -v alone; what goes wrong in it always."""
    steps = "[0/2] Re-checking globbed directories...\n[1/2] Building CXX object x.o\n"
    s.cmake(f'''[ "$1" != --build ] || printf "{steps}a.cu: warning: x\\nninja: no work to do.\\n"'''.replace("\n", "\\n"))
    assert s.call("run", "01").stderr == "a.cu: warning: x\n"
    assert s.call("run", "01", "-v").stderr == steps + "a.cu: warning: x\nninja: no work to do.\n"


def test_two_at_once(s):
    """The second waits for the first to have built."""
    s.cmake(f'[ "$1" != --build ] || {{ {s.busy()}; }}')
    s.two_at_once(["--csv", "1.csv"], ["--csv", "2.csv"], f"building in {s.here}/build")
    assert (s.here / "1.csv").read_text() == (s.here / "2.csv").read_text() != ""


@pytest.mark.parametrize("words, every", (("", False), ("-E style", False), ("--all", True), ("--all -V", True), ("-R 03", True),
                                          ("--rerun-failed", True)), ids=str)
def test_tiers(s, words, every):
    """./test leaves what is thorough, and says how much; --all runs it, and so does who names it."""
    s.tool("ctest", 'case "$*" in *"-N -L thorough") echo "Total Tests: 7";; esac')
    run = s.call("test", *words.split())
    *counts, call = [line for line in run.calls.splitlines() if line.startswith("ctest")]
    assert run.returncode == 0 and f" --target {'all' if every else 'everyday'}\n" in run.calls
    assert call.endswith(" ".join(["", *words.removeprefix("--all").split(), "-LE thorough" * (not every)]).rstrip())
    assert run.stdout.startswith("7 more tests") == (not every) == bool(counts)


def test_readonly_build_folder(s):
    shutil.rmtree(s.here / "build")
    (s.here / "build").touch()
    failed(s.call("run"), 2, f"run: {s.here}/build: File exists")


# Missing packages

def test_cannot_be_installed(s):
    (s.here / "no_libraries").touch()
    s.tool("apt-get", "echo 'E: Unable to locate package' >&2; exit 100")
    line = "(Unable to locate package): libboost-context-dev; to install: apt-get install libboost-context-dev\n"
    run = s.call("run")
    assert run.returncode == 2
    assert run.stderr == f"run: installing libboost-context-dev (apt-get)\nrun: missing, and not installed {line}"
    run = s.call("run")
    failed(run, 2, line)  # it is not tried again
    assert "apt-get" not in run.calls
    run = s.call("test")
    assert run.returncode == 2 and f"to install: apt-get install {LIBRARIES}\n" in run.stderr
    (s.bin / "apt-get").unlink()
    shutil.rmtree(s.here / "build")
    failed(s.call("run"), 2, "(there is no apt-get): libboost-context-dev\n")


def test_what_goes_on_without_libraries(s):
    (s.here / "no_libraries").touch()
    (s.bin / "apt-get").unlink()
    gpu = s.with_gpu()
    run = s.call("test", "-R", "03", environment=gpu)
    assert run.returncode == 0 and f"{', '.join(LIBRARIES.split())}" in run.stderr and run.calls.splitlines()[-1].endswith(" -R 03")
    run = s.call("run", "01", environment=gpu)
    assert run.returncode == 0 and "01_one" in run.stdout and NOTE not in run.stdout
    failed(s.call("run", "01", "--cpu", environment=gpu), 2, "libboost-context-dev\n")


def test_is_installed(s):
    (s.here / "no_libraries").touch()
    s.tool("apt-get", f'case "$*" in *install*) rm "{s.here}/no_libraries";; esac')
    run = s.call("test")
    calls = [line for line in run.calls.splitlines() if line.startswith("apt-get")]
    assert run.returncode == 0 and run.stderr == f"test: installing {LIBRARIES} (apt-get)\n"
    assert len(calls) == 2 and calls[0].endswith(" update")
    assert calls[1].endswith(f" install -y --no-install-recommends {LIBRARIES}")


def test_cmake_too_old(s):
    s.cmake("", "3.21.9")
    run = s.call("run")
    assert run.returncode == 2 and ": cmake (3.22 or later); to install" in run.stderr


@pytest.mark.parametrize("allowed", (True, False), ids=("sudo", "no sudo"))
def test_ordinary_user(s, allowed):
    """Asks sudo once for what is required, never for what is optional."""
    (s.here / "ordinary_user").touch()
    (s.here / "no_libraries").touch()
    (s.bin / "oclgrind").unlink()
    if not allowed:
        s.tool("sudo", "exit 1")
    s.tool("apt-get", f'case "$*" in *libboost*libgtest*) rm "{s.here}/no_libraries";; esac')
    code = 0 if allowed else 2

    def asks(run):
        return "\nsudo " in run.calls

    run = s.call("test", "--all", environment={"NO_INSTALL": "1"})
    assert run.returncode == 2 and not asks(run) and "(NO_INSTALL is set)" in run.stderr
    run = s.call("test", "--all")
    assert asks(run) and not re.search("install .*(oclgrind|opencl)", run.calls) and run.returncode == code
    assert "to install: sudo apt-get install " in run.stderr
    assert ("installing libboost-context-dev libgtest-dev (sudo apt-get)\n" in run.stderr) == allowed
    run = s.call("test", "--all")
    assert ("(they are optional)" in run.stderr) == allowed
    assert not asks(run) and "oclgrind; to install: sudo apt-get" in run.stderr and run.returncode == code


def test_libraries_are_found_without_ldconfig(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/none:{tmp_path}")
    (tmp_path / "libmade_up.so.0").touch()
    assert [machine.loads(f"lib{name}") for name in ("made_up.so.0", "c.so.6", "made_up.so.1")] == [True, True, False]


@pytest.mark.parametrize("has", ("", "apt-get"))
def test_without_python(s, has):
    """The few lines of sh install it, or say what is missing."""
    (s.bin / "python3").rename(s.here / "python3")
    s.tool("apt-get", f'case "$*" in *install*python3) cp "{s.here}/python3" "{s.bin}/python3";; esac' if has else "exit 1")
    if has:
        failed(s.call("run", environment={"NO_INSTALL": "1"}), 2, "run: python3 is missing; to install it and what else a first run takes: sudo apt-get install python3")
        run = s.call("test")
        assert run.returncode == 0 and run.stderr == "run: installing python3 (apt-get)\n" and "ctest" in run.calls
    else:
        assert s.call("run").returncode == 2
        run = s.call("run")
        failed(run, 2, "python3 is missing")
        assert "apt-get" not in run.calls


# The real tree and its programs; cmake does nothing, as others are using the build folder.

@pytest.fixture(scope="module")
def real(shared):
    """./run and ./test of the real tree, from another folder."""
    def call(command, *words):
        run = subprocess.run([ROOT / command, *words], capture_output=True, text=True, cwd=shared.temporary, env={
            **os.environ, "PATH": f"{shared.bin}:{os.environ['PATH']}", "BUILD_DIR": str(BUILD), "NO_INSTALL": "1"})
        assert run.returncode == 0, run
        return run.stdout

    return call


def stages():
    return sorted(path.parent.name for path in ROOT.glob("[0-9][0-9]_*/matmul.cu"))


def test_real_run(real):
    for stage in stages():
        program(f"{stage}_cpu_trace")
    lines = real("run", "--cpu", "--size", "16").splitlines()
    first = [line.split()[0] for line in lines]
    assert first[-len(stages()) - 1:-1] == stages() and first.count("stage") == 1 and lines[-1] == NOTE
    for words in (["--sizes", "16:32:16"], ["-m", "37", "--sizes", "16:17:1"], ["--order", "forward", "--size", "16"]):
        lines += real("run", "--cpu", *words).splitlines()
    assert max(map(len, lines)) <= 100, max(lines, key=len)


def test_wide_shows_what_the_csv_has(tmp_path):
    file = tmp_path / "x.csv"
    shown = call(program(f"{stages()[2]}_cpu_trace"), "--wide", "--size", "16", "--csv", file).stdout.splitlines()[-2:]
    header, row = (line.split(",") for line in file.read_text().splitlines())
    assert [re.split("  +", line) for line in shown] == [header, row]


def test_long_work_says_how_long():
    """And how far it is; here until Ctrl-C."""
    _, output, _ = press_ctrl_c([program(f"{stages()[2]}_cpu_trace"), "--size", "2048"], " left")
    name = f"{stages()[2]} 2048 x 2048 x 2048, threads in forward order"
    assert re.search(rf"\r\x1b\[K{name}: this takes about [\d.]+ (min|h)\r\n", output), output
    assert re.search(rf"\r\x1b\[K{name[:40]}.*: \d+%, about [\d.]+ (min|h) left", output), output


def test_ctrl_c_in_a_real_program(tmp_path):
    command = [program(f"{stages()[0]}_cpu_trace"), "--size", "512", "--csv", tmp_path / "new.csv"]
    code, output, left = press_ctrl_c(command, "forward order")
    assert code == -signal.SIGINT and left == "" and not list(tmp_path.iterdir()), (code, output, left)


def test_programs_are_those_that_cmake_builds():
    """run.py, all.py and CMakeLists.txt know the same programs."""
    if not (BUILD / "CMakeCache.txt").exists() or not shutil.which("cmake"):
        pytest.skip("nothing is configured here")
    targets = subprocess.run(["cmake", "--build", BUILD, "--target", "help"], capture_output=True, text=True).stdout
    targets = set(re.findall(r"(?m)^(?:\.\.\. )?([\w.-]+)(?:$|: phony)", targets))
    tests = {path.stem for path in ROOT.glob("*/*.cu") if not path.parent.name[0].isdigit()}
    built = {target[:-4] for target in targets if target.endswith("_cpu")} - tests
    assert not built or built == {each.target(False) for each in run_py.PROGRAMS if each.kind in ("stage", "other")}
    for cpu in (False, True):
        if built if cpu else "roofline" in targets:
            wanted = {each.target(cpu) for each in run_py.PROGRAMS
                      if (each.kind != "opencl" or each.name in targets)
                      and not (cpu and each.kind == "gpu")}
            assert wanted <= targets, wanted - targets
    assert {each.name for each in run_py.PROGRAMS if each.kind != "stage"} == {step.name for step in all_py.STEPS} - {"ladder"}

"""./run and ./test with bad input, failing stages, old build folders and missing packages, in a folder of fakes."""
import fcntl
import os
import re
import signal
import time

import pytest

import build
import packages
import process
import run as run_py
from fakes import STAGES, Fakes, eventually, failed, press_ctrl_c, runs
from results import write_whole
from support import BUILD, ROOT, call, program, tool


@pytest.fixture
def s(tmp_path):
    return Fakes(tmp_path / "it's a place")


# One table and one CSV from several programs; then other programs, diff, failures.

@pytest.mark.parametrize("words, rows", (
    ("", STAGES), ("3 01 02_two/matmul", ["03_three", "01_one", "02_two"]),
    ("--steps", ["01_one", "02_two/1_first", *STAGES[1:]])))
def test_ladder(s, words, rows):
    """There is one header, and each row is followed by the lines that belong to it. The first program runs before the
    others are built. An older CSV is replaced."""
    s.source("all.csv", "stage,x\nold,1\n")
    run = s.call("run", *words.split(), "--size", "8", "--csv", "all.csv")
    header, columns, *lines, note = run.stdout.splitlines()
    assert (run.returncode, run.stderr, header) == (0, "", f"header of {rows[0]}") and "CPU" in note
    names = [row.replace("02_two/", "02/") for row in rows]
    assert [line.partition(" --csv")[0] for line in lines[::2]] == [f"{name} --size 8" for name in names]
    assert lines[1::2] == [f"  below {row}" for row in rows]
    assert (s.here / "all.csv").read_text() == "stage,x\n" + "".join(f"{row},1\n" for row in rows)
    targets = [row.replace("/", ".") + "_cpu_trace" for row in rows]
    built = [line.split(" --target ")[1].split() for line in run.calls.splitlines() if " --target " in line]
    assert built == [each for each in (targets[:1], targets[1:]) if each]
    assert s.left_behind() == ["all.csv"] and "apt-get" not in run.calls


@pytest.mark.parametrize("words, printed, said", (
    ("04 --cpu", "04_four --platform Portable Computing Language\n", ""),
    ("00 -x", "one_cpu:\none_cpu -x\nzero_host:\nzero_host -x\n", "curves"), ("curves", "", "curves")))
def test_other_programs(s, words, printed, said):
    """Programs that need a GPU are skipped without one."""
    run = s.call("run", *words.split())
    assert (run.returncode, run.stdout) == (0 if printed else 77, printed) and said in run.stderr
    assert run.stderr.count("\n") == bool(said)


@pytest.mark.parametrize("codes, code, rows", (([0, 1, 0], 1, "13"), ([0, 2, 0], 2, "1"), ([1, 3, 0], 1, ""),
                                               ([0, 139, 0], 139, "1"),
                                               ([0, 77, 0], 0, "13"), ([77, 0, 0], 77, "")), ids=str)
def test_failing_stage(s, codes, code, rows):
    """After exit code 1 the other stages run; after a higher one they do not, because they would fail, too; 77: a GPU
    is missing, or lacks something. The first failure determines the exit code."""
    for stage, its in zip(STAGES, codes):
        s.stage(stage, its, "kill -SEGV $$" if its == 139 else "")
    run = s.call("run", "--csv", "all.csv")
    assert run.returncode == code and "".join(re.findall(r"^0(\d)_\w+ --csv", run.stdout, re.M)) == rows
    assert run.stderr == "run: 02_two: killed by SIGSEGV\n" if code == 139 else "failed\n" in run.stderr
    assert s.left_behind() == ["all.csv"] * (code == 0)


# However ./run ends, its programs end with it, and no file is half-written.

def test_ended(s):
    s.stage("01_one", before=f'sleep 0.2; echo $$ >"{s.here}/pid"; exec sleep 30')
    started = s.start("run", "--csv", "all.csv")
    pid = eventually(lambda: (s.here / "pid").exists() and (s.here / "pid").read_text().strip())
    started.send_signal(signal.SIGTERM)
    assert started.wait(timeout=20) == 143 and not runs(pid) and not s.left_behind()


@pytest.mark.parametrize("command, when", (("run --csv all.csv", "working"), ("test", "building")))
def test_ctrl_c(s, command, when):
    (s.here / "all.csv").write_text("old,x\n")
    s.stage("02_two", before="printf 'header\\rworking' >&2; sleep 30")
    if when == "building":
        # Which is how ninja ends.
        s.cmake('[ "$1" != --build ] || { trap "echo stopped; exit 2" INT; echo building; sleep 30; }')
    name, *words = command.split()
    code, output = press_ctrl_c([s.here / name, *words], when, env=s.environment(), cwd=s.here)
    last = re.split(r"\n|\r\x1b\[K", output)[-1].strip("\r")
    assert code == 130 and not last and "Traceback" not in output and "build failed" not in output, (code, output)
    assert s.left_behind() == ["all.csv"] and (s.here / "all.csv").read_text() == "old,x\n"


def test_output_fails(s):
    with open("/dev/full", "w") as full:
        failed(s.call("run", stdout=full), 2, "No space left")
    started = s.start("run")
    started.stdout.close()
    assert (started.wait(timeout=20), started.stderr.read()) == (141, "")
    for words in ("run 01", "test", "run mine.cu"):
        failed(s.call(*words.split(), preexec_fn=lambda: os.close(1)), 2, "closed")


def test_files_are_whole(tmp_path):
    """Either all files are written or none; something other than a file is not replaced by one."""
    old, link, pipe = (tmp_path / name for name in ("old", "link", "pipe"))
    os.mkfifo(pipe)
    old.write_text("old")
    link.symlink_to(old)
    for bad in (tmp_path / "missing/x", tmp_path, pipe):
        with pytest.raises(OSError):
            write_whole((link, "new"), (bad, "new"))
        assert old.read_text() == "old" and pipe.is_fifo() and len(list(tmp_path.iterdir())) == 3
    write_whole((link, "new"))
    assert old.read_text() == "new" and link.is_symlink()


# Bad input is found before anything is built. EMPTY: a folder without results; FULL: one with; FILE: a file.

BAD = (
    ("99", "'99' 01"), ("04/7", "'04/7' 04/1"), ("\x1b[31m", "01"), ("--csv mine.cu", "--csv mine.cu already"),
    ("--csv missing/out.csv", "--csv missing/out.csv directory"), ("view 03 --html mine.cu", "--html mine.cu already"),
    ("ablation --csv mine.cu", "already"), ("all --against EMPTY", "--against results"), ("all FILE", "FILE folder"),
    ("compare FULL EMPTY", "'EMPTY' results"), ("new x.cu --from 04/7", "04/matmul"), ("test -j abc", "-j abc"))


@pytest.mark.parametrize("words, said", BAD, ids=[repr(words) for words, _ in BAD])
def test_bad_input(words, said, tmp_path, monkeypatch, capsys):
    for name in ("EMPTY", "FULL"):
        (tmp_path / name).mkdir()
    for name in ("FILE", "FULL/limits.csv"):
        (tmp_path / name).touch()
    (tmp_path / "mine.cu").write_text("// mine,\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(process, "command", "run")
    monkeypatch.setattr(build, "configure", None)  # nothing is built
    with pytest.raises(SystemExit) as ended:
        run_py.main(words.split(" "))
    out, error = capsys.readouterr()
    assert (ended.value.code, out, error.count("\n")) == (2, "", 1) and "\x1b" not in error, error
    assert all(word in error for word in said.split()), error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["EMPTY", "FILE", "FULL", "mine.cu"]
    assert (tmp_path / "mine.cu").read_text() == "// mine,\n"


# The build folder

def test_build_folder(s):
    """A path that can't be a build folder is left as it is."""
    s.source("notes/01.md")
    for folder in (s.here / "notes", s.here.parent):
        before = sorted(folder.iterdir())
        failed(s.call("run", "01", cwd=folder, environment={"BUILD_DIR": "."}), 2, "a folder of its own")
        assert sorted(folder.iterdir()) == before


def test_dates(s):
    """A source that is dated in the future would be built for ever. No file of the build folder is looked at, because a
    program that runs at the same time may have deleted it. A link to nowhere is like a file that is not there any more.
    """
    (s.here / "build/pocl").mkdir()
    (s.here / "build/pocl/kernel.cl").symlink_to("nowhere")
    assert s.call("run", "01").returncode == 0
    os.utime(s.here / "01_one/matmul.cu", (time.time() + 1000,) * 2)
    failed(s.call("run", "01"), 2, "01_one/matmul.cu is dated in the future")


def test_build_folder_of_another_place(s):
    assert not re.search("WARNINGS|TESTS", s.call("run", "01").calls)
    (s.here / "build/CMakeFiles").mkdir()
    s.configured_for("/gone")
    run = s.call("run", "01", environment={"CI": "true"})
    assert run.returncode == 0 and "-G Ninja -DWARNINGS_ARE_ERRORS=ON\n" in run.calls and "from scratch" in run.stderr
    assert not (s.here / "build/CMakeFiles").exists()
    assert "-DTESTS=OFF" in run.calls  # the first row does not wait for tests
    assert "-DTESTS=ON" in s.call("test", "03").calls


@pytest.mark.parametrize("command, step", (("run", "-S"), ("test", "--build"), ("run all", "--build")))
def test_build_fails(s, command, step):
    s.cmake(f'[ "$1" != {step} ] || {{ echo said {step}; exit 1; }}')
    run = s.call(*command.split())
    assert run.returncode == 1 and run.stderr == f"said {step}\n{command[:4].strip()}: build failed\n"
    assert not list(s.here.glob("results-*"))


def test_a_program_is_built_of_its_source():
    """By the build tool's own dependencies: an edit of the source makes it build the program."""
    program("01_naive_cpu_trace")
    graph = call(tool("ninja"), "-C", BUILD, "-t", "graph", "bin/01_naive_cpu_trace").stdout
    assert f'"{ROOT}/01_naive/matmul.cu"' in graph


def test_two_at_once(s):
    """The second one waits until the first has built."""
    s.cmake(f'[ -e "{s.here}/built" ]')
    with open(s.here / "build/lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        second = s.start("run", "01")
        assert "waiting for another" in second.stderr.readline()
        time.sleep(0.5)  # time in which a run that does not wait would fail
        (s.here / "built").touch()
    assert second.communicate(timeout=60)[1] == "" and second.returncode == 0


# ./test

@pytest.mark.parametrize("words, targets, options", (
    ("", "01_one_cpu 03_three_cpu", "-LE thorough"), ("--all -V", "01_one_cpu 03_three_cpu all harness_cpu", "-V"),
    ("3 03_three -j 3", "03_three_cpu harness_cpu", "-j 3 -R ^(03_)")))
def test_what_is_tested(s, words, targets, options):
    """./test leaves out thorough tests; --all runs them, and so does a pattern that names them. Only what the chosen
    tests need is built."""
    run = s.call("test", *words.split())
    assert run.returncode == 0 and f" --target {targets}\n" in run.calls, run
    assert run.calls.splitlines()[-1].endswith(f" -j{build.CORES} {options}")
    assert ("--all" in run.stdout) == ("thorough" in options)


# Missing packages

@pytest.mark.parametrize("user, works", (("root", True), ("sudo", False), ("no sudo", True)))
def test_packages(s, user, works, monkeypatch, capsys):
    """Missing packages are installed once, as root or by sudo, visibly. Packages that are still missing are named."""
    for name, value in {**s.environment(), "PATH": str(s.bin)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(build, "BUILD", s.here / "build")
    monkeypatch.setattr(packages, "PACKAGES", {name: f"programs {name}" for name in ("needed", "extra")})
    monkeypatch.setattr(os, "geteuid", lambda: 0 if user == "root" else 1000)
    if user == "no sudo":
        s.tool("sudo", "exit 1")
    s.tool("apt-get", f'case "$*" in *install*needed*) cp /bin/sh "{s.bin}/needed";; esac' if works else
           "echo 'E: no such package' >&2; exit 100")

    def need():
        try:
            missing = packages.need(("needed",), optional=("extra",))
        except SystemExit as ended:
            missing = ended.code
        return missing, capsys.readouterr().err

    sudo = "" if user == "root" else "sudo "
    monkeypatch.setenv("NO_INSTALL", "1")
    missing, said = need()
    assert missing == 2 and "NO_INSTALL" in said and f"to install: {sudo}apt-get install needed extra\n" in said
    monkeypatch.delenv("NO_INSTALL")
    missing, said = need()
    done = works and user != "no sudo"
    line = f"{sudo.replace(' ', ' -n ')}apt-get install --no-install-recommends needed extra\n"
    assert missing == (["extra"] if done else 2) and (line in said) == (user != "no sudo"), said
    assert done or user == "no sudo" or "no such package" in said
    calls = s.calls.read_text().count("apt-get")
    assert need()[0] == missing and s.calls.read_text().count("apt-get") == calls  # the installation is not tried again


def test_without_apt(s):
    for name in ("apt-get", "libboost-context-dev"):
        (s.bin / name).unlink()
    failed(s.call("run"), 2, "(there is no apt-get): libboost-context-dev\n")


def test_without_python(s):
    """The few lines of sh install Python, or say what is missing."""
    (s.bin / "python3").rename(s.here / "python3")
    run = s.call("run", environment={"NO_INSTALL": "1"})
    failed(run, 2, "apt-get install python3 cmake g++ ninja-build libboost-context-dev\n")
    s.tool("apt-get", f'case "$*" in *install*python3) cp "{s.here}/python3" "{s.bin}/python3";; esac')
    run = s.call("test")
    assert run.returncode == 0 and "apt-get install" in run.stderr and "ctest" in run.calls

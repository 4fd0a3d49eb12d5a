"""What ./run and ./test do with bad input, failing stages, old build folders and missing packages: in a folder of stand-ins. The
last tests take the real programs."""
import argparse
import fcntl
import os
import re
import signal
import subprocess
import time

import pytest

import build
import packages
import process
import results
import run as run_py
import stages
import view
from programs import listed
from results import write_whole
from fakes import STAGES, Fakes, eventually, failed, press_ctrl_c, runs
from support import BUILD, ROOT, call, program, tool


@pytest.fixture
def s(tmp_path):
    return Fakes(tmp_path / "it's a place")


# One table and one CSV out of several programs; then other programs, diff, failures.

@pytest.mark.parametrize("words, rows", (("", STAGES), ("02", ["02_two/1_first", "02_two"]), ("02/1", ["02_two/1_first"]),
                                         ("02_two/", ["02_two/1_first", "02_two"]), ("02/matmul", ["02_two"]),
                                         ("3 01 01_one", ["03_three", "01_one"]),
                                         ("--steps", ["01_one", "02_two/1_first", *STAGES[1:]])))
def test_ladder(s, words, rows):
    s.source("02_two/1_first.cu")
    s.stage("02_two/1_first")
    run = s.call("run", *words.split(), "--size", "8", "--csv", "all.csv")
    header, columns, *lines, note = run.stdout.splitlines()
    assert (run.returncode, run.stderr, header, columns) == (0, "", f"header of {rows[0]}", "stage  options") and "CPU" in note
    assert [line.partition(" --csv")[0] for line in lines] == [f"{row} --size 8".replace("02_two/", "02/") for row in rows]
    assert (s.here / "all.csv").read_text() == "stage,x\n" + "".join(f"{row},1\n" for row in rows)
    assert s.left_behind() == ["all.csv"] and "apt-get" not in run.calls


def test_lines_of_each_program(s):
    """Below the row that they belong to."""
    s.source("02_two/1_first.cu")
    for name in ("02_two/1_first", "02_two"):
        s.stage(name)
        path = s.here / f"build/bin/{name.replace('/', '.')}_cpu_trace"
        path.write_text(path.read_text() + f'\necho "{name}.cu:7 load"')
    lines = s.call("run", "02", "--lines").stdout.splitlines()
    assert [line.split()[0] for line in lines[2:-1]] == ["02/1_first", "02_two/1_first.cu:7", "02_two", "02_two.cu:7"], lines


@pytest.mark.parametrize("shape, see_it", (("7 x 5 x 3", ["  See it: ./run view 02 -m 7 -n 5 -k 3"]), ("7 x 5 x 3000", [])))
def test_an_error_stands_below_the_rows(s, shape, see_it):
    """However the two outputs are read; and a page that can be made shows the product that is wrong."""
    s.stage("02_two", before=f"""case "$ERRORS_IN_OUTPUT" in 1) mark='\025'; esac
        echo header; echo stage; echo 02_two row; printf "${{mark}}02_two: {shape}: is wrong\n"; exit 1""")
    run = s.call("run", "02/matmul", stderr=subprocess.STDOUT)
    assert run.returncode == 1
    assert run.stdout.splitlines() == ["header", "stage", "02_two row", f"02_two: {shape}: is wrong", *see_it]


@pytest.mark.parametrize("words, said", (("02", "view 02 diff 03"), ("02/1", "view 02/1 diff 02/matmul"), ("03", "view 03"),
                                         ("", "")))
def test_what_to_type_next(s, words, said):
    """Is said to a person, after the programs of one chapter."""
    s.source("02_two/1_first.cu")
    s.stage("02_two/1_first")
    code, output = press_ctrl_c([s.here / "run", *words.split()], "not pressed", env=s.environment(), cwd=s.here)
    assert code == 0 and " ".join(re.findall(r"(?<=run )(?:view|diff) \S+", output)) == said, output
    assert "Next" not in s.call("run", *words.split()).stdout


@pytest.mark.parametrize("words, printed, target", (
    ("04 --size 8", "04_four --size 8\n", "04_four"), ("04 --cpu", "04_four --platform Portable Computing Language\n", "04_four"),
    ("zero_host --cpu --repeat 3", "zero_host --repeat 3\n", "zero_host"), ("one --csv a.csv", "one_cpu --csv a.csv\n", "one_cpu"),
    ("00 -x", "one_cpu:\none_cpu -x\nzero_host:\nzero_host -x\n", "one_cpu zero_host")))
def test_other_programs(s, words, printed, target):
    run = s.call("run", *words.split())
    assert (run.returncode, run.stdout, run.stderr) == (0, printed, "")
    assert all(f"--target {each}\n" in run.calls for each in target.split())


def test_what_takes_a_gpu(s):
    """Is skipped without one."""
    s.source("00_zero/curves.cu")
    with open(s.here / "00_zero/programs.cmake", "a") as listed:
        listed.write("add_gpu_benchmark(curves.cu)\n")
    failed(s.call("run", "curves"), 77, "curves")
    assert s.call("run", "00").returncode == 0


@pytest.mark.parametrize("words, shown", (
    ("", ["01_one -> 02_two/1_first 2", "02_two/1_first -> 02_two 1", "01_one -> 03_three 2", "01_x.cl -> 02_y.cl 2"]),
    ("02/matmul", ["02_two/1_first -> 02_two 1"]),
    ("02", ["01_one -> 02_two/1_first 2", "02_two/1_first -> 02_two 1"]), ("03", ["01_one -> 03_three 2"]), ("01", []),
    ("02/1 02/matmul", ["02_two/1_first -> 02_two 1"]), ("01 02", ["01_one -> 02_two 3"]),
    ("04", ["01_x.cl -> 02_y.cl 2"]),
    ("--side 01 03", ["01_one -> 03_three 2"])))
def test_diff(s, words, shown):
    for file, text in (("01_one/matmul.cu", "// Changed: nothing\na\nb\nc\n"), ("02_two/1_first.cu", "// Changed: b\na\nB\nc\n"),
                       ("02_two/matmul.cu", "// Changed:  b; and\n//           d\na\nB\nc\nd\n"),
                       ("03_three/matmul.cu", "// Changed:  (from 01) less\na\n"), 
                       ("04_four/01_x.cl", "a\n"), ("04_four/02_y.cl", "b\n")):
        s.source(file, text)
    run = s.call("run", "diff", *words.split())
    assert (run.returncode, run.stderr, run.calls) == (0, "", "")
    assert [" ".join(line.split()[:4]).replace(":", "") for line in run.stdout.splitlines() if " -> " in line] == shown
    assert ("\n\n02_two/1_first -> " in run.stdout) == (words == "02")  # a blank line between the steps
    assert ("    b; and d\n" in run.stdout) == any("-> 02_two " in line for line in shown)  # the whole comment
    assert bool(re.search(r"^-b$", run.stdout, re.M)) == (words in ("02", "01 02", "03"))
    assert bool(re.search(r"^b +<$", run.stdout, re.M)) == ("--side" in words)


@pytest.mark.parametrize("codes, code, rows", (([0, 1, 0], 1, "13"), ([0, 2, 0], 2, "1"), ([1, 3, 0], 1, ""),
                                               ([0, 139, 0], 139, "1"),
                                               ([0, 77, 0], 0, "13"), ([77, 0, 0], 77, "")), ids=str)
def test_failing_stage(s, codes, code, rows):
    """1: the others run; more: they would fail alike; 77: this GPU lacks something, or there is none. The first failure counts."""
    for stage, its in zip(STAGES, codes):
        s.stage(stage, its, "kill -SEGV $$" if its == 139 else "")
    run = s.call("run", "--csv", "all.csv")
    assert run.returncode == code and "".join(re.findall(r"^0(\d)_\w+ --csv", run.stdout, re.M)) == rows
    assert run.stderr == "run: 02_two: killed by SIGSEGV\n" if code == 139 else "failed\n" in run.stderr
    assert s.left_behind() == ["all.csv"] * (code == 0)


# However it ends, its programs end with it, and no file is half-written.

def test_ended(s):
    s.stage("01_one", before=f'sleep 0.2; echo $$ >"{s.here}/pid"; exec sleep 30')
    process = s.start("run", "--csv", "all.csv")
    pid = eventually(lambda: (s.here / "pid").exists() and (s.here / "pid").read_text().strip())
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) == 143 and not runs(pid) and not s.left_behind()


@pytest.mark.parametrize("command, when", (("run --csv all.csv", "working"), ("run", "building"), ("test", "building")))
def test_ctrl_c(s, command, when):
    (s.here / "all.csv").write_text("old,x\n")
    s.stage("02_two", before="printf 'header\\rworking' >&2; sleep 30")
    if when == "building":
        s.cmake('[ "$1" != --build ] || { trap "echo stopped; exit 2" INT; echo building; sleep 30; }')  # as ninja ends
    name, *words = command.split()
    code, output = press_ctrl_c([s.here / name, *words], when, env=s.environment(), cwd=s.here)
    last = re.split(r"\n|\r\x1b\[K", output)[-1].strip("\r")
    assert code == 130 and not last and "Traceback" not in output and "build failed" not in output, (code, output)
    assert s.left_behind() == ["all.csv"] and (s.here / "all.csv").read_text() == "old,x\n"


@pytest.mark.parametrize("where", ("full", "pipe"))
def test_output_fails(s, where):
    with open("/dev/full", "w") as full:
        process = s.start("run", **({"stdout": full} if where == "full" else {}))
        if where == "pipe":
            process.stdout.close()
        assert (process.wait(timeout=20), process.stderr.read().count("\n")) == ((2, 1) if where == "full" else (141, 0))


@pytest.mark.parametrize("words", ("run 01", "run diff", "run help", "test", "run mine.cu"))
def test_closed_output(s, words):
    command, *more = words.split()
    failed(s.call(command, *more, preexec_fn=lambda: os.close(1)), 2, "closed")


def test_closed_input_and_errors(s):
    """Change nothing, but that nothing is said."""
    s.stage("02_two", 1)
    run = s.call("run", preexec_fn=lambda: os.closerange(2, 3) or os.close(0))
    assert (run.returncode, run.stderr) == (1, "") and "03_three" in run.stdout


def test_no_other_file_is_replaced():
    """What --csv and --html wrote may be."""
    for option, text in (("--csv", "stage,x\n01,1\n"), ("--html", view.page("A page", view.fragments(), "fragments")),
                         ("--html", view.page("Another", []))):
        assert results.WRITTEN_BY[option].match(text.encode())


def test_files_are_whole(tmp_path):
    """Several are written or none; what is no file is not replaced by one."""
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
    ("99", "'99' 01 11"), ("03/7", "'03/7' 03"), ("04/7", "'04/7' 04/1 04/matmul"), ("04/matmull", "04/matmul"),
    ("\x1b[31m", "01"), ("naive", "01_naive"), ("latncy", "latency"), ("tets", "test"), ("mine", "mine.cu"),
    ("01 roofline", "01_naive roofline"), ("08 01", "08_opencl_gcn 01_naive"), ("08 probe", "08_opencl_gcn probe"),
    ("12 --record x", "--record 12/matmul"), ("--csv", "--csv"),
    ("--csv EMPTY", "--csv file"), ("--csv mine.cu", "--csv mine.cu already"), ("roofline --csv mine.cu", "already"),
    ("view 03 --html mine.cu", "--html mine.cu already"), ("view 07 --html mine.cu", "already"),
    ("ablation --csv mine.cu", "already"),
     ("00 --csv f", "--csv latency"), ("--csv missing/out.csv", "--csv missing/out.csv directory"),
    ("probe --csv missing/out.csv", "--csv directory"), ("all --against EMPTY", "--against results"),
    ("all --against FULL FULL", "--against"), ("all FILE", "FILE folder"), ("compare FULL", "two folders"),
    ("compare FULL EMPTY", "'EMPTY' results"), ("plot FULL FULL", "plot folder"),
    ("view", "view 03"), ("view 99", "view '99' 01"), ("view 04/7", "04/1 04/matmul"), ("view 03 -m 0", "-m '0' 1"),
    ("view 03 --html missing/x", "--html directory"), ("view 03 --caption 99", "--caption '99' 03_shared_blocking 1"),
    ("view 07 --caption 1", "--caption 07 none"), ("diff 01 02 03", "diff chapter"),
    ("diff 01 99", "'99' 01"), ("diff 04/7", "04/matmul"), ("ablation 99", "'99' 02"), ("new x.cu --from 04/7", "04/matmul"),
    ("ablation --csv missing/x", "--csv directory"),
    ("test --bogus", "--bogus"), ("test 99", "'99' 01 07"), ("test 04/7", "04/matmul"),
    ("test 03 -R x", "-R"), ("test -j abc", "-j abc"))


@pytest.mark.parametrize("words, said", BAD, ids=[repr(words) for words, _ in BAD])
def test_bad_input(words, said, tmp_path, monkeypatch, capsys):
    for name in ("EMPTY", "FULL"):
        (tmp_path / name).mkdir()
    for name in ("FILE", "FULL/limits.csv"):
        (tmp_path / name).touch()
    (tmp_path / "mine.cu").write_text("// mine,\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(process, "command", "run")
    monkeypatch.setattr(build, "build", None)  # nothing is built
    with pytest.raises(SystemExit) as ended:
        run_py.main([word.strip("'") for word in words.split(" ")])
    out, error = capsys.readouterr()
    assert (ended.value.code, out, error.count("\n")) == (2, "", 1) and "\x1b" not in error, error
    assert all(word in error for word in said.split()), error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["EMPTY", "FILE", "FULL", "mine.cu"]
    assert (tmp_path / "mine.cu").read_text() == "// mine,\n"


def test_a_path_that_cmake_cannot_take(tmp_path):
    s = Fakes(tmp_path / "a;b")
    for command in ("run", "test"):
        failed(s.call(command), 2, "; in it, which CMake takes for its own")


def test_no_path(s):
    """The environment may be empty: the shell knows where the tools are, and its programs are to know it, too."""
    s.source("tools/run.py", "import os, sys\nsys.exit(not os.environ.get('PATH'))\n")
    assert s.call("run", env={}).returncode == 0


# The build folder

def test_build_folder_of_sources(s):
    """Nothing is left behind in it."""
    s.source("notes/01.md")
    for folder in (s.here / "notes", s.here.parent):
        before = sorted(folder.iterdir())
        failed(s.call("run", "01", cwd=folder, environment={"BUILD_DIR": "."}), 2, "a folder of its own")
        assert sorted(folder.iterdir()) == before


def test_source_from_the_future(s):
    """ninja would build it for ever."""
    os.utime(s.here / "01_one/matmul.cu", (2**32, 2**32))
    for command in ("run", "test"):
        failed(s.call(command), 2, f"touch '{s.here}/01_one/matmul.cu'".replace("it's", "it'\"'\"'s"))


def test_no_space(s, monkeypatch, capsys):
    """Is said before CMake or ninja try for a while."""
    monkeypatch.setattr(build, "BUILD", s.here / "build")
    monkeypatch.setattr(build.shutil, "disk_usage", lambda path: argparse.Namespace(free=4096))
    monkeypatch.setattr(process, "call", None)
    with pytest.raises(SystemExit):
        build.build(["01_one"])
    assert "no space left" in capsys.readouterr().err

def test_build_folder_of_another_place(s):
    assert not re.search("WARNINGS|TESTS", s.call("run", "01").calls)
    (s.here / "build/CMakeFiles").mkdir()
    s.configured_for("/gone")
    run = s.call("run", "01", environment={"CI": "true"})
    assert run.returncode == 0 and "-G Ninja -DWARNINGS_ARE_ERRORS=ON\n" in run.calls and "from scratch" in run.stderr
    assert not (s.here / "build/CMakeFiles").exists()
    assert "-DTESTS=OFF" in run.calls and "-DTESTS=ON" in s.call("test", "03").calls  # a first row does not wait for them


@pytest.mark.parametrize("step", ("-S", "--build"))
@pytest.mark.parametrize("command", ("run", "test", "run all"))
def test_build_fails(s, command, step):
    s.cmake(f'[ "$1" != {step} ] || {{ echo said {step}; exit 1; }}')
    run = s.call(*command.split())
    assert run.returncode == 1 and run.stderr == f"said {step}\n{command[:4].strip()}: build failed\n"
    assert not list(s.here.glob("results-*"))


@pytest.mark.parametrize("words", ("run", "run 02", "run 02/1", "run 02/matmul", "run 01 02", "run --steps", "run all",
                                   "run view 02", "run one", "run zero_host", "run 00", "run 04", "run 02 --lines"))
def test_what_was_edited_is_run(s, words):
    """Here building is copying: each source is a script that leaves its mark."""
    sources = {"01_one": "01_one/matmul.cu", "02_two.1_first": "02_two/1_first.cu", "02_two": "02_two/matmul.cu",
               "03_three": "03_three/matmul.cu", "04_four": "04_four/matmul.cpp", "zero_host": "00_zero/zero_host.cpp",
               "one": "00_zero/one.cu"}
    for target, source in sources.items():
        target += "" if target in ("04_four", "zero_host") else "_cpu" if target == "one" else "_cpu_trace"
        s.script(s.here / "build/bin" / target, f'touch "{s.here}/old"')
        s.source(source, f'#!/bin/sh\ntouch "{s.here}/new"\n')
        (s.here / "build" / target).symlink_to(s.here / source)
    s.cmake(f'''[ "$1" = --build ] || exit 0
        cd "{s.here}/build"; for each; do [ ! -h "$each" ] || cp "$each" "bin/$each"; done''')
    s.call(*words.split())
    assert (s.here / "new").exists() and not (s.here / "old").exists()


def test_programs_are_built_of_their_sources():
    """By the build tool's own account: every program that ./run builds depends on the source that a person edits."""
    def inputs(nodes):
        """Of each node what it is made of, all the way down to files that nothing makes."""
        said = call("ninja", "-C", BUILD, "-t", "query", *nodes).stdout
        parts = re.findall(r"(?m)^(\S.*):\n(?:  input: .*\n((?:    .*\n)*))?", said)
        return {node: re.findall(r"(?m)^    (?:\|{1,2} )?(.*)", its) for node, its in parts}

    graph, asked = {}, [each.target(cpu) for each in listed() for cpu in (False, True)]
    known = set(re.findall(r"(?m)^(\S+): ", call(tool("ninja"), "-C", BUILD, "-t", "targets", "all").stdout))
    asked = targets = [target for target in asked if target in known]
    while asked := [node for node in asked if node not in graph]:
        graph.update(inputs(asked))
        asked = list({below for node in asked for below in graph[node] if not below.endswith((".a", ".so"))})

    def reached(node):
        return {node}.union(*map(reached, graph.get(node, ())))

    for each in listed():
        for target in {each.target(True), each.target(False)} & set(targets):
            assert str(each.source) in reached(target), target
    assert targets


def test_the_first_runs_before_the_next_are_built(s):
    s.cmake('case "$*" in *"--target 02"*) exit 1;; esac')
    run = s.call("run")
    assert [line.split()[0] for line in run.stdout.splitlines()[2:]] == ["01_one"]
    assert (run.returncode, run.stderr) == (1, "run: build failed\n")


def test_an_error_is_the_compilers_lines(s):
    shown = "a.cu:1: error: x\n    1 | x\n      | ^\n"
    said = f"[1/2] x\nFAILED: x.o\ng++ -c x\n{s.here}/{shown}collect2: error: x\nninja: build stopped\n"
    (s.here / "said").write_text(said)
    s.cmake(f'[ "$1" != --build ] || {{ cat "{s.here}/said"; exit 1; }}')
    assert s.call("run", "01").stderr == f"{shown}run: build failed\n"
    for more, colours in ({}, 2), ({"NO_COLOR": "1"}, 0):  # on a terminal
        output = press_ctrl_c([s.here / "run", "01"], "not pressed", env=s.environment(**more), cwd=s.here)[1]
        assert len(re.findall(r"\x1b\[1;3\dm(error:| \^)\x1b\[0m", output)) == colours, output


def test_building_is_quiet(s):
    """What a build says is shown with -v alone; what goes wrong in it always."""
    s.cmake(r"""[ "$1" != --build ] || printf "[1/2] Building CXX object x.o\na.cu: warning: x\nninja: no work to do.\n" """)
    assert s.call("run", "01").stderr == "a.cu: warning: x\n" and s.call("run", "01", "-v").stderr.count("\n") == 3


def test_two_at_once(s):
    """The second waits for the first to have built."""
    s.cmake(f'[ -e "{s.here}/built" ]')
    with open(s.here / "build/lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = s.start("run", "01")
        assert "waiting for another" in process.stderr.readline()
        time.sleep(0.5)  # in which one that does not wait would fail
        (s.here / "built").touch()
    assert process.communicate(timeout=60)[1] == "" and process.returncode == 0


@pytest.mark.parametrize("words, targets, options", (
    ("", "01_one_cpu 03_three_cpu", "-LE thorough"), ("-E style", "01_one_cpu 03_three_cpu", "-E style -LE thorough"),
    ("--all", "all", ""), ("--all -V", "all", "-V"), ("--rerun-failed", "all", "--rerun-failed"),
    ("03", "03_three_cpu harness_cpu", "-R ^(03_)"),
    ("03/matmul", "03_three_cpu harness_cpu", "-R ^(03_three[.][^.]*$)"), ("3 03_three -j 3", "03_three_cpu harness_cpu", "-j 3 -R ^(03_)"),
    ("-R 03", "03_three_cpu harness_cpu", "-R 03")))
def test_what_is_tested(s, words, targets, options):
    """./test leaves what is thorough; --all runs it, and so does who names it. Built is what the chosen tests need."""
    run = s.call("test", *words.split())
    assert run.returncode == 0 and f" --target {targets}\n" in run.calls, run
    assert run.calls.splitlines()[-1].endswith(f" -j{build.CORES} {options}".rstrip())
    assert ("--all" in run.stdout) == ("thorough" in options)


def test_names_of_tests(s):
    """With no word on what is not built."""
    run = s.call("test", "-N")
    assert run.stdout.splitlines() == ["01_one.cpu", "03_three.cpu", "emulator", "3 tests"] and not run.stderr


@pytest.mark.parametrize("option", ("-R", "-E", "-L", "-LE"))
def test_no_pattern(s, option):
    s.tool("ctest", "echo 'RegularExpression::compile(): Unmatched parentheses.'; echo '{}'")
    failed(s.call("test", option, "("), 2, "Unmatched parentheses")


def test_only_what_the_tests_need_is_installed(s):
    for name in ("libgtest-dev", "clang-format-14"):
        (s.bin / name).unlink()
    assert "apt-get" not in s.call("test", "03").calls
    assert "libgtest-dev\n" in s.call("test").calls
    assert "clang-format-14\n" in s.call("test", "--all").calls


def test_the_gpu_is_looked_for_once(s):
    """nvidia-smi may take a second. CMake is told what it said."""
    gpu = s.with_gpu()
    s.cmake(f'echo "capabilities $COMPUTE_CAPABILITIES" >>"{s.calls}"')
    run = s.call("run", "01", environment=gpu)
    assert run.returncode == 0 and run.calls.count("nvidia-smi") == 1 and "capabilities 9.0\n" in run.calls


# Missing packages

@pytest.mark.parametrize("user", ("root", "sudo", "no sudo"))
@pytest.mark.parametrize("works", (True, False))
def test_packages(s, user, works, monkeypatch, capsys):
    """Missing ones are installed once, as root or by sudo, in the open; what is missing still is named, with the command."""
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

    line = f"{'' if user == 'root' else 'sudo -n '}apt-get install --no-install-recommends needed extra\n"
    monkeypatch.setenv("NO_INSTALL", "1")
    missing, said = need()
    assert missing == 2 and "NO_INSTALL" in said and "needed, extra" in said
    monkeypatch.delenv("NO_INSTALL")
    missing, said = need()
    done = works and user != "no sudo"
    assert missing == (["extra"] if done else 2) and (line in said) == (user != "no sudo"), said
    assert f"to install: {line.split(' --')[0].replace('-n ', '')}" in said
    assert done or user == "no sudo" or "no such package" in said
    calls = s.calls.read_text().count("apt-get")
    assert need()[0] == missing and s.calls.read_text().count("apt-get") == calls  # it is not tried again


def test_without_apt(s):
    for name in ("apt-get", "libboost-context-dev"):
        (s.bin / name).unlink()
    failed(s.call("run"), 2, "(there is no apt-get): libboost-context-dev\n")
    gpu = s.with_gpu()  # which need no emulator
    assert s.call("run", "01", environment=gpu).returncode == 0 and s.call("test", "-R", "03", environment=gpu).returncode == 0
    s.cmake("", "3.21.9")
    failed(s.call("run", environment=gpu), 2, "cmake (3.22 or later)")


def test_without_python(s):
    """The few lines of sh install it, or say what is missing."""
    (s.bin / "python3").rename(s.here / "python3")
    failed(s.call("run", environment={"NO_INSTALL": "1"}), 2, "python3 is missing")
    s.tool("apt-get", "exit 1")
    run = s.call("run")
    assert run.returncode == 2 and "python3 is missing" in run.stderr.splitlines()[-1]
    s.tool("apt-get", f'case "$*" in *install*python3) cp "{s.here}/python3" "{s.bin}/python3";; esac')
    run = s.call("test")
    assert run.returncode == 0 and run.stderr.count("\n") == 1 and "apt-get install" in run.stderr and "ctest" in run.calls


# The real programs; cmake does nothing, as others are using the build folder.

def test_real_run(s):
    chapters = [each.name for each in listed("stage")]
    for stage in chapters:
        program(f"{stage}_cpu_trace")
    run = subprocess.run([ROOT / "run", "--cpu", "--size", "16"], capture_output=True, text=True, cwd=s.temporary, env={
        **os.environ, "PATH": f"{s.bin}:{os.environ['PATH']}", "BUILD_DIR": str(BUILD), "NO_INSTALL": "1"})
    lines = run.stdout.splitlines()
    assert run.returncode == 0 and [line.split()[0] for line in lines[-len(chapters) - 1:-1]] == chapters
    assert sum(line.startswith("stage ") for line in lines) == 1 and max(map(len, lines)) <= 100


def test_wide_shows_what_the_csv_has(tmp_path):
    run = call(program("03_shared_blocking_cpu_trace"), "--wide", "--size", "16", "--csv", tmp_path / "x.csv")
    rows = [line.split(",") for line in (tmp_path / "x.csv").read_text().splitlines()]
    assert [re.split("  +", line) for line in run.stdout.splitlines()[-2:]] == rows


def test_an_error_comes_in_the_output_where_that_is_asked(tmp_path):
    run = call(program("01_naive_cpu_trace"), "--size", "0", env={**os.environ, "ERRORS_IN_OUTPUT": "1"})
    assert (run.returncode, run.stderr) == (2, "") and run.stdout.startswith(stages.ERROR_MARK.decode() + "01_naive: "), run.stdout


def test_ctrl_c_in_a_real_program(tmp_path):
    command = [program("01_naive_cpu_trace"), "--size", "512", "--csv", tmp_path / "new.csv"]
    code, output = press_ctrl_c(command, "512")
    assert code in (-signal.SIGINT, 130) and not list(tmp_path.iterdir()), (code, output)

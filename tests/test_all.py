"""./run all and ./run compare: the steps, their CSVs, the comparison. In a folder of fakes, where the chapters'
programs are scripts."""
import getpass
import re
import signal
import socket

import pytest

import compare as compare_py
from all import steps
from programs import listed
from fakes import Fakes, eventually, runs

LISTED = {"product": "add_product", "other": "add_program", "gpu": "add_gpu_benchmark", "host": "add_host_benchmark"}
ON_GPU = [step.program(False) for step in steps(cpu=False)]
ON_CPU = [step.program(True) for step in steps(cpu=True)]


def program(s, name, code=0, before="", csv="what,x\\nnew,1\\n"):
    """Makes a program that prints its arguments on stdout and its error on stderr, and writes the CSV even if it fails.
    """
    s.script(s.here / f"build/bin/{name}", f"""echo "{name} $*"
        while [ $# -gt 0 ]; do [ "$1" != --csv ] || printf '{csv}' >"$2"; shift; done
        {before}
        [ {code} = 0 ] || {{ echo "{name}: said why" >&2; exit {code}; }}""")


@pytest.fixture
def s(tmp_path):
    s = Fakes(tmp_path / "it's a place")
    for file in ("00_zero/zero_host.cpp", "00_zero/one.cu", "04_four/matmul.cpp"):
        (s.here / file).unlink()
    others = [each for each in listed() if each.kind in LISTED]
    for each in others:
        s.source(f"00_zero/{each.source.name}")
    s.source("00_zero/programs.cmake", "".join(f"{LISTED[each.kind]}({each.source.name})\n" for each in others))
    s.source("08_opencl_gcn/matmul.cpp")
    for name in {*ON_CPU, *ON_GPU} - {"ladder"}:
        program(s, name)
    return s


def run_all(s, *words, **options):
    """Returns the run, and {program: (its result, its arguments)}."""
    run = s.call("run", "all", "there", *words, **options)
    rows = [re.match(r"(\w+) +(done|skipped|failed)\b(?!,) *(.*)", line) for line in run.stdout.splitlines()]
    return run, {row[1]: (row[2], row[3]) for row in rows if row}


def typed(s, name):
    """The arguments of a program, from the log."""
    return re.search(rf"(?m)^{name} ?(.*)$", re.sub(r"\.running-\w+/", "", (s.here / "there/log.txt").read_text()))[1]


def test_everything_runs(s):
    run, rows = run_all(s)
    assert (run.returncode, run.stderr) == (0, "") and sorted(rows) == sorted(ON_CPU)
    assert {became for became, _ in rows.values()} == {"done"}
    assert typed(s, "half2_cpu_trace") == "--csv half2.csv" and typed(s, "probe_cpu") == "--all"
    assert typed(s, "08_opencl_gcn") == "--platform Portable Computing Language --csv opencl.csv"
    written = {step.csv for step in steps(cpu=True) if step.csv and step.cpu_csv}
    assert {path.name for path in (s.here / "there").iterdir()} == {"log.txt", "machine.txt", *written}
    assert (s.here / "there/ladder.csv").read_text() == "stage,x\n01_one,1\n02_two/1_first,1\n02_two,1\n03_three,1\n"
    text = (s.here / "there/machine.txt").read_text()
    named = dict(line.split(": ", 1) for line in text.splitlines())
    assert {"date", "GPU", "CPU", "commit"} <= set(named)
    for word in (socket.gethostname(), getpass.getuser()):  # the file names no host, no user and no path
        assert not any(re.search(rf"\b{re.escape(word)}\b", named[each]) for each in set(named) - {"OS"})
    assert not re.search(r"(^|[\s(])/\w", text)


def test_on_a_gpu(s):
    gpu = s.with_gpu()
    run, rows = run_all(s, environment=gpu)
    assert run.returncode == 0 and sorted(rows) == sorted(ON_GPU) and list(rows)[0] == "roofline"
    # Predictions use the limits that were just measured.
    assert typed(s, "half2") == "--sizes 1024:8192:1024 --limits limits.csv --csv half2.csv"
    assert typed(s, "01_one").startswith("--sizes 1024:8192:1024 --limits limits.csv")
    assert "GPU 0, name: Made-up GPU\n" in (s.here / "there/machine.txt").read_text()
    program(s, "roofline", 3)
    run, rows = run_all(s, environment=gpu)
    assert run.returncode == 3 and "--limits" not in typed(s, "half2")  # and not those of an earlier run


def test_failures(s):
    """Each failure is reported, and the other programs run. A CSV of an earlier run stays whole, and its row says so.
    """
    old = ("roofline_host.csv", "half2.csv")
    for name in old:
        s.source(f"there/{name}", "old")
    program(s, "roofline_host", 77)
    program(s, "half2_cpu_trace", 3, before="printf '\\033[31mred\\n' >&2")
    (s.here / "build/bin/probe_cpu").unlink()
    s.stage("02_two", 1)
    run, rows = run_all(s)
    assert run.returncode == 1 and "\x1b" not in run.stdout + run.stderr
    assert {name: became for name, (became, _) in rows.items() if became != "done"} == {
        "roofline_host": "skipped", "half2_cpu_trace": "failed", "ladder": "failed", "probe_cpu": "skipped"}
    assert rows["roofline_host"][1] == "roofline_host: said why (roofline_host.csv is an earlier run's)"
    assert {(s.here / "there" / name).read_text() for name in old} == {"old"}
    assert not (s.here / "there/ladder.csv").exists() and not s.left_behind()


def test_interrupted(s):
    pid = s.here / "pid"
    program(s, "half2_cpu_trace", before=f'sleep 0.2; echo $$ >"{pid}"; exec sleep 60')
    process = s.start("run", "all", "there")
    eventually(lambda: pid.exists() and pid.read_text())
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=20)[1]
    assert process.returncode == 130 and "interrupted in half2_cpu_trace" in said and "ladder.csv" in said
    assert not runs(pid.read_text().strip()) and not s.left_behind() and not (s.here / "there/half2.csv").exists()


# The comparison

MACHINE, HERE, ROW = ",gpu,driver,cuda\n", ",G1,1,13\n", "01,8,8,8,100"


def ladder(*rows):
    return "stage,m,n,k,gflops" + MACHINE + "".join(f"{row}{HERE}" for row in rows)


@pytest.fixture
def folders(tmp_path):
    """Two folders, and a function that fills one with CSVs."""
    def fill(folder, **csvs):
        folder.mkdir(exist_ok=True)
        for name, text in csvs.items():
            (folder / f"{name}.csv").write_text(text)

    return tmp_path / "a", tmp_path / "b", fill


def test_comparison(s, folders):
    a, b, fill = folders
    fill(a, ladder=ladder("01,8,8,8,100", "01,9,9,9,210", "02,8,8,8,360", "03,8,8,8,1"), half2="x\n")
    fill(b, ladder=ladder("02,8,8,8,300", "01,9,9,9,200", "01,8,8,8,100", "04,8,8,8,1"))
    run = s.call("run", "compare", a, b)  # a CSV that can't be read gives exit code 2
    assert (run.returncode, run.stderr) == (2, "")
    for said in ("half2.csv: has no rows", "half2.csv: no such file",
                 "ladder.csv: 3 rows compared; gflops: median ratio 1.050", "02 8 8 8: gflops 360 / 300, +20.0%",
                 f"only in {a}: 03 8 8 8", f"only in {b}: 04 8 8 8"):
        assert said in run.stdout
    assert "01 " not in run.stdout  # it differs by only a few percent
    (a / "half2.csv").unlink()
    assert s.call("run", "compare", a, b).returncode == 0
    # A comparison after a run does not make it fail.
    program(s, "half2_cpu_trace", csv="stage,m,n,k,gflops\\nhalf2,8,8,8,50\\n")
    fill(b, half2="stage,m,n,k,gflops\nhalf2,8,8,8,100\n")
    run, _ = run_all(s, "--against", b)
    assert run.returncode == 0 and "half2 8 8 8: gflops 50 / 100, -50.0%" in run.stdout


def test_nothing_to_compare(folders, capsys):
    """CSVs that have no figures."""
    a, b, fill = folders
    fill(a, victims="x\n1\n")
    fill(b, victims="x\n1\n")
    assert compare_py.compare(a, b) == 2
    assert "nothing to compare" in capsys.readouterr().out


@pytest.mark.parametrize("text, said", (
    (ladder(ROW)[:-2], "ends in the middle"), ("x,y\n1,2\n", "has no column"),
    (ladder("01,8,8,8,\x1b[31m"), "'?[31m'"), (ladder(ROW, ROW), "two rows '01 8 8 8'")))
def test_bad_csv(folders, capsys, text, said):
    """A bad CSV gives one line, and the others are compared."""
    a, b, fill = folders
    fill(a, ladder=text, half2=ladder(ROW))
    fill(b, ladder=ladder(ROW), half2=ladder(ROW))
    for one, other in ((a, b), (b, a)):
        assert compare_py.compare(one, other) == 2
        out = capsys.readouterr().out
        [told] = [line for line in out.splitlines() if "ladder.csv" in line]
        assert said in told and str(a) in told and "half2.csv: 1 row compared" in out and "\x1b" not in out

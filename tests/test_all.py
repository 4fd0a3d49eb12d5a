"""./run all and ./run compare: the steps, what becomes of their CSVs, the time that is left, the comparison. In a folder of
stand-ins, where the programs of the chapters are scripts."""
import csv
import fcntl
import getpass
import os
import re
import signal
import socket
import struct
import subprocess
import termios

import pytest

from stand_ins import STAGES, StandIns, eventually, runs
from support import ROOT

all_py, compare_py, results = __import__("all"), __import__("compare"), __import__("results")
CPU_STEPS = ["roofline_cpu", "roofline_host", "latency_cpu", "blas_host", "transfer_cpu",
             "ladder_cpu", "one_tile_cpu", "half2_cpu_trace", "plain_cpu_trace", "types_cpu", "probe_cpu",
             "volta_tables_cpu", "ptx_check_cpu", "mma_maps_cpu", "custom_load_cpu", "alignment_cpu", "victims_cpu",
             "08_opencl_gcn"]
GPU_STEPS = ["roofline", "roofline_host", "latency", "library_curves", "blas_host", "transfer",
             "ladder", "one_tile", "half2", "plain", "types", "probe", "volta_tables",
             "ptx_check", "mma_maps", "custom_load", "alignment", "victims",
             "08_opencl_gcn"]


def program(s, name, code=0, before="", csv="what,x\\nnew,1\\n"):
    """Says how it was called on stdout and why it ends on stderr; writes the CSV, before it fails, too."""
    s.script(s.here / f"build/bin/{name}", f"""echo "{name} $*"
        echo "{name} $*" >>"{s.here}/ran"
        while [ $# -gt 0 ]; do [ "$1" != --csv ] || printf '{csv}' >"$2"; shift; done
        {before}
        [ {code} = 0 ] || {{ echo "{name}: said why" >&2; exit {code}; }}""")


@pytest.fixture
def s(tmp_path):
    s = StandIns(tmp_path / "it's a place")
    for name in {*CPU_STEPS, *GPU_STEPS} - {"ladder", "ladder_cpu"}:
        program(s, name)
    for name in ("git", "uname"):
        s.tool(name, "")
    return s


def run_all(s, *words, **options):
    """The run, its lines by step, and what programs were called with."""
    (s.here / "ran").write_text("")
    run = s.call("run", "all", *words, **options)
    run.lines = {line.split()[0]: line for line in run.stdout.splitlines() if line.strip()}
    ran = (line.partition(" ")[::2] for line in (s.here / "ran").read_text().splitlines())
    run.options = {name: re.sub(r"\.running-\w+/", "", words) for name, words in ran}
    return run


def left_behind(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(".") or ".part" in path.name]


def test_everything_runs(s):
    run, there = run_all(s, "there"), s.here / "there"
    assert run.returncode == 0 and run.stderr == "" and f"{len(CPU_STEPS)} done, 0 skipped, 0 failed" in run.stdout
    assert list(run.lines)[:-1] == CPU_STEPS
    [build] = [line for line in run.calls.splitlines() if "--target" in line][:-1]  # and the ladder's
    assert {*CPU_STEPS, *(f"{stage}_cpu_trace" for stage in STAGES)} - {"ladder_cpu"} <= set(build.split())
    wanted = {"half2_cpu_trace": "--csv half2.csv", "probe_cpu": "--all", "latency_cpu": "",
              "08_opencl_gcn": "--platform Portable Computing Language --csv opencl.csv"}
    assert {name: run.options[name] for name in wanted} == wanted
    assert {path.name for path in there.iterdir()} == {"half2.csv", "ladder.csv", "blas_host.csv", "log.txt", "machine.txt",
                                                       "opencl.csv", "plain.csv", "roofline_host.csv", "steps.csv",
                                                       "types.csv"}
    assert (there / "ladder.csv").read_text() == "stage,x\n01_one,1\n02_two,1\n03_three,1\n"
    log = (there / "log.txt").read_text()
    assert "\n$ probe_cpu --all\nprobe_cpu --all\n\n$ volta_tables_cpu\n" in log and "header of 01_one" in log
    rows = all_py.recorded(there)
    assert list(rows) == CPU_STEPS and all(row["result"] == "done" and row["seconds"] > 0 for row in rows.values())
    text = (there / "machine.txt").read_text()
    named = dict(line.split(": ", 1) for line in text.splitlines())
    assert set(named) == {"date", "programs", "GPU", "CPU", "CPU cores", "memory", "OS", "C++ compiler", "nvcc", "cmake", "commit"}
    assert named["cmake"] == "3.22.1" and named["GPU"] == "none"
    for word in (socket.gethostname(), getpass.getuser()):  # it names no host, no user and no path
        assert not any(re.search(rf"\b{re.escape(word)}\b", named[each]) for each in set(named) - {"OS"})
    assert not re.search(r"(^|[\s(])/\w", text)


def test_folder_by_default(s):
    run = run_all(s, "--cpu")
    [new] = s.here.glob("results-*")
    assert run.returncode == 0 and re.fullmatch(r"results-\d{8}-\d{6}", new.name) and (new / "steps.csv").exists()
    assert "/results-*/" in (ROOT / ".gitignore").read_text().splitlines()


def test_failures(s):
    there, old = s.here / "there", ("roofline_host.csv", "blas_host.csv", "half2.csv")
    there.mkdir()
    for name in old:
        (there / name).write_text("what,x\nold,1\n")
    program(s, "roofline_host", 1)
    program(s, "blas_host", 77)
    program(s, "half2_cpu_trace", 3, before="printf '\\033[31mred\\n' >&2")
    program(s, "types_cpu", csv="", before="rm -f .running-*/types.csv")
    program(s, "transfer_cpu", before="kill -9 $$")
    program(s, "custom_load_cpu", 3, before="echo >&2; exec >&2; printf 'a \\033[31mred\\007 line'; exit 3")
    (s.here / "build/bin/probe_cpu").unlink()
    s.stage("02_two", 1)
    run = run_all(s, "there")
    assert run.returncode == 1 and run.stderr == "" and f"{len(CPU_STEPS) - 8} done, 2 skipped, 6 failed" in run.stdout
    for step, said in (("roofline_host", r"failed .* roofline_host: said why \(roofline_host.csv is an earlier run's\)"),
                       ("blas_host", r"skipped .* blas_host: said why \(blas_host.csv is an"),
                       ("transfer_cpu", r"failed .* killed by SIGKILL$"), ("ladder_cpu", r"failed .* 02_two: failed$"),
                       ("half2_cpu_trace", "failed"), ("types_cpu", r"failed .* wrote no types.csv"),
                       ("custom_load_cpu", r"failed .* a \?\[31mred\? line$"),
                       ("probe_cpu", r"skipped .* not built"), ("08_opencl_gcn", r"done .* opencl.csv$")):
        assert re.search(f"^{step} +{said}", run.lines[step])
    assert {(there / name).read_text() for name in old} == {"what,x\nold,1\n"}
    assert (there / "opencl.csv").exists() and not (there / "ladder.csv").exists() and not left_behind(there)
    assert "half2_cpu_trace: said why" in (there / "log.txt").read_text()
    program(s, "roofline_host", 0)
    run = run_all(s, "there")
    assert run.returncode == 137 and (there / "roofline_host.csv").read_text() == "what,x\nnew,1\n"
    done = {name for name, row in all_py.recorded(there).items() if row["result"] == "done"}
    assert all_py.usual_seconds([s.here, there]).keys() == done


def test_on_a_gpu(s):
    gpu = s.with_gpu()
    run = run_all(s, "there", environment=gpu)
    assert run.returncode == 0 and f"{len(GPU_STEPS)} done" in run.stdout and list(run.lines)[:-1] == GPU_STEPS
    log = (s.here / "there/log.txt").read_text()
    assert run.options["half2"] == "--sizes 1024:8192:1024 --limits limits.csv --csv half2.csv"  # with the limits just measured
    assert run.options["08_opencl_gcn"] == "--sizes 1024:8192:1024 --limits limits.csv --csv opencl.csv"
    assert "01_one --sizes 1024:8192:1024 --limits limits.csv\n" in re.sub(" --csv.*", "", log)
    text = (s.here / "there/machine.txt").read_text()
    for line in ("GPU 0, name: Made-up GPU\n", "GPU 0, clocks.max.sm: 1980 MHz\n", "nvcc: 13.0, V13.0.88\n",
                 "CUDA of the driver: 13.1\n"):
        assert line in text
    program(s, "roofline", 3)
    run = run_all(s, "there", environment=gpu)
    assert run.returncode == 3 and f"{len(GPU_STEPS) - 1} done" in run.stdout and "--limits" not in run.options["half2"]  # not with an earlier run's


@pytest.mark.parametrize("how, code", ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)), ids=str)
def test_interrupted(s, how, code):
    there, pid = s.here / "there", s.here / "pid"
    program(s, "half2_cpu_trace", before=f'sleep 60 & echo $$ $! >"{pid}"; wait')
    process = s.start("run", "all", there)
    eventually(lambda: process.poll() is not None or pid.exists() and pid.read_text())
    os.kill(process.pid, how)
    said = process.communicate(timeout=20)[1]
    assert process.returncode == code
    step, started = pid.read_text().split()
    assert eventually(lambda: not runs(step), 5)
    assert list(all_py.recorded(there)) == CPU_STEPS[:7]
    if how != signal.SIGKILL:
        assert said == "run: interrupted in half2_cpu_trace; complete: roofline_host.csv, blas_host.csv, ladder.csv\n"
        assert eventually(lambda: not runs(started), 5) and not left_behind(there) and not (there / "half2.csv").exists()
    else:
        os.kill(int(started), signal.SIGKILL)


def test_killed_in_the_ladder(s):
    """kill -9 ends what ./run has started for it, too."""
    s.stage("02_two", before=f'echo $$ >"{s.here}/pid"; exec sleep 60')
    process = s.start("run", "all", "there", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    pid = eventually(lambda: (s.here / "pid").exists() and (s.here / "pid").read_text().strip())
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -9 and eventually(lambda: not runs(pid), 5)


def test_two_at_once(s):
    """One waits for the other to have ended, whatever folder it writes to."""
    program(s, "one_tile_cpu", before=s.busy())
    s.two_at_once(["all", "there"], ["all", "there"], "running all")


def test_full_disk(s):
    (s.here / "there").mkdir()
    (s.here / "there/log.txt").symlink_to("/dev/full")
    run = run_all(s, "there")
    assert (run.returncode, run.stderr) == (2, "run: there/log.txt: No space left on device\n") and not left_behind(s.here / "there")


@pytest.mark.parametrize("columns", (20, 132))
def test_progress_fits_the_terminal(columns, monkeypatch):
    terminal, its_end = os.openpty()
    fcntl.ioctl(its_end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with open(its_end, "w") as stderr, monkeypatch.context() as patch:
        patch.setattr("sys.stderr", stderr)
        all_py.show_progress("x" * 100)
        assert os.read(terminal, 1000).decode() == "\r\x1b[K" + "x" * min(100, columns - 1)
    os.close(terminal)


USUAL = {"a": 10.0, "b": 20.0, "c": 30.0}


@pytest.mark.parametrize("arguments, expected", (
    ((["a", "b", "c"], 0, {}, USUAL), 60), ((["a", "b", "c"], 4, {}, USUAL), 56),
    ((["a", "b", "c"], 15, {}, USUAL), 50),  # it takes longer than it did
    ((["b", "c"], 0, {"a": 20.0}, USUAL), 100),  # this machine takes twice as long
    ((["c"], 0, {"a": 20.0, "b": 10.0}, USUAL), 30), ((["b", "d"], 0, {"a": 5.0}, USUAL), 10 + (5 + 10 + 15) / 3),  # d: the mean
    ((["b", "c"], 1, {"a": 6.0}, {}), 11), ((["b", "c"], 1, {"a": 6.0}, {"x": 1.0}), 2.5 + 3.5),
    ((["a", "b"], 1, {}, {}), None)), ids=str)
def test_seconds_left(arguments, expected):
    assert all_py.seconds_left(*arguments) == (pytest.approx(expected) if expected else expected)


def test_durations_and_records(tmp_path):
    assert [all_py.duration(seconds) for seconds in (0.4, 59.6, 61, 3600)] == ["0 s", "1 min 0 s", "1 min 1 s", "60 min 0 s"]
    for text, expected in (("a,2.5,done,d\nb,1,failed,d\nc,1,skipped,d\n", {"a": 2.5}), ("cut", {}),
                           ("a,nan,done,d\n", {}), ("", {})):
        (tmp_path / "steps.csv").write_text("step,seconds,result,date\n" + text)
        assert all_py.usual_seconds([tmp_path / "none", tmp_path]) == expected


# The comparison

MACHINE, HERE, ROW = ",gpu,driver,cuda\n", ",G1,1,13\n", "01,8,8,8,100"


def ladder(*rows, where=HERE):
    return "stage,m,n,k,gflops" + MACHINE + "".join(f"{row}{where}" for row in rows)


@pytest.fixture
def folders(tmp_path):
    """Two, and what fills one with CSVs."""
    def fill(folder, **csvs):
        folder.mkdir(exist_ok=True)
        for name, text in csvs.items():
            (folder / f"{name}.csv").write_text(text)

    return tmp_path / "a", tmp_path / "b", fill


def test_comparison(s, folders):
    a, b, fill = folders
    limits = "what,flop_per_byte,gbs,gflops" + MACHINE
    transfer = "n,memory,h2d_ms,kernel_ms,d2h_ms" + MACHINE
    fill(a, ladder=ladder("01,8,8,8,100", "01,9,9,9,210", "02,8,8,8,360", "03,8,8,8,1"),
         limits=f"{limits}copy,-,90,-{HERE}fma,-,-,40{HERE}sweep,1,90,90{HERE}", transfer=f"{transfer}8,pinned,1,2,4{HERE}")
    fill(b, ladder=ladder("02,8,8,8,300", "01,9,9,9,200", "01,8,8,8,100", "04,8,8,8,1"),
         limits=f"{limits}copy,-,100,-{HERE}fma,-,-,40{HERE}sweep,1,100,100{HERE}", transfer=f"{transfer}8,pinned,1,4,4{HERE}")
    expected = f"""{a} against {b}:
ladder.csv: 3 rows compared; gflops: median ratio 1.050
    02 8 8 8: gflops 360 / 300, +20.0%
    only in {a}: 03 8 8 8
    only in {b}: 04 8 8 8
limits.csv: 3 rows compared; gbs: median ratio 0.900; gflops: median ratio 0.950
    copy -: gbs 90 / 100, -10.0%
    sweep 1: gflops 90 / 100, -10.0%
transfer.csv: 1 row compared; h2d_ms: median ratio 1.000; kernel_ms: median ratio 0.500; d2h_ms: median ratio 1.000
    8 pinned: kernel_ms 2 / 4, -50.0%
"""
    run = s.call("run", "compare", a, b)
    assert (run.returncode, run.stdout, run.stderr) == (0, expected, "")
    fill(a, types="a_b,c\n")
    fill(b, latency="x\n")
    run = s.call("run", "compare", a, b)  # a CSV that can't be read ends it with 2
    assert (run.returncode, run.stderr) == (2, "")
    assert f"{a}/latency.csv: not there\n{b}/latency.csv: has no rows\nlimits.csv" in run.stdout
    assert run.stdout.endswith(f"{a}/types.csv: has no rows\n{b}/types.csv: not there\n")


@pytest.mark.parametrize("text, said", (
    ("", "has no rows"), (ladder(), "has no rows"), (ladder(ROW)[:-2], "ends in the middle"),
    (ladder(ROW) + "01,8\n", "line 3: has 2 fields, the header 8"), ("x,y\n1,2\n", "has no column 'stage'"),
    (ladder("01,8,8,8,fast"), "line 2: gflops is 'fast'"), (ladder("01,8,8,8,nan"), "line 2: gflops is 'nan'"),
    (ladder("01,8,8,8,0"), "line 2: gflops is '0'"), (ladder(ROW, ROW), "has two rows '01 8 8 8'"),
    (ladder(ROW + "0" * csv.field_size_limit()), "is no CSV: field larger than field limit"),
    (ladder(ROW, where=",\x1b[31mG1,1,13\n"), "line 2: has a control character"),
    (ladder("01,8,8,8,\x1b[31m"), "line 2: has a control character")), ids=lambda value: repr(value[-30:]))
def test_bad_csv(folders, capsys, text, said):
    """One line; the others are compared."""
    a, b, fill = folders
    fill(a, ladder=text, half2=ladder(ROW))
    fill(b, ladder=ladder(ROW), half2=ladder(ROW))
    for one, other in ((a, b), (b, a)):
        assert compare_py.compare(one, other) == 2
        out = capsys.readouterr().out
        [told] = [line for line in out.splitlines() if "ladder.csv" in line]
        assert said in told and str(a) in told and "half2.csv: 1 row compared" in out and "\x1b" not in out


def test_comparison_of_unlike_folders(folders, capsys):
    a, b, fill = folders
    fill(a, ladder=ladder(ROW))
    for where, said in ((",G2,1,13\n", "Different machines, which this compares: G1 / G2"),
                        (",G1,2,13\n", "Different software: 1, 13 / 13, 2")):
        fill(b, ladder=ladder(ROW, where=where))
        assert compare_py.compare(a, b) == 0 and capsys.readouterr().out.splitlines()[1] == said
    fill(b, ladder=ladder("01,8,8,8,-"))
    assert compare_py.compare(a, b) == 0 and "ladder.csv: 1 row compared; no figures" in capsys.readouterr().out
    (b / "ladder.csv").unlink()
    assert compare_py.compare(a, b) == 2  # nothing to compare
    (b / "ladder.csv").symlink_to("/dev/null")  # not a regular file: /dev/zero, for example, never ends
    assert compare_py.compare(a, b) == 2 and "ladder.csv: is no regular file" in capsys.readouterr().out


def test_quoted_cells(tmp_path):
    (tmp_path / "x.csv").write_text('device,driver\nFury,"2949.0 (HSA1.1,LC)"\n')
    assert results.read(tmp_path / "x.csv", ("driver",))[0]["driver"] == "2949.0 (HSA1.1,LC)"


def test_against(s, folders):
    """Compares after the run, and fails nothing."""
    _, b, fill = folders
    program(s, "half2_cpu_trace", csv="stage,m,n,k,gflops\\nhalf2,8,8,8,50\\n")
    fill(b, half2="stage,m,n,k,gflops\nhalf2,8,8,8,100\n")
    run = run_all(s, "new", "--against", b)
    assert run.returncode == 0 and "half2 8 8 8: gflops 50 / 100, -50.0%" in run.stdout

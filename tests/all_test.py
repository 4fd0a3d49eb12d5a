"""./run --all and --compare: the steps, what becomes of their CSVs, the time that is left, the comparison: all_test.py

In a folder of stand-ins (see stand_ins.py): the programs of the chapters are scripts there.
"""
import getpass
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

from checks import check, end
from stand_ins import ROOT, StandIns, call, expect

sys.path.append(str(ROOT / "tools"))
all_py, compare_py = __import__("all"), __import__("compare")

CPU_STEPS = ["roofline_cpu", "roofline_host", "latency_cpu", "library_curves_cpu", "transfer_cpu", "ladder_cpu", "one_tile_cpu",
             "half2_cpu_trace", "types_cpu", "probe_cpu", "volta_tables_cpu", "custom_load_cpu", "08_opencl_gcn"]
GPU_STEPS = ["roofline", "roofline_host", "latency", "library_curves", "transfer", "ladder", "one_tile", "half2", "types", "probe",
             "volta_tables", "custom_load", "08_opencl_gcn"]


def program(s, name, code=0, before="", csv="what,x\\nnew,1\\n"):
    """Says how it was called on stdout and why it ends on stderr; writes the CSV, before it fails, too."""
    s.script(s.here / f"build/bin/{name}", f"""echo "{name} $*"
        echo "{name} $*" >>{s.here}/ran
        while [ $# -gt 0 ]; do [ "$1" != --csv ] || printf '{csv}' >"$2"; shift; done
        {before}
        [ {code} = 0 ] || {{ echo "{name}: said why" >&2; exit {code}; }}""")


def prepare(s):
    for name in {*CPU_STEPS, *GPU_STEPS} - {"ladder", "ladder_cpu"}:
        program(s, name)
    for name in ("date", "git", "uname"):
        s.tool(name, "")


def lines_of(run):
    return {line.split()[0]: line for line in run.stdout.splitlines() if line.strip()}


def left_behind(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(".") or path.name.endswith(".part")]


def everything_runs(s):
    run = s.call("run", "--all", "there")
    there = s.here / "there"
    expect(run, 0, "--all without a GPU", out="13 done, 0 skipped, 0 failed", lines=0)
    check([line.split()[0] for line in run.stdout.splitlines()[:-1]] == CPU_STEPS, "its steps, in their order", run.stdout)
    builds = [line for line in s.calls.read_text().splitlines() if "--target" in line]
    missing = [step for step in CPU_STEPS if step != "ladder_cpu" and f" {step}" not in builds[0]]
    check(not missing and "01_one_cpu_trace" in builds[0], "they are built, at once", (missing, builds))
    ran = [line.split(maxsplit=1) for line in (s.here / "ran").read_text().splitlines()]
    options = {line[0]: re.sub(r"\.running-\w+/", "", line[1]) if line[1:] else "" for line in ran}
    check(options["half2_cpu_trace"] == "--csv half2.csv" and options["probe_cpu"] == "--all" and options["latency_cpu"] == "" and
          options["08_opencl_gcn"] == "--platform Portable Computing Language --csv opencl.csv", "their options", options)
    files = {"half2.csv", "ladder.csv", "library_curves.csv", "log.txt", "machine.txt", "opencl.csv", "roofline_host.csv",
             "steps.csv", "types.csv"}
    check({path.name for path in there.iterdir()} == files, "its files", list(there.iterdir()))
    check((there / "ladder.csv").read_text() == "stage,x\n01_one,1\n02_two,1\n03_three,1\n", "the ladder is of all stages")
    log = (there / "log.txt").read_text()
    check("\n$ probe_cpu --all\nprobe_cpu --all\n\n$ volta_tables_cpu\n" in log and "header of 01_one" in log,
          "the log has what they said", log)
    rows = all_py.recorded(there)
    good = all(row["result"] == "done" and row["seconds"] > 0 for row in rows.values())
    check(good and list(rows) == CPU_STEPS, "steps.csv", rows)

    text = (there / "machine.txt").read_text()
    named = dict(line.split(": ", 1) for line in text.splitlines())
    wanted = {"date", "programs", "GPU", "CPU", "CPU cores", "memory", "OS", "C++ compiler", "nvcc", "cmake", "commit"}
    check(set(named) == wanted and named["cmake"] == "3.24.0" and named["GPU"] == "none", "machine.txt", text)
    private = [word for word in (socket.gethostname(), getpass.getuser())
               if any(re.search(rf"\b{re.escape(word)}\b", named[each]) for each in wanted - {"OS"})]
    check(not private and not re.search(r"(^|[\s(])/\w", text), "it names no host, no user and no path", (private, text))

    first = sorted(s.here.glob("results-*"))
    run = s.call("run", "--all", "--cpu")
    [new] = s.here.glob("results-*")
    check(run.returncode == 0 and not first and re.fullmatch(r"results-\d{8}-\d{6}", new.name) and (new / "steps.csv").exists(),
          "a folder by default", new)
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    check("/results-*/" in ignored, "which git ignores", ignored)


def failures(s):
    there = s.here / "there"
    there.mkdir()
    for name in ("roofline_host.csv", "library_curves.csv", "half2.csv"):
        (there / name).write_text("what,x\nold,1\n")
    program(s, "roofline_host", 1)
    program(s, "library_curves_cpu", 77)
    program(s, "half2_cpu_trace", 3)
    program(s, "types_cpu", csv="", before="rm -f .running-*/types.csv")
    program(s, "transfer_cpu", before="kill -9 $$")
    (s.here / "build/bin/probe_cpu").unlink()
    s.stage("02_two", 1)
    run = s.call("run", "--all", "there")
    expect(run, 1, "some fail, some are skipped: the code of the first that failed", out="6 done, 2 skipped, 5 failed", lines=0)
    lines = lines_of(run)
    for step, said in (("roofline_host", r"failed .* roofline_host: said why \(roofline_host.csv is an earlier run's\)"),
                       ("library_curves_cpu", r"skipped .* library_curves_cpu: said why \(library_curves.csv is an"),
                       ("transfer_cpu", r"failed .* killed by SIGKILL$"), ("ladder_cpu", r"failed .* 02_two: failed$"),
                       ("half2_cpu_trace", "failed"), ("types_cpu", r"failed .* wrote no types.csv"),
                       ("probe_cpu", r"skipped .* not built"), ("08_opencl_gcn", r"done .* opencl.csv$")):
        check(re.search(f"^{step} +{said}", lines[step]), f"{step}: what its line says", lines[step])
    old = [(there / name).read_text() for name in ("roofline_host.csv", "library_curves.csv", "half2.csv")]
    check(set(old) == {"what,x\nold,1\n"}, "what a program wrote before it failed doesn't replace an older CSV", old)
    check((there / "opencl.csv").exists() and not (there / "ladder.csv").exists(), "a new CSV is there only of what was done")
    check(not left_behind(there), "no parts are left", left_behind(there))
    check("half2_cpu_trace: said why" in (there / "log.txt").read_text(), "the log has stderr, too")
    program(s, "roofline_host", 0)
    run = s.call("run", "--all", "there")
    expect(run, 137, "killed by a signal: as a shell says it", out="roofline_host.csv")
    check((there / "roofline_host.csv").read_text() == "what,x\nnew,1\n", "done this time: a new CSV")
    check(all_py.usual_seconds([s.here, there]).keys() == {row for row, each in all_py.recorded(there).items()
                                                         if each["result"] == "done"}, "the record has what was done")


def on_a_gpu(s):
    s.tool("nvcc", 'echo "Cuda compilation tools, release 13.0, V13.0.88"')
    s.tool("nvidia-smi", """case "$*" in
        -L) echo 'GPU 0: made up';;
        --query-gpu*) echo 'Made-up GPU, 1.2.3, 100 MiB, 1980 MHz, 3201 MHz, 345 MHz, 3201 MHz, 700.00 W';;
        *) echo '| NVIDIA-SMI 1.2.3    CUDA Version: 13.1 |';;
        esac""")
    for stage in ("01_one", "02_two", "03_three"):
        (s.here / f"build/bin/{stage}").symlink_to(s.here / f"build/bin/{stage}_cpu_trace")
    environment = s.environment()
    del environment["CUDACXX"]

    def run_all(*words):
        (s.here / "ran").write_text("")
        run = call(s.here / "run", "--all", *words, env=environment, cwd=s.here)
        return run, dict(line.split(maxsplit=1) for line in (s.here / "ran").read_text().splitlines() if " " in line.strip())

    run, options = run_all("there")
    expect(run, 0, "--all with a GPU", out="13 done")
    check([line.split()[0] for line in run.stdout.splitlines()[:-1]] == GPU_STEPS, "its steps, in their order", run.stdout)
    options = {name: re.sub(r"\.running-\w+/", "", words) for name, words in options.items()}
    log = (s.here / "there/log.txt").read_text()
    check(options["half2"] == "--sizes 1024:8192:1024 --limits limits.csv --csv half2.csv" and
          options["08_opencl_gcn"] == "--sizes 4096:8192:4096 --limits limits.csv --csv opencl.csv" and
          "01_one --sizes 1024:8192:1024 --limits limits.csv\n" in re.sub(" --csv.*", "", log),
          "with the limits just measured", log)
    text = (s.here / "there/machine.txt").read_text()
    check(all(line in text for line in ("GPU 0, name: Made-up GPU\n", "GPU 0, clocks.max.sm: 1980 MHz\n", "nvcc: 13.0, V13.0.88\n",
                                        "CUDA of the driver: 13.1\n")), "machine.txt", text)
    program(s, "roofline", 3)
    run, options = run_all("there")
    expect(run, 3, "without limits the stages run all the same", out="12 done")
    check("--limits" not in options["half2"], "and not with those of an earlier run", options)


def runs(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def interrupted(s):
    there = s.here / "there"
    for how, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        program(s, "half2_cpu_trace", before=f"sleep 60 & touch .running-x.part; echo $$ $! >{s.here}/pid; wait")
        (s.here / "pid").unlink(missing_ok=True)
        process = subprocess.Popen([s.here / "run", "--all", there], env=s.environment(), cwd=s.here, start_new_session=True,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        while process.poll() is None and not ((s.here / "pid").exists() and (s.here / "pid").read_text()):
            time.sleep(0.01)
        (there / ".running-x.part").unlink(missing_ok=True)
        os.kill(process.pid, how)
        said = process.communicate(timeout=20)[1]
        complete = "interrupted in half2_cpu_trace; complete: roofline_host.csv, library_curves.csv, ladder.csv\n"
        check(process.returncode == code and said == (complete if how == signal.SIGINT else ""), f"ended by {how.name}",
              (process.returncode, said))
        pids = (s.here / "pid").read_text().split()
        deadline = time.monotonic() + 5
        while (running := [pid for pid in pids if runs(pid)]) and time.monotonic() < deadline:
            time.sleep(0.01)
        check(len(pids) == 2 and not running, "what was running, and what that had started, is stopped", (pids, running))
        check(not left_behind(there) and not (there / "half2.csv").exists(), "nothing of it is left", list(there.iterdir()))
        check(list(all_py.recorded(there)) == CPU_STEPS[:7], "steps.csv has what was done", all_py.recorded(there))


def seconds_left(s):
    left = all_py.seconds_left
    usual = {"a": 10.0, "b": 20.0, "c": 30.0}
    for arguments, expected, what in (
            ((["a", "b", "c"], 0, {}, usual), 60, "as recorded"), ((["a", "b", "c"], 4, {}, usual), 56, "less what is over"),
            ((["a", "b", "c"], 15, {}, usual), 50, "one that takes longer than it did"),
            ((["b", "c"], 0, {"a": 20.0}, usual), 100, "scaled: this machine takes twice as long"),
            ((["c"], 0, {"a": 20.0, "b": 10.0}, usual), 30, "by all the seconds so far"),
            ((["b", "d"], 0, {"a": 5.0}, usual), 10 + (5 + 10 + 15) / 3, "a step without a record: the mean"),
            ((["b", "c"], 1, {"a": 6.0}, {}), 11, "no record: by the number of steps"),
            ((["b", "c"], 1, {"a": 6.0}, {"x": 1.0}), 2.5 + 3.5, "a record of other steps: the mean of both"),
            ((["a", "b"], 1, {}, {}), None, "nothing to judge by")):
        seen = left(*arguments)
        good = seen == expected or (None not in (seen, expected) and abs(seen - expected) < 1e-9)
        check(good, f"time left, {what}: {expected}", seen)
    seen = [all_py.duration(seconds) for seconds in (0.4, 59.6, 61, 3600)]
    check(seen == ["0 s", "1 min 0 s", "1 min 1 s", "60 min 0 s"], "durations", seen)
    (s.here / "one").mkdir()
    for what, text, expected in (("whole", "a,2.5,done,d\nb,1,failed,d\nc,1,skipped,d\n", {"a": 2.5}), ("cut", "a,2.5,do", {}),
                                 ("bad", "a,nan,done,d\n", {}), ("empty", "", {})):
        (s.here / "one/steps.csv").write_text("step,seconds,result,date\n" + text)
        seen = all_py.usual_seconds([s.here / "none", s.here / "one"])
        check(seen == expected, f"a steps.csv, {what}: its seconds", seen)


def results(folder, **csvs):
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*.csv"):
        path.unlink()
    for name, text in csvs.items():
        (folder / f"{name}.csv").write_text(text)


def comparison(s):
    a, b = s.here / "a", s.here / "b"
    machine = ",gpu,driver,cuda\n"
    here = ",G1,1,13\n"

    def ladder(*rows, where=here):
        return "stage,m,n,k,gflops" + machine + "".join(f"{row}{where}" for row in rows)

    limits = "what,flop_per_byte,gbs,gflops" + machine
    results(a, ladder=ladder("01,8,8,8,100", "01,9,9,9,210", "02,8,8,8,360", "03,8,8,8,1"),
            limits=f"{limits}copy,-,90,-{here}fma,-,-,40{here}sweep,1,90,90{here}",
            transfer=f"n,memory,h2d_ms,kernel_ms,d2h_ms{machine}8,pinned,1,2,4{here}", types="a_b,c\n")
    results(b, ladder=ladder("02,8,8,8,300", "01,9,9,9,200", "01,8,8,8,100", "04,8,8,8,1"),
            limits=f"{limits}copy,-,100,-{here}fma,-,-,40{here}sweep,1,100,100{here}",
            transfer=f"n,memory,h2d_ms,kernel_ms,d2h_ms{machine}8,pinned,1,4,4{here}", latency="x\n")
    expected = f"""{a} against {b}:
ladder.csv: 3 rows compared; gflops: median ratio 1.050
    02 8 8 8: gflops 360 / 300, +20.0%
    only in {a}: 03 8 8 8
    only in {b}: 04 8 8 8
{a}/latency.csv: not there
{b}/latency.csv: has no rows
limits.csv: 3 rows compared; gbs: median ratio 0.900; gflops: median ratio 0.950
    copy -: gbs 90 / 100, -10.0%
    sweep 1: gflops 90 / 100, -10.0%
transfer.csv: 1 row compared; h2d_ms: median ratio 1.000; kernel_ms: median ratio 0.500; d2h_ms: median ratio 1.000
    8 pinned: kernel_ms 2 / 4, -50.0%
{a}/types.csv: has no rows
{b}/types.csv: not there
"""
    run = s.call("run", "--compare", a, b)
    good = run.returncode == 0 and run.stdout == expected and run.stderr == ""
    check(good, "a comparison", f"{run.stdout}{run.stderr}\nexpected {expected}")

    row = "01,8,8,8,100"
    for what, text, said in (
            ("empty", "", "has no rows"), ("only a header", ladder(), "has no rows"),
            ("cut", ladder(row)[:-2], "ends in the middle"),
            ("short", ladder(row) + "01,8\n", "line 3: has 2 fields, the header 8"),
            ("another's", "x,y\n1,2\n", "has no column 'stage'"), ("a word", ladder("01,8,8,8,fast"), "line 2: gflops is 'fast'"),
            ("nan", ladder("01,8,8,8,nan"), "line 2: gflops is 'nan'"), ("zero", ladder("01,8,8,8,0"), "line 2: gflops is '0'"),
            ("twice", ladder(row, row), "has two rows '01 8 8 8'")):
        results(a, ladder=text, half2=ladder(row))
        results(b, ladder=ladder(row), half2=ladder(row))
        for one, other in ((a, b), (b, a)):
            run = s.call("run", "--compare", one, other) if what == "empty" else in_process(one, other)
            told = [line for line in run.stdout.splitlines() if "ladder.csv" in line]
            good = len(told) == 1 and said in told[0] and str(a) in told[0] and run.returncode == 0
            others = "half2.csv: 1 row compared" in run.stdout
            check(good and others, f"a bad CSV, {what}: one line, and the others are compared", run)

    results(a, ladder=ladder(row))
    for where, said in ((",G2,1,13\n", "Different machines, which this compares: G1 / G2"),
                        (",G1,2,13\n", "Different software: 1, 13 / 13, 2")):
        results(b, ladder=ladder(row, where=where))
        second = in_process(a, b).stdout.splitlines()[1]
        check(second == said, "another machine or driver is said first", second)
    results(b, ladder=ladder("01,8,8,8,-"))
    check("ladder.csv: 1 row compared; no figures" in in_process(a, b).stdout, "rows without figures")

    program(s, "half2_cpu_trace", csv="stage,m,n,k,gflops\\nhalf2,8,8,8,50\\n")
    results(b, half2="stage,m,n,k,gflops\nhalf2,8,8,8,100\n")
    run = s.call("run", "--all", "new", "--against", b)
    expect(run, 0, "--against compares after the run, and fails nothing", 
           out="half2 8 8 8: gflops 50 / 100, -50.0%")


def in_process(a, b):
    return subprocess.run([sys.executable, "-B", ROOT / "tools/compare.py", a, b], capture_output=True, text=True)


for part in (everything_runs, failures, on_a_gpu, interrupted, seconds_left, comparison):
    with tempfile.TemporaryDirectory() as folder:
        stand_ins = StandIns(folder)
        prepare(stand_ins)
        part(stand_ins)
end()

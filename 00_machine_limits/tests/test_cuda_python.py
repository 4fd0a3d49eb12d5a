"""cuda_python.py, with stand-ins for the GPU's packages: what it counts as wrong, and what it says without them."""
import csv
import ctypes
import importlib
import sys
import types

import pytest

from support import ROOT

np = pytest.importorskip("numpy")
ORDER = []  # copies that CuPy's stream has yet to do


def finish():
    while ORDER:
        ORDER.pop(0)()


class Array(np.ndarray):
    """NumPy's, with the members of CuPy's that are used."""

    @property
    def data(self):
        return types.SimpleNamespace(ptr=self.ctypes.data, memset=lambda value, size: ctypes.memset(self.ctypes.data, value, size))


def asarray(host):
    there = np.full(host.shape, np.nan, np.float32).view(Array)
    ORDER.append(lambda: np.copyto(there, host))
    return there


def launch(stream, config, kernel, M, N, K, A, B, C):
    """Reads what is there now; only a kernel on CuPy's own stream has its copies done."""
    if stream == "default":
        finish()

    def at(pointer, index):
        if kernel == "matmul<int>" and index >= INT_END:
            index -= 2 * INT_END
        return ctypes.c_float.from_address(pointer + 4 * int(index))
    for row in range(M):
        for col in range(N):
            at(C, row * N + col).value = sum(at(A, row * K + k).value * at(B, k * N + col).value for k in range(K))


INT_END = 2**10


@pytest.fixture
def program(monkeypatch):
    device = types.SimpleNamespace(set_current=int, create_stream=lambda: "another", default_stream="default", name="a GPU",
                                   sync=finish, compute_capability=types.SimpleNamespace(major=9, minor=0))
    compiled = types.SimpleNamespace(get_kernel=lambda name: name)
    core = types.SimpleNamespace(Device=lambda: device, ProgramOptions=dict, LaunchConfig=dict, launch=launch, __version__="0",
                                 Program=lambda *_, **__: types.SimpleNamespace(compile=lambda *_, **__: compiled))
    runtime = types.SimpleNamespace(memGetInfo=lambda: (2**40, 2**40))
    cupy = types.SimpleNamespace(
        empty=lambda shape, kind=None: np.empty(shape, kind).view(Array), asarray=asarray, asnumpy=np.array, __version__="0",
        full=lambda *words: np.full(*words).view(Array), count_nonzero=np.count_nonzero,
        cuda=types.SimpleNamespace(Device=lambda: types.SimpleNamespace(synchronize=finish), runtime=runtime))
    for name, module in (("cupy", cupy), ("cuda", types.SimpleNamespace(core=core)), ("cuda.core", core)):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.syspath_prepend(ROOT / "00_machine_limits")
    return importlib.import_module("cuda_python")


def rows(path):
    return list(csv.DictReader(path.open()))


def test_a_kernel_that_does_not_wait_is_seen(program, tmp_path):
    assert program.main(["--size", "17", "--runs", "2", "--csv", str(tmp_path / "x.csv")]) == 0
    found = [(row["streams"], row["wrong"], row["allclose"]) for row in rows(tmp_path / "x.csv")]
    assert found == 2 * [("two", "289", "False")] + 2 * [("one", "0", "True")]


def test_an_index_past_the_end_of_int_is_seen(program, monkeypatch, tmp_path):
    monkeypatch.setattr(program, "INT_END", INT_END)  # that of 11 bits
    assert program.main(["--overflow", "--csv", str(tmp_path / "x.csv")]) == 0
    found = {(row["large"], row["index"]): (row["wrong"], row["written_before_c"]) for row in rows(tmp_path / "x.csv")}
    # 33 x 33 elements, the last 65 of them past 1023: in the last two rows of A and of C, and in all columns of B
    assert found == {("A", "int"): ("32", "0"), ("B", "int"): ("528", "0"), ("C", "int"): ("65", "65"),
                     ("A", "size_t"): ("0", "0"), ("B", "size_t"): ("0", "0"), ("C", "size_t"): ("0", "0")}


@pytest.mark.parametrize("lacking", ("cuda.core", "cupy"))
def test_without_the_packages_one_line_says_so(program, monkeypatch, capsys, lacking):
    monkeypatch.setitem(sys.modules, lacking, None)
    if lacking == "cuda.core":
        monkeypatch.setitem(sys.modules, "cuda", types.ModuleType("cuda"))
    assert program.main([]) == 77 and capsys.readouterr().err.count("\n") == 1

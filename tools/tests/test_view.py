"""./run view: the record holds what the emulator counted, and the page holds the record. (test_pages.py shows it in a browser.)"""
import csv
import io
import re
import sys

import pytest

import view
from records import STAGES, built, record_of
from support import ROOT, call, program


def sums(record, kind):
    """[requests, sectors or wavefronts, at best] of the events of a kind."""
    events = [event for block in record["blocks"] for warp in block["warps"] for event in warp
              if record["sites"][event[0]][0] in kind]
    return [len(events), sum(event[1] for event in events), sum(event[2] for event in events)]


@pytest.mark.parametrize("stage", STAGES)
def test_record_is_what_the_emulator_counted(stage, tmp_path):
    """Of a launch of one or two blocks, which are recorded whole."""
    source = built(stage).read_text()
    m, n, k = view.default_shape(source)
    less = 8 if "AlignedRows" in source else 1  # the first launch is recorded, and that is to be the product
    for shape in ((m, n, k), (m + 1, n, k - less)):
        record, file = record_of(stage, shape), tmp_path / "counts.csv"
        call(program(f"{stage}_cpu_trace"), *(word for pair in zip(("-m", "-n", "-k"), map(str, shape)) for word in pair),
             "--order", "forward", "--csv", file)
        counted = next(csv.DictReader(io.StringIO(file.read_text())))
        requests, sectors, _ = sums(record, ("global load", "copy", "bulk load"))
        assert requests == int(counted["global_load_requests"])
        assert sectors == int(counted["global_load_sectors"]) or sums(record, ("bulk load",))[0]  # which have no place on a page
        assert sums(record, ("global store",))[1] == int(counted["global_store_sectors"]) or sums(record, ("bulk store",))[0]
        shared = [sums(record, (f"shared {what}",)) for what in ("load", "store")]
        assert [each[1] for each in shared] == [int(counted[f"shared_{what}_wavefronts"]) for what in ("load", "store")]
        if best := sum(each[2] for each in shared):
            assert f"{sum(each[1] for each in shared) / best:.2f}" == counted["bank_conflict_factor"]
        barriers = {sum(record["sites"][event[0]][0] == "barrier" for event in warp)
                    for block in record["blocks"] for warp in block["warps"]}
        assert barriers == {int(counted["barriers_per_block"])} or "named_barrier_sync" in source  # which are not counted
        assert len(record["blocks"]) == (1 if shape == (m, n, k) else 2)


def test_addresses_are_elements():
    """03 loads a column of A, a row of B, and stores C once."""
    record = record_of(STAGES[2], (128, 128, 8))
    written = []
    for event in record["blocks"][0]["warps"][3]:
        what, _, _, width = record["sites"][event[0]]
        if what == "global load":  # 32 rows of one column of A, from row 96
            offsets = record["patterns"][event[5]]
            assert width == 4 and offsets == tuple(32 * lane for lane in range(32)) and event[4] // 32 == 96
        elif what == "global store":
            begin = record["matrices"][2]["begin"]
            written += [(event[4] + offset - begin) // 4 for offset in record["patterns"][event[5]]]
    assert len(written) == len(set(written)) == 128 * 128 // 8
    names = {array["name"]: (array["bytes"], array["size"], array["lengths"]) for array in record["arrays"]}
    assert names == {"As": (512, 4, [128]), "Bs": (512, 4, [128])}


def test_arrays_in_dynamic_memory():
    record = record_of("06_wmma")
    lengths = {array["name"]: array["lengths"] for array in record["arrays"]}
    assert lengths == {"As": [3, 128, 40], "Bs": [3, 32, 264], "Cs": [8, 16, 24]}
    assert sums(record, ("tensor",))[0] == record["shape"][2] // 16 * 16 * 8  # 4 x 4 products a warp and 16 k


def test_arrays_in_a_struct():
    record = record_of("10_async_mma")
    lengths = {array["name"]: array["lengths"] for array in record["arrays"]}
    assert lengths == {"As": [4, 128, 64], "Bs": [4, 4, 64, 64], "full": [4], "empty": [4]}


def test_constants_of_templates():
    source = """constexpr int kStepK = 64;
        template <int rows, int columns>
        struct Tile {
            static constexpr int kTileM = rows, kTileN = ceil_div(columns, 64) * 64;
            static constexpr bool kAlone = kTileM == 64;
            static constexpr int kLate =
                kAlone ? 0 : kTileN / 64 *
                                         32, kBytes = int(sizeof(float)), kUnknown = f(3);
        };
        template <class T, class Tile, bool kTma>
        __global__ void matmul(int M) {}"""
    known = view.constants(source, "matmul<__half, Tile<128, 200>, true>")
    assert known == {"kStepK": 64, "rows": 128, "columns": 200, "kTma": 1, "kTileM": 128, "kTileN": 256, "kAlone": 0, "kLate": 128,
                     "kBytes": 4}
    assert view.constants(source, "matmul<__half, Tile<64, 64>, false>")["kLate"] == 0
    assert view.constants(source) == {"kStepK": 64, "kBytes": 4}


def test_arrays_of_a_cluster():
    """Two blocks of a cluster have the same arrays, so many bytes apart."""
    first, apart = 1 << 20, 217088
    begin = view.read(f"block,block 0,{first},{apart},2\n"
                      f"event,12,wait,11_wgmma/2_store.cu:77,0,0,0,1,{first},{first + apart + 213032}\n", "11/2", (1, 1, 1))["arrays"]
    begin = {array["name"]: array["begin"] for array in begin}
    assert begin["full"] == 212992 and begin["rank 1 empty"] == apart + 212992 + 24 and len(begin) == 10


@pytest.mark.parametrize("stage", ["10_async_mma", "11_wgmma", "11_wgmma.2_store"])
def test_notes(stage):
    """TMA's boxes lie as their arrays and the swizzle say. An mbarrier gets the bytes that it expects, and wgmma reads what has come."""
    record = record_of(stage)
    (block,), arrays = record["blocks"], {array["name"]: array for array in record["arrays"]}
    notes, coming, there = block["notes"], {}, {}

    def places(first, pattern):
        return [first + distance for distance in record["patterns"][pattern]]

    def buffer(address, name):
        begin, size = arrays[name]["begin"], arrays[name]["bytes"] // arrays[name]["lengths"][0]
        return divmod(address - begin, size)

    for kind, first, *rest in notes:
        if kind == "arrive":
            coming[first] = coming.get(first, 0) + rest[1]
        elif kind == "load":
            barrier, matrix, x, y, columns, rows, list = rest
            (number, offset), places_of = buffer(list[0], matrix + "s"), places(*list)
            assert barrier == arrays["full"]["begin"] + 8 * number and offset % 8192 == 0
            assert places_of == [list[0] + 128 * row + 16 * (piece ^ row % 8) for row in range(rows) for piece in range(8)]
            coming[barrier] -= 16 * len(places_of)
        elif kind == "done" and notes[first][0] == "load":
            there.update({place: notes[first][4:6] for place in places(*notes[first][8])})
        elif kind == "wgmma":
            for list in rest[:2]:
                assert {place for place in places(*list)} <= set(there)
            k = {there[place][0] for place in places(*rest[0])} | {there[place][1] for place in places(*rest[1])}
            assert len(k) == 1, "A and B are of one step"
    assert coming and not any(coming.values())
    assert {"barrier", "arrive", "wait", "look", "pass", "load", "done"} <= {kind for kind, *_ in notes}
    assert stage.startswith("11") == ("wgmma" in {kind for kind, *_ in notes})


def run(*words):
    return call(sys.executable, "-B", ROOT / "tools/run.py", "view", *words)


@pytest.mark.parametrize("words, said", [
    ([], "view: takes a step"), (["03", "04", "05"], "view: takes a step"), (["99"], "view '99': takes one of 01_naive"),
    (["08"], "What runs in OpenCL is not traced"), (["04/9"], "view '04/9': takes one of"),
    (["03", "-k", "0"], "-k: '0': takes a whole number from 1 to 512"), (["03", "-m", "1e3"], "takes a whole number from 1 to 512"),
    (["03", "--size", "64"], "unrecognized arguments: --size"), (["03", "--html", "/none/x.html"], "can't be written")])
def test_refused(words, said):
    refused = run(*words)
    assert refused.returncode == 2 and said in refused.stderr and refused.stderr.count("\n") == 1, refused


def test_page_is_all_in_one_file():
    for template in ("view", "fragments"):
        text = view.page("<&>", [{"name": "</script>"}], template)
        assert text.count("<title>&lt;&amp;&gt;</title>") == text.count("</script>") == 1 and "<\\/script>" in text
        assert not re.search(r"(src|href)\s*=|https?:|import\s*\(|fetch\(|/\* (STYLE|COMMON|RECORD) \*/", text)

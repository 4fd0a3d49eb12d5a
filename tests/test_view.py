"""./run view: the record has what the emulator counted, and the page has the record. (test_view_pages.py shows it in a
browser.)"""
import collections
import csv
import re

import pytest

import view
from records import STAGES
from support import program


def sums(record, *kinds):
    """[requests, sectors or wavefronts, fewest possible] of the events of these kinds."""
    events = [event for block in record["blocks"] for warp in block["warps"] for event in warp
              if record["sites"][event[0]][0] in kinds]
    return [len(events), sum(event[1] for event in events), sum(event[2] for event in events)]


@pytest.mark.parametrize("stage", STAGES)
def test_record_is_what_the_emulator_counted(stage, tmp_path):
    """For a ragged launch of two blocks. Bulk copies have no sectors on a page. Each element of C is stored once, in 11
    by TMA."""
    m, n, _ = view.usual_shape(stage)
    shape, file = (m + 1, n, 24), tmp_path / "counts.csv"
    record = view.read(view.record(program(f"{stage}_cpu_trace"), shape, "--csv", file), stage, shape)
    assert len(view.page(stage, [record])) < 2e6
    row = next(csv.DictReader(file.open()))
    counted = collections.Counter({key: int(text) for key, text in row.items() if text.isdigit()})
    if not stage.startswith("14"):  # its first kernel, which splits A, is counted, too
        loads, sectors, _ = sums(record, "global load", "copy", "bulk load")
        assert loads == counted["global_load_requests"]
        assert sectors == counted["global_load_sectors"] or sums(record, "bulk load")[0]
        assert sums(record, "global store")[1] == counted["global_store_sectors"] or sums(record, "bulk store")[0]
        for what in ("load", "store"):
            assert sums(record, f"shared {what}")[1] == counted[f"shared_{what}_wavefronts"]
    c, stored = record["matrices"][2], collections.Counter()
    for block in record["blocks"]:
        for site, _, _, _, *lanes in sum(block["warps"], []):
            kind, _, _, width = record["sites"][site]
            if kind == "global store":
                stored.update((lanes[0] + offset - c["begin"]) // 4 + i for offset in record["patterns"][lanes[1]]
                              if offset is not None for i in range(width // 4))
    assert stored == dict.fromkeys(range(c["rows"] * c["cols"]), 1) or sums(record, "bulk store")[0]


def test_captions_of_a_chapter(tmp_path):
    """Each part of a caption's place, the steps that the caption is about, and its translations."""
    (tmp_path / "03_a").mkdir()
    (tmp_path / "docs/po/ja").mkdir(parents=True)
    (tmp_path / "docs/po/ja/tables.po").write_text(r"""
msgid ""
"One "
"{cost}.\n"
msgstr "{cost} \"個\"。\n"

#, fuzzy
#| msgid "Too.\n"
msgid "Two.\n"
msgstr "も。\n"
""")
    (tmp_path / "03_a/view.txt").write_text(
        "[1_step matmul] warp 4 shared load of Bs after barrier, lane 3: b[j] = Bs\nOne\n{cost}.\n\nwait: x: y\nTwo.\n")
    first, second = view.captions("03_a.1_step", tmp_path)
    assert first == {"warp": 4, "kind": "shared load", "of": "Bs", "after": "barrier", "lane": 3,
                     "statement": "b[j] = Bs", "text": ["One {cost}.", '{cost} "個"。', "One {cost}."]}
    assert second == {"warp": None, "kind": "wait", "of": "", "after": "", "lane": 0, "statement": "x: y",
                      "text": ["Two."] * 3}  # its translation is of an older text
    assert view.captions("03_a", tmp_path) == [first, second] and view.captions("03_a/2_step", tmp_path) == [second]
    assert view.captions("04_b", tmp_path) == []


def test_words_are_in_the_glossary():
    """All words have rows in the glossary, and their meanings have no links."""
    said = view.words()
    assert {*view.WORDS} | {names[0] for names in view.OWN} == {*said}
    assert not any("](" in text or "`" in text for text in said.values()) and said["phase"].startswith("phase: ")
    assert "GCN" not in said["wavefront"]
    japanese, chinese = view.words(language="ja"), view.words(language="zh")
    assert len(japanese) >= len(said) <= len(chinese)
    assert japanese["バンク"] == japanese["bank"] != chinese["存储体"] != said["bank"]
    assert japanese["ワープ"].startswith("ワープ (ウェーブフロント): ") and "波前" not in chinese  # which is the term for GCN


def test_a_source_that_is_not_utf_8(tmp_path):
    (tmp_path / "a.cu").write_bytes(b"// \x83\x65\n")
    data = view.read("block,0\nevent,0,global load,a.cu:1,4,1,1,0,1000", "a", (1, 1, 1), tmp_path)
    assert data["sources"]["a.cu"].startswith("// ") and view.page("a", [data])


def test_page_is_all_in_one_file():
    for template in ("view", "fragments"):
        text = view.page("<&>", [{"name": "</script>"}], template)
        assert text.count("<title>&lt;&amp;&gt;</title>") == 1 and "<\\/script>" in text
        assert text.count("</script>") == text.count("<script>")
        assert not re.search(r"(src|href)\s*=|https?:|import\s*\(|fetch\(|/\* include", text)

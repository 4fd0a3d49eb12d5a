"""./run learn as a reader types it: begins, checks, hints, remembers, and overwrites nothing."""
import json
import os
import pty
import select
import subprocess
import time

import pytest

import check_exercise
import exercises
from book.pages import optional_chapters
from support import ROOT, call, tool

FIRST, SECOND = exercises.listed()[:2]


@pytest.fixture
def typed(tmp_path):
    """Runs ./run learn with these words; the reader's files are in tmp_path / "learn"."""
    def run(*words, **options):
        environment = {**os.environ, "LEARN_DIR": str(tmp_path / "learn"), "NO_INSTALL": "1"}
        return call(ROOT / "run", "learn", *words, cwd=tmp_path, env=environment, **options)
    return run


@pytest.fixture
def file(tmp_path):
    return tmp_path / "learn" / FIRST.file


def test_from_the_start_to_the_next(typed, file):
    run = typed()
    assert run.returncode == 1 and file.read_text() == FIRST.start(), run.stderr
    assert FIRST.title in run.stdout and "✗" in run.stdout and "--hint" in run.stdout
    file.write_text(FIRST.solution())
    run = typed(FIRST.name)
    assert run.returncode == 0 and "✗" not in run.stdout and file.read_text() == FIRST.solution()
    run = typed("--list")
    assert run.returncode == 0 and "●" in run.stdout and f"1 of {len(exercises.listed())}" in run.stdout
    run = typed()
    assert SECOND.title in run.stdout and (file.parent / SECOND.file).exists()


def test_what_the_reader_wrote_is_kept(typed, file):
    typed(FIRST.name)
    file.write_text("int mine;\n")
    run = typed(FIRST.name)
    assert run.returncode == 1 and file.read_text() == "int mine;\n"
    run = typed(FIRST.name, "--reset")
    assert file.read_text() == FIRST.start()
    assert file.with_name(f"{file.name}.old").read_text() == "int mine;\n"


def test_a_message_names_a_file_of_the_tree_from_its_top(typed, file):
    typed(FIRST.name)
    text = FIRST.solution().replace("A[0]", "load4<true>(A + 4096, 4).x")
    file.write_text('#include "common/vector_access.cuh"\n' + text)
    run = typed(FIRST.name)
    assert " common/vector_access.cuh:" in run.stdout and f"{ROOT}/" not in run.stdout, run.stdout


def test_what_does_not_compile(typed, file):
    typed(FIRST.name)
    file.write_text(FIRST.start().replace("int j", "itn j"))
    run = typed(FIRST.name)
    assert run.returncode == 1 and "itn" in run.stderr and file.name in run.stderr
    assert "Traceback" not in run.stderr and len(run.stderr.splitlines()) < 10


def test_what_does_not_end(monkeypatch, tmp_path):
    monkeypatch.setattr(check_exercise, "SECONDS", 3)
    path = tmp_path / FIRST.file
    path.write_text(FIRST.start().replace("    C[j]", "    for (volatile int i = 0;;) i = i;\n    C[j]"))
    verdict = check_exercise.check(FIRST, path)
    assert not verdict.done and "not ended" in verdict.said


def test_a_long_message_fits_the_screen(tmp_path):
    words = "  what the third thread reads and writes" * 5
    run = subprocess.CompletedProcess([], 1, "", f"a: 1 x 1 x 1\n    race:{words}\n  short  line\n")
    first, *lines, last = check_exercise.message(run, tmp_path / "a.cu").split("\n")
    assert (first, last) == ("1 x 1 x 1", "  short  line") and max(map(len, lines)) <= check_exercise.COLUMNS
    assert " ".join(lines).split() == ["race:", *words.split()] and all(line.startswith("    ") for line in lines)


def test_a_count_is_of_the_statement_that_begins_in_a_line():
    text = "x = Bs[0];\nload(\n    x,  // of Bs\n    &As[0]);\nload(x, &Bs[0]);\n"
    lines = [{"line": f"a.cu:{number}", "memory": "shared", "kind": "load", "requests": "2", "cost": cost}
             for number, cost in ((1, "2"), (2, "8"), (5, "6"))]
    assert check_exercise.line_count("wavefronts per load of As", lines, text) == 4
    assert check_exercise.line_count("wavefronts per load of Bs", lines, text) == 2
    assert check_exercise.line_count("wavefronts per load of Cs", lines, text) is None


def test_a_program_prints_its_counts(tmp_path):
    task = "```goals\ncorrect\nlines_visited >= 32\npredict lane_of_row_13 = 14\n```\n"
    given = exercises.exercise(FIRST.page, 1, "", task)
    path = tmp_path / given.file

    def verdict(predicted, visited):
        path.write_text(f"{exercises.predictions(given.goals).replace('?', predicted)}#include <cstdio>\n"
                        f'int main() {{ std::printf("lines visited: {visited}\\nlane of row 13: 14\\n"); }}\n')
        return [met for _, met, _ in check_exercise.check(given, path).rows]

    assert verdict("?", "30") == [True, False, False]
    assert verdict("13", "32") == [True, True, False]
    assert verdict("14", "32") == [True, True, True]
    assert verdict("14", "?") == [True, False, True]


def test_what_the_emulator_finds_in_a_program_is_said(tmp_path):
    given = exercises.exercise(FIRST.page, 1, "", "```goals\nlines_visited >= 32\n```\n")
    path = tmp_path / given.file
    path.write_text("__global__ void store(int* to) { to[threadIdx.x] = 1; }\n"
                    "int main() { int* one; cudaMalloc(&one, sizeof(int)); store<<<1, 2>>>(one); }\n")
    verdict = check_exercise.check(given, path)
    assert not verdict.done and f"{path.name}:1" in verdict.said


def test_the_next_one_follows_the_road():
    beside = [each.chapter[:2] in optional_chapters(ROOT) for each in exercises.listed()]
    assert any(beside) and beside == sorted(beside) and exercises.listed()[0].chapter == "primer"


def test_the_costly_line_is_one_of_the_goals(tmp_path):
    """The goal is about the stores to C. The loads of A cost more."""
    task = "```goals\nshape: 32x32x32\nalso: 32x1x1\nsectors per store to C <= 4\n```\n"
    given = exercises.exercise(FIRST.page, 1, "", task)
    path = tmp_path / given.file
    path.write_text('''#include "common/stage.h"
__global__ void matmul(int N, int K, const float* A, const float* B, float* C) {
    const int row = blockIdx.y * 32 + threadIdx.x, col = blockIdx.x;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}
#define MULTIPLES 32, 1, 1
void launch_matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    matmul<<<dim3(N, M / 32), 32>>>(N, K, A, B, C);
}
''')
    verdict = check_exercise.check(given, path)
    assert not verdict.done and "a warp's store" in verdict.said, verdict


def test_hints_follow_each_other(typed):
    hints = FIRST.hints()
    said = [typed(FIRST.name, "--hint").stdout for _ in range(len(hints) + 1)]
    for number, text in enumerate(said[:-1], 1):
        assert f"Hint {number} of {len(hints)}" in text
    assert said[-1] == said[-2]
    assert typed(FIRST.name, "--solution").returncode == 0


def test_the_terminals_language(typed, monkeypatch):
    there = next(each for each in exercises.listed() if each.page.with_suffix(".ja.md").exists())
    monkeypatch.setenv("LC_ALL", "ja_JP.UTF-8")
    ours = exercises.translated(there, "ja")
    assert ours.title != there.title and ours.hints()[0] in typed(there.name, "--hint").stdout.replace("\n", "")


def test_bad_words(typed):
    for words, said in ((("03/99",), "03/99"), (("99",), "primer 03"), (("--typo",), "--typo")):
        run = typed(*words)
        assert run.returncode == 2 and said.split()[0] in run.stderr and run.stderr.count("\n") == 1, run.stderr


@pytest.mark.parametrize("text", ("", "[]", '{"done": 3}', '{"done": ["no such"], "hints": {}}'))
def test_a_broken_note_of_the_progress(typed, tmp_path, text):
    (tmp_path / "learn").mkdir()
    (tmp_path / "learn/progress.json").write_text(text)
    run = typed("--list")
    assert run.returncode == 0 and f"0 of {len(exercises.listed())}" in run.stdout, run.stderr


def test_a_save_is_noticed(tmp_path):
    """On a terminal: the start is red, the saved solution green, and that ends the watch."""
    tool("inotifywait")
    environment = {**os.environ, "LEARN_DIR": str(tmp_path / "learn"), "NO_INSTALL": "1", "NO_COLOR": "1"}
    ours, terminal = pty.openpty()
    with subprocess.Popen([ROOT / "run", "learn", FIRST.name], cwd=tmp_path, env=environment, stdin=terminal,
                          stdout=terminal, stderr=terminal) as child:
        os.close(terminal)
        text, saved, latest = "", False, time.monotonic() + 120
        while "Done." not in text:
            assert select.select([ours], [], [], latest - time.monotonic())[0], text
            text += os.read(ours, 4096).decode(errors="replace")
            if "checked again" in text and not saved:
                (tmp_path / "learn" / FIRST.file).write_text(FIRST.solution())
                saved = True
        assert child.wait(timeout=60) == 0
    os.close(ours)
    assert text.index("✗") < text.index("Done.")
    assert json.loads((tmp_path / "learn/progress.json").read_text())["done"] == [FIRST.name]


def test_the_counted_shape_is_the_last():
    given = {"shape": "2x3x4", "also": "2x3x4 1x1x1"}
    assert check_exercise.shapes_of(given, (1, 1, 1)) == "1x1x1,2x3x4"
    assert check_exercise.shapes_of(given, (1, 8, 8)) == "1x8x8,2x8x8"

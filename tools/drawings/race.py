"""The picture of the emulator."""
import re

from machine import ROOT
from pictures import picture
from svg import Grid, Svg


@picture("emulator_race")
def race():
    """Of the page's first example: its lines, and what it prints."""
    page = (ROOT / "emulator/README.md").read_text()
    code, words = re.search(r"(?s)```cpp\n(.*?)```", page)[1].splitlines(), int(re.search(r"__shared__ int s\[(\d+)\]", page)[1])
    reports = re.findall(r"(?m)^    (race in shared memory: race.cu:(\d+) (\w+) what .* threads (\d+) and (\d+)\))$", page)
    (first, second), = {(int(one), int(other)) for *_, one, other in reports}
    read, write = (next(int(line) for _, line, does, *_ in reports if does == what) for what in ("reads", "writes"))
    svg = Svg("Without a barrier there is no order: a race")
    for row, line in enumerate((write, read)):
        svg.text(20, 54 + 18 * row, f"line {line}:  " + code[line - 1].split("//")[0].strip())
    ran, top = [(first, write), (first, read), (second, write), (second, read)], 108
    for name, order, said in (
            ("Without __syncthreads()", ran,
             (f"Thread {second} knows nothing of thread {first}'s clock 1.",
              "In another order of threads its access comes first.")),
            ("With it in between", sorted(ran, key=lambda at: at[1]),
             ("The barrier tells every thread that all have passed clock 1.",
              "What comes after it has clock 2, in any order of threads."))):
        barrier = order is not ran
        svg.text(20, top, name, "title")
        grid = Grid(svg, 190, top + 36, 4 + barrier, 2, 112, 40)
        grid.named([f"s[{word}]" for word in (first, second)], css="title")
        svg.text(150, top + 30, "clock", "strong middle")
        last = {}  # of each word: the row of its access before
        for row, (thread, line) in enumerate(order):
            word, row = thread if line == write else words - 1 - thread, row + barrier * (line == read)
            column = (first, second).index(word)
            middle, y = grid.middle(row, column)
            svg.text(20, y + 2, f"thread {thread}", "title")
            svg.text(20, y + 17, f"line {line}", "lesser")
            svg.text(150, y + 6, 1 + (barrier and line == read), "title middle", False)
            svg.box(middle - 50, y - 17, 100, 34, 3 if barrier or word not in last else 4, "writes" if line == write else "reads",
                    css="title middle")
            if word in last:
                svg.arrow(middle, grid.middle(last[word], column)[1] + 17, middle, y - 17)
            last[word] = row
        if barrier:
            svg.box(20, grid.y + 88, 388, 24, 1, edge="grid")
            svg.text(28, grid.y + 104, "__syncthreads()", "strong")
        top = grid.y + 40 * grid.rows + 20
        svg.paragraph(20, top, *said)
        top += 56
    svg.legend(top - 20, (3, "an access"), (4, "nothing orders it: a race"))
    svg.text(20, top + 22, "What the emulator prints:", "strong")
    for row, (report, *_) in enumerate(reports):
        what, place = report.split(" (")
        svg.text(20, top + 42 + 34 * row, what)
        svg.text(32, top + 59 + 34 * row, "(" + place)
    return svg, "Drawn from the first example of emulator/README.md."

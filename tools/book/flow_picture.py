"""The picture at the top of the first page: for each chapter along the road, tiles of A and B that move through shared
memory to C, beside the speed that was measured and the one that was predicted.

On GitHub it is an animated SVG without a script, which shows one chapter after another. The site has the same SVG in
its page, where theme/screen.js shows the chapter that the reader chooses. What moves is from docs/results/flow.csv, and
the speeds are from a GPU's ladder.csv.
"""
import html
import re
import string
import types

from book import colours, pages
from book.measured import SIZE, UNITS, unit
from book.tables import idea_of
from programs import ROOT
from results import read
from view.flow import COLUMNS

# Why a chapter's measured speed is not the predicted one, from the end of its lesson.
CACHES = "Faster than predicted: the caches serve most of the loads."
WHY = {
    "01": CACHES,
    "02": CACHES,
    "03": "Slower: at each k all warps wait for loads, at two barriers.",
    "04": "Slower: each k-tile has a gap, barrier, load, store, barrier.",
    "05": "Slower: a tenth of the instructions are no multiply-adds.",
    "06": "Slower: the tensor cores are active in 73% of the cycles.",
    "10": "Slower: mma.sync alone does not reach the tensor cores' peak.",
    "11": "Faster than predicted: L2 reads less than the blocks request.",
}
FLOWS, THEME = ROOT / "docs/results/flow.csv", ROOT / "tools/book/theme"
WIDTH, HEIGHT, PIXELS = 450, 376, 660
LEFT, RIGHT = 20, 430
BEAT, BEATS = 0.34, 14  # seconds; each chapter is shown for so many beats, the last of them with all of C summed
ACROSS, DOWN = 150 / 256, 75 / 128  # pixels an element of C
C = 116, 153  # the corner of C
K_TILE, GAP = 14, 2  # the room of a k-tile in A and in B, and the gap after it
SHARED = 292, 57, 138, 171  # the panel of shared memory
BAR = 274  # the top of the bar that shows the speed


def style(chapters, lengths):
    """The style sheet. chapters: how many there are. lengths: for how many beats something may stay."""
    cycle, beat = BEAT * BEATS, 100 / BEATS
    numbers = {"left": LEFT, "beat": BEAT, "cycle": cycle, "every": cycle * chapters, "share": 100 / chapters,
               "grown": 12 / chapters, "begin": cycle * (chapters - 1), "still": cycle * (chapters - 1) + 3.6 * BEAT}
    fills = {"light": colours.LIGHT, "dark": colours.DARK, **{name: f"{number:g}" for name, number in numbers.items()}}
    text = re.sub(r"(?s)/\*.*?\*/", "", (THEME / "flow.css").read_text())
    rules = [re.sub(r"\s+", " ", string.Template(text).substitute(fills))]
    move = "transform: translate(var(--x), var(--y)) scale(var(--s))"
    for beats in (1, 2):
        end = beats * beat
        rules.append(f"@keyframes fly{beats} {{ 0% {{ opacity: 1 }} {0.9 * end:.2f}% {{ opacity: 1; {move} }} "
                     f"{end:.2f}%, to {{ opacity: 0; {move} }} }} .fly{beats} {{ animation-name: fly{beats} }}")
    for beats in lengths:
        rules.append(f"@keyframes on{beats} {{ 0% {{ opacity: 1 }} {beats * beat:.2f}%, to {{ opacity: 0 }} }} "
                     f".on{beats} {{ animation-name: on{beats} }}")
    return "\n".join(rules)


class Step:
    """A chapter's part of the picture."""

    def __init__(self, tiles):
        self.tiles = tiles
        self.parts, self.lengths = [], set()
        self.thickness = min(K_TILE - GAP, 4 + 2 * tiles[0].tile_k.bit_length())  # in pixels; k is not to scale
        self.rows, self.columns = tiles[0].rows * DOWN, tiles[0].columns * ACROSS

    def text(self, x, y, text, css=""):
        self.parts.append(text_at(x, y, text, css))

    def box(self, x, y, width, height, css, style=""):
        style = f' style="{style}"' if style else ""
        self.parts.append(f'<path class="{css}"{style} d="M{x:.4g} {y:.4g}h{width:.4g}v{height:.4g}h{-width:.4g}z"/>')

    def stay(self, place, css, beat, beats):
        """A box that is there for so many beats."""
        self.lengths.add(beats)
        self.box(*place, f"{css} t stay on{beats}", f"--t:{beat}")

    def move(self, place, to, css, beat, beats=1):
        """A box that becomes another one in so many beats."""
        (x, y, width, height), (to_x, to_y, to_width, to_height) = place, to
        scales = f"{to_width / width:.3g},{to_height / height:.3g}"
        self.box(*place, f"{css} t fly{beats}", f"--t:{beat};--x:{to_x - x:.4g}px;--y:{to_y - y:.4g}px;--s:{scales}")

    def places(self, tile):
        """The boxes of a k-tile in A and in B."""
        before = K_TILE * (len(self.tiles) - tile.tile) + 12
        return (C[0] - before, C[1], self.thickness, self.rows), (C[0], C[1] - before, self.columns, self.thickness)

    def places_in_shared(self, tile):
        """The boxes of both parts of a k-tile in shared memory."""
        x, y, height = SHARED[0] + 14, SHARED[1] + 32 + 35 * tile.pipeline_stage, self.rows / 3
        across = x + 28, y + (height - self.thickness) / 2, 0.55 * self.columns, self.thickness
        return (x, y, self.thickness, height), across

    def draw(self):
        reach, of_c = K_TILE * len(self.tiles), (*C, self.columns, self.rows)
        self.box(C[0] - 12 - reach, C[1], reach - GAP, 128 * DOWN, "idle")
        self.box(C[0], C[1] - 12 - reach, 256 * ACROSS, reach - GAP, "idle")
        self.box(*C, 256 * ACROSS, 128 * DOWN, "idle")
        self.text(C[0] - 12 - reach, C[1] - 6, "A", "strong")
        self.text(C[0] - 8, C[1] - 6 - reach, "B", "strong end")
        self.text(C[0] + 256 * ACROSS + 6, C[1] + 128 * DOWN - 2, "C", "strong")
        self.draw_shared()
        for tile in self.tiles:
            self.draw_tile(tile)
            self.stay(of_c, "sum", tile.multiply + 1, BEATS - 1 - tile.multiply)
        self.box(*of_c, "edge")
        end = self.tiles[-1].multiply + 1
        self.stay(of_c, "c", end, BEATS - end)  # the sums are stored
        first = self.tiles[0]
        shape = f"{first.rows} x {first.columns}"
        words = f"tile of C: {shape}, k-tiles of {first.tile_k}"
        if first.pipeline_stage is None:
            words = f"elements of C: {shape}, one k at a time"
        self.text(LEFT, BAR - 26, words, "small")

    def draw_shared(self):
        stages = {tile.pipeline_stage for tile in self.tiles} - {None}
        x, y, *_ = SHARED
        self.box(*SHARED, "frame" if stages else "frame dashed")
        self.text(x + 14, y + 19, "shared memory", "strong")
        if not stages:
            self.text(x + 14, y + 38, "not used", "small lesser")
        for tile in self.tiles[: len(stages)]:
            for place in self.places_in_shared(tile):
                self.box(*place, "idle")

    def draw_tile(self, tile):
        """A k-tile's way: to the tile of C, or first to shared memory, where it lies until it has been multiplied."""
        at_c = (*C, self.thickness, self.rows), (*C, self.columns, self.thickness)
        for number, (css, place, to) in enumerate(zip("ab", self.places(tile), at_c)):
            self.box(*place, f"{css} k")
            if tile.pipeline_stage is None:
                self.move(place, to, css, tile.load)
                continue
            inside = self.places_in_shared(tile)[number]
            self.move(place, inside, css, tile.load, tile.store - tile.load + 1)
            self.stay(inside, css, tile.store + 1, tile.multiply - tile.store)
            self.move(inside, to, css, tile.multiply)

    def draw_speed(self, row, before, most, most_before):
        """The bars: measured, predicted, cuBLAS, and the chapter before, and where their scale ends, and that of the
        chapter before if it is another one."""
        def x(gflops):
            return (RIGHT - LEFT) * gflops / most

        self.text(RIGHT, BAR - 26, f"{row.flop_per_byte} flop per byte", "small end")
        self.box(LEFT, BAR, RIGHT - LEFT, 20, "idle")
        long, grows = x(row.gflops), x(before.gflops) / x(row.gflops) if before else 0
        self.parts.append(
            f'<path class="bar" style="--from:{grows:.3g}" d="M{LEFT} {BAR}h{long:.1f}v20h{-long:.1f}z"/>'
        )
        measured, inside = f"measured {row.gflops:T} TFLOP/s", long > 170
        self.text(LEFT + (8 if inside else long + 8), BAR + 14, measured, "strong on-bar" if inside else "strong")
        at = LEFT + x(row.predicted_gflops)
        self.box(at - 3, BAR - 4, 6, 28, "hollow")
        middle = max(LEFT + 42, min(at, RIGHT - 42))
        self.text(round(middle), BAR - 8, f"predicted {row.predicted_gflops:T}", "middle")
        ends = [f"{end / 1000:.0f}" for end in (most, most_before or most)]
        scale = ends[0] if ends[0] == ends[1] else f"{ends[0]} (was {ends[1]})"
        self.parts.append(f'<path class="edge" d="M{RIGHT} {BAR}v24"/>')
        self.text(RIGHT, BAR + 36, scale, "small end")
        self.text(LEFT, BAR + 56, WHY[row.stage[:2]], "small")
        at = LEFT + x(row.cublas_gflops)
        self.parts.append(f'<path class="edge dashed" d="M{at:.1f} {BAR}v36"/>')
        self.text(round(at - 5), BAR + 36, f"cuBLAS {row.cublas_gflops:T}", "small end")
        if before:
            self.box(LEFT, BAR + 22, x(before.gflops), 4, "ghost")
            self.text(LEFT, BAR + 38, f"{before.stage[:2]}: {before.gflops:T}", "small lesser")


def text_at(x, y, text, css=""):
    css = f' class="{css}"' if css else ""
    return f'<text x="{x:g}" y="{y:g}"{css}>{html.escape(str(text), False)}</text>'


def road(results):
    """[(row of ladder.csv, its tiles)] of the chapters that the picture shows."""
    flows, optional = {}, pages.optional_chapters(ROOT)
    for row in read(FLOWS):
        cells = {column: getattr(row, column) for column in COLUMNS}
        numbers = {column: None if cell == "-" else int(cell) for column, cell in cells.items()}
        flows.setdefault(row.stage, []).append(types.SimpleNamespace(**numbers))
    rows = results.stages()
    shown = [stage for stage in sorted(flows) if stage[:2] not in optional and stage in rows]
    return [(rows[stage], flows[stage]) for stage in shown]


def index_at(number, of):
    """Where the number of a chapter ends in the list at the top."""
    return RIGHT - 21 * (of - 1 - number)


def draw(results):
    """The text of the SVG."""
    shown, drawn, lengths = road(results), [], set()
    peaks = {word: results.one("limits", what=what).limit for word, (what, *_) in UNITS.items()}
    for number, (row, tiles) in enumerate(shown):
        step = Step(tiles)
        page = ROOT / row.stage / "README.md"
        title = re.search("(?m)^# ([^:\n]*)", page.read_text())[1]
        step.text(LEFT, 26, title, "title")
        step.text(index_at(number, len(shown)), 26, row.stage[:2], "strong small end index")
        step.text(LEFT, 45, idea_of(page), "lesser")
        step.draw()
        before = shown[number - 1][0] if number else None
        step.draw_speed(row, before, peaks[unit(row.stage)], before and peaks[unit(before.stage)])
        drawn.append(f'<g class="step" style="--n:{number}" data-step="{row.stage[:2]}">{"".join(step.parts)}</g>')
        lengths |= step.lengths
    index = "".join(text_at(index_at(at, len(shown)), 26, row.stage[:2], "small lesser end")
                    for at, (row, _) in enumerate(shown))
    said = "; ".join(f"{row.stage[:2]}: {row.gflops:T} (predicted {row.predicted_gflops:T})" for row, _ in shown)
    title = "Tiles of A and B flow to C"
    source = "Movement: the emulator's record of a block. It has an order, not times."
    machine = f"{shown[0][0].gpu}, {SIZE} x {SIZE} x {SIZE}; ladder.csv, flow.csv"
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{PIXELS}" '
        f'height="{PIXELS * HEIGHT / WIDTH:g}" role="img">',
        f"<title>{html.escape(title, False)}</title>", f"<desc>{html.escape(said, False)}</desc>",
        f"<style>{style(len(drawn), sorted(lengths))}</style>",
        f'<rect class="card" width="{WIDTH}" height="{HEIGHT}" rx="8"/>',
        f'<g class="index">{index}</g>', *drawn,
        text_at(LEFT, HEIGHT - 26, source, "small lesser"),
        text_at(LEFT, HEIGHT - 10, machine, "small lesser"),
        "</svg>",
        "",
    ])

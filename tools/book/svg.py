"""Writes small SVG drawings: boxes, lines and text on a card, with a light and a dark colour scheme."""
import html

# Width of the viewBox, and of the image in pixels. On a phone 390 pixels wide the smallest text is 10 pixels high.
WIDTH, PIXELS = 428, 600
# Card, text, secondary text, grid; fills 0 (idle) to 4, with increasing contrast to the card, so that they differ in
# greyscale as well; then the text colour on each fill.
LIGHT = "#fff #1f2328 #59636e #c4ccd4  #eff2f5 #b6d3f7 #f0a830 #2a6fc4 #5d1f10  #59636e #1f2328 #1f2328 #fff #fff"
DARK = (
    "#0d1117 #e6edf3 #9aa4af #3d444d  #1c2128 #1f4470 #b3730f #82bcff #ffe3d3  #9aa4af #e6edf3 #0d1117 #0d1117 #0d1117"
)


def css_rules(colours):
    card, ink, lesser, grid, *fills = colours.split()
    fixed = (
        f".card{{fill:{card}}}text{{fill:{ink}}}.lesser{{fill:{lesser}}}.grid{{stroke:{grid}}}"
        f".edge,.dash{{stroke:{ink}}}"
    )
    return fixed + "".join(f".f{i}{{fill:{fills[i]}}}.t{i}{{fill:{fills[5 + i]}}}" for i in range(5))


STYLE = (
    "text{font:12px -apple-system,'Segoe UI','Noto Sans',Helvetica,Arial,sans-serif}"
    ".title{font-size:16px;font-weight:600}"
    ".strong{font-weight:600}.small{font-size:11px}.middle{text-anchor:middle}.end{text-anchor:end}"
    ".grid,.edge,.dash{fill:none}.edge,.dash{stroke-width:1.5}.dash{stroke-dasharray:4 3}"
    + css_rules(LIGHT)
    + f"@media(prefers-color-scheme:dark){{{css_rules(DARK)}}}"
)


class Svg:
    """A drawing. Boxes are painted first, then lines, then text, whatever the order of the calls. Texts with
    `described` also form the <desc> element, for screen readers."""

    style = STYLE

    def __init__(self, title, width=WIDTH, pixels=PIXELS):
        self.title, self.bottom = title, 0
        self.width, self.pixels = width, pixels
        self.boxes, self.lines, self.texts, self.description = {}, {}, [], []
        self.text(20, 28, title, "title", False)

    def text(self, x, y, text, css="", described=True):
        self.bottom = max(self.bottom, y + 4)
        if described:
            self.description.append(text)
        self.texts.append(
            f'<text x="{x:g}" y="{y:g}"'
            + (f' class="{css}"' if css else "")
            + f">{html.escape(str(text), False)}</text>"
        )

    def box(self, x, y, width, height, fill=None, text="", edge=None, css="small middle"):
        """Draws a box: `fill` is a palette index or None, `text` is centred, `edge` is the outline's class or None."""
        path = f"M{x:g} {y:g}h{width:g}v{height:g}h{-width:g}z"
        self.bottom = max(self.bottom, y + height)
        if fill is not None:
            self.boxes.setdefault(fill, []).append(path)
            css += f" t{fill}"
        if edge:
            self.line(path, edge)
        lines = str(text).split("\n") if text != "" else []
        for number, line in enumerate(lines):
            self.text(x + width / 2, y + height / 2 + 4.5 + 13 * (number - (len(lines) - 1) / 2), line, css, False)

    def line(self, path, kind="edge"):
        self.lines.setdefault(kind, []).append(path)

    def legend(self, y, *items):
        """Draws a legend in one row; each item is (fill, meaning)."""
        x = 20
        for fill, text in items:
            self.box(x, y, 14, 14, fill, edge="grid")
            self.text(x + 20, y + 11.5, text)
            x += 48 + 6.3 * len(text)

    def render(self, source):
        """Returns the SVG text. `source`, the name of the data, is printed at the bottom."""
        self.text(20, self.bottom + 22, source, "small lesser")
        height = self.bottom + 12
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {height:g}" '
                f'width="{self.pixels}" height="{height * self.pixels / self.width:g}">',
                f"<title>{html.escape(self.title, False)}</title>",
                f"<desc>{html.escape(' '.join(self.description), False)}</desc>",
                f"<style>{self.style}</style>",
                f'<rect class="card" width="{self.width}" height="{height:g}" rx="8"/>',
                *(f'<path class="f{fill}" d="{"".join(paths)}"/>' for fill, paths in sorted(self.boxes.items())),
                *(
                    f'<path class="{kind}" d="{"".join(paths)}"/>'
                    for kind, paths in sorted(self.lines.items(), reverse=True)
                ),
                *self.texts,
                "</svg>",
                "",
            ]
        )

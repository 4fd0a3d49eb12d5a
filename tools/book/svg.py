"""Writes small SVG drawings: boxes, lines and text on a card, with a light and a dark colour scheme."""
import html
import re

from book import colours

# Width of the viewBox, and pixels a unit of it where there is room, so that all pictures have letters of the same size.
WIDTH, SCALE = 428, 1.4
FONT = "12px -apple-system,'Segoe UI','Noto Sans',Helvetica,Arial,sans-serif"
# What a box can be filled with, a colour of docs/toys/colours.css, where that of waiting is hatched. Later ones are
# painted over earlier ones.
FILLS = "idle full-pale a-pale b-pale c-pale full a b c wait".split()
STYLE = (
    f"svg{{{colours.LIGHT}}}@media(prefers-color-scheme:dark){{svg{{{colours.DARK}}}}}"
    f"text{{font:{FONT};fill:var(--ink)}}.title{{font-size:16px;font-weight:600}}"
    ".strong{font-weight:600}.small{font-size:11px}.middle{text-anchor:middle}.end{text-anchor:end}"
    ".on-wait{stroke:var(--wait-pale);stroke-width:4;paint-order:stroke}"
    ".lesser,.on-idle{fill:var(--lesser)}.on-full,.on-a,.on-b,.on-c{fill:var(--paper)}"
    ".card{fill:var(--paper)}.grid,.edge,.dash{fill:none;stroke:var(--ink);stroke-width:1.5}"
    ".dash{stroke-dasharray:4 3}.grid{stroke:var(--grid);stroke-width:1}"
    + "".join(f".{fill}{{fill:var(--{fill})}}" for fill in FILLS if fill != "wait")
    + ".wait{fill:url(#hatch);stroke:var(--wait)}#hatch path{stroke:var(--wait)}#hatch rect{fill:var(--wait-pale)}"
)
HATCH = (
    '<defs><pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect width="5" height="5"/><path d="M0 0v5"/></pattern></defs>'
)


def start(width, height):
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{SCALE * width:.4g}" '
        f'height="{SCALE * height:.4g}">'
    )


def head(style):
    return f"<style>{style}</style>{HATCH}"


def restyled(text):
    """A picture that no function draws, with the style and the size of those that one draws."""
    width, height = map(float, re.search(r'viewBox="0 0 (\S+) (\S+)"', text).groups())
    text = re.sub(r"<svg [^>]*>", start(width, height), text, count=1)
    return re.sub(r"<style>.*?</style>(<defs>.*?</defs>)?", head(STYLE), text, count=1)


class Svg:
    """A drawing. Boxes are painted first, then lines, then text, whatever the order of the calls. Texts with
    `described` also form the <desc> element, for screen readers."""

    style = STYLE

    def __init__(self, title, width=WIDTH, left=20):
        self.title, self.width, self.left, self.bottom = title, width, left, 0
        self.boxes, self.lines, self.texts, self.description = {}, {}, [], []
        self.text(left, 28, title, "title", False)

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
        """Draws a box: `fill` is one of FILLS or None, `text` is centred, `edge` is the outline's class or None."""
        path = f"M{x:g} {y:g}h{width:g}v{height:g}h{-width:g}z"
        self.bottom = max(self.bottom, y + height)
        if fill is not None:
            self.boxes.setdefault(fill, []).append(path)
            css += f" on-{fill}"
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
        self.text(self.left, self.bottom + 22, source, "small lesser")
        height = self.bottom + 12
        return "\n".join(
            [
                start(self.width, height),
                f"<title>{html.escape(self.title, False)}</title>",
                f"<desc>{html.escape(' '.join(self.description), False)}</desc>",
                head(self.style),
                f'<rect class="card" width="{self.width}" height="{height:g}" rx="8"/>',
                *(
                    f'<path class="{fill}" d="{"".join(self.boxes[fill])}"/>'
                    for fill in sorted(self.boxes, key=lambda fill: FILLS.index(fill.split()[0]))
                ),
                *(
                    f'<path class="{kind}" d="{"".join(paths)}"/>'
                    for kind, paths in sorted(self.lines.items(), reverse=True)
                ),
                *self.texts,
                "</svg>",
                "",
            ]
        )

"""Charts: pictures like svg.py's with axes, curves and dots, but narrow, so that their text is large enough on a phone.
"""
import math

from book import svg

LEFT, RIGHT = 20, 430  # the margins


class Chart(svg.Svg):
    style = (
        svg.STYLE
        + ".bold,.dot,.faint,.fleck{fill:none;stroke-linejoin:round;stroke-linecap:round;stroke:var(--full)}"
        ".faint,.fleck{stroke:var(--lesser)}.bold{stroke-width:2.5}.dot{stroke-width:9}.fleck{stroke-width:5}"
        ".halo{stroke:var(--paper);stroke-width:3;paint-order:stroke}.before{opacity:.5}"
    )

    def __init__(self, title):
        super().__init__(title, LEFT + RIGHT)

    def tag(self, x, y, text, css=""):
        """Writes a label that may lie over lines and is not part of the description; `y` is its middle."""
        self.text(round(x, 1), round(y + 4, 1), text, css + " halo", False)


def scale(least, most, start, end, log=False):
    """Returns a function from a value to its position."""
    transform = math.log if log else float
    low, high = transform(least), transform(most)
    return lambda value: start + (end - start) * (transform(value) - low) / ((high - low) or 1)


def ticks(least, most, base):
    """Round values: powers of `base` or, if that is 0, multiples of a round number."""
    if base:
        return [base**power for power in range(-9, 19) if least <= base**power <= most]
    step = next(
        digit * 10**power for power in range(-9, 19) for digit in (1, 2, 5) if 5 * digit * 10**power >= most
    )
    return [step * number for number in range(int(most / step) + 1)]


def figure(value):
    """A tick's text: 0.25, 1000, 10⁶."""
    power = len(f"{value:.0f}") - 1
    if value == 10**power > 10**4:
        return "10" + "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(power))
    return f"{value:g}"


def spread(places, gap):
    """Sorted positions, moved as little as possible so that at least `gap` lies between them."""
    groups = []  # of touching labels: their mean position without gaps, and how many there are
    for number, place in enumerate(places):
        groups.append((place - gap * number, 1))
        while len(groups) > 1 and groups[-2][0] >= groups[-1][0]:
            (one, many), (other, more) = groups.pop(), groups.pop()
            groups.append(((one * many + other * more) / (many + more), many + more))
    begins = [begin for begin, many in groups for _ in range(many)]
    return [begin + gap * number for number, begin in enumerate(begins)]


class Axes:
    """A rectangle of a chart for (x, y), each from its least to its most. An axis is logarithmic if its base for ticks
    is not 0."""

    def __init__(self, chart, top, height, right, xs, ys, bases=(0, 0), marks=()):
        self.chart, self.x, self.y = chart, scale(*xs, 50, right, bases[0]), scale(*ys, top + height, top, bases[1])
        for value in marks or ticks(*xs, bases[0]):
            chart.line(f"M{self.x(value):.1f} {top}v{height}", "grid")
            chart.tag(self.x(value), top + height + 12, figure(value), "small lesser middle")
        for value in ticks(*ys, bases[1]):
            chart.line(f"M50 {self.y(value):.1f}H{right}", "grid")
            chart.tag(44, self.y(value), figure(value), "small lesser end")

    def curve(self, points, kind):
        self.chart.line("M" + "L".join(f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in points), kind)

    def curves(self, rows, name, x, y, strong=None):
        """Draws a curve of (x, y) of the rows for each value of the column `name`. Returns the ends of the curves for
        label()."""
        ends = []
        for each in dict.fromkeys(getattr(row, name) for row in rows):
            points = sorted((getattr(row, x), y(row)) for row in rows if getattr(row, name) == each)
            self.curve(points, "bold" if each == (strong or each) else "faint")
            ends.append((*points[-1], each.split("/")[-1], "strong" if each == strong else "small"))
        return ends

    def label(self, ends, gap=14):
        """Writes each (x, y, text, css) of `ends`, the ends of curves or dots, to the right of all of them, with lines
        to the labels."""
        ends = sorted((self.y(y), self.x(x), text, css) for x, y, text, css in ends)
        right = max(x for _, x, *_ in ends)
        for (y, x, text, css), place in zip(ends, spread([y for y, *_ in ends], gap)):
            self.chart.line(f"M{x + 5:.1f} {y:.1f}L{right + 6:.1f} {y:.1f}L{right + 14:.1f} {place:.1f}", "grid")
            self.chart.tag(right + 17, place, text, css)

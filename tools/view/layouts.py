"""07_fragment_probe/layouts.inc, expanded: which element of the matrix each lane's x[i] holds."""
import re

from programs import ROOT

TABLE = ROOT / "07_fragment_probe/layouts.inc"


def added_by(word):
    """What a bit adds to 16 * row + column: "r4" four rows, "c2" two columns, "-" nothing."""
    if word == "-":
        return 0
    number = int(word[1:])
    return 16 * number if word[0] == "r" else number


def places(lane_bits, i_bits):
    """16 * row + column of x[0], x[1], ... of lane 0, then of lane 1, ..."""
    lane_adds, i_adds = ([added_by(word) for word in bits.split()] for bits in (lane_bits, i_bits))
    return [
        sum(adds for bit, adds in enumerate(lane_adds + i_adds) if (lane | i << 5) >> bit & 1)
        for lane in range(32)
        for i in range(1 << len(i_adds))
    ]


def maps():
    """{chips: {"matrix_a half col" or "mma_m16n8k16 A": places}} of the table."""
    found = {}
    for row in TABLE.read_text().splitlines():
        if row.startswith("{"):
            chips, use, types, orders, *bits = re.findall(r'"(.*?)"', row)
            of_chips = found.setdefault(chips, {})
            for kind in types.split() or [""]:
                for order in orders.split() or [""]:
                    of_chips[f"{use} {kind} {order}".strip()] = places(*bits)
    return found

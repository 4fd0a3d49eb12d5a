"""Reads the rows of the articles' claims from the pages of docs/articles, and makes the lists that follow from them.

A row is below a heading of its article:

    - <a id="c14"></a>**14** · *corrected* · what the article says → what is correct\\
      the commands that show it\\
      what they print, and why

Only a wrong claim has the arrow. A slip, and a claim out of reach, have no commands. ./run plot writes the anchor and
the links of the index that lead to it. The lists are those between <!-- NAME --> and <!-- /NAME --> in claims.md and
corrected.md: each function in LISTS yields the lines of one.
"""
import collections
import itertools
import re
import textwrap

from book.markers import filled
from book.pages import english
from programs import ROOT
from results import InvalidInput

FOLDER = ROOT / "docs/articles"
VERDICTS = (
    "reproduced",
    "reproduced on an H200",
    "different on an H200",
    "corrected",
    "a slip",
    "by the guide",
    "quoted",
    "out of reach",
    "extra",
)
WRONG, NOT_RUN = ("corrected", "a slip"), ("a slip", "out of reach")
ANCHOR = re.compile(r'(?m)^- (?:<a id="\w+"></a>)?\*\*(\d+\w*)\*\* · ')  # begins a row
CLAIM_LINK = re.compile(r"\[(claims? (\d+\w*)[^\]]*)\]\((\w+\.md)(?:#\w+)?\)")  # in the index
Row = collections.namedtuple("Row", "page title heading claim verdict says correct commands shows")


def number(claim):
    """(2, 'b') of '2b'"""
    digits, letter = re.fullmatch(r"(\d+)(\w*)", claim).groups()
    return int(digits), letter


def articles():
    """The pages with rows, in the order of the claims' numbers."""
    return sorted(
        (path for path in english(FOLDER.glob("*.md")) if ANCHOR.search(path.read_text())),
        key=lambda path: min(number(row.claim) for row in rows_of(path)),
    )


def rows_of(path):
    """A page's rows. Raises InvalidInput."""
    rows, heading, text = [], "", path.read_text()
    for line in re.findall(r"(?m)^(?:## .*|- .*(?:\n  .*)*)", text):
        if line.startswith("#"):
            heading = line[3:]
            continue
        parts = [" ".join(part.split()) for part in line.split("\\\n")]
        head = re.fullmatch(r"- (?:<a .*></a>)?\*\*(\d+[a-z]?)\*\* · \*([^*]+)\* · (.*?)(?: → (.*))?", parts[0])
        if not head or len(parts) != 3 - (head[2] in NOT_RUN) or bool(head[4]) != (head[2] in WRONG):
            raise InvalidInput(f"{path}: this is not a row: {line}")
        rows.append(Row(path, text.split("\n")[0][2:], heading, *head.groups(""), *["", *parts[1:]][-2:]))
    return rows


def rows():
    return [row for path in articles() for row in rows_of(path)]


def numbers(claims):
    """'1-3, 2b' of the claims 1, 2, 2b, 3."""
    whole = sorted(int(claim) for claim in claims if claim.isdigit())
    runs = [[n for _, n in run] for _, run in itertools.groupby(enumerate(whole), lambda pair: pair[1] - pair[0])]
    return ", ".join(
        [f"{run[0]}-{run[-1]}" if run[1:] else f"{run[0]}" for run in runs]
        + sorted((claim for claim in claims if not claim.isdigit()), key=number)
    )


def claims(rows):
    yield "| | claims |\n|---|---|"
    for (page, title), found in itertools.groupby(rows, lambda row: (row.page, row.title)):
        yield f"| [{title}]({page.name}) | {numbers([row.claim for row in found])} |"


def verdicts(rows):
    yield "| verdict | rows |\n|---|---:|"
    for verdict in VERDICTS:
        yield f"| {verdict} | {sum(row.verdict == verdict for row in rows)} |"


def corrected(rows):
    for (page, title), found in itertools.groupby(
        (row for row in rows if row.correct), lambda row: (row.page, row.title)
    ):
        yield f"\n## {title}\n"
        for row in found:
            yield textwrap.fill(
                f"- [**{row.claim}**]({page.name}#c{row.claim}) · {row.says} → {row.correct}",
                128,
                subsequent_indent="  ",
                break_long_words=False,
                break_on_hyphens=False,
            )
    yield ""


LISTS = {made.__name__: made for made in (claims, verdicts, corrected)}


def pages():
    """{page: its text} of the pages with lists, anchors of claims, links to them, or lines of sources. Raises
    InvalidInput."""
    found, index = rows(), FOLDER / "README.md"
    texts = {
        path: filled(path, lambda name, old: "\n".join(LISTS[name](found)) + "\n")
        for path in FOLDER.glob("*.md")
    }
    for path in articles():
        texts[path] = ANCHOR.sub(r'- <a id="c\1"></a>**\1** · ', texts[path])
    texts[index] = CLAIM_LINK.sub(r"[\1](\3#c\2)", texts[index])
    return texts

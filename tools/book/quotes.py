"""Lines of a source on a page, between <!-- code ... --> and <!-- /code -->. The marker selects lines by their text:

    <!-- code 06_wmma/matmul.cu in "auto load_tiles" from "copy8<kWide>(&As" to "__pipeline_commit" -->

from: the only line below the file's header comment that contains this text; in: the function, or lambda, in which it is
the only one. to: the first line from there on that contains the text; without it the whole statement is quoted, a loop
with its body. More pairs of from and to may follow, and where lines lie between two pieces, the page has "...".
"""
import os
import re

import programs
from results import InvalidInput

LANGUAGES_OF_CODE = {".cu": "cuda", ".cuh": "cuda", ".h": "cpp", ".cpp": "cpp", ".inc": "cpp", ".cl": "c"}
MAX_LINES = 20  # of a quote, so that it fits beside the text
PIECE = r' from "([^"]+)"(?: to "([^"]+)")?'
MARKER = rf'code (\S+)(?: in "([^"]+)")?((?:{PIECE})+)'
TAKES = 'takes code FILE [in "TEXT"] from "TEXT" [to "TEXT"], and more of from and to'


def indent(line):
    return len(line) - len(line.lstrip())


def source_lines(file):
    """The file's lines; a #pragma is indented like the statement below it."""
    lines = programs.text_of(file).splitlines()
    for at in range(len(lines) - 1, 0, -1):
        if lines[at - 1].startswith("#pragma"):
            lines[at - 1] = " " * indent(lines[at]) + lines[at - 1]
    return lines


def lines_with(text, lines, within):
    return [at for at in within if text in " ".join(lines[at].split())]


def statement_end(lines, first):
    """The last line of the statement that begins at `first`: it ends before the next line that is indented no deeper,
    its own closing brace and else branches excepted. Lines of the preprocessor end nothing."""
    end = next(at for at in range(first, len(lines)) if not lines[at].lstrip().startswith("#"))
    margin, depth = indent(lines[end]), lines[end].count("{") - lines[end].count("}")
    for at in range(end + 1, len(lines)):
        line = lines[at]
        if not line or line.lstrip().startswith("#"):
            continue
        belongs = re.match(r" *\}" if depth > 0 else r" *else\b", line)
        if indent(line) < margin or indent(line) == margin and not belongs:
            break
        end, depth = at, depth + line.count("{") - line.count("}")
    return end


def pieces(lines, inside, pairs):
    """[(first line, last line)] of each pair of from and to. Raises ValueError."""

    def only(text, within, place):
        found = lines_with(text, lines, within)
        if not found:
            raise ValueError(f'no line {place} has "{text}"; {TAKES}')
        if found[1:]:
            numbers = ", ".join(str(at + 1) for at in found)
            raise ValueError(f'lines {numbers} {place} have "{text}"; takes text of one, or in "TEXT", its function')
        return found[0]

    header = len(lines) - len(programs.below_header(lines))
    within, place, found = range(header, len(lines)), "of the file", []
    if inside:
        first = only(inside, within, place)
        within, place = range(first, statement_end(lines, first) + 1), f'of "{inside}"'
    for begin, end in pairs:
        first = only(begin, within, place)
        ends = lines_with(end, lines, range(first, within.stop)) if end else [statement_end(lines, first)]
        if not ends:
            raise ValueError(f'no line {place} from "{begin}" on has "{end}"; {TAKES}')
        found.append((first, ends[0]))
        within, place = range(ends[0] + 1, within.stop), f"{place} below the piece before"
    return found


def quoted(words, page, root):
    """What stands between the markers: a link to the source, with the command that shows a step's changes, and the
    lines. Raises InvalidInput."""
    marker = " ".join(["code", *words.split()])
    parsed = re.fullmatch(MARKER, marker)
    file = root / parsed[1] if parsed else root
    try:
        if not parsed:
            raise ValueError(TAKES)
        in_tree = file.resolve().is_relative_to(root.resolve())
        if not in_tree or not file.is_file() or file.suffix not in LANGUAGES_OF_CODE:
            endings = ", ".join(LANGUAGES_OF_CODE)
            raise ValueError(f"{parsed[1]} is not a file of the tree that ends in {endings}; {TAKES}")
        lines = source_lines(file)
        found = pieces(lines, parsed[2], re.findall(PIECE, parsed[3]))
        if (count := sum(last + 1 - first for first, last in found)) > MAX_LINES:
            raise ValueError(f"these are {count} lines, and a quote has {MAX_LINES} at most")
    except ValueError as wrong:
        raise InvalidInput(f"{page}: <!-- {marker} -->: {wrong}")
    shown, before = [], found[0][0] - 1
    for first, last in found:
        if first != before + 1:
            shown.append(" " * indent(lines[first]) + "...")
        shown, before = shown + lines[first : last + 1], last
    margin = min(indent(line) for line in shown if line)
    caption = f"[{parsed[1]}]({os.path.relpath(file, page.parent)})"
    step = programs.ROOT / parsed[1]
    if step in programs.compared():
        caption += f" · `./run diff {programs.short(step)}`"
    return "\n".join([caption, f"```{LANGUAGES_OF_CODE[file.suffix]}", *(line[margin:] for line in shown), "```", ""])

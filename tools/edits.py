"""Changes of a source that are found by their statements, not by line numbers. A change is written as a diff:

     for (int k = 0; k < K; ++k) {        a line of the source, to find the place
    -    __syncthreads();                  a removed line
    +    __syncwarp();                     an added line

Lines are compared without comments and white space, so that a change outlives a new comment or indentation. The lines
that stay or are removed must follow each other in exactly one place of the source. A line "..." begins another place.
"""
import re

from results import InvalidInput


def code_of(line):
    """A line without its comment and without white space; a line that is a comment alone as it stands."""
    code = re.sub(r"\s+", "", re.sub(r"//.*", "", line))
    return code or re.sub(r"\s+", "", line)


def places(lines, wanted):
    """Where these lines follow each other, as [(first, after the last)]. Empty lines between them do not count."""
    numbers = [number for number, line in enumerate(lines) if line.strip()]
    codes = [code_of(lines[number]) for number in numbers]
    found = [at for at in range(len(codes) - len(wanted) + 1) if codes[at:at + len(wanted)] == wanted]
    return [(numbers[at], numbers[at + len(wanted) - 1] + 1) for at in found]


def changed(lines, place, change):
    """The lines of a place after a change: those that stay are the source's own, with their comments."""
    begin, end = place
    at, made = begin, []
    for line in change:
        if line[:1] == "+":
            made.append(line[1:])
            continue
        while at < end and not lines[at].strip():
            made.append(lines[at])
            at += 1
        if line[:1] != "-":
            made.append(lines[at])
        at += 1
    return made


def edited(text, diff, what):
    """The text after a diff. what: where the diff stands, for messages. Raises InvalidInput if a place is not found
    once."""
    lines, found = text.split("\n"), []
    for part in re.split(r"(?m)^\.\.\.\n?", diff.strip("\n")):
        change = [line for line in part.split("\n") if line[1:].strip()]
        wanted = [line[1:] for line in change if line[:1] != "+"]
        matches = places(lines, list(map(code_of, wanted))) if wanted else []
        if len(matches) != 1:
            raise InvalidInput(f"{what}: takes one place like '{''.join(wanted[:1]).strip()}' with what follows it in "
                               f"the diff; the source has {len(matches)}")
        found.append((matches[0], change))
    for place, change in sorted(found, reverse=True):  # from the end, so that the other places stay where they are
        lines[slice(*place)] = changed(lines, place, change)
    return "\n".join(lines)

"""asm statements of a .cu file, as rewrite_launches.py rewrites them: each becomes a call of include/inline_ptx.h,
which executes its string (ptx/).

    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(at) : "memory");
    emulator::inline_ptx(__FILE__, __LINE__, "=r,r", "ld.shared.u32 %0, [%1];" , emulator::out<4>(x) ,
                         emulator::in<4>(at) );

The strings may be macros or have parameters of a macro between them: they stay as they are."""
import functools
import pathlib
import re

from cuda_text import TOKEN, Refused, matching

ASM = re.compile(r"\b(?:asm|__asm__|__asm)\b")
TABLE = pathlib.Path(__file__).absolute().parent / "ptx/ptx_table.cpp"
# Other letters are those of the host's processor.
CONSTRAINT = re.compile(r"([=+]?)&?([hrlfdqn])")
BYTES = {"h": 2, "r": 4, "l": 8, "f": 4, "d": 8, "q": 16}  # of an operand; of a number ("n") any
OPERAND = re.compile(r'\s*"(?P<constraint>[^"]*)"\s*(?P<value>\()')


@functools.lru_cache
def known():
    """The names of the instructions that the emulator has."""
    return re.findall(r'^    \{"([a-z_0-9.]+)",', TABLE.read_text(), re.MULTILINE)


def instructions(text):
    """The instructions in the strings of an asm statement's text, as far as they are written there."""
    strings = [m[0][1:-1] for m in TOKEN.finditer(text) if m[0].startswith('"')]
    text = re.sub(r"//.*?(?:\\n|$)|/\*.*?\*/", "", "".join(strings))
    for statement in re.split(r"[;{}]", re.sub(r"\\[nt]", " ", text)):
        statement = re.sub(r"^\s*(?:[\w$]+\s*:(?!:))?\s*(?:@!?\S+)?", "", statement)
        if word := re.match(r"\s*([a-z][a-z_0-9]*(?:[.:]+[A-Za-z_0-9]+)*)(?=\s|$)", statement):
            yield word[1]


def refused(text):
    """The first instruction of an asm statement that the emulator lacks, if its string is written there; or None."""
    names = known()
    for instruction in instructions(text):
        if not any(f"{instruction}.".startswith(f"{name}.") for name in names):
            return instruction
    return None


def line_ends(text):
    """What remains of a text that is dropped, so that lines stay the same, those of a macro, too."""
    return "".join(re.findall(r"\\?\n", text))


def pieces(code, opening, end, separator):
    """The positions of each separator between two brackets, outside of further ones."""
    depth = 0
    for at in range(opening + 1, end):
        depth += (code[at] in "([{") - (code[at] in ")]}")
        if code[at] == separator and depth == 0:
            yield at


def passed(constraint):
    """The function that passes an operand with that constraint on, and checks its size."""
    m = CONSTRAINT.fullmatch(constraint)
    return f"emulator::{'out' if m[1] else 'in'}<{BYTES[m[2]]}>" if m and m[2] in BYTES else ""


def statements(text, code):
    """Yields (position, position of its parenthesis, positions of its colons and of the end) of each asm statement."""
    for m in ASM.finditer(code):
        head = re.compile(r"(?:[\s\\]|\b(?:volatile|__volatile__|__volatile)\b)*(\()").match(code, m.end())
        end = matching(code, head.start(1), "(", ")", 1) if head else -1
        colons = [*pieces(code, head.start(1), end, ":"), end] if end > 0 else []
        if not colons or not text[head.end():colons[0]].strip("\\ \t\n"):
            raise Refused(m.start(), "inline PTX")
        yield m.start(), head.start(1), colons


def operands(text, code, begin, end):
    """Yields (position of the colon or comma before it, constraint, position of the value's parenthesis) of each
    operand that follows the colon at `begin`; (position, None, None) of one that is empty."""
    commas = [begin, *pieces(code, begin, end, ","), end]
    for start, stop in zip(commas, commas[1:]):
        written = text[start + 1:stop].replace("\\\n", " \n")
        if not written.strip():
            yield start, None, None
            continue
        if written.lstrip().startswith("["):
            raise Refused(start, "an asm statement with names of operands, which nvcc refuses")
        operand = OPERAND.match(written)
        if not operand:
            raise Refused(start, "an asm statement whose operands a macro holds")
        yield start, operand["constraint"], start + 1 + operand.start("value")


def edits(text, code, refuses):
    """Yields (position, length, replacement) for each asm statement. refuses: one with an instruction that the emulator
    lacks is refused here; otherwise when it is executed."""
    for position, opening, colons in statements(text, code):
        constraints, changes = [], []
        for begin, end in list(zip(colons, colons[1:]))[:2]:  # outputs, inputs
            for separator, constraint, value in operands(text, code, begin, end):
                changes.append((separator, 1, ""))
                if constraint is None:
                    continue
                constraints.append(constraint)
                changes.append((separator + 1, value - separator - 1,
                                f", {passed(constraint)}" + line_ends(text[separator + 1:value])))
        if len(colons) > 3:  # the clobbers
            changes.append((colons[2], colons[-1] - colons[2], line_ends(text[colons[2]:colons[-1]])))
        if not all(map(CONSTRAINT.fullmatch, constraints)):
            continue  # the host's own
        if refuses and (lacking := refused(text[opening + 1:colons[0]])):
            raise Refused(position, f"inline PTX {lacking}")
        yield from changes
        yield (position, opening + 1 - position, "emulator::inline_ptx(__FILE__, __LINE__, "
               f'"{",".join(constraints)}", ' + line_ends(text[position:opening]))

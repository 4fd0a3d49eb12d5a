"""asm statements of a .cu file, as rewrite_launches.py rewrites them: each becomes a call of include/inline_ptx.h,
which executes its string (ptx/).

    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(at) : "memory");
    emulator::inline_ptx(__FILE__, __LINE__, "ld.shared.u32 %0, [%1];" , emulator::out<'r'>(x) ,
                         emulator::in<'r'>(at) );

The strings may be macros or have parameters of a macro between them: they stay as they are. So may operands: each is
rewritten where it is written, be it in a macro or among a macro's arguments, which __VA_ARGS__ stands for."""
import functools
import pathlib
import re

from cuda_text import TOKEN, Refused, matching

ASM = re.compile(r"\b(?:asm|__asm__|__asm)\b")
TABLE = pathlib.Path(__file__).absolute().parent / "ptx/ptx_table.cpp"
# Other letters are those of the host's processor.
CONSTRAINT = re.compile(r'"([=+]?)&?([hrlfdqn])"')
VALUE = re.compile(r"[\s\\]*\(")  # what follows the constraint of an operand


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


def statements(text, code):
    """Yields (position, position of its parenthesis, positions of its colons and of the end) of each asm statement."""
    for m in ASM.finditer(code):
        head = re.compile(r"(?:[\s\\]|\b(?:volatile|__volatile__|__volatile)\b)*(\()").match(code, m.end())
        end = matching(code, head.start(1), "(", ")", 1) if head else -1
        colons = [*pieces(code, head.start(1), end, ":"), end] if end > 0 else []
        if not colons or not text[head.end():colons[0]].strip("\\ \t\n"):
            raise Refused(m.start(), "inline PTX")
        yield m.start(), head.start(1), colons


def constraints(text, code):
    """Yields the match of each constraint of an operand: a string that is followed by a parenthesis."""
    for m in TOKEN.finditer(text):
        if m[0].startswith('"') and VALUE.match(code, m.end()):
            yield m


def edits(text, code, refuses):
    """Yields (position, length, replacement) for each asm statement and for each operand. refuses: a statement with an
    instruction that the emulator lacks is refused here; otherwise when it is executed."""
    operands = list(constraints(text, code))
    for position, opening, colons in statements(text, code):
        end = colons[-1]
        if any(opening < m.start() < end and not CONSTRAINT.fullmatch(m[0]) for m in operands):
            operands = [m for m in operands if not opening < m.start() < end]
            continue  # the host's own
        if refuses and (lacking := refused(text[opening + 1:colons[0]])):
            raise Refused(position, f"inline PTX {lacking}")
        if re.fullmatch(r"\s*__VA_ARGS__\s*", code[opening + 1:colons[0]]):
            raise Refused(position, "an asm statement that is a macro's arguments as a whole")
        for begin, after in list(zip(colons, colons[1:]))[:2]:  # outputs, inputs
            commas = [begin, *pieces(code, begin, after, ","), after]
            for separator, following in zip(commas, commas[1:]):
                operand = text[separator + 1:following].strip("\\ \t\n")
                if operand.startswith("["):
                    raise Refused(separator, "an asm statement with names of operands, which nvcc refuses")
                yield separator, 1, "," if operand else ""
        if len(colons) > 3:  # the clobbers
            yield colons[2], end - colons[2], line_ends(text[colons[2]:end])
        yield (position, opening + 1 - position,
               "emulator::inline_ptx(__FILE__, __LINE__, " + line_ends(text[position:opening]))
    for m in operands:
        if constraint := CONSTRAINT.fullmatch(m[0]):
            passed = "out" if constraint[1] else "in"
            yield m.start(), len(m[0]), f"emulator::{passed}<'{constraint[2]}'>"

"""asm statements of a .cu file, as rewrite_launches.py rewrites them: each becomes a call of include/inline_ptx.h, which
executes its string (ptx/).

    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(at) : "memory");
    emulator::inline_ptx(__FILE__, __LINE__, "=r,r", "ld.shared.u32 %0, [%1];" , emulator::out<4>(x) ,
                         emulator::in<4>(at) );

The strings may be macros or have parameters of a macro between them: they stay as they are."""
import pathlib
import re

from cuda_text import TOKEN, Refused, matching

ASM = re.compile(r"\b(?:asm|__asm__|__asm)\b")
TABLE = pathlib.Path(__file__).absolute().parent / "ptx/ptx_table.cpp"
# Other letters are those of the host's processor.
CONSTRAINT = re.compile(r"([=+]?)&?([hrlfdqn])")
BYTES = {"h": 2, "r": 4, "l": 8, "f": 4, "d": 8, "q": 16}  # of an operand; of a number ("n") any
OPERAND = re.compile(r'\s*"(?P<constraint>[^"]*)"\s*(?P<value>\()')


def known():
    """The names of the instructions that the emulator has."""
    return re.findall(r'^    \{"([a-z_0-9.]+)",', TABLE.read_text(), re.MULTILINE)


def instructions(text):
    """The instructions in the strings of an asm statement's text, as far as they are written there."""
    strings = [m[0][1:-1] for m in TOKEN.finditer(text) if m[0].startswith('"')]
    text = re.sub(r"//.*?(?:\\n|$)|/\*.*?\*/", "", "".join(strings))
    for statement in re.split(r"[;{}]|\\n|\\t|\n", text):
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


def edits(text, code, refuses):
    """Yields (position, length, replacement) for each asm statement. refuses: one with an instruction that the emulator
    lacks is refused here; otherwise when it is executed."""
    for m in ASM.finditer(code):
        head = re.compile(r"(?:[\s\\]|\b(?:volatile|__volatile__|__volatile)\b)*(\()").match(code, m.end())
        end = matching(code, head.start(1), "(", ")", 1) if head else -1
        if end < 0:
            raise Refused(m.start(), "inline PTX")
        opening = head.start(1)
        colons = [*pieces(code, opening, end, ":"), end]
        if not text[opening + 1:colons[0]].strip("\\ \t\n"):
            raise Refused(m.start(), "inline PTX")
        operands, changes = [], []
        for begin, close in list(zip(colons, colons[1:]))[:2]:  # outputs, inputs
            commas = [begin, *pieces(code, begin, close, ","), close]
            for start, stop in zip(commas, commas[1:]):
                changes.append((start, 1, ""))  # the colon or comma
                written = text[start + 1:stop].replace("\\\n", " \n")
                if not written.strip():
                    continue
                if written.lstrip().startswith("["):
                    raise Refused(start, "an asm statement with names of operands, which nvcc refuses")
                operand = OPERAND.match(written)
                if not operand:
                    raise Refused(start, "an asm statement whose operands a macro holds")
                operands.append(operand["constraint"])
                before = operand.start("value")
                changes.append((start + 1, before, f", {passed(operand['constraint'])}"
                                + line_ends(text[start + 1:start + 1 + before])))
        changes += [(colon, end - colon, line_ends(text[colon:end])) for colon in colons[2:-1][:1]]  # the clobbers
        if not all(map(CONSTRAINT.fullmatch, operands)):
            continue  # the host's own
        if refuses and (lacking := refused(text[opening + 1:colons[0]])):
            raise Refused(m.start(), f"inline PTX {lacking}")
        yield from changes
        constraints = ",".join(operands)
        yield (m.start(), opening + 1 - m.start(), f'emulator::inline_ptx(__FILE__, __LINE__, "{constraints}", '
               + line_ends(text[m.start():opening]))

"""Finds where a fault can be injected into a file, for mutation testing, by syntax: it knows no names of a stage, so a
new stage needs nothing more. An equivalent mutant, whose fault provably changes nothing, is listed in the chapter's
tests/equivalent.txt with the reason."""
import pathlib
import re
import sys

import programs
from mutate import Fault
from support import ROOT

sys.path.append(str(ROOT / "emulator"))
from rewrite_launches import blank, matching

KINDS = {
    "drop": "a statement, or one of several with commas between them, is left out",
    "true": "a condition, or one that && joins to others, is true",
    "false": "a condition without &&, or one that || joins to others, is false",
    "min": "one of the two in min() or max() is taken",
    "zero": "a variable that begins as zeros begins as NaN, in OpenCL uninitialised",
    "remainder": "the remainder of a dimension, a - b, is a large number",
    "wide": "a product of size_t is truncated to 32 bits",
    "formula": "a formula of the traffic gives half",
    "type": "bfloat16 is treated as half",
}
OPEN, CLOSE = "([{", ")]}"
# The angle brackets of f<2>() and of g<<<1, 32>>>().
ANGLES = re.compile(r"(?<=\w)<(?![<=])(?:[^;(){}<>]|<[^;(){}<>]*>)*>(?=\s*[({:])|<<<.*?>>>", re.S)
HEAD = re.compile(r"(if|for|while|switch)\b\s*(constexpr\b)?\s*(?=\()")
SCOPE = re.compile(r"(?:struct|class|union|namespace|enum)\b[^;=(){}]*{")
QUALIFIERS = (r"(?:(?:const|constexpr|static|typename|auto|unsigned|signed|long|short|extern|inline|__shared__|local|"
              r"global|private|(?:alignas|__align__)\s*\([^()]*\))\s+)*")
DECLARATION = re.compile(QUALIFIERS + r"(?:auto\s*&*\s*\[|[A-Za-z_][\w:]*\s*(?:<[^;{}()]*>)?(?:::\w+)?"
                         r"(?:(?:\s+|\s*[*&]+\s*(?:const\s+)?)[A-Za-z_]\w*\s*(?:\[|=(?!=)|\(|{|,|;)|"
                         r"\s*\(&[A-Za-z_]\w*\)\s*\[))")
BOUNDARY = re.compile(r"&&|\|\||[,;?{}]|(?<!:):(?!:)|(?<![=!<>])=(?!=)|\breturn\b")
RELATION = re.compile(r" (==|!=|<=|>=|<|>) ")


class Function:
    """The faults of one function of a file, which is parsed as far as they need."""

    def __init__(self, code, opencl, begin, end):
        self.code, self.opencl, self.found, self.conditions, self.skip = code, opencl, [], {}, []
        self.angles = [match.span() for match in ANGLES.finditer(code, begin, end)]
        self.block(begin, end)
        self.expressions(begin, end)

    def add(self, kind, begin, end, before, after="", shown=None):
        """Adds a fault. shown: the text that names the place, if it is not the changed code."""
        left, right = shown or (begin, end)
        old = " ".join(self.code[left:right].split())[:end - begin + 60]
        self.found.append((kind, begin, end, before, after, old))

    def inside(self, position, spans):
        return any(begin <= position < end for begin, end in spans)

    def next(self, at):
        return re.compile(r"\s*").match(self.code, at).end()

    def close(self, at):
        return matching(self.code, at, OPEN, CLOSE, 1)

    def block(self, at, end):
        while (at := self.next(at)) < end:
            at = self.statement(at)

    def statement(self, at, alone=True):
        """Reads a statement; returns its end. alone: it is not the body of an if."""
        at, code = self.next(at), self.code
        if code[at] == "{":
            self.block(at + 1, self.close(at))
            return self.close(at) + 1
        if head := HEAD.match(code, at):
            close = self.close(head.end())
            if head[1] == "for":
                self.loop(head.end() + 1, close)
            elif head[1] == "if" and not head[2]:
                self.condition(head.end() + 1, close)
            else:
                self.skip.append((head.end(), close))
            return self.statement(close + 1, alone=False)
        if word := re.compile(r"(?:else|do)\b").match(code, at):
            return self.statement(word.end(), alone=False)
        if scope := SCOPE.match(code, at):
            return self.close(scope.end() - 1) + 1  # its functions are found separately
        end = self.simple(at)
        self.plain(at, end, alone)
        return end

    def simple(self, at):
        """The end of a statement with a semicolon; the bodies of lambdas in it are read, too."""
        depth = 0
        while depth or self.code[at] != ";":
            character = self.code[at]
            if character == "{":
                close = self.close(at)
                if is_body(self.code, at):
                    self.block(at + 1, close)
                at = close
            else:
                depth += (character in OPEN) - (character in CLOSE)
            at += 1
        return at + 1

    def commas(self, begin, end):
        """The text between commas, without blanks around it."""
        pieces, at, depth = [], begin, 0
        for position in range(begin, end + 1):
            character = self.code[position] if position < end else ","
            if position < end and self.inside(position, self.angles):
                continue
            depth += (character in OPEN) - (character in CLOSE)
            if character == "," and (depth == 0 or position == end):
                piece = self.code[at:position]
                if piece.strip():
                    pieces.append((at + len(piece) - len(piece.lstrip()), position - len(piece) + len(piece.rstrip())))
                at = position + 1
        return pieces

    def loop(self, begin, end):
        """Reads the head of a loop, for (...; ...; ...). Its first variable and the bound get no faults, because they
        belong to the loop."""
        parts = self.code[begin:end].split(";")
        if len(parts) != 3:
            return
        first, second = begin + len(parts[0]), begin + len(parts[0]) + 1 + len(parts[1])
        for piece in self.commas(second + 1, end)[1:]:
            self.add("drop", *piece, "INJECTED ? (void)0 : (void)(", ")")
        variable = re.match(r"[^=]*?(\w+)\s*=", parts[0])
        bound = variable and re.compile(rf"\b{variable[1]} [<>!]").search(self.code, first, second)
        if bound:
            self.skip.append((bound.start(), self.reach(bound.end(), 1)))

    def plain(self, begin, end, alone):
        """Adds the faults of a simple statement."""
        text = self.code[begin:end]
        if re.match(r"return\b", text):
            if text == "return;" and alone:
                self.add("drop", begin, end, "{ if (!INJECTED) ", " }")
        elif re.match(r"(?:continue|break|using|typedef|static_assert|extern|goto)\b|;", text):
            return
        elif DECLARATION.match(text):
            self.declaration(begin, end)
        else:
            pieces = self.commas(begin, end - 1)
            if len(pieces) == 1:  # named also by what follows, because a statement may stand in several places
                self.add("drop", begin, end, "{ if (!INJECTED) ", " }", (begin, end + 200))
            else:
                for piece in pieces:
                    self.add("drop", *piece, "(INJECTED ? (void)0 : (void)(", "))")

    def declaration(self, begin, end):
        text = self.code[begin:end]
        if re.match(QUALIFIERS, text)[0].find("constexpr") >= 0:
            self.skip.append((begin, end))
            return
        shape = re.compile(r"[^=({]*").match(text)[0]
        self.skip += [(begin + bracket.start(), begin + bracket.end()) for bracket in re.finditer(r"\[[^]]*]", shape)]
        if zeros := re.search(r"(\w+)(?:\[[^]]*])*( = (?:\w*\{\}|\{\{0\.0f}}|0\.0f));$", text):
            if self.opencl:
                self.add("zero", begin + zeros.start(2), end - 1, "/*", "*/")
            else:
                name = zeros[1]
                self.add("zero", begin, end, "", f" if (INJECTED) memset((void*)&{name}, 0xff, sizeof({name}));")
        if truth := re.match(r"(?:const )?bool \w+ =", text):
            self.condition(begin + truth.end(), end - 1)

    def reach(self, at, step, stops=BOUNDARY):
        """The other end of an operand that begins or ends at `at`."""
        position = at if step > 0 else at - 1
        while True:
            for begin, end in self.angles:
                if begin <= position < end:
                    position = end if step > 0 else begin - 1
            character = self.code[position]
            if character in (CLOSE if step > 0 else OPEN):
                break
            if character in (OPEN if step > 0 else CLOSE):
                position = matching(self.code, position, *((OPEN, CLOSE) if step > 0 else (CLOSE, OPEN)), step)
            elif self.inside(position, [each.span() for each in stops.finditer(self.code, position - 7, position + 7)]):
                break
            position += step
        if step > 0:
            return len(self.code[:position].rstrip())
        return self.next(position + 1)

    def condition(self, begin, end, kinds=("true", "false")):
        begin, end = self.next(begin), len(self.code[:end].rstrip())
        self.conditions.setdefault((begin, end), set()).update(kinds)

    def expressions(self, begin, end):
        """Adds faults of expressions anywhere in the function: conditions, min(), max(), a - b, size_t(a) * b."""
        code = self.code
        for match in re.compile(r"\?").finditer(code, begin, end):
            left = re.compile(BOUNDARY.pattern.removeprefix(r"&&|\|\||"))
            self.condition(self.reach(match.start(), -1, left), match.start())
        for match in re.compile(r" (&&|\|\|)\s").finditer(code, begin, end):
            kinds = {"true"} if match[1] == "&&" else {"false"}
            left = self.reach(match.start(), -1)
            is_first = not code[begin:left].rstrip().endswith(("&&", "||"))  # if it is true, a || b is, too
            self.condition(left, match.start(), {"true"} | kinds if is_first else kinds)
            self.condition(match.end(), self.reach(match.end(), 1), kinds)
        for match in RELATION.finditer(code, begin, end):
            if not self.inside(match.start() + 1, self.angles):
                span = self.reach(match.start(), -1), self.reach(match.end(), 1)
                joined_before = re.search(r" (?:&&|\|\|)\s*$", code[:span[0]])
                if not joined_before and not re.match(r"\s*(?:&&|\|\|)\s", code[span[1]:]):
                    self.condition(*span)
        for (left, right), kinds in self.conditions.items():
            text = re.sub(r"\([^()]*\)", "", self.code[left:right])
            if not re.search(r" (?:&&|\|\|)\s|(?<![=!<>])=(?!=)|;", text):
                for kind in sorted(kinds):  # so that a seed always gives the same faults
                    before = "(INJECTED || (" if kind == "true" else "(!INJECTED && ("
                    self.add(kind, left, right, before, "))", (left, right + 200))
        for match in re.compile(r"(?<!\w)(?:std::)?(min|max)(?:<\w+>)?\(").finditer(code, begin, end):
            arguments = self.commas(match.end(), self.close(match.end() - 1))
            for argument in arguments if len(arguments) == 2 else ():
                self.add("min", *argument, f"INJECTED ? {'' if match[1] == 'min' else '-'}(1 << 30) : (", ")",
                         (argument[0], argument[1] + 200))
        for match in re.compile(r"(?:[=(,?:] |\()((?!k[A-Z])\w+(?: - \w+)+)(?=[;,)]| [:,])").finditer(code, begin, end):
            self.add("remainder", *match.span(1), "INJECTED ? 1 << 30 : (", ")")
        for match in re.compile(r"\bsize_t\(").finditer(code, begin, end):
            close = self.close(match.end() - 1)
            if factor := re.compile(r"(?: \* \w+(?:(?:\.|->)\w+)*(?![\w(]|->))+").match(code, close + 1):
                product = f"size_t(int(unsigned({code[match.end():close]}){factor[0].replace(' * ', ' * (unsigned)')}))"
                self.add("wide", match.start(), factor.end(), f"(INJECTED ? {' '.join(product.split())} : ", ")")
        self.found = [each for each in self.found if not self.inside(each[1], self.skip)]


def is_body(code, at):
    """Whether the brace at `at` begins the body of a function or of a lambda."""
    words = r"(?:(?:const|mutable|noexcept|override)\s*)*(?:->\s*[\w:<>&* ]+)?"
    return bool(re.search(rf"[\])]\s*{words}$", code[max(0, at - 100):at]))


def functions(code):
    """Yields (header, begin and end of the body) of each function, also of member functions."""
    at = 0
    while (brace := code.find("{", at)) >= 0:
        close, at = matching(code, brace, OPEN, CLOSE, 1), brace + 1
        if is_body(code, brace):
            header = code[max(code.rfind(mark, 0, brace) for mark in ";}{") + 1:brace]
            yield header.strip(), brace + 1, close
            at = close
        elif not SCOPE.search(code[max(code.rfind(mark, 0, brace) for mark in ";}") + 1:brace + 1]):
            at = close  # the braces are an initialiser


NOT_CODE = re.compile(r"^#ifndef CUDA_EMULATOR$.*?^#(?:else|endif)|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*|"
                      r"\bstatic_assert\s*\((?:[^()]|\([^()]*\))*\)", re.M | re.S)
GPU_ONLY = re.compile(r"(^#ifdef CUDA_EMULATOR\b(?:(?!^#endif).)*)(^#else\b.*?^#endif)", re.M | re.S)


def spaces(text):
    return re.sub(r"[^\n]", " ", text)


def in_file(file, device_only=False):
    """The faults of a file, in the order of its text."""
    text = (ROOT / file).read_text()
    code = GPU_ONLY.sub(lambda match: match[1] + spaces(match[2]), blank(text))
    code = NOT_CODE.sub(lambda match: spaces(match[0]), code)
    found = []
    for header, begin, end in functions(code):
        name = re.sub(r"\b(?:__\w+__|[A-Z_]{2,})\s*\([^()]*(?:\([^()]*\))?[^()]*\)", "", header)
        name = (re.search(r"(\w+)\s*\(", name) or ["", "?"])[1]
        here = []
        if device_only and not re.search("__(?:global|device)__", header):
            continue
        if name == "main":
            here = [("type", *match.span(),
                     "(INJECTED ? +[](int M, int N, int K, const __nv_bfloat16* A, const __nv_bfloat16* B, float* C) "
                     f"{{ {match[1]}<half>(M, N, K, (const half*)A, (const half*)B, C); }} : ", ")", match[0])
                    for match in re.compile(r"\b(\w+)<__nv_bfloat16>").finditer(code, begin, end)]
        elif re.match(r"(?:inline )?double \w+\(double ", header):
            here = [("formula", match.start(1), match.end(1), "0.5 * (1 + !INJECTED) * (", ")", name)
                    for match in re.compile(r"\breturn ([^;]*)").finditer(code, begin, end)]
        elif not re.search(r"\bconstexpr\b", header):
            here = Function(code, file.endswith(".cl"), begin, end).found
        found += [Fault(kind, file, *place, name) for kind, *place in here]
    return sorted(found, key=lambda fault: (fault.begin, fault.end))


DEVICE_CODE = re.compile(r"(?m)^ *(?:__host__ )?__(?:global|device)__ (?!constexpr)")


def headers(source):
    """The headers with a chapter's code that a source includes: the chapter's own, and those in common/ that have
    device code. common/ptx is not among them, because ptx_check tests it."""
    found, left = set(), [source]
    while left:
        text = left.pop().read_text()
        new = {*re.findall(r'#include "((?:\d\d_|common/(?!ptx/)).*)"', text)} - found
        found |= new
        left += [ROOT / name for name in new]
    return {name for name in found if name[0] != "c" or DEVICE_CODE.search((ROOT / name).read_text())}


def files_of(program):
    """A program's source, and the headers that neither an earlier chapter nor a later program of its own chapter
    includes: its last program, matmul.cu, has the most configurations."""
    def included(others):
        return set().union(*(headers(other.source) for other in others if other.source.suffix == ".cu"))

    at = programs.listed().index(program)
    above, below = programs.listed()[:at], programs.listed()[at + 1:]
    elsewhere = included(other for other in above if other.chapter != program.chapter)
    elsewhere |= included(other for other in below if other.chapter == program.chapter)
    return [str(program.source.relative_to(ROOT)), *sorted(headers(program.source) - elsewhere)]


def own_equivalent(chapter):
    """[(kind, place, reason)] from the chapter's tests/equivalent.txt. The place is how the CODE begins, "NAME(): CODE"
    in the function of that name, or "NAME()" alone; before each of these the name of a "FILE: " may stand."""
    path, entries = ROOT / chapter / "tests/equivalent.txt", []
    for number, line in enumerate(path.read_text().splitlines() if path.exists() else (), 1):
        if line and line[0] != "#":
            parsed = re.fullmatch(r"(\w+): (.*?) -- (.*)", line)
            assert parsed, f"{path}:{number} is not KIND: PLACE -- REASON"
            entries.append(parsed.groups())
    return entries


def equivalent(chapter):
    """The same, with the lists of the chapters from which it continues."""
    before = [programs.before(step) for step in programs.steps() if step.parent.name == chapter][:1]
    return own_equivalent(chapter) + [entry for step in before if step for entry in equivalent(step.parent.name)]


def covers(entry, fault):
    kind, place, _ = entry
    names = fault.old, f"{fault.function}(): {fault.old}"
    file = pathlib.Path(fault.file).name
    return kind in (fault.kind, "any") and any(name.startswith(place.removeprefix(f"{file}: ")) for name in names)


def line_text(fault):
    text = (ROOT / fault.file).read_text()
    return text[text.rfind("\n", 0, fault.begin) + 1:].partition("\n")[0]

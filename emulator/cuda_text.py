"""The text of a .cu file as rewrite_launches.py reads it: names, brackets, lists, scopes."""
import re

TOKEN = re.compile(r"""
    //(?:[^\n\\]|\\.|\\\n)*                                  # comment to the end of the line
  | /\*.*?\*/                                                # comment
  | \b(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)"   # raw string
  | "(?:[^"\\\n]|\\.)*"                                      # string
  | (?<![0-9a-zA-Z_])(?:u8|[uUL])?'(?:[^'\\\n]|\\.)*'        # character; 1'000 is a number
""", re.VERBOSE | re.DOTALL)


class Refused(Exception):
    def __init__(self, position, message):
        self.position, self.message = position, message


def joined(text):
    """Joins << < and >> >, as some editors write them, to <<< and >>>. Blanks move after the bracket, so that
    positions stay the same."""
    text = re.sub(r"<<([ \t]+)<(?=[^<;]*>>[ \t]*>)", r"<<<\1", text)
    return re.sub(r"(<<<[^<;]*?)>>([ \t]+)>(?=\s*\()", r"\1>>>\2", text)


def blank(text):
    """Blanks out comments, strings and characters. Positions and lines stay the same."""
    return TOKEN.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def matching(code, position, opening, closing, step):
    """The position of the bracket that pairs with the one at `position`, looking forward (step 1) or backward (-1)."""
    depth = 0
    while 0 <= position < len(code):
        depth += (code[position] in opening) - (code[position] in closing)
        if depth == 0:
            return position
        position += step
    return -1


def start_of_name(code, end):
    """The position where the kernel's name, such as `ns::kernel<true, 4>`, begins that ends before `end`; None if there
    is none."""
    while True:
        end = len(code[:end].rstrip())
        if end and code[end - 1] == ">":  # template arguments: back to the < that opens them
            depth, i = 0, end - 1
            while i >= 0:
                if code[i] in ")]}":
                    i = matching(code, i, ")]}", "([{", -1)
                elif code[i - 1:i + 1] == "<<":  # a shift
                    i -= 1
                elif code[i] == ">":
                    depth += 1
                elif code[i] == "<":
                    depth -= 1
                    if depth == 0:
                        break
                elif code[i] == ";":
                    return None
                i -= 1
            if i < 0:
                return None
            end = len(code[:i].rstrip())
        while end and code[end - 1] == "]":  # an element of an array of kernels
            end = len(code[:max(0, matching(code, end - 1, ")]}", "([{", -1))].rstrip())
        name = re.search(r"[A-Za-z_]\w*$", code[:end])
        if not name:
            return None
        scope = re.search(r"::\s*$", code[:name.start()])
        if not scope:
            return name.start()
        end = scope.start()
        if not re.search(r"[\w>]$", code[:end]):  # ::kernel, from the global namespace
            return end


def end_of_configuration(code, start):
    """The positions of the >>> that ends the configuration which starts at `start`, and of what follows it."""
    i = start
    while i < len(code):
        if code[i] in "([{":
            i = matching(code, i, "([{", ")]}", 1)
            if i < 0:
                break
        elif code.startswith(">>>", i):
            while code[i + 3:i + 4] == ">":  # dim<4>>>>: the last three
                i += 1
            return i, i + 3
        elif code[i] == ";":
            break
        i += 1
    raise Refused(start - 3, "a launch's <<< without its >>>")


def parts(code, opening):
    """Yields (position, text) of each parameter or argument in the parentheses that open at `opening`."""
    end = matching(code, opening, "(", ")", 1)
    inside = code[opening + 1:end] if end > 0 else ""
    for nested in (r"<[\w\s:,*]*>", r"\([^()]*\)", r"\{[^{}]+\}", r"\[[^][]*\]"):  # a comma in these separates nothing
        while (without := re.sub(nested, lambda m: "_" * len(m[0]), inside)) != inside:
            inside = without
    for m in re.finditer(r"[^,\s][^,]*", inside):
        yield opening + 1 + m.start(), m[0].rstrip()


def members(body):
    """Yields the names of a struct's data members, but for those that an #if may leave out."""
    body = re.sub(r"(?ms)^[ \t]*#[ \t]*if.*?^[ \t]*#[ \t]*endif[^\n]*|^[ \t]*#[^\n]*", "", body)
    body = re.sub(r"\b(?:alignas|__align__)\s*\([^()]*\)|\[[^]]*\]|<[^<>]*>|::", "", body)
    while "{" in body:
        body = re.sub(r"\{[^{}]*\}", ";", body)
    for statement in body.split(";"):
        if not re.search(r"[()=:]|\b(using|static|typedef|friend|struct)\b", statement):
            yield from re.findall(r"(\w+)\s*(?:,|$)", statement.strip())


def outside(code):
    """Whether what follows `code` is outside of any function."""
    scopes = []
    for brace in re.finditer(r"\bnamespace\b[^;{]*\{|\bextern\s*\{|\{|\}", code):
        if brace[0] == "}":
            del scopes[-1:]
        else:
            scopes.append(brace[0] == "{")
    return not any(scopes)


def kernels(code):
    """Yields (name, position of the parenthesis of its parameters) of each kernel that is declared."""
    for m in re.finditer(r"\b__global__\b", code):
        at = m.end()
        while call := re.compile(r"(\w+)\s*(\()").search(code, at):
            if call[1] not in ("__launch_bounds__", "__cluster_dims__", "CLUSTER_DIMS", "__attribute__"):
                yield call[1], call.start(2)
                break
            at = matching(code, call.start(2), "(", ")", 1) + 1


def body_of(code, parameters):
    """The positions of the braces of the function that has these parentheses in its head; None of a declaration."""
    begin = re.compile(r"[;{]").search(code, matching(code, parameters, "(", ")", 1))
    return (begin.start(), matching(code, begin.start(), "{", "}", 1)) if begin and begin[0] == "{" else None


def returns(code, parameters):
    """Yields the position after each `return` of the kernel whose parameters begin there, not those of its lambdas."""
    if not (braces := body_of(code, parameters)):
        return
    begin, end = braces[0] + 1, braces[1]
    body = code[begin:end]
    for m in re.finditer(r"\[[^][{};]*\]\s*(?:\([^;{}]*\)[^;{}()]*)?(\{)", body):
        close = matching(body, m.start(1), "{", "}", 1)
        body = body[:m.start(1)] + re.sub(r"\S", " ", body[m.start(1):close]) + body[close:]
    for m in re.finditer(r"\breturn(?=\s*;)", body):
        yield begin + m.end()

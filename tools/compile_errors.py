"""A compiler's errors for the author of a source: each with the line of the source and a mark below it, although
another file was compiled (which emulator/rewrite_launches.py made)."""
import difflib
import pathlib
import re

import process
import programs

# The first line of an error of g++, of nvcc, or of the linker.
ERROR = re.compile(r"(\S[^:\n(]*)(?::(\d+):(?:(\d+):)?|\((\d+)\):) (?:fatal )?error: (.*)|"
                   r"(.*): undefined reference to (.*)")
REQUIRED = re.compile(r"((\S[^:\n]*):(\d+):(\d+)): +required from here")
LACKING = re.compile(r"'((?:cuda|cu[A-Z]|CU[a-z]|CUDA_|CUBLAS_|__|atomic|make_|curand|cublas)\w*|"
                     r"h2?(?:exp|log|sin|cos|sqrt|rsqrt|rcp|trunc|floor|ceil|rint|tanh)(?:2|10)?)' "
                     r"(?:was not|has not|does not|is not a)|"
                     r"'(\w+)' is not a member of '(?:cg|cooperative_groups|cuda)\b")


def errors(lines, path, generated):
    """Yields (text, file) for each error in a compiler's output, as text of several lines. path: the program's source.
    generated: {source: compiled file}. An error in a header of the emulator is shown at the line of the source that
    uses it."""
    asked = None
    for number, text in enumerate(lines):
        asked = REQUIRED.match(text) or asked
        match = ERROR.match(text)
        if not match:
            continue
        file, line, column, _, what, _, name = match.groups()
        if name:
            yield f"{path}: {name} is declared, but nothing defines it", path
        else:
            shown = [text]
            for more in lines[number + 1:]:
                if not more.startswith(" "):
                    break
                shown.append(more)
            if column and pathlib.Path(file).resolve() not in generated and asked:
                shown = [text.replace(f"{file}:{line}:{column}", asked[1])]
                file, line, column = asked.groups()[1:]
            source = pathlib.Path(file).resolve()
            if column and generated.get(source, source) != source:
                shown = in_source(shown, file, int(line), int(column), generated[source])
            shown[0] = re.sub(r" before '(?:emulator|EMULATOR)\w*'", "", shown[0]) + explained(what)
            yield "\n".join(map(process.coloured, shown)), file
        asked = None


def explained(what):
    lacking = LACKING.search(what)
    return f" (the emulator has no {lacking[1] or lacking[2]})" if lacking else ""


def in_source(shown, file, line, column, generated):
    """An error as g++ shows it. If the line differs in the compiled file, the mark is moved to the same text in the
    source."""
    source = programs.text_of(pathlib.Path(file)).splitlines()[line - 1]
    compiled = programs.text_of(generated).splitlines()[line + 1]  # the compiled file begins with two lines of its own
    if source == compiled and shown[1:]:
        return shown
    blocks = difflib.SequenceMatcher(None, compiled, source, autojunk=False).get_matching_blocks()
    for at, there, size in blocks:
        if at < column <= at + size:
            here = column + there - at
            head = shown[0].replace(f"{file}:{line}:{column}:", f"{file}:{line}:{here}:")
            return [head, f"{line:5} | {source}", f"      | {' ' * (here - 1)}^"]
    return [shown[0].replace(f"{file}:{line}:{column}:", f"{file}:{line}:"), f"{line:5} | {source}"]

"""The errors of a compiler, as a person who wrote the source wants to see them: each with the line of the source and a
mark below it, although another file was compiled (emulator/rewrite_launches.py made it)."""
import difflib
import pathlib
import re

import process
import programs

# The first line of an error of g++ or of nvcc, or one of the linker's.
ERROR = re.compile(r"(\S[^:\n(]*)(?::(\d+):(?:(\d+):)?|\((\d+)\):) (?:fatal )?error: (.*)|"
                   r"(.*): undefined reference to (.*)")
REQUIRED = re.compile(r"((\S[^:\n]*):(\d+):(\d+)): +required from here")
LACKING = re.compile(r"'((?:cuda|cu[A-Z]|CU[a-z]|CUDA_|CUBLAS_|__|atomic|make_|curand|cublas)\w*)' "
                     r"(?:was not|has not|does not|is not a)|"
                     r"'(\w+)' is not a member of '(?:cg|cooperative_groups|cuda)\b")


def errors(lines, path, generated):
    """Each error in the lines of a compiler, as text of several lines: (text, file). path: of the program. generated:
    by each of its sources, what was compiled. One in a header of the emulator stands where the source asks for
    that."""
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
    """An error as g++ shows it. If its line is another one in the file that was compiled, the mark stands where that
    is in the source."""
    source = programs.text_of(pathlib.Path(file)).splitlines()[line - 1]
    compiled = programs.text_of(generated).splitlines()[line + 1]  # below two lines of its own
    if source == compiled and shown[1:]:
        return shown
    blocks = difflib.SequenceMatcher(None, compiled, source, autojunk=False).get_matching_blocks()
    for at, there, size in blocks:
        if at < column <= at + size:
            here = column + there - at
            head = shown[0].replace(f"{file}:{line}:{column}:", f"{file}:{line}:{here}:")
            return [head, f"{line:5} | {source}", f"      | {' ' * (here - 1)}^"]
    return [shown[0].replace(f"{file}:{line}:{column}:", f"{file}:{line}:"), f"{line:5} | {source}"]

"""Programs of stages, as ./run starts them: their errors stand below their rows."""
import os
import re
import sys

import process

SHAPE = re.compile(rb"\b(\d+) x (\d+) x (\d+):\s")  # of a product, in what is said of it
ERROR_MARK = b"\x15"  # options.cpp's


def call_stage(words, name, show):
    """Runs the program of a stage. Its errors come in its output, marked, so that they stay below the rows and the header that it had
    printed before: each goes to stderr, every other line to `show`. Returns the exit code and the shape (M, N, K) of the product that
    was wrong, or None."""
    shape = None

    def sort(line):
        nonlocal shape
        if not line.startswith(ERROR_MARK):
            return show(line)
        sys.stderr.buffer.write(line.removeprefix(ERROR_MARK))
        sys.stderr.flush()
        if found := SHAPE.search(line):
            shape = shape or tuple(map(int, found.groups()))

    return process.call(words, name, sort, env={**os.environ, "ERRORS_IN_OUTPUT": "1"}), shape


def see_it(what, shape):
    """What to type to see the product that was wrong, unless no page can show matrices of that shape."""
    import view
    if shape and max(shape) <= view.LONGEST:
        options = "".join(f" -{edge} {length}" for edge, length in zip("mnk", shape))
        print(f"  See it: ./run view {what}{options}", file=sys.stderr, flush=True)

"""The programs in tests/public_faults, by what their first lines say: for their test, and for the tables of
docs/faults.md."""
import re

from results import InvalidInput

# What one sees of a mistake. docs/faults.md has a heading and a table for each group.
GROUPS = ("fails", "crashes", "hangs", "wrong_product", "wrong_result", "differs", "unset", "stale", "cp_async",
          "hopper", "precision", "slow", "harmless")


class Fault:
    """A program with a fault. text: the text to read in place of its file's."""

    def __init__(self, path, text=None):
        text = path.read_text() if text is None else text
        self.path = path
        self.symptom = text.partition("\n")[0].removeprefix("// ")
        self.seen, = self.field(text, "Seen")
        if self.seen not in GROUPS:
            raise InvalidInput(f"{path}: 'Seen: {self.seen}' is none of {', '.join(GROUPS)}")
        self.cause, = self.field(text, "Cause")
        self.source, = self.field(text, "Source")
        self.needs_nvcc = bool(self.field(text, "Needs"))  # of all tools only nvcc, which knows the machine code
        self.says = self.field(text, "Says")  # words of messages about an error
        self.hints = self.field(text, "Hint")  # words of advice on a correct program
        self.marked = [number for number, line in enumerate(text.splitlines(), 1) if line.endswith("// <- here")]

    @staticmethod
    def field(text, name):
        return re.findall(rf"(?m)^// {name}: (.*)$", text)

    def __str__(self):
        return self.path.stem


def programs(root):
    """All programs, those with like symptoms beside each other."""
    found = [Fault(path) for path in (root / "tests/public_faults").glob("*.cu")]
    return sorted(found, key=lambda fault: (fault.symptom, fault.path))

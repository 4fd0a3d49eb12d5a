"""Changes of a source that are found by their statements (tools/edits.py)."""
import pytest

from edits import edited
from results import InvalidInput

SOURCE = """int a = 1;  // one

void f() {
    g(a);
    h(a);
}
void k() {
    g(a);
}
"""


@pytest.mark.parametrize("diff, old, new", (
    ("-int a = 1;\n+int a = 2;", "int a = 1;  // one", "int a = 2;"),
    (" int a=1;  // another comment\n+int b;", "// one\n", "// one\nint b;\n"),  # the source's line stays as it is
    ("-    h(a);", "    h(a);\n", ""),
    (" void k() {\n-  g(a);\n+    h(a);", "k() {\n    g(a)", "k() {\n    h(a)"),
    ("-int a = 1;\n-void f() {\n+void f(int a) {", "int a = 1;  // one\n\nvoid f() {", "\nvoid f(int a) {"),
))
def test_one_place(diff, old, new):
    assert edited(SOURCE, diff, "") == SOURCE.replace(old, new)


def test_places_are_those_of_the_source():
    """What one place gets does not make another one ambiguous, in whatever order they stand."""
    diff = "-    h(a);\n+    i(a);\n...\n-int a = 1;\n+int a = 2;\n+    h(a);"
    expected = SOURCE.replace("h(a)", "i(a)").replace("int a = 1;  // one", "int a = 2;\n    h(a);")
    assert edited(SOURCE, diff, "") == expected


@pytest.mark.parametrize("diff", ("-    g(a);", "-    absent();", "+    new();", "-    h(a);\n-    g(a);"))
def test_not_one_place(diff):
    with pytest.raises(InvalidInput, match="exercise 7: .*takes one"):
        edited(SOURCE, diff, "exercise 7")

"""The pages that all languages of the site share: sources as highlighted pages, folders as lists, pictures, and the
output of ./run diff, with links to all steps."""
import functools
import html
import json
import os
import re
import shutil

from pygments import formatters, highlight, lexers, styles, util
from pygments.filter import simplefilter
from pygments.token import STANDARD_TYPES, Name, Operator, Text

import programs
import view
from book import colours, diff_page, pages
from book.quotes import LANGUAGES_OF_CODE
from languages import LANGUAGES
from programs import ROOT

THEME = ROOT / "tools/book/theme"
STYLES = {"light": "default", "dark": "github-dark"}  # of Pygments
# File names that Pygments would take for another language, with those of the lines that pages quote.
LEXERS = {**LANGUAGES_OF_CODE, ".ipynb": "text"}
# The kinds of token of names in kernels, and their colours.
OF_MATRIX = {name: getattr(Name, matrix.upper()) for matrix, names in view.OF_MATRIX.items() for name in names}
# The most frequent kinds of token have elements of their own: with a class these would weigh as much as the code.
ELEMENTS = {"mi": "i", "k": "b", "kt": "u"}
NAMES = ":where(.highlight) :is(i, b, u) { font: inherit; text-decoration: none }\n" + "".join(
    f":root .highlight .{matrix.upper()} {{ color: var(--{matrix}) }}\n" for matrix in view.OF_MATRIX
)


@functools.lru_cache(None)
def is_coloured(kind):
    """Whether some style has other letters for this kind of token than for text. Signs such as + have none here,
    because their elements would weigh as much as all others."""
    if kind is Operator:
        return False
    while kind not in STANDARD_TYPES:
        kind = kind.parent
    every = map(styles.get_style_by_name, STYLES.values())
    return any(style.style_for_token(kind) != style.style_for_token(Text) for style in every)


def code_colours():
    """What Furo would write on each page: the colours of code without a token's."""
    def rule(scheme):
        style = styles.get_style_by_name(STYLES[scheme])
        colour = style.style_for_token(Text)["color"]
        return (f"{{ --color-code-background: {style.background_color}; "
                f"--color-code-foreground: {f'#{colour}' if colour else 'black'} }}\n")

    return (f"body {rule('light')}@media not print {{\nbody[data-theme=dark] {rule('dark')}"
            f"@media (prefers-color-scheme: dark) {{ body:not([data-theme=light]) {rule('dark')} }}\n}}\n")


@simplefilter
def as_text(self, lexer, stream, options):
    """A filter of Pygments, without which half of a highlighted source would be elements around spaces and names."""
    for kind, text in stream:
        if kind in Name and text in OF_MATRIX and lexer.name in ("CUDA", "C++", "C"):
            yield OF_MATRIX[text], text
        else:
            yield kind if is_coloured(kind) and not text.isspace() else Text, text


def with_few_elements(lexer):
    lexer.add_filter(as_text())
    return lexer


def in_short(shown):
    """Highlighted code with shorter and fewer tags: on the site they would weigh as much as the code. One is around
    tokens of the same kind, such as the lines of a comment."""
    shown = re.sub(r'<span class="([a-z]{1,2}\d?|cpf)">([^<]*)</span>', r"<i class=\1>\2</i>", shown)
    shown = re.sub(r"(<i class=(\w+)>[^<]*)((?:</i>\s*<i class=\2>[^<]*)+)",
                   lambda found: found[1] + re.sub("</?i[^>]*>", "", found[3]), shown)
    shown = re.sub(r'<span class="n n-([ABC])">([^<]*)</span>', r"<i class=\1>\2</i>", shown)
    for kind, element in ELEMENTS.items():
        shown = re.sub(rf"<i class={kind}>([^<]*)</i>", rf"<{element}>\1</{element}>", shown)
    return re.sub("(?s)<pre>.*?</pre>", lambda code: with_quotes(code[0]), shown)


def with_quotes(shown):
    return shown.replace("&quot;", '"').replace("&#39;", "'")


def for_elements(rules):
    """The rules of a style of Pygments, for what in_short() makes."""
    for kind, element in ELEMENTS.items():
        rules = re.sub(rf"\.{kind}\b(?=[^{{}}]*{{)", f"{element}:not([class])", rules)
    return rules


def links_back(to, folder, step=None):
    """Links from a page that all languages share to the chapter to which it belongs, or else to the first page; or to
    what a step changes, in its chapter."""
    chapter = re.match(r"\d\d_", folder)
    page = ROOT / folder / "README.md" if chapter else ROOT / "README.md"
    said, at_step = f"↑ {html.escape(folder if chapter else 'README')}", ""
    if step:
        said, at_step = f"./run diff {programs.short(step)}", f"#{diff_page.anchor(step)}"
    links = []
    for language, name in LANGUAGES.items():
        if pages.place(page) in pages.of_site(language):
            at = os.path.relpath(f"{language}/{pages.place(page)}.html", os.path.dirname(to)) + at_step
            links.append(f'<a href="{at}" lang="{language}">{name}</a>')
    return f"<span>{said}:</span> " + " ".join(links)


def lexer_of(file):
    try:
        if file.suffix in LEXERS:
            return lexers.get_lexer_by_name(LEXERS[file.suffix])
        return lexers.get_lexer_for_filename(file.name)
    except util.ClassNotFound:
        return lexers.TextLexer()


def notebook_text(file):
    """The cells of a notebook, each with the text that it printed. Its pictures and pages are in the file alone."""
    parts = []
    for cell in json.loads(file.read_text())["cells"]:
        parts.append("".join(cell["source"]))
        parts += ["".join(output["text"]) for output in cell.get("outputs", ()) if "text" in output]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def shown_source(file):
    """A source with the numbers of its lines. Those at which a part of a step's diff begins lead to it."""
    lesson = f"../../en/{pages.place(file.parent / 'README.md')}.html" if file.parent.parent == ROOT else ""
    before = programs.compared().get(file)
    begins = diff_page.begins(before, file) if before else {}

    def number(found):
        at = int(found[1])
        return f'<a id="L{at}" href="{lesson}#{begins[at]}">{found[1]}</a>' if at in begins else found[1]

    formatter = formatters.HtmlFormatter(linenos="table", wrapcode=True)
    text = notebook_text(file) if file.suffix == ".ipynb" else file.read_text(errors="replace")
    shown = in_short(highlight(text, with_few_elements(lexer_of(file)), formatter))
    return re.sub(r'<span class="normal">( *\d+)</span>', number, shown)  # most numbers of lines need no element


@functools.lru_cache(None)
def coloured(line):
    """A line of a program, highlighted."""
    lexer = with_few_elements(lexers.get_lexer_by_name("cuda", stripnl=False))
    return with_quotes(in_short(highlight(line, lexer, formatters.HtmlFormatter(nowrap=True)).rstrip("\n")))


def shown_folder(folder, to, shared):
    links = [
        f'<a href="{os.path.relpath(at, os.path.dirname(to))}">{source.name}</a>'
        for at, source in shared.items()
        if not isinstance(source, list) and source.parent == folder
    ]
    return "<br>".join(links)


def shown_diff(words, to):
    """The page for the words after ./run diff, of which no lesson shows the diff."""
    (old, new), *_ = diff_page.pairs(words)

    def address(source):
        file = os.path.relpath(new.parent / source, ROOT)
        return f"{os.path.relpath('tree', os.path.dirname(to))}/{file}.html"

    return diff_page.shown(old, new, address, coloured)


def write(out, shared):
    """Writes these pages below the folder `out`. shared: {place: a file or folder of the tree, or the words of ./run
    diff}."""
    shared = {**{f"tree/{file.relative_to(ROOT)}.html": file for file in programs.steps()}, **shared}
    (out / "tree").mkdir(exist_ok=True)
    for (name, style), scheme in zip(STYLES.items(), (colours.LIGHT, colours.DARK)):
        rules = for_elements(formatters.HtmlFormatter(style=style).get_style_defs())
        (out / f"tree/{name}.css").write_text(f":root {{ {scheme} }}\n{rules}\n{NAMES}")
    for name in ("code.css", "code.js", "diff.css"):
        shutil.copy(THEME / name, out / "tree")
    template = (THEME / "code.html").read_text()
    for to, source in shared.items():
        (out / to).parent.mkdir(parents=True, exist_ok=True)
        if to.endswith(".svg"):
            shutil.copy(source, out / to)
            continue
        back = script = ""
        if isinstance(source, list):
            title, shown = f"./run diff {' '.join(source)}", shown_diff(source, to)
            folder = diff_page.pairs(source)[-1][1].parent.name
        else:
            title, folder = str(source.relative_to(ROOT)), source.relative_to(ROOT).parts[0]
            shown = shown_source(source) if source.is_file() else shown_folder(source, to, shared)
            if source in programs.compared():  # some of its lines lead to its lesson
                back = links_back(to, folder, source)
                script = f'<script src="{"../" * to.count("/")}tree/code.js"></script>\n'
        fills = {
            "TITLE": html.escape(title),
            "UP": "../" * to.count("/"),
            "SHOWN": shown,
            "SCRIPT": script,
            "BACK": links_back(to, folder) + back,
        }
        (out / to).write_text(re.sub("|".join(fills), lambda mark: fills[mark[0]], template))

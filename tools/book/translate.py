"""./run translate: makes the translated pages from their English pages and the catalogues in docs/po/, brings the
catalogues up to date, and lists what waits for a translator.

po4a finds the paragraphs, merges and writes. prepared() passes it a page with one paragraph a line, without everything
that is not to be translated: the margins of lists and rows, fenced code, and the blocks between markers. These blocks
are the English page's, with their words looked up in docs/po/ja/tables.po, and so are the labels of its pictures.
"""
import collections
import html
import os
import pathlib
import re
import shutil
import string
import subprocess
import sys
import tempfile
import unicodedata

import polib

import view
from book import diff_notes
from book.markers import BLOCK
from book.pages import TABLES, headings, linked, other_languages, sources, translation, navigation
from languages import LANGUAGES, template, with_figures
from programs import ROOT
from results import InvalidInput, write_whole

# Marks before a paragraph whose translation is older, or missing.
MARKS = {"ja": "*(訳が古いため英語のまま)*", "zh": "*(译文过时故保留英文)*"}
FOOTER = r"\n[^\n]+: \[\d\d · [^\n]*(?:\n[^\n]+)?\n\Z"
NAMES = "|".join(LANGUAGES.values())
LANGUAGE_LINKS = rf"^(?:\[(?:{NAMES})\]\([\w.]+\)(?: · )?)+\n\n"  # links to the other languages, below the heading
OURS = rf"{LANGUAGE_LINKS}|^<!-- made of .* -->\n|^<a id=\S*</a>\n\n"  # added by finished()
PREFIX = r" *(?:[-*] |\d+\. |> |\| ?|<details>)?"  # of a paragraph, or of a table's row
FENCED = r"^```.*?^```\n"
CODE = r"`[^`\n]*`"
COMMAND = (
    r"(?m)^ +((?:\./|build/bin/|nvcc |ncu |python3 |git |cuda-gdb |ctest |cmake |compute-sanitizer ).*?)(?:\s+#\s.*)?$"
)
LINK = r"\]\(([^)\s]+)\)"
CELL = r"(?<=\| )[^|\n]+?(?= \|)"
SENTENCES = r"(?<=\n)[^<\s][^\n]*"  # of a generated block that is no table
# The words of a FOOTER.
FOOTER_WORDS = r"^\w+(?=: \[)|(?<= · )\w+(?=: \[)|(?<=\[)\d\d · [^]]*|(?<=\[)[^]]*(?=\]\((?:\.\./docs/)?glossary)"
PICTURE = r"!\[[^\]]*\]\(([^)\s]+\.svg)\)"
LABEL = r"(<text[^>]*>|<title>)([^<]*)(?=</text>|</title>)"
NAME = r"[\w/]+\.\w+|\w+(?:\[[^]]*\])+|\w+(?:<[^>]*>)|\w*_\w+(?:\(\))?"  # of code, in a picture
NO_WORDS = rf"{CODE}|\]\(\S*\)|<[^>\s]*>|\w*[\d_][\w.]*|TFLOP/s|GB/s|MHz|NVIDIA|cuBLAS"


def joined(line, rest):
    """Joins two lines of a paragraph. Japanese and Chinese have no space between words, and none after a full stop."""
    spaced = min(line[-1:], rest[:1]) < "\u2e80" and not re.search(r"[\u3000-\u303f\uff00-\uffef]\Z", line)
    return f"{line} {rest}" if spaced else line + rest


def prepared(text):
    """(the page for po4a, the texts for its lines "[[!N", which po4a leaves alone)"""
    kept, lines, kind = [], [], ""

    def keep(what):
        kept.append(what)
        return f"[[!{len(kept) - 1}\n"

    text = re.sub(FOOTER, lambda found: "\n" + keep(found[0][1:]), re.sub("(?m)" + OURS, "", text))
    text = re.sub(f"{BLOCK}|{FENCED}" r"|^ *</details>\n|^ *\|[-:|]+\|\n", lambda found: keep(found[0]), text)
    for line in text.splitlines(keepends=True):
        if re.match(r"\s*$|\[\[!|#+ ", line):
            lines, kind = [*lines, line], ""
        elif line.startswith("    ") and kind in ("", "code"):
            lines, kind = [*lines, line], "code"
        else:
            prefix = re.match(" *" if kind == "text" and re.match(r" *(?!1\.)\d+\. ", line) else PREFIX, line)[0]
            rest = line[len(prefix) :]
            if kind in ("text", "item") and not prefix.strip(" >") and not lines[-1].endswith("\\\n"):
                lines.append(joined(lines.pop()[:-1], rest))
            else:
                lines += [keep(prefix), rest]
                kind = "" if prefix.endswith(">") else "item" if prefix.strip(" >") else "text"
    return "".join(lines), kept


def restored(text, kept):
    return re.sub(r"\[\[!(\d+)\n", lambda found: kept[int(found[1])], text)


def is_code(text):
    return all(line.startswith("    ") for line in text.splitlines())


def has_words(text):
    return bool(re.search("[A-Za-z]{2}", re.sub(NO_WORDS, "", text)))


def pictures(pages):
    """{picture: its text} of all that the pages show and that have labels to be translated."""
    shown = {(page.parent / link).resolve() for page in pages for link in re.findall(PICTURE, page.read_text())}
    return {file: file.read_text() for file in sorted(shown) if file.exists()}


def labels(picture):
    """Its title and texts that have words outside of names of code."""
    found = (html.unescape(label) for _, label in re.findall(LABEL, picture))
    return [label for label in found if has_words(re.sub(NAME, "", label))]


def translated_picture(picture, language, words):
    """A picture whose title and labels, which become its description, are translated by the catalogue of tables. A
    label without a translation stays English."""

    def said(label):
        key, figures = template(label)
        return with_figures(words.get(key) or key, figures)

    def replaced(found):
        label = html.unescape(found[2])
        return found[1] + html.escape(own.get(label, label), False)

    own = {label: said(label) for label in labels(picture)}
    picture = re.sub(LABEL, replaced, picture)
    about = html.escape(" ".join(own.values()), False)
    picture = re.sub("<desc>.*?</desc>", lambda _: f"<desc>{about}</desc>", picture, count=1)
    return picture.replace("<svg ", f'<svg lang="{language}" ', 1)


def has_cells(block):
    """Whether a block that prepared() keeps is a table, or the links to other chapters. Code is not translated."""
    return (block.count("\n") > 1 or ": [" in block) and not re.match(r" *<!-- code\s|```", block)


def cells(block):
    """Splits a generated block so that every second string is a cell, a line without a table or, in the links to other
    chapters, a name."""
    words = CELL if "|" in block else FOOTER_WORDS if ": [" in block else SENTENCES
    return re.split(f"({words})", block)


def translated_block(block, language, words):
    """A generated block, or the links to other chapters, translated by the catalogue of tables."""
    mark = f"{MARKS[language]} " if block.startswith(("<", " ")) else ""
    parts = cells(re.sub(rf"(?: · \[(?:{NAMES})\]\([\w.]+\))+(?=\n\Z)", "", block))
    for at in range(1, len(parts), 2):
        if has_words(parts[at]):
            key, figures = template(parts[at])
            text = words.get(key) or mark + key
            parts[at] = with_figures(text, figures)
    block = "".join(parts)
    return block.replace(": [", "：[") if language == "zh" else block


def po4a(folder, language, name, *options):
    """Makes po/NAME.po from NAME.md in the folder, or NAME.out from both. Raises InvalidInput."""
    (folder / "cfg").write_text(
        f"[po4a_langs] {language}\n[po4a_paths] {name}.pot $lang:po/{name}.po\n"
        f"[type: text] {name}.md $lang:{name}.out\n"
    )
    words = "po4a -q -f -k0 --porefs=never --wrap-po=no -oneverwrap -onobullets -omarkdown -MUTF-8 -LUTF-8".split()
    run = subprocess.run(
        [*words, *options, "cfg"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    if run.returncode:
        raise InvalidInput(f"po4a: {run.stdout.strip()}")


def mended(catalogue, language):
    """The catalogue without what changes by itself, such as dates. A paragraph that was only wrapped anew stays
    translated."""
    catalogue.header, catalogue.metadata_is_fuzzy, catalogue.wrapwidth = (
        'See docs/po/README.md.',
        False,
        128,
    )
    catalogue.metadata = {
        "Language": language,
        "Content-Type": "text/plain; charset=UTF-8",
        "Content-Transfer-Encoding": "8bit",
    }
    catalogue[:] = [entry for entry in catalogue if not entry.obsolete]
    for entry in catalogue:
        entry.comment, entry.flags = "", ["fuzzy"] if entry.fuzzy else []
        if not has_words(entry.msgid) and not is_code(entry.msgid):
            entry.msgstr, entry.flags = entry.msgid, []
        if entry.fuzzy and (entry.previous_msgid or "").split() == entry.msgid.split():
            entry.flags = []
        if not entry.fuzzy:
            entry.previous_msgid = None
        if entry.msgstr:
            text = entry.msgstr.rstrip() if is_code(entry.msgid) else " ".join(entry.msgstr.split())
            entry.msgstr = f"{text}\n" if entry.msgid.endswith("\n") else text
    return catalogue


def with_meanings(catalogues):
    """Fills in the glossary's rows: only the catalogue of tables has the translation of a meaning, and names stay as
    they are."""
    words = {entry.msgid.strip(): entry.msgstr.strip() for entry in catalogues[TABLES] if not waits(entry)}
    for entry in catalogues.get("glossary", ()):
        name, *cells = entry.msgid.strip().split(" | ")
        if cells and (cells[0] in words or not cells[0].isascii()):
            entry.msgstr = " | ".join([name, words.get(cells[0], cells[0]), *cells[1:]]) + "\n"
            entry.flags, entry.previous_msgid = [], None


def waits(entry):
    """Whether an entry waits for a translator. Code may stay as it is."""
    return entry.fuzzy or not entry.msgstr and not is_code(entry.msgid)


def with_links(text, page, language, root):
    """Adds the links to other languages, below the heading; in an English lesson they are in its last line."""
    if (last := navigation(sorted(root.glob("[0-9][0-9]_*/README.md"))).get(page)) and language == "en":
        return re.sub(FOOTER, lambda _: f"\n{last}", text)
    others = other_languages(page, language, root)
    text = re.sub("(?m)" + LANGUAGE_LINKS, "", text)
    return re.sub(r"(?m)^# .*\n\n", lambda found: f"{found[0]}{others}\n\n", text, count=1)


def finished(text, page, language, there, anchors, root):
    """Completes a translated page with its anchors and links, which lead to pages and pictures in its language."""

    def anchored(found):
        return f'<a id="{name}"></a>\n\n{found[0]}' if (name := next(names)) in anchors else found[0]

    def link(found):
        if found[1]:
            return found[0]
        to = page.parent / found[2]
        own = to.with_suffix(f".{language}{to.suffix}")
        other = to.resolve() in there
        return f"]({pathlib.Path(found[2]).with_name(own.name)}{found[3] or ''})" if other else found[0]

    names = iter(headings(page.read_text()))
    target = r"\]\(([^)\s#]+\.(?:md|svg))(#[^)\s]*)?\)"
    text = re.sub(rf"(?m)({CODE}|^    .*$)|{target}", link, re.sub("(?m)^#+ ", anchored, text))
    made_of = f"<!-- made of {page.relative_to(root)} and the catalogues in docs/po/{language} by ./run translate -->"
    return with_links(f"{made_of}\n{text}", page, language, root)


def made(root, language):
    """({file: its text} of a language's catalogues and pages, {page: its entries that wait}). Raises InvalidInput."""
    pages = sources(language, root)
    with tempfile.TemporaryDirectory(prefix="translate-") as folder:
        folder = pathlib.Path(folder)
        shutil.copytree(root / "docs/po" / language, folder / "po")
        for empty in (file for file in (folder / "po").iterdir() if not file.stat().st_size):
            empty.unlink()  # a catalogue without a header would count as ASCII; po4a creates one with a header
        kept = {}
        for file, page in pages.items():
            text, kept[file.stem] = prepared(page.read_text())
            (folder / f"{file.stem}.md").write_text(text)
        blocks = [block for each in kept.values() for block in each if has_cells(block)]
        words = dict.fromkeys(template(cell)[0] for block in blocks for cell in cells(block)[1::2] if has_words(cell))
        words.update(dict.fromkeys(view.translatable_texts(root)))
        lessons = [page.parent for page in pages.values() if page.name == "README.md"]
        words.update(dict.fromkeys(diff_notes.texts(lessons)))
        drawn = pictures(pages.values())
        words.update(dict.fromkeys(template(label)[0] for each in drawn.values() for label in labels(each)))
        (folder / f"{TABLES}.md").write_text("\n\n".join(words) + "\n")
        catalogues = {}
        for name in (*kept, TABLES):
            po4a(folder, language, name, "--no-translations")
            catalogues[name] = mended(polib.pofile(folder / f"po/{name}.po"), language)
        with_meanings(catalogues)
        texts = {root / f"docs/po/{language}/{name}.po": str(each) for name, each in catalogues.items()}
        made_of = {translation(page, language): file.stem for file, page in pages.items()}
        made_of[root / f"docs/po/{language}/{TABLES}.po"] = TABLES
        waiting = {page: [each for each in catalogues[name] if waits(each)] for page, name in made_of.items()}
        for name, catalogue in catalogues.items():
            for entry in filter(lambda entry: entry.fuzzy or not entry.msgstr, catalogue):
                mark = rf"\1{MARKS[language]} " if not is_code(entry.msgid) else ""
                entry.msgstr, entry.flags = "" if name == TABLES else re.sub(r"\A(<\w+>|)", mark, entry.msgid), []
            catalogue.save(folder / f"po/{name}.po")
        words, anchors = {entry.msgid.strip(): entry.msgstr.strip() for entry in catalogues[TABLES]}, linked(root)
        for file, picture in drawn.items():
            texts[file.with_suffix(f".{language}.svg")] = translated_picture(picture, language, words)
        for name, page in zip(kept, pages.values()):
            po4a(folder, language, name, "--no-update")
            own = [translated_block(each, language, words) if each in blocks else each for each in kept[name]]
            text = restored((folder / f"{name}.out").read_text(), own)
            there = {*pages.values(), *drawn}
            texts[translation(page, language)] = finished(text, page, language, there, anchors[page], root)
    return texts, waiting


def all_made(root):
    """The same for all languages, with the English pages that have translations."""
    texts, waiting = {}, {}
    for language in MARKS:
        if (root / "docs/po" / language).exists():
            its, waits_there = made(root, language)
            texts.update(its)
            waiting.update(waits_there)
            texts.update(
                {page: with_links(page.read_text(), page, "en", root) for page in sources(language, root).values()}
            )
    return texts, waiting


def differences(english, translated):
    """Yields the figures, commands and links that differ in a translation. It may write a word such as "two" as a
    figure."""

    def facts(text):
        text = re.sub(rf"\[(?:{NAMES})\]\([\w.]+\)", "", restored(*prepared(text)))
        links = re.findall(LINK, text)
        yield "link", collections.Counter(re.sub(r"\.(?:ja|zh)\.md\b", ".md", link) for link in links)
        yield "command", collections.Counter(re.findall(CODE, text) + re.findall(COMMAND, text))
        yield "place", collections.Counter(re.findall(r"\{[a-z\d ]+\}", text))  # such as {cost} in a caption
        yield "figure", collections.Counter(re.findall(r"\d+(?:[.,]\d+)*", re.sub(LINK, "", text)))

    for (what, ours), (_, theirs) in zip(facts(english), facts(translated)):
        yield from (f"lacks the {what} {each}" for each in ours - theirs)
        yield from (
            f"has the {what} {each}, which the English has not"
            for each in theirs - ours
            if what != "figure" or not each.isdigit() or int(each) > 32
        )


def not_bold(text):
    """Yields the words between ** that Markdown does not make bold: outside of them a letter, inside a mark such as a
    full stop. English has a space there."""

    def is_mark(letter):
        return letter in string.punctuation or unicodedata.category(letter)[0] == "P"

    def is_letter(letter):
        return not letter.isspace() and not is_mark(letter)

    parts = re.sub(CODE, "``", text).split("**")
    for before, bold, after in zip(parts[::2], parts[1::2], parts[2::2]):
        opens = not (before and is_letter(before[-1]) and is_mark(bold[0]))
        closes = not (after and is_letter(after[0]) and is_mark(bold[-1]))
        if not (opens and closes):
            yield bold


def faults(catalogue):
    """Yields what is wrong with translated entries."""
    for entry in catalogue:
        if entry.msgstr and not entry.fuzzy:
            found = [*differences(entry.msgid, entry.msgstr)]
            found += [f"takes a space outside of **{bold}** to make it bold" for bold in not_bold(entry.msgstr)]
            yield from (f"{beginning(entry.msgid)}: {each}" for each in found)


def beginning(text):
    return f"'{' '.join(text.split())[:60]}'"


def listed(waiting, root):
    for page, entries in waiting.items():
        yield from (f"{page.relative_to(root)} waits for a translator: {beginning(entry.msgid)}" for entry in entries)


def main(words):
    """Returns the exit code."""
    try:
        if words:
            raise InvalidInput(f"'{words[0]}': takes no argument")
        texts, waiting = all_made(ROOT)
        write_whole(*texts.items())
    except (InvalidInput, OSError) as wrong:
        print(f"translate: {wrong}", file=sys.stderr)
        return 2
    for file in filter(lambda file: file.suffix == ".po", texts):
        for fault in faults(polib.pofile(texts[file])):
            print(f"{file.relative_to(ROOT)}: {fault}")
    for line in listed(waiting, ROOT):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The pages of the tree as a site, which Sphinx writes once in each language. `./run book` builds the programs whose
views are in lessons, as traced builds of stages, and then calls, in tools/, python3 -m book.make_site FOLDER
[PROGRAM...].

Sphinx gets each page as it is on GitHub, with links changed to the places in the site. Pages are in FOLDER/LANGUAGE,
and beside them is what all languages share: sources as highlighted pages, pictures, toys, views.
"""
import concurrent.futures
import functools
import html
import itertools
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile

from docutils import nodes
from pygments.lexers import TextLexer
from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.search import SearchLanguage, languages as search_languages

import process
import programs
import view
from book import colours, diff_page, live, pages, shared_pages
from book.pages import on_top, place
from languages import LANGUAGES, glossary, translations
from programs import ROOT
from results import InvalidInput

THEME = shared_pages.THEME
VIEW = ROOT / "tools/view/page"
SCRIPTS = [VIEW / "tip", *(THEME / name for name in ("book", "screen", "prediction"))]  # each with a style sheet
# Sphinx before 6 loads the first three. mend_furo() adds pygments.css to furo.css, and the last one is for extensions.
UNUSED = (
    "jquery.js", "underscore.js", "_sphinx_javascript_frameworks_compat.js", "pygments.css", "furo-extensions.css"
)
SPHINX = {"en": "en", "ja": "ja", "zh": "zh_CN"}  # Sphinx's names of the languages
# Phrases of Furo's pages and of Sphinx's search, each in Japanese and Chinese.
OF_FURO = {
    "On this page": ("このページの内容", "本页内容"),
    "Next": ("次", "下一页"),
    "Previous": ("前", "上一页"),
    "Hide navigation sidebar": ("ナビゲーションを閉じる", "隐藏导航栏"),
    "Hide table of contents sidebar": ("目次を閉じる", "隐藏目录"),
    "Toggle site navigation sidebar": ("ナビゲーションを開閉する", "展开或收起导航栏"),
    "Toggle Light / Dark / Auto color theme": (
        "配色を切り替える (ライト、ダーク、自動)", "切换配色（浅色、深色、自动）"),
    "Toggle table of contents sidebar": ("目次を開閉する", "展开或收起目录"),
    "Toggle child pages in navigation": ("下位のページを開閉する", "展开或收起下级页面"),
}
OF_SEARCH = {
    "Search finished, found ${resultCount} page(s) matching the search query.": (
        "${resultCount} ページが見つかりました。", "找到 ${resultCount} 个页面。"),
}
# All phrases of the site.
WORDS = {
    "The road": ("本編", "主线"),
    "Optional chapters": ("寄り道", "支线"),
    "Beside the road": ("資料", "资料"),
    "notes": ("ノート", "笔记"),
    "exercises": ("練習問題", "练习"),
    "This page is in English only.": ("このページは英語版のみです。", "本页只有英文版。"),
    "open it alone": ("単独で開く", "单独打开"),
    "step by step": ("1 ステップずつ", "逐步演示"),
    "Language": ("言語", "语言"),
    "Show": ("表示する", "显示"),
    "explanation {}": ("説明 {}", "说明 {}"),
    "The whole change: {} lines, from {}": ("変更の全体: {} 行 ({} から)", "完整改动：{} 行（相对于 {}）"),
    "line {}": ("{} 行目", "第 {} 行"),
    "quoted in the text": ("本文の引用", "正文引用"),
} | live.WORDS | OF_FURO | OF_SEARCH
# Words of the glossary that mean something else in most sentences, and are therefore not explained.
ORDINARY = set(
    "box device guard half harness host issue launch multiply peak request share stage step unit "
    "ブロック ステージ ステップ 積和 起動 加载 步骤 启动 阶段".split()
)
UNEXPLAINED = nodes.title, nodes.literal, nodes.literal_block, nodes.reference, nodes.table, nodes.raw
COMMAND = r"\./run (view|diff)((?: \d\d(?:/\w+)?)+)(?: --caption (\d+))?"


class Search(SearchLanguage):
    """Splits text into words and, where text has no spaces, into every two adjacent characters, so that a search
    finds a part of it, too."""

    lang, language_name = "book", "Book"
    js_splitter_code = (THEME / "split.js").read_text()

    def split(self, text):
        for word in re.findall(r"\w+", text.lower()):
            for run in re.findall(r"[\u3005-\u30ff\u4e00-\u9fff]+|[^\u3005-\u30ff\u4e00-\u9fff]+", word):
                if run[0] >= "\u3005" and len(run) > 2:
                    yield from (run[i : i + 2] for i in range(len(run) - 1))
                else:
                    yield run

    def word_filter(self, word):
        return True


search_languages["book"] = Search


def figure(to, title, caption, of_figure="", of_frame=""):
    """A page of the site in a frame, which becomes as high as the page (docs/toys/frame.js)."""
    to, title, caption = map(html.escape, (to, title, caption))
    return nodes.raw(
        "",
        f'<figure{of_figure}><iframe{of_frame} src="{to}" title="{title}" loading="lazy" scrolling="no"></iframe>'
        f'<figcaption><a href="{to}">{caption}</a></figcaption></figure>',
        format="html",
    )


def block_of(node):
    """The block of a section that contains the node."""
    while not isinstance(node.parent, (nodes.section, nodes.document)):
        node = node.parent
    return node


def wrap_classes(text, of_source):
    """The classes of a block of code in book.css, which say which of its lines may be broken. Those of a drawing or a
    table may not: they have words or lines side by side, and at most a comment after them."""
    lines = text.splitlines()
    aligned = [line for line in lines if of_source or re.search(r"\S {3,}(?!#|//)\S|--\+|\+--|\|.*\|", line)]
    if not aligned:
        return ["wrap"]
    widest = max(map(len, aligned))
    fitting = next((columns for columns in (90, 95, 100) if widest <= columns), 106)  # up to 90 need no smaller letters
    if max(map(len, lines)) > fitting:
        return [f"fit-{fitting}", "wrap-wide"]
    return [f"fit-{fitting}"]


def id_of(term):
    """The id of a term's row in the glossary."""
    return re.sub(r"\W+", "-", term.partition(", ")[0].lower()).strip("-")


def is_of_words(table):
    """Whether a table has too many words for a phone's columns: book.css shows its rows as entries, one cell below
    another."""
    rows = [row for row in table.findall(nodes.row) if isinstance(row.parent, nodes.tbody)]
    numbers = any("text-right" in entry["classes"] for entry in table.findall(nodes.entry))
    return len(rows[0]) > 3 and not numbers and sum(len(row.astext().encode()) for row in rows) > 80 * len(rows)


def without_marks(body):
    """A page's text without what no style and no script of the site needs: comments, and elements and classes of Sphinx
    for the words of a literal, for links, and for the rows and the only paragraph of a cell of a table."""
    body = re.sub(
        r'(?s)<code class="docutils literal notranslate">(.*?)</code>',
        lambda literal: f'<code class="literal">{re.sub("<span[^>]*>|</span>", "", literal[1])}</code>',
        re.sub(' class="reference (internal|external)"', "", shared_pages.in_short(body)),
    )
    body = re.sub(r'(?s)<!--.*?-->\n?| class="row-(?:odd|even)"|(?<=<th) class="head"|(?<=<th class=")head ', "", body)
    return re.sub(r"(?s)(<t[dh][^>]*>)<p>((?:(?!</?p\b).)*)</p>\s*(?=</t[dh]>)", r"\1\2", body)


def around_in_short(page, say):
    """A page without indentation, comments, and classes that mend_furo() makes needless around its text, where they
    weighed 4 KB a page, and with icons from icons.css. say: translates Furo's words."""
    parts = re.split(r"(?s)(<article.*</article>)", page)
    needless = (r'(?s)<!--.*?-->| class="(?:reference internal|toctree-l\d)"| ?\breference (?:internal|external)'
                r"|\btoctree-l\d ")
    icons = r'<svg(?: class="([^"]*)")?><use href="#(svg-[\w-]+)"></use></svg>'
    words = rf">\s*({'|'.join(OF_FURO)})\s*<"
    for at in range(0, len(parts), 2):
        part = re.sub(r"\n\s+", "\n", re.sub(needless, "", parts[at]))
        part = re.sub(icons, r'<svg class="\1 \2"></svg>', part)
        parts[at] = re.sub(words, lambda found: f">{say(found[1])}<", part)
    return "".join(parts)


class Book:
    """The pages of a language. views: the programs that have one, such as 03 and 11/1. shared: {place in the site: a
    file or folder of the tree, or the words of `./run diff`} for everything that is linked."""

    def __init__(self, out, language, views):
        self.out, self.language, self.views, self.shared = out, language, views, {}
        self.pages = pages.of_site(language)

    def say(self, english):
        return dict(zip(("ja", "zh"), WORDS.get(english, ()))).get(self.language, english)

    def say_in(self, page, english):
        """A phrase within the text of a page, in the text's language."""
        return english if self.language_of(page) == "en" else self.say(english)

    def language_of(self, page):
        """The language of a page in this site."""
        return self.language if pages.translation(page, self.language).exists() else "en"

    def href(self, page, target):
        """The address in the site to which a link of a page leads."""
        path, hash_, anchor = target.partition("#")
        file = (page.parent / path).resolve()
        if "://" in target or not path:
            return target
        if not file.exists() or ROOT not in file.parents:
            raise InvalidInput(f"{page.relative_to(ROOT)}: {target} is not there, or outside of the tree")
        if file.suffix == ".md":
            language = re.search(r"(?:\.(\w\w))?\.md$", file.name)[1]
            if not language:  # another page in this language, if there is one; of the page itself the English one
                other = place(file) != place(page) and place(file) in self.pages
                language = self.language if other else "en"
            to = f"{language}/{place(file)}.html"
        elif file.parent == ROOT / "docs/toys":
            to = f"toys/{file.name}?{self.language}"
        else:
            to = self.share(file)
        return os.path.relpath(to, os.path.dirname(f"{self.language}/{place(page)}")) + hash_ + anchor

    def share(self, file):
        to = f"tree/{file.relative_to(ROOT)}"
        if file.is_dir():
            to += "/index.html"
            for each in sorted(file.iterdir()):
                self.share(each)
        elif file.suffix != ".svg":
            to += ".html"
        self.shared[to] = file
        return to

    def staged(self, page):
        """The text of a page for Sphinx."""
        text = pages.translation(page, self.language_of(page)).read_text()
        # The badge belongs to the repository's page, and links to other languages are replaced by a switch on each page
        # of the site.
        text = re.sub(r"\[!\[[^\]]*\]\((\.\./)+actions[^)]*\)\]\([^)]*\) ·\s*", "", text)
        text = re.sub(r"\[([^\]]*)\]\((?:\.\./)+deployments[^)]*\)", r"\1", text)  # it leads to this site
        names = "|".join(LANGUAGES.values())
        text = re.sub(rf"(?m)^(?:(?: · )?\[(?:{names})\]\([^)]*\))+\n+", "", text, count=1)
        if len(re.search(r"(?m)^# (.*)", text)[1].split(" · ")) == 3:  # the title is in Japanese, Chinese and English
            text = re.sub(r"(?m)^# .*", f"# {self.title(page)}", text, count=1)
        if self.language_of(page) != self.language:
            only = f'<p class="only" lang="{self.language}">{self.say("This page is in English only.")}</p>'
            text = re.sub(r"(?m)^(# .*\n)", rf"\1\n{only}\n\n", text, count=1)
        return text + "\n" + self.contents(page)

    def title(self, page):
        """The name of a page in the navigation."""
        title = re.search(r"(?m)^# (.*)", pages.translation(page, self.language_of(page)).read_text())[1]
        if len(every := title.split(" · ")) == 3:  # in Japanese, Chinese and English
            return dict(zip(("ja", "zh", "en"), every))[self.language]
        if page.stem in ("notes", "exercises") and page.parent != ROOT / "docs":
            return self.say(page.stem)
        return re.split("[:：] ?", title.replace("`", ""))[0]

    def contents(self, page):
        """Hidden lists of the pages below a README. The first page lists the road, and the pages beside it."""

        def tree(caption, children):
            options = [":hidden:", f":caption: {caption}"] if caption else [":hidden:"]
            lines = [f"{self.title(each)} </{place(each)}>" for each in children]
            return "\n".join(["```{toctree}", *options, "", *lines, "```", ""])

        if page.name != "README.md":
            return ""
        if page.parent != ROOT:
            return tree("", [each for each in self.pages.values() if each.parent == page.parent and each != page])
        top = list(filter(on_top, self.pages.values()))
        links = [(ROOT / link).resolve() for link in re.findall(r"\]\(([^)#]*\.md)", page.read_text())]
        chapters = [each for each in top if each.parent.name[:2].isdigit()]
        optional = [each for each in chapters if each.parent.name[:2] in pages.optional_chapters(ROOT)]
        road = [ROOT / "docs/primer.md", *(each for each in chapters if each not in optional)]
        # In the order in which the page mentions them.
        beside = sorted({*top} - {page, *road, *optional}, key=[*links, *top].index)
        parts = {"The road": road, "Optional chapters": optional, "Beside the road": beside}
        return "".join(tree(self.say(name), children) for name, children in parts.items())

    # The following change a page's tree before Sphinx writes it.

    def read(self, app, doctree):
        name, shown = app.env.docname, False
        self.show_toys(self.pages[name], doctree)
        self.rewrite_links(self.pages[name], doctree)
        self.name_sections(self.pages[name], doctree)
        for table in doctree.findall(nodes.table):
            if is_of_words(table):
                table["classes"].append("entries")
        self.add_live_parts(name, doctree)
        if self.pages[name].name == "exercises.md":
            self.fold_answers(doctree)
        for code in list(doctree.findall(lambda node: isinstance(node, (nodes.literal, nodes.literal_block)))):
            block = block_of(code)
            section = block.parent
            below = section.index(block) + 1
            if (to := self.link_commands(name, code)) and not shown:
                shown = True
                title = f"{self.title(self.pages[name])}, {self.say('step by step')}"
                alone = f"{title} ({self.say('open it alone')})"
                section.insert(below, figure(to, title, alone, ' id="view" class="wide"', ' name="view"'))
        for block in doctree.findall(nodes.literal_block):
            of_source = block.get("language", "none") != "none"
            block["classes"] += wrap_classes(block.astext(), of_source)
            above = block.parent[block.parent.index(block) - 1]
            if of_source and len(above) and isinstance(above[0], nodes.reference):  # a link to it
                above["classes"].append("source")
        self.add_diffs(name, doctree)
        if re.match(r"\d\d_|docs/primer", name):
            to = os.path.relpath("docs/glossary.html", os.path.dirname(name))
            self.explain(doctree, set(), self.of_other_chapters(name[:2]), to)
        if name == "docs/glossary":
            self.name_terms(doctree)

    def show_toys(self, page, doctree):
        """Replaces a paragraph that is only a link to a toy by the toy."""
        for paragraph in list(doctree.findall(nodes.paragraph)):
            link = next(paragraph.findall(nodes.reference), None)
            alone = len(paragraph) == 1 and not isinstance(paragraph.parent, nodes.entry)
            if alone and link and re.search(r"(^|/)toys/\w+\.html", link["refuri"]):
                paragraph.replace_self(figure(self.href(page, link["refuri"]), link.astext(), link.astext()))

    def add_live_parts(self, name, doctree):
        """Adds what moves: the picture of the first page and its table of the reader's predictions, and in a lesson the
        form for a prediction."""
        page = self.pages[name]
        if page == ROOT / "README.md":
            picture = next(each for each in doctree.findall(nodes.raw) if each.astext().startswith("<img"))
            shown = live.screen(self.say, functools.partial(self.href, page), self.language, picture.astext())
            picture.parent["classes"] = []
            picture.parent.replace_self(nodes.raw("", shown, format="html"))
            doors, ladder, *_ = doctree.findall(nodes.table)
            doors["classes"].append("doors")
            play = list(doors.findall(nodes.entry))[4]  # below the heads of the three
            play.insert(0, nodes.raw("", live.stills(self.say, functools.partial(self.href, page)), format="html"))
            predicted = nodes.raw("", live.predicted(self.say), format="html")
            ladder.parent.insert(ladder.parent.index(ladder) + 1, predicted)
        elif form := page.name == "README.md" and live.prediction(self.say, page.parent.name):
            section = next(each for each in doctree.findall(nodes.section) if each["ids"] == ["prediction"])
            section.append(nodes.raw("", form, format="html"))

    def fold_answers(self, doctree):
        """Folds an exercise's hints, its solution and wrong ones, so that nobody reads them by accident. A link into
        them, or a search in the page, unfolds them."""
        for section in doctree.findall(nodes.section):
            if re.match("(hints|solution|wrong)(-|$)", section["ids"][0]):
                section.insert(1, nodes.raw("", f"<details><summary>{self.say('Show')}</summary>", format="html"))
                section.append(nodes.raw("", "</details>", format="html"))

    def rewrite_links(self, page, doctree):
        for link in doctree.findall(nodes.reference):
            link["refuri"] = self.href(page, link["refuri"])
        for image in list(doctree.findall(nodes.image)):
            if "://" in image["uri"]:  # a badge
                image.replace_self(nodes.Text(image["alt"]))
            else:
                width = re.search(r'viewBox="0 0 (\S+)', (page.parent / image["uri"]).read_text())[1]
                image.parent["classes"].append("drawing")
                shown = (f'<img src="{self.href(page, image["uri"])}" alt="{html.escape(image["alt"])}" '
                         f'style="--least: {width}px">')
                image.replace_self(nodes.raw("", shown, format="html"))

    def name_sections(self, page, doctree):
        """Names the sections as GitHub does. A translation has the names of the English page, so that links hold in all
        languages."""
        names = pages.headings(page.read_text())
        sections = list(doctree.findall(nodes.section))
        if self.language_of(page) == "en" or len(names) != len(sections):
            names = [re.sub(r"[^\w\- ]", "", section[0].astext().lower()).replace(" ", "-") for section in sections]
        for at, (name, section) in enumerate(zip(names, sections)):
            before = names[:at].count(name)
            section["ids"] = [f"{name}-{before}" if before else name]
        for anchor in list(doctree.findall(nodes.raw)):
            if (found := re.match('<a id="([^"]*)">', anchor.astext())) and found[1] in names:
                anchor.parent.remove(anchor)

    def command(self, name, verb, words, caption):
        """A link to the output of a command, if the site has it."""
        steps, up = words.split(), "../" * (name.count("/") + 1)
        if verb == "diff":
            return {"refuri": self.diff_address(name, steps)}
        if len(steps) > 1 or steps[0] not in self.views:
            return None
        to = {"refuri": f"{up}{view_page(steps[0])}?{self.language}"}
        if caption:
            to["refuri"] += f"#////{caption}"
        if re.fullmatch(rf"{steps[0][:2]}_\w+/index", name):
            to["target"] = "view"
        return to

    def diff_address(self, name, words):
        """The address of what `./run diff` prints: in the lesson of its first step, or else on a page of its own."""
        found = diff_page.pairs(words)
        if not found:
            raise InvalidInput(f"./run diff {' '.join(words)}: names no two steps")
        old, new = found[0]
        if programs.compared().get(new) == old:
            return self.address_in_lesson(name, new)
        to = f"tree/diff/{'_'.join(words).replace('/', '.')}.html"
        self.shared[to] = words
        return "../" * (name.count("/") + 1) + to

    def address_in_lesson(self, name, step):
        """The address of a step's diff in its lesson, in the English one if the lesson is not translated."""
        lesson = step.parent / "README.md"
        to, here = f"{self.language_of(lesson)}/{pages.place(lesson)}", f"{self.language}/{name}"
        page = "" if to == here else f"{os.path.relpath(to, os.path.dirname(here))}.html"
        return f"{page}#{diff_page.anchor(step)}"

    def add_diffs(self, name, doctree):
        """Adds the folded diff of each step to its lesson: below the last lines that are quoted from the step, or else
        below the command that shows it, or below the diff before. A quote leads to its lines in the diff. A lesson that
        is not translated has a link to the English one's diff in its place, because a copy would weigh as much."""
        page = self.pages[name]
        steps = [step for step in programs.compared() if step.parent == page.parent]
        commands = [link for link in doctree.findall(nodes.reference) if "#diff-" in link["refuri"]]
        below = None  # the node after which the next diff stands
        for step in steps if page.name == "README.md" else ():
            old, anchor, quotes = programs.compared()[step], diff_page.anchor(step), []
            address = self.address_in_lesson(name, step)
            own = [link for link in commands if link["refuri"] == address]
            captions = [link for link in own if "source" in block_of(link)["classes"]]
            for link in captions:
                caption = block_of(link)
                lines = caption.parent[caption.parent.index(caption) + 1].astext().splitlines()
                caption["ids"].append(f"lines-{anchor}-{len(quotes) + 1}")
                quotes.append((caption["ids"][-1], lines))
                parts = enumerate(diff_page.parts(old, step), 1)
                at = next((at for at, part in parts if diff_page.quoted(part, lines)), 0)
                link["refuri"] += f"-{at}" if at else ""
            if captions:
                below = block_of(captions[-1])
                below = below.parent[below.parent.index(below) + 1]
            elif own:
                below = block_of(own[0])
            before = old.name if old.parent == step.parent else programs.name(old)
            said = self.say_in(page, "The whole change: {} lines, from {}")
            said = said.format(programs.changed_lines(old, step)[1], f"<code>{before}</code>")
            if address.startswith("#"):
                diff = f'<div class="wide" id="{anchor}">{self.diff(page, old, step, quotes)}</div>'
                shown = f'<details class="change"><summary>{said}</summary>{diff}</details>'
            else:
                shown = f'<p class="change" id="{anchor}"><a href="{address}">{said}</a></p>'
            shown = nodes.raw("", shown, format="html")
            below.parent.insert(below.parent.index(below) + 1, shown)
            below = shown

    def diff(self, page, old, new, quotes):
        """The diff of a step for its lesson."""

        def address(target):
            return self.href(page, target) + (f"?{self.language}" if target.endswith((".cu", ".cl")) else "")

        own = self.translations if self.language != "en" else None
        return diff_page.shown(old, new, address, shared_pages.coloured, self.say, own, quotes)

    def link_commands(self, name, code):
        """Links the commands of a block of code, or one in the text. Returns the address of the first one that shows
        the chapter's view. In the text a command with --caption is replaced by the name of its explanation."""
        if isinstance(code.parent, nodes.reference):
            return None
        text, at, made, views = code.astext(), 0, [], []
        for found in re.finditer(rf"(?m)^{COMMAND}(?=\s*(?:#|$))", text):
            if to := self.command(name, *found.groups()):
                made += [nodes.Text(text[at : found.start()]), nodes.reference("", found[0], **to)]
                at = found.end()
                if "target" in to:
                    views.append(to["refuri"])
        if views and isinstance(code, nodes.literal) and (caption := re.fullmatch(COMMAND, text)[3]):
            explanation = self.say_in(self.pages[name], "explanation {}").format(caption)
            code.replace_self(nodes.reference("", explanation, refuri=views[0], target="view"))
        elif made:
            code.replace_self(type(code)("", "", *made, nodes.Text(text[at:])))
        return views[0] if views else None

    @functools.cached_property
    def translations(self):
        return translations(self.language)

    def said(self, term, row):
        """The explanation of a term of the glossary."""
        own, meaning = row.get(LANGUAGES[self.language], ""), row["meaning"]
        said = f"{term}: {self.translations.get(meaning, meaning)}"
        return f"{own} · {said}" if own else said

    def of_other_chapters(self, chapter):
        """The ids of terms whose explanation holds in another chapter alone: a term such as "scale (of a row or
        column)" has this meaning where the glossary says that it is seen, and elsewhere mostly another one."""
        return {
            id_of(term)
            for term, row in glossary().items()
            if " (of " in term and (seen := re.match(r"\d\d", row["seen in"])) and seen[0] != chapter
        }

    @functools.cached_property
    def said_of(self):
        """{the id of a term's row in the glossary: its explanation}"""
        return {id_of(term): self.said(term, row) for term, row in glossary().items()}

    @functools.cached_property
    def terms(self):
        """{word: the ids of its rows in the glossary}. A page in English has English words in every language."""
        found = {}
        for term, row in glossary().items():
            own = row.get(LANGUAGES[self.language], "")
            for word in {*re.split("、|[,;] ", re.sub(r" ?\(.*?\)", "", f"{own}、{term}"))}:
                if len(word) > 1 and not word[0].isdigit() and word not in ORDINARY:
                    found.setdefault(word if word[1].isupper() else word.lower(), []).append(id_of(term))
        return found

    def name_terms(self, doctree):
        """Gives the glossary's rows ids, to which explained words lead."""
        ids = {*self.said_of}
        for row in doctree.findall(nodes.row):
            if (name := id_of(row[0].astext())) in ids:  # the first of a term's rows
                ids.remove(name)
                row["ids"].append(name)

    def explain(self, node, known, elsewhere, to):
        """Explains a term at its first use in each section of a page, with the glossary's meaning: links it to its row,
        which book.js shows. known: the ids of terms that were explained before. elsewhere: those whose meaning does not
        hold on this page. to: the address of the glossary."""
        made = []
        for is_text, children in itertools.groupby(node.children, lambda child: isinstance(child, nodes.Text)):
            if is_text:  # of a paragraph
                made += self.explained("".join(children), known, elsewhere, to)
                continue
            for child in children:
                if not isinstance(child, UNEXPLAINED):
                    new = isinstance(child, nodes.section) and isinstance(node.parent, nodes.document)
                    self.explain(child, set() if new else known, elsewhere, to)
                made.append(child)
        node.children = []
        node.extend(made)

    @functools.cached_property
    def pattern(self):
        words = "|".join(re.escape(word).replace(r"\ ", r"\s") for word in sorted(self.terms, key=len, reverse=True))
        return re.compile(rf"(?<![A-Za-z0-9_\-ァ-ー])(?:{words})s?(?![A-Za-z0-9_\-ァ-ー])", re.I)

    def explained(self, text, known, elsewhere, to):
        made, at = [], 0
        for found in self.pattern.finditer(text):
            word = found[0].replace("\n", " ")
            forms = word, word.lower(), word[:-1], word[:-1].lower()
            ids = next((self.terms[each] for each in forms if each in self.terms), [])
            ids = [each for each in ids if each not in elsewhere]
            if not known.issuperset(ids):
                known.update(ids)
                made.append(nodes.Text(text[at : found.start()]))
                also = f' data-terms="{" ".join(ids)}"' if len(ids) > 1 else ""
                shown = f'<a class="term" href="{to}#{ids[0]}"{also}>{html.escape(found[0])}</a>'
                made.append(nodes.raw("", shown, format="html"))
                at = found.end()
        return [*made, nodes.Text(text[at:])]

    def write(self):
        """Writes the pages. Returns what they share with other languages."""
        title = self.title(ROOT / "README.md")
        options = {
            "extensions": ["myst_parser"],
            "language": SPHINX[self.language],
            "project": title,
            "smartquotes": False,
            "myst_all_links_external": True,
            "suppress_warnings": ["myst.header"],
            "highlight_language": "none",
            "pygments_style": shared_pages.STYLES["light"],
            "html_theme": "furo",
            "html_title": title,
            "html_search_language": "book",
            "html_show_search_summary": False,
            "html_css_files": ["site.css"],
            "html_js_files": ["site.js"],
            "templates_path": [str(THEME)],
            "html_sidebars": {
                "**": [
                    "sidebar/brand.html",
                    "languages.html",
                    "sidebar/search.html",
                    "sidebar/scroll-start.html",
                    "sidebar/navigation.html",
                    "sidebar/scroll-end.html",
                ]
            },
            "html_use_index": False,
            "html_copy_source": False,
            "html_show_copyright": False,
        }
        with tempfile.TemporaryDirectory(prefix="book-") as folder:
            for name, page in self.pages.items():
                staged = pathlib.Path(folder, "pages", f"{name}.md")
                staged.parent.mkdir(parents=True, exist_ok=True)
                staged.write_text(self.staged(page))
            out, trees = str(self.out / self.language), f"{folder}/trees"
            # Furo finds this one in a file alone.
            pathlib.Path(folder, "conf.py").write_text(f"pygments_dark_style = '{shared_pages.STYLES['dark']}'\n")
            app = Sphinx(f"{folder}/pages", folder, out, trees, "html", options, status=None, warning=sys.stderr)
            app.add_lexer("goals", TextLexer)  # of exercises
            lexer_of = app.builder.highlighter.get_lexer
            app.builder.highlighter.get_lexer = lambda *how, **options: shared_pages.with_few_elements(
                lexer_of(*how, **options))
            app.connect("doctree-read", self.read, priority=1)
            app.connect("html-page-context", self.set_context)
            app.build()
            index = view.packed(app.builder.indexer.freeze(), "index => Search.setIndex(index)")
            (self.out / self.language / "searchindex.js").write_text(index)
        for page in (self.out / self.language).rglob("*.html"):
            page.write_text(around_in_short(page.read_text(), self.say))
        static = self.out / self.language / "_static"
        styles, scripts = ([file.with_suffix(kind).read_text() for file in SCRIPTS] for kind in (".css", ".js"))
        others = [(THEME / name).read_text() for name in ("icons.css", "diff.css")]
        own = [colours.OF_SITE, shared_pages.code_colours(), shared_pages.NAMES]
        terms = f"const TERMS = {json.dumps(self.said_of, ensure_ascii=False)}\n"
        (static / "site.css").write_text("".join([*own, *others, *styles]))
        (static / "site.js").write_text("".join([terms, *scripts]))
        if (words := static / "translations.js").exists():
            own = {english: self.say(english) for english in OF_SEARCH}
            words.write_text(f"{words.read_text()}Object.assign(Documentation.TRANSLATIONS, {json.dumps(own)})\n")
        mend_furo(static)
        return self.shared

    def set_context(self, app, name, template, context, doctree):
        """Sets the variables of a page's template that depend on its language; the page is None if Sphinx made it."""
        page = self.pages.get(name)
        context["body"] = without_marks(context.get("body", ""))
        # The pages below another chapter are listed on its own pages alone: everywhere they weighed 10 KB a page.
        context["furo_navigation_tree"] = re.sub(
            r'(?s)<li class="toctree-l1 has-children">(<a .*?</a>).*?</ul>\n</li>',
            r'<li class="toctree-l1">\1</li>', context["furo_navigation_tree"])
        there = {
            each: name
            for each, name in LANGUAGES.items()
            if not page or on_top(page) or pages.translation(page, each).exists()
        }
        context.update(
            languages=there,
            own=self.language,
            language=self.language_of(page) if page else self.language,
            language_label=self.say("Language"),
            script_files=[file for file in context["script_files"] if is_used(file)],
            css_files=[file for file in context["css_files"] if is_used(file)],
        )


def is_used(file):
    """Whether a page loads a script or a style of Sphinx."""
    return pathlib.Path(getattr(file, "filename", None) or file).name.partition("?")[0] not in UNUSED


def mend_furo(static):
    """Completes Debian's Furo: its script and its style are in parts that only Debian's web server finds, and it lacks
    the dark theme for readers who have not chosen one. The search of Debian's Sphinx looks up a sentence to which it
    has already added a number, so that it finds no translation. What no page loads goes."""
    code = shared_pages.for_elements((static / "pygments.css").read_text())
    for name in UNUSED:
        for folder in (static, static / "styles"):
            (folder / name).unlink(missing_ok=True)
    search = static / "searchtools.js"
    search.write_text(re.sub(r"`(Search finished[^`]*)`\s*\)", r'"\1").replace("${resultCount}", resultCount)',
                             search.read_text()))
    script, style = static / "scripts/furo.js", static / "styles/furo.css"
    if (text := script.read_text()).startswith("import Gumshoe"):
        script.write_text((static / "scripts/gumshoe-patched.js").read_text() + text.partition("\n")[2])
    text = re.sub(
        r"@import url\((/javascript/[^)]*)\);",
        lambda part: pathlib.Path("/usr/share" + part[1]).read_text(),
        style.read_text(),
    )
    if "prefers-color-scheme" not in text:
        dark = re.search(r'body\[data-theme="dark"\] (\{[^}]*\})', text)[1]
        text += f'@media screen and (prefers-color-scheme: dark) {{ body:not([data-theme="light"]) {dark} }}\n'
    # The only links of these lists, and their first level, have no classes (around_in_short).
    text = re.sub(r"(?<=[ >])\.reference\b", "a", text.replace(".sidebar-tree .toctree-l1", ".sidebar-tree > ul > li"))
    style.write_text(code + text)


def keep_once(out):
    """Removes files of Japanese and Chinese that are English ones, too, such as scripts and styles, and leads links to
    these."""
    for language in LANGUAGES:
        own = out / language
        same = {file: out / "en" / file.relative_to(own) for file in own.rglob("*.*") if file.is_file()}
        same = {file: twin for file, twin in same.items() if file != twin and twin.is_file()
                and file.suffix != ".html" and file.read_bytes() == twin.read_bytes()}
        for page in own.rglob("*.html") if same else ():
            def moved(link):
                twin = same.get((page.parent / link[0]).resolve())
                return os.path.relpath(twin, page.parent) if twin else link[0]

            page.write_text(re.sub(r'(?<=(?:src|ref)=")[^"?#:]+', moved, page.read_text()))
        for file in same:
            file.unlink()


def write_toys(out):
    """Writes the toys, whose links lead to the page in the reader's language (theme/code.js)."""
    folder = ROOT / "docs/toys"

    def address(link):
        path, hash_, anchor = link[0].partition("#")
        return f"../en/{place((folder / path).resolve())}.html{hash_}{anchor}"

    shutil.copytree(folder, out / "toys")
    for toy in (out / "toys").glob("*.html"):
        text = re.sub(r'(?<=href=")[^"]*\.md[^"]*', address, toy.read_text())
        toy.write_text(f'{text}<script src="../tree/code.js"></script>\n')


def view_page(program):
    """The path in the site of the view of a program, such as 03 or 11/1."""
    return f"views/{program.replace('/', '.')}.html"


def write_views(out, programs):
    """Writes the views of the programs, and of 07. Returns the names by which a reader calls them, such as 03."""
    folder = out / "views"
    folder.mkdir()
    made = {"07": view.page("Fragments", view.fragments(), "fragments")}
    for program in programs:
        name = program.name.removesuffix("_cpu_trace")
        shape, options = view.usual_launch(name)
        chapter, dot, step = name.partition(".")
        short = chapter[:2] + (dot and f"/{step.split('_')[0]}")
        made[short] = view.page(name, [view.read(view.record(program, shape, *options), name, shape)], folder=folder)
    for short, text in made.items():
        (out / view_page(short)).write_text(text)
    return set(made)


def write(out, programs):
    """Writes the book under another name beside its place, and then renames it."""
    os.environ["NO_COLOR"] = "1"
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as folder:
        part = pathlib.Path(folder, "book")
        part.mkdir()
        shared, views = {}, write_views(part, programs)
        with concurrent.futures.ProcessPoolExecutor(len(SPHINX)) as pool:  # a process can set up Sphinx only once
            for each in [pool.submit(Book(part, language, views).write) for language in SPHINX]:
                shared.update(each.result())
        keep_once(part)
        write_toys(part)
        shared_pages.write(part, shared)
        shutil.copy(THEME / "index.html", part)
        if out.exists():
            out.rename(pathlib.Path(folder, "old"))
        part.rename(out)
    sizes = [file.stat().st_size for file in out.rglob("*") if file.is_file()]
    print(out / "index.html")
    print(f"{sum(sizes) / 1e6:.1f} MB in {len(sizes)} files")


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        process.fail(2, "book: takes a folder, and programs")
    try:
        write(pathlib.Path(sys.argv[1]).resolve(), [pathlib.Path(each) for each in sys.argv[2:]])
    except (InvalidInput, OSError, SphinxError) as error:
        process.fail(1, f"book: {getattr(error, 'orig_exc', None) or error}")

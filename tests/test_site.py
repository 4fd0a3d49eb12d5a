"""./run book: the site in a headless browser. Every link leads somewhere, nothing is wider than a phone's window, no
script fails, and search, languages, explanations and views can be used. The pictures of all pages can be read."""
import html.parser
import os
import pathlib
import re
import shutil
import urllib.parse

import pytest

import packages
import programs
from book import diff_notes
from browser import DRAWN, ask, chromium, drag, emulate, errors, nameless, press, resize, show, wait  # noqa: F401
from languages import translations
from programs import files
from results import read
from support import BUILD, ROOT, call, program

LESSON = "03_shared_blocking/index.html"


@pytest.fixture(scope="module")
def book():
    pytest.importorskip("sphinx", reason="Sphinx is missing (python3-myst-parser furo)")
    program("03_shared_blocking_cpu_trace")
    if not packages.python_with("furo, myst_parser"):
        pytest.skip("Furo or MyST is missing (python3-myst-parser furo)")
    run = call(ROOT / "run", "book", env={**os.environ, "BUILD_DIR": str(BUILD), "NO_INSTALL": "1"})
    assert run.returncode == 0 and run.stderr == "", run.stderr
    return BUILD / "book"


def test_terms_of_a_chapter_are_explained_there_alone():
    """"scale (of a row or column)" is 14's: 03 draws pictures to a scale."""
    nodes = pytest.importorskip("docutils.nodes", reason="docutils is missing (python3-myst-parser)")
    make_site = pytest.importorskip("book.make_site", reason="Sphinx is missing (python3-myst-parser furo)")
    for chapter, explained in ("03", False), ("14", True):
        page = nodes.paragraph("", "", nodes.Text("Both are drawn to the same scale."))
        of_english = make_site.Book(BUILD, "en", [])
        of_english.explain(page, set(), of_english.of_other_chapters(chapter), "glossary.html")
        assert any(">scale<" in each.astext() for each in page.findall(nodes.raw)) == explained, chapter


def test_code_has_the_colours_of_the_matrices():
    """In a source As has the kind of token for A, which has A's colour, and so have B and C theirs. Text is no code."""
    shared_pages = pytest.importorskip("book.shared_pages", reason="Pygments is missing (python3-pygments)")
    shown = shared_pages.shown_source(ROOT / "03_shared_blocking/matmul.cu")
    for matrix, names in ("A", ("A", "As", "a")), ("B", ("B", "Bs", "b")), ("C", ("C", "acc")):
        assert {*re.findall(rf'class={matrix}>(\w+)<', shown)} == {*names}
        assert f".{matrix} {{ color: var(--{matrix.lower()}) }}" in shared_pages.NAMES
    assert "class=A>" not in shared_pages.shown_source(ROOT / "03_shared_blocking/notes.md")


class Page(html.parser.HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        of = dict(attributes)
        self.anchors.add(of.get("id"))
        self.links += [of[key] for key in ("href", "src") if of.get(key)]


def test_links(book):
    """Each page exists in its language, and every link leads to an existing file or heading of the book."""
    for page in files("*.md"):
        name, *language = str(page.relative_to(ROOT)).removesuffix(".md").split(".")
        assert (book / (language or ["en"])[0] / f"{name.replace('README', 'index')}.html").exists(), page
    pages, dead = {path: Page(path) for path in book.rglob("*.html")}, []
    for path, page in pages.items():
        for link in set(page.links):
            to = urllib.parse.urlsplit(link)
            file = (path.parent / urllib.parse.unquote(to.path)).resolve() if to.path else path
            # The script of a view reads what follows the #, and so does that of a toy if it is settings.
            event = file.parent.name == "views" or file.parent.name == "toys" and "=" in to.fragment
            if to.scheme not in ("http", "https") and not (file.is_file() and book in file.parents and (
                    not to.fragment or event or urllib.parse.unquote(to.fragment) in pages[file].anchors)):
                dead.append(f"{path.relative_to(book)}: {link}")
    assert dead == []
    # A lesson links to an explanation, a diff, and a toy, in the page's language and with its settings.
    links = pages[book / "ja" / LESSON].links
    for wanted in (r"\.\./\.\./views/03\.html\?ja#////\d", r"\.\./\.\./tree/03_\w+/matmul\.cu\.html\?ja#L\d+",
                   r"\.\./\.\./toys/banks\.html\?ja#\w+"):
        assert any(re.fullmatch(wanted, link) for link in links), wanted
    assert "../../views/11.1.html?ja#////4" in pages[book / "ja/11_wgmma/index.html"].links  # a step's explanation
    for language, word in ("ja", "説明"), ("zh", "explanation"):  # 03 has no Chinese text
        assert re.search(rf">{word} \d</a>", (book / language / LESSON).read_text()), language
    for language in ("en", "ja", "zh"):  # the list of all exercises is in the navigation
        assert "docs/learn.html" in pages[book / language / "index.html"].links
    primer = (book / "zh/docs/primer.html").read_text()
    assert all(f'<iframe src="../../toys/{toy}.html?zh#' in primer for toy in ("coalescing", "roofline"))


def test_weight(book):
    """The site is light, also for those who take it along as a folder: in highlighted code spaces are no elements, no
    large script is there that no page loads, and no script and no style is there twice."""
    loaded = set()
    for path in book.rglob("*.html"):
        text = path.read_text()
        assert not re.search(r'<([ibu]( class=\w+)?|span class="\w+")>\s+</', text), path
        links = Page(path).links + re.findall(r'\{ src: "([^"]*)" \}', text)  # the latter by a script
        loaded |= {(path.parent / urllib.parse.urlsplit(link).path).resolve() for link in links}
    assert [path for path in book.rglob("*.js") if path.stat().st_size > 50000 and path not in loaded] == []
    shared = [path.read_bytes() for path in book.rglob("*.*") if path.suffix in (".js", ".css")]
    assert len(shared) == len({*shared})
    assert sum(path.stat().st_size for path in book.rglob("*.*") if path.is_file()) < 13.5e6


# A view has been drawn. Its script is loaded after its record has been unpacked.
VIEW_IS_THERE = "typeof views === 'object' && views.length > 0 && views[0].root.clientWidth > 0"

# Texts that can't be read on a page: those whose contrast with the background is less than 4.5.
PALE = """(all => all.filter(each => [...each.childNodes].some(node => node.data?.trim())).flatMap(each => {
    const parts = colour => colour.match(/[\\d.]+/g).map(Number);
    const bright = colour => parts(colour).slice(0, 3).reduce((sum, part, i) =>
        sum + [.2126, .7152, .0722][i] * (part <= 10 ? part / 3295 : ((part / 255 + .055) / 1.055) ** 2.4), 0);
    let behind = each, opacity = 1;
    for (let at = each; at; at = at.parentElement) opacity *= getComputedStyle(at).opacity;
    while (behind && parts(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
    const back = bright(behind ? getComputedStyle(behind).backgroundColor : "rgb(255, 255, 255)");
    const ink = opacity * bright(getComputedStyle(each).color) + (1 - opacity) * back;
    const [low, high] = [ink, back].sort((a, b) => a - b);
    return (high + .05) / (low + .05) < 4.5 ? [each.textContent] : [];
}))([...document.querySelectorAll("body *")])"""


def test_a_diff(book, chromium):  # noqa: F811
    """It is folded in its lesson, and links to it open it, also one from a lesson that is not translated. It has every
    line of code that the step changes, and links to the step's source, whose lines lead back to it. It can be read in
    light and in dark."""
    step = ROOT / "03_shared_blocking/matmul.cu"
    texts = [programs.below_header(file.read_text().splitlines()) for file in (programs.before(step), step)]
    chapters = [each.parent for each in programs.compared() if not (each.parent / "README.zh.md").exists()]
    for chapter in chapters[:1]:
        show(chromium, book / "zh" / chapter.name / "index.html")
        chromium.get(ask(chromium, "document.querySelector('.change a').href"))
        assert ask(chromium, "document.querySelector('.diff').checkVisibility()"), chapter
    for language in ("en", "ja"):
        lesson = book / language / LESSON
        for anchor in ("", "#diff-03", "#diff-03-2"):
            show(chromium, f"{lesson}{anchor}")
            shown = ask(chromium, "document.querySelector('.diff').checkVisibility()")
            assert shown == bool(anchor), (language, anchor)
        assert ask(chromium, "Math.abs(document.querySelector('#diff-03-2').getBoundingClientRect().top) < 200")
        changed = ask(chromium, "['del', 'ins'].map(kind => [...document.querySelectorAll(`.diff ${kind}`)].map(each =>"
                                "each.textContent.trimEnd().slice(2)))")
        assert all(line in text for text, lines in zip(texts, changed) for line in lines)
        assert sum(map(len, changed)) == programs.changed_lines(programs.before(step), step)[1]
        links = ask(chromium, "[...document.querySelectorAll('.diff small a:first-child')].map(each => each.href)")
        for at, link in enumerate(links, 1):
            chromium.get(link)
            back = ask(chromium, "document.querySelector(':target').href")
            assert back.endswith(f"/{language}/{LESSON}#diff-03-{at}"), back
    for scheme in ("light", "dark"):
        emulate(chromium, prefers_color_scheme=scheme)
        show(chromium, f"{book}/en/10_async_mma/index.html#diff-10.1")
        ask(chromium, "document.querySelectorAll('details.change').forEach(each => { each.open = true })")
        assert ask(chromium, PALE.replace("body *", ".change *")) == [], scheme
        assert ask(chromium, """new Set([".diff ins:not(.dim)", ".diff b", ".diff .A"].map(each =>
            getComputedStyle(document.querySelector(each)).color)).size""") == 3, scheme
        for name in ("tree/diff/03_04.html", "tree/03_shared_blocking/matmul.cu.html"):
            show(chromium, book / name)
            assert ask(chromium, PALE) == [], (name, scheme)
    emulate(chromium)


@pytest.mark.parametrize("language", ["en", "ja", "zh"])
def test_notes_on_diffs(language, book, chromium):  # noqa: F811
    """They stand beside the parts of the diff, in the language of the page."""
    show(chromium, book / language / "06_wmma/index.html")
    shown = ask(chromium, """[...document.querySelectorAll(".diff .part > p")].map(each => {
        each.querySelector("small").remove();
        return each.textContent.trim();
    })""")
    steps = [step for step in programs.steps() if step.parent.name == "06_wmma"]
    notes = [part.note for step in steps for block in diff_notes.parts(programs.before(step), step) for part in block]
    own = translations(language)
    assert shown == [note and re.sub(r"\[([^]]*)\]\([^)]*\)|`", r"\1", own.get(note, note)) for note in notes]
    assert any(notes)


@pytest.mark.parametrize("language", ["en", "ja", "zh"])
def test_each_step_has_its_diff_in_its_lesson(language, book):
    """One that is not translated has a link to the English one's in its place."""
    for step in programs.compared():
        lesson = Page(book / language / step.parent.name / "index.html")
        anchor = f"diff-{programs.short(step).replace('/', '.')}"
        in_english = f"../../en/{step.parent.name}/index.html#{anchor}" in lesson.links
        translated = language == "en" or (step.parent / f"README.{language}.md").exists()
        assert anchor in lesson.anchors, step
        assert (f"{anchor}-1" in lesson.anchors, in_english) == (translated, not translated), step


def test_quoted_lines(book, chromium):  # noqa: F811
    """In every language they stand highlighted below links to the source and to what its step changes. They can be
    read in light and in dark."""
    marker = re.compile(r"<!-- code (\S+\.cu) [^\n]*-->\n(?:[^`\n]*\n)*?[^\n]*`./run diff (\S+)`\n```")
    lesson, (file, words) = next((page, found.groups()) for page in sorted(ROOT.glob("[0-9][0-9]_*/README.md"))
                                 if (found := marker.search(page.read_text())))
    for language in ("en", "ja"):
        show(chromium, book / language / lesson.parent.name / "index.html")
        links = ask(chromium, "[...document.querySelectorAll('p.source a')].map(each => each.getAttribute('href'))")
        assert links[0] == f"../../tree/{file}.html", language
        assert re.fullmatch(rf"#diff-{words.replace('/', '.')}(-\d+)?", links[1]), language
        assert ask(chromium, f"document.getElementById('{links[1][1:]}').closest('details') !== null"), language
        assert ask(chromium, "document.querySelectorAll('p.source + div :is(b, u)').length") > 0
    for scheme in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        show(chromium, book / "en" / lesson.parent.name / "index.html")
        assert ask(chromium, PALE.replace("body *", "p.source + div *")) == [], scheme
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def laid_out(page):
    """The body of a page for another page of the same style: with absolute addresses, and without frames and scripts.
    """
    shown = re.search(r'(?s)<div class="page">.*(?=<script)', page.read_text())[0]
    shown = re.sub(r"(?s)<(iframe|script).*?</\1>", "", shown)
    shown = re.sub(r'(?<=src=")[^"]*', lambda link: urllib.parse.urljoin(page.as_uri(), link[0]), shown)
    return f'<div data-path="{page}">{shown}'


def test_pages_on_a_phone(book, chromium):  # noqa: F811
    """No script fails, no picture is missing or too small, and nothing is wider than the window: checked on one page of
    each kind and on all English pages, which are put together on one. No heading takes four lines. On a screen no block
    of code is cut off, and no name in a table is broken."""
    lesson = book / "en" / LESSON
    alone = ("views/03.html", "views/07.html", "tree/03_shared_blocking/matmul.cu.html", "tree/diff/03_04.html",
             "zh/search.html", "toys/banks.html", "ja/index.html", f"zh/{LESSON}")
    for page in (*(book / page for page in alone), lesson):
        show(chromium, page, width=390)
        assert page.name != "03.html" or wait(chromium, VIEW_IS_THERE)
        others = []
        if page == lesson:
            others = [each for each in (book / "en").rglob("*.html") if '<div class="page">' in each.read_text()]
        chromium.execute_script("arguments[0].forEach(each => document.body.insertAdjacentHTML('beforeend', each))",
                                [laid_out(each) for each in others])
        ask(chromium, "document.querySelectorAll('details.change').forEach(each => { each.open = true })")
        assert ask(chromium, f"""Promise.all([...document.images].map(each => each.decode().catch(() => each)))
            .then(all => {DRAWN}.then(() => all.filter(Boolean).map(each => each.src).concat(
                [document.documentElement, ...document.querySelectorAll(".content")]
                .filter(each => each.scrollWidth > 390)
                .map(each => each.closest("[data-path]")?.dataset.path || "{page}"))))""") == []
        assert errors(chromium) == [], page
    # A unit of a picture is a pixel, so that its letters, which have 11 units (test_text_fits), can be read.
    pictures = ask(chromium, """[...document.images].filter(each => each.checkVisibility())
        .map(each => [each.src, each.getBoundingClientRect().width])""")
    assert ask(chromium, """[...document.querySelectorAll("label svg, button svg, svg.furo-related-icon")]
        .filter(each => !getComputedStyle(each).maskImage.includes("svg")).map(each => each.outerHTML)""") == []
    small = {src for src, width in pictures if width + .1 < float(re.search(
        r'viewBox="0 0 (\S+)', pathlib.Path(urllib.parse.urlsplit(src).path).read_text())[1])}
    assert small == set() and len(pictures) > 70
    assert ask(chromium, """[...document.querySelectorAll("h1")].filter(each => each.getBoundingClientRect().height >
        3.5 * parseFloat(getComputedStyle(each).lineHeight)).map(each => each.textContent)""") == []
    resize(chromium, 1280)
    ask(chromium, "document.querySelectorAll('details').forEach(each => { each.open = true })")
    assert ask(chromium, f"""{DRAWN}.then(() => [...document.querySelectorAll("article pre")].filter(each =>
        each.scrollWidth > each.clientWidth).map(each => each.textContent))""") == []
    assert ask(chromium, """[...document.querySelectorAll("td code")].filter(each => each.getClientRects().length > 1)
        .map(each => each.textContent).filter(text => /^[\\w:]+$/.test(text))""") == []


FLOWS = {}  # {chapter: its rows of flow.csv}
for row in read(ROOT / "docs/results/flow.csv"):
    FLOWS.setdefault(row.stage[:2], []).append(row)
# Of the chapter that the first page shows: its number, the length of the bar and the place of the tick, in parts of the
# track, and in which beat it stands.
SHOWN = """(svg => {
    const step = svg.querySelector(".step.shown"), box = each => step.querySelector(each).getBoundingClientRect();
    const track = [...step.querySelectorAll(".idle")].at(-1).getBoundingClientRect(), tick = box(".hollow");
    return [step.dataset.step, box(".bar").width / track.width, (tick.x + tick.width / 2 - track.x) / track.width]
})(document.querySelector(".picture").shadowRoot.querySelector("svg"))"""
# The tiles of A that lie in shared memory now.
LYING = """[...document.querySelector(".picture").shadowRoot.querySelectorAll(".step.shown .a.stay")]
    .filter(each => getComputedStyle(each).opacity > .5).length"""
MOVING = """document.querySelector(".picture").shadowRoot.querySelector("svg").getAnimations({ subtree: true })
    .filter(each => each.playState === "running").length"""
FOCUS = "(each => each.name || each.dataset.play && 'play' || each.type || each.tagName)(document.activeElement)"


def tab_to(browser, name):
    """Presses Tab until such an element has the focus."""
    for _ in range(200):
        press(browser, "TAB")
        if ask(browser, FOCUS) == name:
            return
    raise AssertionError(f"Tab does not reach {name}")


def test_first_screen(book, chromium):  # noqa: F811
    """By the keyboard alone a reader stops the picture, chooses each chapter and a moment. The bar and the tick have
    the lengths of the measured and the predicted speed, and in shared memory lies what flow.csv says."""
    speeds = {row.stage[:2]: row for row in read(ROOT / "docs/results/h200/ladder.csv")
              if row.m == row.n == row.k == 8192 and "/" not in row.stage}
    for language in ("en", "ja"):
        show(chromium, book / language / "index.html")
        assert ask(chromium, MOVING) > 0
        assert ask(chromium, SHOWN)[0] == "11"  # it begins with the result
        tab_to(chromium, "play")
        press(chromium, "SPACE")
        assert ask(chromium, MOVING) == 0
        ask(chromium, "document.querySelector('[name=step]:checked').focus()")
        for number in ("01", "02", "03", "04", "05", "06", "10", "11"):
            press(chromium, "RIGHT")
            shown, bar, tick = ask(chromium, f"{DRAWN}.then(() => {SHOWN})")
            link = ask(chromium, "document.querySelector('.controls a:not([hidden])').href")
            assert shown == number and link.endswith(f"/{speeds[number].stage}/index.html"), link
            assert tick / bar == pytest.approx(speeds[number].predicted_gflops / speeds[number].gflops, rel=.02), number
            told = ask(chromium, "document.querySelector('.told').innerText")
            assert f"{speeds[number].gflops:T}" in told and f"{speeds[number].predicted_gflops:T}" in told, told
            beat = ask(chromium, "+document.querySelector('.screen').dataset.cycle") / 14
            for at in range(0, 14) if language == "en" else ():
                ask(chromium, f"""(each => {{
                    each.value = {(at + .5) * beat};
                    each.dispatchEvent(new Event("input"));
                }})(document.querySelector(".controls [type=range]"))""")
                lies = sum(row.pipeline_stage != "-" and row.store < at <= row.multiply for row in FLOWS[number])
                assert ask(chromium, LYING) == lies, (number, at)
        tab_to(chromium, "range")
        before = ask(chromium, "document.activeElement.value")
        press(chromium, "HOME")
        assert ask(chromium, "+document.activeElement.value") == 0 != before
    inks = [ask(chromium, f"(document.body.dataset.theme = '{theme}', {DRAWN}.then(() => getComputedStyle(document"
                          ".querySelector('.picture').shadowRoot.querySelector('.shown .title')).fill))")
            for theme in ("light", "dark")]  # by the site's own switch
    assert len({*inks}) == 2
    assert errors(chromium) == []


def test_doors(book, chromium):  # noqa: F811
    """The door to the toys shows three of them, and names each."""
    for language in ("en", "ja", "zh"):
        show(chromium, book / language / "index.html")
        stills, named = ask(chromium, """[".stills a", ".doors td a"].map(each =>
            [...document.querySelectorAll(each)].map(a => a.href.match(/toys\\/(\\w+)\\.html\\?(\\w+)/)?.slice(1))
                .filter(Boolean))""")
        assert len(stills) == 3 and {toy for toy, _ in named} == {path.stem for path in ROOT.glob("docs/toys/*.html")}
        assert {to for _, to in stills + named} == {language}
    assert errors(chromium) == []


def test_first_screen_for_everybody(book, chromium):  # noqa: F811
    """At each width nothing is wider than the window, and texts can be read in light and in dark. Nothing moves for a
    reader who wants no motion, and without scripts there is the picture."""
    for scheme in ("light", "dark"):
        emulate(chromium, prefers_color_scheme=scheme)
        for width in (1280, 830, 390):
            for language in ("en", "ja", "zh"):
                show(chromium, book / language / "index.html", width=width)
                assert ask(chromium, f"{DRAWN}.then(() => document.documentElement.scrollWidth)") <= width
                assert ask(chromium, PALE.replace("body *", ".screen *, .doors *")) == [], (scheme, width, language)
    emulate(chromium, prefers_reduced_motion="reduce")
    show(chromium, book / "en/index.html")
    assert ask(chromium, MOVING) == 0
    emulate(chromium)
    chromium.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        show(chromium, book / "en/index.html")
        picture = chromium.find_element("css selector", ".screen > img")
        assert picture.is_displayed() and picture.size["height"] > 300
        assert not chromium.find_element("css selector", ".screen .controls").is_displayed()
        show(chromium, book / "en" / LESSON)
        assert chromium.find_element("css selector", "#measurement table").is_displayed()
        assert not chromium.find_element("css selector", "form.prediction").is_displayed()
    finally:
        chromium.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert errors(chromium) == []


COVERED = """![...document.querySelectorAll("#measurement table, #why-they-differ p")].some(each =>
    each.checkVisibility({ contentVisibilityAuto: true }) && each.getBoundingClientRect().height)"""


@pytest.mark.parametrize("language, keeps", [("en", True), ("ja", True), ("zh", True), ("en", False)])
def test_a_prediction(language, keeps, book, chromium):  # noqa: F811
    """By the keyboard alone a reader predicts and uncovers the measurement. Before that, neither it nor what follows
    from it can be seen. Then the three figures stand beside each other, also when the page is opened again, and on the
    first page. In a browser that keeps nothing the form works, too."""
    speed = next(row for row in read(ROOT / "docs/results/h200/ladder.csv")
                 if row.stage == "03_shared_blocking" and row.m == 8192)
    block = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('blocked') } })"
    script = None
    if not keeps:
        script = chromium.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": block})["identifier"]
    try:
        lesson = book / language / LESSON
        show(chromium, lesson)
        if keeps:
            ask(chromium, "localStorage.clear()")
            show(chromium, lesson)
        assert ask(chromium, COVERED)
        ask(chromium, "document.querySelector('#prediction').setAttribute('tabindex', -1)")
        ask(chromium, "document.querySelector('#prediction').focus()")
        tab_to(chromium, "range")
        press(chromium, "RIGHT")
        tab_to(chromium, "number")
        press(chromium, *"\b\b\b\b\b40", "ENTER")
        assert ask(chromium, f"{DRAWN}.then(() => !({COVERED}))")
        said = ask(chromium, "document.querySelector('.guess output').innerText")
        figures = re.findall(r"[\d.]+", said)
        assert figures == ["40.0", f"{speed.predicted_gflops:T}", f"{speed.gflops:T}"], said
        for scheme in ("light", "dark"):
            emulate(chromium, prefers_color_scheme=scheme)
            assert ask(chromium, PALE.replace("body *", "form.prediction *")) == [], scheme
        show(chromium, lesson)
        assert ask(chromium, COVERED) != keeps
        if not keeps:  # a link into the covered part uncovers it
            show(chromium, f"{lesson}#why-they-differ")
            assert wait(chromium, f"!({COVERED})")
            errors(chromium)  # Furo's own script does not catch the error
            return
        show(chromium, book / language / "index.html")
        row = ask(chromium, "[...document.querySelector('td.yours').closest('table').querySelectorAll('tr')]"
                            ".find(row => row.textContent.includes('03_shared')).innerText.split(/\\s+/)")
        assert row[-4:] == [f"{speed.predicted_gflops:T}", "40.0", f"{speed.gflops:T}", f"{speed.percent_of_cublas}%"]
        ask(chromium, "document.querySelector('.predicted button').click()")
        wait(chromium, "document.readyState === 'complete' && !document.querySelector('td.yours')")
    finally:
        emulate(chromium)
        if script:
            chromium.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", {"identifier": script})
    assert errors(chromium) == []


def test_predictions_fit(book, chromium):  # noqa: F811
    """In each lesson with speeds there is a form, and at each width it fits, covered and uncovered. Its figures are the
    measured ones."""
    timed = ("h200/ladder", ""), ("h200/opencl", ".cl"), ("h100/fp32_accuracy", "")
    speeds = {row.stage + suffix: row.gflops for csv, suffix in timed
              for row in read(ROOT / f"docs/results/{csv}.csv") if row.m == row.n == row.k == 8192}
    lessons = [page.parent for page in (book / "en").glob("[0-9][0-9]_*/index.html")
               if 'class="prediction"' in page.read_text()]
    assert {"01", "06", "08", "10", "11", "14"} <= {lesson.name[:2] for lesson in lessons}
    without = {page.parent.name[:2] for page in (book / "en").glob("[0-9][0-9]_*/index.html")} - {
        lesson.name[:2] for lesson in lessons}
    for language in ("en", "ja", "zh"):  # which the first page names
        show(chromium, book / language / "index.html")
        steps = ask(chromium, "[...document.querySelectorAll('#how-to-read-a-chapter li')].map(each => each.innerText)")
        assert any({*re.findall(r"(?a)\b\d\d\b", step)} == without for step in steps), language
    for lesson in lessons:
        show(chromium, lesson / "index.html")
        ask(chromium, "localStorage.clear()")
        parts = "html, form.prediction, form.prediction :is(p, div, label, output, button)"
        wide = f"""[...document.querySelectorAll("{parts}")]
            .filter(each => each.scrollWidth > each.clientWidth + 1).map(each => each.outerHTML.slice(0, 99))"""
        show(chromium, lesson / "index.html")
        for covered in (True, False):
            assert ask(chromium, "document.querySelector('.cover') !== null") == covered, lesson.name
            for width in (1280, 830, 390):
                resize(chromium, width)
                assert ask(chromium, f"{DRAWN}.then(() => {wide})") == [], (lesson.name, width)
            ask(chromium, "document.querySelector('form.prediction [type=submit]').click()")
        told = ask(chromium, "[...document.querySelectorAll('.guess')].map(each => [each.dataset.program,"
                             "each.querySelector('output > b').textContent])")
        assert told and all(f"{speeds[name]:T}" == measured for name, measured in told), told
    assert errors(chromium) == []


def test_a_view_by_keyboard(book, chromium):  # noqa: F811
    """By the keyboard alone a reader comes from the text into a lesson's view, goes on an explanation and back, replays
    the wavefronts, and leaves it for the page of the view alone. There a step, a warp and, on a phone, the folded part
    can be reached, and the page be left. Whatever the keyboard reaches has a name for a screen reader."""
    def reach(selector, key="TAB"):
        for _ in range(60):
            press(chromium, key)
            if ask(chromium, f"document.activeElement.matches('{selector}')"):
                return
        raise AssertionError(f"Tab does not reach {selector}")

    show(chromium, book / "en" / LESSON)
    assert nameless(chromium) == []
    ask(chromium, "[...document.querySelectorAll('article a')].findLast(each =>"
                  "each.compareDocumentPosition(document.querySelector('#view')) & 4).focus()")
    reach("#view iframe")
    chromium.switch_to.frame(chromium.find_element("css selector", "#view iframe"))
    wait(chromium, VIEW_IS_THERE)
    here = "views[0].captionHere"
    begin = ask(chromium, here)
    if not ask(chromium, "document.activeElement.matches('[data-caption=\"1\"]')"):
        reach('[data-caption="1"]')
    press(chromium, "ENTER")
    assert ask(chromium, here) == begin + 1
    reach('[data-caption="-1"]', "SHIFT+TAB")
    press(chromium, "ENTER")
    assert ask(chromium, here) == begin
    reach(".replay")
    press(chromium, "SPACE")
    assert ask(chromium, "views[0].turn") == 1
    chromium.switch_to.default_content()
    reach("#view figcaption a")
    press(chromium, "ENTER")
    wait(chromium, f"location.pathname.endsWith('/views/03.html') && {VIEW_IS_THERE}")
    reach("[data-do=step]")
    before = ask(chromium, "views[0].index")
    press(chromium, "ENTER")
    assert ask(chromium, "views[0].index") == before + 1
    reach("[data-do=back]", "SHIFT+TAB")
    press(chromium, "ENTER")
    assert ask(chromium, "views[0].index") == before
    reach("select.warp")
    press(chromium, "DOWN")
    assert ask(chromium, "views[0].warp") == 1
    assert nameless(chromium) == []
    reach("body")
    resize(chromium, 390, 844)
    ask(chromium, DRAWN)
    reach(".more summary")
    press(chromium, "ENTER")
    reach(".more select.lane")
    press(chromium, "DOWN")
    assert ask(chromium, "views[0].lane") == 1 and nameless(chromium) == []
    reach("body")
    assert errors(chromium) == []


def test_nothing_moves_for_who_wants_no_motion(book, chromium):  # noqa: F811
    """In a view words fly after a step forward, and the first page's picture moves: but not for a reader who prefers
    reduced motion. Nor does anything in a toy."""
    moving = "document.getAnimations().length"
    views = "(act('step'), views[0].root.getAnimations({ subtree: true }).length)"
    next_chapter = f"(document.querySelector('[data-go=\"1\"]').click(), {MOVING})"
    try:
        for reduced in (False, True):
            emulate(chromium, **{"prefers_reduced_motion": "reduce"} if reduced else {})
            show(chromium, f"{book}/views/03.html#////4")
            wait(chromium, VIEW_IS_THERE)
            assert (ask(chromium, views) == 0) == reduced
            show(chromium, book / "en/index.html")
            assert (ask(chromium, next_chapter) == 0) == reduced
        for toy in sorted(path.name for path in (book / "toys").glob("*.html")):
            show(chromium, book / "toys" / toy)
            controls = "[...document.querySelectorAll(':is(#controls, #main) :is(input, button)')]"
            assert ask(chromium, f"""{controls}.reduce((sum, each) => {{
                each.value = +each.value + 1;
                each.dispatchEvent(new Event("input"));
                each.click();
                return sum + {moving};
            }}, {moving})""") == 0, toy
    finally:
        emulate(chromium)
    assert errors(chromium) == []


def test_answers_are_folded(book, chromium):  # noqa: F811
    """A reader of an exercise sees no hint and no solution before asking for it, also by the keyboard."""
    shown = "[...document.querySelectorAll('#hints li, #solution pre')].map(each => each.checkVisibility())"
    for language in ("en", "ja"):
        show(chromium, book / language / "03_shared_blocking/exercises.html")
        assert not any(ask(chromium, shown))
        for part in ("hints", "solution"):
            ask(chromium, f"document.querySelector('#{part} summary').focus()")
            press(chromium, "ENTER")
        assert ask(chromium, shown) and all(ask(chromium, shown))


def test_a_link_into_a_page(book, chromium):  # noqa: F811
    """On a window of each width, the heading or the part of a diff to which a link leads is visible: below the header.
    """
    lesson = book / "en/04_unroll/index.html"
    for width in (1280, 830, 390):
        for target in ("measurement", "diff-04.2-3"):
            show(chromium, f"{lesson}#{target}", width=width)
            place = "(box => [box.x + 9, box.y + 9])(document.getElementById('%s').getBoundingClientRect())" % target
            there = f"document.elementFromPoint(...{place})?.closest('[id=\"{target}\"]')"
            wait(chromium, f"{there} != null", 9)


def test_a_table_of_words_on_a_phone(book, chromium):  # noqa: F811
    """A row of the glossary is an entry: its cells stand below one another, as wide as the text, and each says what it
    is, as the column's head does on a screen."""
    for language in ("en", "ja", "zh"):
        for width in (390, 1280):
            show(chromium, book / language / "docs/glossary.html", width=width)
            narrow = width < 600
            said, left, wide = ask(chromium, f"""{DRAWN}.then(() => {{
                const rows = [...document.querySelectorAll("table.entries tbody tr")];
                const cells = rows.map(row => [...row.cells].filter(each => each.textContent.trim()));
                const said = each => getComputedStyle(each, "::before").content !== "none";
                return [cells.flatMap(row => row.slice(1).map(said)),
                    Math.max(...cells.map(row => new Set(row.map(each => each.getBoundingClientRect().x)).size)),
                    Math.min(...cells.flat().map(each => each.getBoundingClientRect().width))];
            }})""")
            assert len(said) > 300 and {*said} == {narrow}, (language, width)
            assert (left == 1) == narrow and (wide > 340) == narrow, (language, width)
            heads = ask(chromium, "[...document.querySelectorAll('.entries th')].map(each => each.checkVisibility())")
            assert {*heads} == {not narrow}


def test_search(book, chromium):  # noqa: F811
    """A search finds parts of words that are written without spaces, returns some pages, not most, and says how many,
    in the page's language."""
    for words, language in (("共有メモリ", "ja"), ("共享内存", "zh"), ("swizzled rows", "en")):
        show(chromium, f"{book}/{language}/search.html?q={words}")
        said = wait(chromium, "document.querySelector('.search-summary')?.textContent")  # when all are there
        found = ask(chromium, "document.querySelectorAll('#search-results li a').length")
        assert 1 < found < len(files("*.md")) / 2, words
        assert re.search(r"\d+", said)[0] == str(found) and (language == "en" or not re.search("[a-z]", said)), said


def test_a_lesson(book, chromium):  # noqa: F811
    """Words are explained in the page's language, in which a toy has its links, too. The frame of a view is as high
    as the view, and in the page's theme; a command in the text leads to its explanation there. The switch of
    languages leads to the same section, on the first page to the reader's language."""
    show(chromium, f"{book}/ja/{LESSON}#banks")
    tip = "(tip => tip && !tip.hidden ? tip.textContent : '')(document.getElementById('tip'))"
    word = "[...document.querySelectorAll('article .term')].find(each => /共有メモリ/.test(each.textContent))"
    ask(chromium, f"void ({word}.scrollIntoView({{ block: 'center' }}), {word}.focus())")
    assert ask(chromium, f"document.activeElement === {word} && {tip}").startswith("共有メモリ")
    assert ask(chromium, f"getComputedStyle({word}).textDecorationLine") == "underline"
    ask(chromium, "document.activeElement.blur()")
    assert ask(chromium, tip) == ""
    resize(chromium, 390, 844)
    ask(chromium, f"{DRAWN}.then(() => {word}.scrollIntoView({{ block: 'center' }}))")
    x, y = ask(chromium, f"(box => [box.x + box.width / 2, box.y + box.height / 2])({word}.getBoundingClientRect())")
    drag(chromium, (x, y), (x, y), finger=True)
    assert ask(chromium, tip).startswith("共有メモリ")
    resize(chromium, 1280)
    frame = chromium.find_element("css selector", "#view iframe")
    for theme in ("dark", "light"):
        ask(chromium, f"(document.body.dataset.theme = '{theme}',"
                      "document.querySelector('article a[target=view]').click())")
        wait(chromium, "Math.abs(document.querySelector('#view').getBoundingClientRect().top) < 100")
        chromium.switch_to.frame(frame)
        wait(chromium, f"document.documentElement.dataset.theme === '{theme}' && {VIEW_IS_THERE}")
        wait(chromium, "location.href.includes('/views/03.html?ja#') && location.hash.endsWith('/5')")
        wait(chromium, "innerHeight >= Math.ceil(document.documentElement.getBoundingClientRect().height)")
        chromium.switch_to.default_content()
    toy = ask(chromium, "document.querySelector('article a[href*=\"/toys/\"]').href")
    chromium.find_element("css selector", ".sidebar-drawer .languages [lang=zh]").click()
    wait(chromium, f"location.href.endsWith('/zh/{LESSON}#banks') && document.querySelector('#banks h3')")
    chromium.get(toy)
    assert f"/ja/{LESSON}" in ask(chromium, "document.querySelector('#more a').href")
    chromium.execute_cdp_cmd("Emulation.setUserAgentOverride", {"userAgent": "test", "acceptLanguage": "zh-CN"})
    show(chromium, f"{book}/index.html")
    wait(chromium, "location.pathname.endsWith('/zh/index.html')")
    assert errors(chromium) == []


def test_a_view_is_wider_than_the_text(book, chromium):  # noqa: F811
    """Where the window has room, also above the contents beside the text; and nothing is wider than the window. A
    lesson's view shows a moment at which the event touches a matrix and shared memory."""
    for lesson in ("03_shared_blocking", "10_async_mma", "11_wgmma"):
        show(chromium, book / f"en/{lesson}/index.html")
        for width, least in ((1440, 1000), (1280, 850), (830, 600), (390, 350)):
            resize(chromium, width, 900)
            text, view, right, root = ask(chromium, f"""{DRAWN}.then(() => {{
                document.querySelector("#view").scrollIntoView();
                const [text, view] = ["article", "#view"].map(each =>
                    document.querySelector(each).getBoundingClientRect());
                return [text.width, view.width, view.right, document.documentElement.scrollWidth];
            }})""")
            assert view >= text - 1 and view > least - 1 and right <= width and root <= width, (lesson, width)
            x, y = right - 40, 300
            assert ask(chromium, f"document.elementFromPoint({x}, {y}).tagName") == "IFRAME", (lesson, width)
    assert errors(chromium) == []


def test_text_fits(chromium, tmp_path):  # noqa: F811
    """No text of a picture is too small, cut off, wider than its box or over another one. In a chart labels are a line
    apart, and no number is written as 1e+06."""
    page = tmp_path / "page.html"
    pictures = [*ROOT.glob("docs/pictures/*.svg"), *ROOT.glob("docs/results/*/*.svg")]
    alone = "<p><template shadowrootmode=open>{}</template></p>"  # the style of a picture is for no other one
    page.write_text("<meta charset=utf-8>" + "".join(alone.format(path.read_text()) for path in pictures))
    show(chromium, page)
    assert ask(chromium, """[...document.querySelectorAll("p")].flatMap(each => {
        const svg = each.shadowRoot.querySelector("svg");
        const card = svg.getBoundingClientRect(), texts = [...svg.querySelectorAll("text")];
        const boxes = texts.map(text => text.getBoundingClientRect());
        const sizes = texts.map(text => parseFloat(getComputedStyle(text).fontSize));
        const base = i => texts[i].y.baseVal[0].value;
        const step = i => texts[i].closest(".step");  // one after another is shown
        const over = (a, b) => step(a) === step(b) &&
            boxes[a].left < boxes[b].right && boxes[b].left < boxes[a].right && (
            boxes[a].top + 3 < boxes[b].bottom - 3 && boxes[b].top + 3 < boxes[a].bottom - 3 ||
            svg.querySelector("metadata") && Math.abs(base(a) - base(b)) < 1.09 * Math.min(sizes[a], sizes[b]));
        return texts.filter((text, i) => sizes[i] < 11 || boxes[i].left < card.left + 4 ||
            boxes[i].right > card.right - 4 || boxes[i].bottom > card.bottom || /\\de\\+/.test(text.textContent) ||
            texts.some((_, j) => j < i && over(j, i))
        ).map(text => text.textContent);
    })""") == []
    # A label in a box, which has the class on- and the box's fill, is no wider than the box.
    assert ask(chromium, """[...document.querySelectorAll("p")].flatMap(each => {
        const boxes = (svg, fill) => [...svg.querySelectorAll("path." + fill)].flatMap(path =>
            [...path.getAttribute("d").matchAll(/M([\\d.]+) ([\\d.]+)h([\\d.]+)v([\\d.]+)h/g)]
                .map(box => box.slice(1).map(Number)));
        return [...each.shadowRoot.querySelectorAll("[class*=on-]")].filter(text => {
            const fill = [...text.classList].find(name => name.startsWith("on-")), label = text.getBBox();
            const middle = label.y + label.height / 2;
            return fill !== "on-bar" && !boxes(text.closest("svg"), fill.slice(3)).some(([x, y, width, height]) =>
                x - 1 <= label.x && label.x + label.width <= x + width + 1 &&
                y - 2 <= middle && middle <= y + height + 2);
        }).map(text => text.textContent);
    })""") == []


def test_a_broken_page_leaves_the_book_as_it_is(tmp_path):
    """The failure is reported in one line."""
    python = packages.python_with("furo, myst_parser") or pytest.skip("Sphinx is missing (python3-myst-parser furo)")
    tree = tmp_path / "tree"
    for name in ("tools", "docs/toys", "docs/glossary.md", "07_fragment_probe/layouts.inc"):
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, ready(tree / name))
    ready(tree / "docs/primer.md").write_text("# Primer\n")
    (tree / "README.md").write_text("# A book\n\n![a](docs/nowhere.svg)\n")
    ready(tmp_path / "book/index.html").write_text("the last one")
    run = call(python, "-B", "-m", "book.make_site", tmp_path / "book", cwd=tree / "tools")
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (1, "", 1) and "README.md" in run.stderr, run.stderr
    assert (tmp_path / "book/index.html").read_text() == "the last one" and len(list(tmp_path.iterdir())) == 2


def ready(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    return path

"""./run book: the site in a headless browser. Every link leads somewhere, nothing is wider than the window, no script fails, and
search, languages, explanations and views can be used."""
import html.parser
import os
import re
import shutil
import urllib.parse

import pytest

import machine
from browser import ask, chromium, click, errors, pause, press, show  # noqa: F401
from support import BUILD, ROOT, call, program
from test_book import PAGES

LESSON = "03_shared_blocking/index.html"


@pytest.fixture(scope="module")
def book():
    pytest.importorskip("sphinx", reason="Sphinx is missing (python3-myst-parser furo)")
    program("03_shared_blocking_cpu_trace")
    if not machine.python_with("furo, myst_parser"):
        pytest.skip("Furo or MyST is missing (python3-myst-parser furo)")
    run = call(ROOT / "run", "book", env={**os.environ, "BUILD_DIR": str(BUILD), "NO_INSTALL": "1"})
    assert run.returncode == 0 and run.stderr == "", run.stderr
    return BUILD / "book"


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


def dead_links(book):
    """Those that lead to no file or heading, or out of the book."""
    pages = {path: Page(path) for path in book.rglob("*.html")}
    for path, page in pages.items():
        for link in set(page.links):
            to = urllib.parse.urlsplit(link)
            file = (path.parent / urllib.parse.unquote(to.path)).resolve() if to.path else path
            event = file.parent.name == "views"  # the script of a view reads what stands behind its #
            if to.scheme not in ("http", "https") and not (file.is_file() and book in file.parents and (
                    not to.fragment or event or urllib.parse.unquote(to.fragment) in pages[file].anchors)):
                yield f"{path.relative_to(book)}: {link}"


def wait(browser, expression, seconds=10):
    from selenium.webdriver.support.wait import WebDriverWait
    return WebDriverWait(browser, seconds, .1).until(lambda _: ask(browser, expression))


def faults(browser, path, others=()):
    """What is wrong with a page in the browser, and with others of its language and style, which are laid out on it."""
    from selenium.common.exceptions import TimeoutException
    show(browser, path)
    browser.execute_script("arguments[0].forEach(each => document.body.insertAdjacentHTML('beforeend', each))",
                           [laid_out(other) for other in others])
    for width in (1280, 830, 390):
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width == 390})
        wide = f"""[document.documentElement, ...document.querySelectorAll(".content")].filter(each => each.scrollWidth > {width})
            .map(each => each.closest("[data-path]")?.dataset.path || "{path}")"""
        try:  # a script may draw anew
            wait(browser, f"[...document.images].every(each => each.complete) && {wide}.length === 0", 1)
        except TimeoutException:
            yield from (f"{each} is wider than {width} pixels" for each in ask(browser, wide))
    yield from (f"{path}: {error['message']}" for error in errors(browser))


def laid_out(page):
    """What stands on a page, for another one of its style: with whole addresses, and without frames and scripts."""
    shown = re.search(r'(?s)<div class="page">.*(?=<script)', page.read_text())[0]
    shown = re.sub(r"(?s)<(iframe|script).*?</\1>", "", shown)
    shown = re.sub(r'(?<=src=")[^"]*', lambda link: urllib.parse.urljoin(page.as_uri(), link[0]), shown)
    return f'<div data-path="{page}">{shown}'


def test_every_page_is_there(book):
    languages = {path.name for path in book.glob("??")}
    assert languages == {"en", "ja", "zh"}
    for page in PAGES:
        name = str(page.relative_to(ROOT)).split(".")[0].replace("README", "index") + ".html"
        assert {language for language in languages if (book / language / name).exists()} == languages, name


def test_links(book):
    assert list(dead_links(book)) == []


def test_pages_in_a_browser(book, chromium):  # noqa: F811
    """A page that is in English in every language stands for itself once; one chapter's sources for all. The pages of a language
    have the same scripts: they run on a lesson and on the first page."""
    alone = [*book.glob("views/*.html"), *book.glob("tree/*.html"), *book.glob("tree/03*/**/*.html"), *book.glob("en/docs/toys/*")]
    found = [fault for page in alone if page.suffix == ".html" for fault in faults(chromium, page)]
    for language in book.glob("??"):
        pages = [page for page in language.rglob("*.html") if '<div class="page">' in (text := page.read_text())
                 and ('class="only"' not in text or page == language / LESSON)]
        found += [*faults(chromium, language / "index.html"), *faults(chromium, language / "search.html"),
                  *faults(chromium, language / LESSON, pages)]
    assert found == []


@pytest.mark.parametrize("wrong", [
    '<a href="nowhere.html">a</a>', '<a href="#nowhere">a</a>', '<img src="../outside.svg">', '<div style="width: 500px">a</div>',
    '<div class="content" style="overflow: auto"><div style="width: 500px">a</div></div>', "<script>throw 1</script>",
    '<iframe srcdoc="<script>nothing()</script>"></iframe>', '<script src="/nowhere.js"></script>'])
def test_a_fault_is_seen(wrong, tmp_path, chromium):  # noqa: F811
    (tmp_path / "page.html").write_text(f'<!doctype html><meta name="viewport" content="width=device-width">{wrong}')
    assert [*dead_links(tmp_path), *faults(chromium, tmp_path / "page.html")] != []


@pytest.mark.parametrize("words, language", [("共有メモリ", "ja"), ("共享内存", "zh"), ("线程", "zh"), ("swizzled rows", "en")])
def test_search(book, chromium, words, language):  # noqa: F811
    show(chromium, f"{book}/{language}/search.html?q={words}")
    found = "document.querySelectorAll('#search-results li a')"
    wait(chromium, f"{found}.length > 1")
    assert ask(chromium, f"{found}.length") < len(PAGES) / 2
    right_and_left = """(name, idea) => [name, idea].map(each => {
        const range = document.createRange(); range.selectNodeContents(each); return range.getBoundingClientRect() })"""
    apart = ask(chromium, f"""Array.from({found}).filter(each => each.querySelector('.idea')).map(each =>
        ({right_and_left})(each.firstChild, each.querySelector('.idea').firstChild)).map(([a, b]) => b.left - a.right)""")
    assert all(gap > 3 for gap in apart), apart


def test_languages(book, chromium):  # noqa: F811
    """The switch leads to the same section; the first page to the reader's language."""
    for width in (1280, 390):
        show(chromium, f"{book}/en/{LESSON}#banks", width)
        seen = [each for each in chromium.find_elements("css selector", ".languages [lang=ja]") if each.is_displayed()]
        assert len(seen) == 1 and 0 <= seen[0].rect["x"] < width
        seen[0].click()
        assert ask(chromium, "location.href").endswith(f"/ja/{LESSON}#banks")
        assert ask(chromium, "document.getElementById('banks').querySelector('h3').textContent").startswith("バンク")
        chromium.execute_script("document.getElementById('measurement').scrollIntoView()")  # what is read now, not the address
        assert wait(chromium, "location.hash === '#banks' && place() === '#measurement'")
    chromium.execute_cdp_cmd("Emulation.setUserAgentOverride", {"userAgent": "test", "acceptLanguage": "zh-CN"})
    show(chromium, f"{book}/index.html")
    wait(chromium, "location.pathname.endsWith('/zh/index.html')")


@pytest.mark.parametrize("language, said", [("en", "shared memory: "), ("ja", "共有メモリ"), ("zh", "共享内存")])
def test_explanations(book, chromium, language, said):  # noqa: F811
    """Of a lesson, in the language that the whole navigation has: shown on focus, and closed by Escape."""
    show(chromium, f"{book}/{language}/{LESSON}", width=390)
    labels = ask(chromium, "Array.from(document.querySelectorAll('.sidebar-tree a, .toc-title, .visually-hidden'), "
                           "each => each.textContent.trim())")
    assert language == "en" or [label for label in labels if re.search("[a-z]", label) and not re.search(
        "[\u3040-\u9fff]|^[0-9]{2} · ", label)] == []
    tips = "Array.from(document.querySelectorAll('.term [role=tooltip]'))"
    assert ask(chromium, f"{tips}.some(tip => tip.textContent.startsWith('{said}'))")
    chromium.execute_script("document.querySelector('.term').focus()")
    assert ask(chromium, f"{tips}.map(tip => tip.offsetHeight > 0)")[:2] == [True, False]
    assert ask(chromium, "document.documentElement.scrollWidth") <= 390
    press(chromium, "ESCAPE")
    assert not ask(chromium, f"{tips}.some(tip => tip.offsetHeight > 0)")
    assert not ask(chromium, "document.querySelector('h1 .term, h2 .term, a .term, pre .term, code .term')")


def test_view(book, chromium):  # noqa: F811
    """A lesson's view is wide, follows the switch for the dark, and has nothing over it. The command leads to it, and is marked until
    another caption is shown."""
    show(chromium, f"{book}/ja/{LESSON}")
    assert ask(chromium, "document.querySelector('#view iframe').offsetWidth") >= 1050
    for theme, other in (("dark", "light"), ("light", "dark")):  # in a browser that gives a frame the other one
        chromium.execute_script(f"document.querySelector('#view iframe').style.colorScheme = '{other}'")
        chromium.execute_script(f"document.body.dataset.theme = '{theme}'; scrollTo(0, 0)")
        chromium.switch_to.frame(chromium.find_element("css selector", "#view iframe"))
        assert wait(chromium, f"document.documentElement.dataset.theme === '{theme}'")
        chromium.switch_to.default_content()
        chromium.execute_script("document.querySelector('article a[target=view]').click()")
        wait(chromium, "Math.abs(document.querySelector('#view').getBoundingClientRect().top) < 100")
        chromium.switch_to.frame(chromium.find_element("css selector", "#view iframe"))
        wait(chromium, "location.href.includes('/views/03.html?ja#') && location.hash.endsWith('/5') && document.readyState === 'complete'")
        chromium.switch_to.default_content()
        current = "document.querySelectorAll('article a[target=view][aria-current=true]').length"
        assert wait(chromium, f"{current} === 1")
        wait(chromium, "document.elementFromPoint(innerWidth - 99, 200)?.closest('#view')")
        chromium.switch_to.frame(chromium.find_element("css selector", "#view iframe"))
        click(chromium, "[data-tell='-1']")
        chromium.switch_to.default_content()
        assert wait(chromium, f"{current} === 0")
    assert errors(chromium) == []


def inside(browser, frame):
    """Goes into a frame, which loads when it is on the screen."""
    browser.execute_script("arguments[0].scrollIntoView()", frame)
    browser.switch_to.frame(frame)
    wait(browser, "location.href !== 'about:blank' && document.readyState === 'complete'")


@pytest.mark.parametrize("width", (1280, 390))
@pytest.mark.parametrize("language, lesson", [("ja", LESSON), ("en", "10_async_mma/index.html"), ("zh", "11_wgmma/index.html")])
def test_frames(book, chromium, language, lesson, width):  # noqa: F811
    """They are as high as their pages, and do not become lower while a reader uses them; a screen reader names them."""
    show(chromium, f"{book}/{language}/{lesson}", width)
    assert (frames := chromium.find_elements("css selector", "article figure iframe"))
    for frame in frames:
        inside(chromium, frame)
        assert wait(chromium, "innerHeight - Math.ceil(document.documentElement.getBoundingClientRect().height) === 0")
        assert ask(chromium, "document.documentElement.classList.contains('embedded')")
        height = ask(chromium, "innerHeight")
        chromium.execute_script("document.body.tabIndex = -1; document.body.focus()")
        chromium.execute_script("document.body.style = 'height: 9px; min-height: 0; overflow: hidden'")
        pause(chromium, 100)
        assert ask(chromium, "innerHeight") == height
        chromium.execute_script("document.documentElement.dataset.theme = ''")
        chromium.execute_script(f"document.body.style.height = '{height + 99}px'")
        assert wait(chromium, f"innerHeight > {height} && document.documentElement.dataset.theme")
        high = ask(chromium, "innerHeight")
        chromium.execute_script("document.body.style.height = '120vh'")  # a page that rises with its frame, as a zoomed one may
        pause(chromium, 200)
        assert ask(chromium, "innerHeight") < 3 * high
        chromium.switch_to.default_content()
        assert frame.accessible_name


def test_pages_alone(book, chromium):  # noqa: F811
    """A view, a toy and a source opened alone have the theme that was chosen on the site."""
    for theme in ("dark", "light"):
        show(chromium, f"{book}/ja/{LESSON}")
        chromium.execute_script(f"localStorage.setItem('theme', '{theme}')")
        for page in ("views/03.html", "ja/docs/toys/banks.html", "tree/03_shared_blocking/matmul.cu.html"):
            show(chromium, book / page)
            assert ask(chromium, "getComputedStyle(document.documentElement).colorScheme") == theme, page
    chromium.execute_script("localStorage.clear()")


@pytest.mark.parametrize("page", ("en/index.html", "ja/index.html", f"en/{LESSON}"))
def test_tables_on_a_phone(book, chromium, page):  # noqa: F811
    """The figures are seen without scrolling, whatever stands beside them. So is a picture of characters."""
    show(chromium, book / page, width=390)
    assert ask(chromium, "document.querySelector('td.text-right')")
    assert ask(chromium, "Array.from(document.querySelectorAll('td.text-right, pre.picture')).filter(each => "
                         "each.getBoundingClientRect().right > 390 - 16 || each.scrollWidth > each.clientWidth)"
                         ".map(each => each.textContent)") == []


def test_contents_beside_the_text(book, chromium):  # noqa: F811
    """They mark the heading that a link led to, and the switch for the dark stays in reach."""
    for width, headings in ((1440, ("prediction", "measurement")), (830, ("measurement",))):
        show(chromium, f"{book}/ja/{LESSON}", width)
        for heading in headings:
            chromium.execute_script(f"location.hash = '{heading}'")
            wait(chromium, f"Array.from(document.querySelectorAll('.toc-tree .scroll-current > a')).at(-1)?.hash === '#{heading}'")
        seen = [each for each in chromium.find_elements("css selector", ".theme-toggle") if each.is_displayed()]
        assert len(seen) == 1 and ask(chromium, "scrollY") > 500
        before = ask(chromium, "document.body.dataset.theme")
        seen[0].click()
        assert ask(chromium, "document.body.dataset.theme") != before and "search" not in chromium.current_url
    chromium.execute_script("localStorage.clear()")


def test_drawers(book, chromium):  # noqa: F811
    """On a phone a heading that was chosen is seen."""
    show(chromium, f"{book}/en/{LESSON}", width=390)
    click(chromium, ".toc-header-icon")
    link = chromium.find_element("css selector", ".toc-tree a[href='#measurement']")
    wait(chromium, "document.querySelector('.toc-drawer').getBoundingClientRect().right <= 390")
    link.click()
    wait(chromium, "document.querySelector('.toc-drawer').getBoundingClientRect().left >= 390")
    wait(chromium, """(h => h.top >= 0 && document.elementFromPoint(h.x + 20, h.y + 20)?.closest("h2"))(
        document.querySelector("#measurement h2").getBoundingClientRect())""")


@pytest.mark.parametrize("page, words, link", [
    ("03_shared_blocking/index", "view 03", {"refuri": "../../views/03.html?en", "target": "view"}),
    ("03_shared_blocking/index", "view 03 --caption 2", {"refuri": "../../views/03.html?en#////2", "target": "view"}),
    ("03_shared_blocking/notes", "view 03", {"refuri": "../../views/03.html?en"}),
    ("index", "view 03", {"refuri": "../views/03.html?en"}),
    ("index", "view 08", None), ("index", "view 03 04", None), ("index", "diff 03 04/1", {"refuri": "../tree/diff/03_04.1.html"})])
def test_commands(page, words, link):
    pytest.importorskip("sphinx", reason="Sphinx is missing (python3-myst-parser furo)")
    import book
    made = book.Book(None, "en", {"03", "04"})
    assert made.command(page, *re.fullmatch(book.COMMAND, f"./run {words}").groups()) == link


@pytest.mark.parametrize("text, shown", [
    ("[a](../docs/toys/banks.html#wide)", True), ("[![a](../docs/pictures/03_banks.svg)](../docs/toys/banks.html)", True),
    ("See [a](../docs/toys/banks.html).", False), ("[a](../docs/primer.md)", False)])
def test_toys(text, shown):
    """A link on a line of its own becomes the toy, in the page's language and with its settings."""
    pytest.importorskip("myst_parser", reason="MyST is missing (python3-myst-parser)")
    import book
    from docutils import nodes
    from myst_parser.parsers.docutils_ import Parser
    from docutils.core import publish_doctree
    tree = publish_doctree(text, parser=Parser(), settings_overrides={"myst_all_links_external": True})
    book.Book(None, "ja", set()).show_toys(ROOT / "03_shared_blocking/README.md", tree)
    frames = [raw.astext() for raw in tree.findall(nodes.raw)]
    assert [re.search('src="([^"]*)" title="a"', frame)[1] for frame in frames] == [
        "../docs/toys/banks.html?ja" + "#wide" * ("wide" in text)] * shown


def test_a_broken_page_leaves_the_book_as_it_is(tmp_path):
    """It is told in one line."""
    python = machine.python_with("furo, myst_parser") or pytest.skip("Sphinx is missing (python3-myst-parser furo)")
    tree = tmp_path / "tree"
    for name in ("tools", "docs/toys", "docs/glossary.md", "07_fragment_probe/layouts.inc"):
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, ready(tree / name))
    ready(tree / "docs/primer.md").write_text("# Primer\n")
    (tree / "README.md").write_text("# A book\n\n![a](docs/nowhere.svg)\n")
    ready(tmp_path / "book/index.html").write_text("the last one")
    run = call(python, "-B", tree / "tools/book.py", tmp_path / "book")
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (1, "", 1) and "README.md" in run.stderr, run.stderr
    assert (tmp_path / "book/index.html").read_text() == "the last one" and len(list(tmp_path.iterdir())) == 2


def ready(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    return path

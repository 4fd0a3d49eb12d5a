"""./run book: the site in a headless browser. Every link leads somewhere, nothing is wider than the window, no script fails, and
search, languages, explanations and views can be used."""
import html.parser
import os
import re
import shutil
import urllib.parse

import pytest

import machine
from browser import ask, chromium, click, errors, press, resize, show, wait, DRAWN  # noqa: F401
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


def test_links(book):
    """Each page is there in each language, and no link leads to no file or heading, or out of the book."""
    for page in PAGES:
        name = str(page.relative_to(ROOT)).split(".")[0].replace("README", "index") + ".html"
        assert sorted(path.name for path in book.glob("??") if (path / name).exists()) == ["en", "ja", "zh"], name
    pages, dead = {path: Page(path) for path in book.rglob("*.html")}, []
    for path, page in pages.items():
        for link in set(page.links):
            to = urllib.parse.urlsplit(link)
            file = (path.parent / urllib.parse.unquote(to.path)).resolve() if to.path else path
            event = file.parent.name == "views"  # the script of a view reads what stands behind its #
            if to.scheme not in ("http", "https") and not (file.is_file() and book in file.parents and (
                    not to.fragment or event or urllib.parse.unquote(to.fragment) in pages[file].anchors)):
                dead.append(f"{path.relative_to(book)}: {link}")
    assert dead == []
    # What a lesson shows: an explanation, a diff, and a toy, in the page's language and with its settings.
    links = pages[book / "ja" / LESSON].links
    for wanted in (r"\.\./\.\./views/03\.html\?ja#////\d", r"\.\./\.\./tree/diff/02_03\.html", r"\.\./docs/toys/banks\.html\?ja#\w+"):
        assert any(re.fullmatch(wanted, link) for link in links), wanted


def faults(browser, path, others=()):
    """What is wrong with a page in the browser, and with others of its language and style, which are laid out on it."""
    show(browser, path)
    browser.execute_script("arguments[0].forEach(each => document.body.insertAdjacentHTML('beforeend', each))",
                           [laid_out(other) for other in others])
    for width in (1280, 390):
        resize(browser, width)  # a script may draw anew
        yield from ask(browser, f"""Promise.all([...document.images].map(each => each.decode().catch(() => each))).then(all => {DRAWN}
            .then(() => all.filter(Boolean).map(each => each.src).concat(
                [document.documentElement, ...document.querySelectorAll(".content")].filter(each => each.scrollWidth > {width})
                .map(each => "wider than {width}: " + (each.closest("[data-path]")?.dataset.path || "{path}")))))""")
    yield from (f"{path}: {error['message']}" for error in errors(browser))


def laid_out(page):
    """What stands on a page, for another one of its style: with whole addresses, and without frames and scripts."""
    shown = re.search(r'(?s)<div class="page">.*(?=<script)', page.read_text())[0]
    shown = re.sub(r"(?s)<(iframe|script).*?</\1>", "", shown)
    shown = re.sub(r'(?<=src=")[^"]*', lambda link: urllib.parse.urljoin(page.as_uri(), link[0]), shown)
    return f'<div data-path="{page}">{shown}'


def test_pages_in_a_browser(book, chromium):  # noqa: F811
    """Of what stands for itself, one of a kind. The pages of a language have the same scripts: they run on a lesson and on the first
    page."""
    alone = (book / page for page in ("views/03.html", "views/07.html", "tree/03_shared_blocking/matmul.cu.html",
                                      "tree/diff/02_03.html", "en/docs/toys/banks.html"))
    found = [fault for page in alone for fault in faults(chromium, page)]
    for language in book.glob("??"):
        pages = [page for page in language.rglob("*.html") if '<div class="page">' in (text := page.read_text())
                 and ('class="only"' not in text or page == language / LESSON)]
        found += [*faults(chromium, language / "index.html"), *faults(chromium, language / "search.html"),
                  *faults(chromium, language / LESSON, pages)]
    assert found == []


def test_search(book, chromium):  # noqa: F811
    """It finds parts of words that are written without spaces, and some pages, not most. A chapter's name and idea stand apart."""
    for words, language in (("共有メモリ", "ja"), ("共享内存", "zh"), ("线程", "zh"), ("swizzled rows", "en")):
        show(chromium, f"{book}/{language}/search.html?q={words}")
        assert wait(chromium, "document.querySelectorAll('#search-results li a').length > 1"), words
        gaps, found = ask(chromium, """(found => [found.filter(each => each.querySelector(".idea")).map(each => {
            const [name, idea] = [each.firstChild, each.querySelector(".idea").firstChild].map(text => {
                const range = document.createRange(); range.selectNodeContents(text); return range.getBoundingClientRect(); });
            return idea.left - name.right;
        }), found.length])([...document.querySelectorAll("#search-results li a")])""")
        assert found < len(PAGES) / 2 and all(gap > 3 for gap in gaps), (words, gaps)


def seen(browser, selector):
    """The one of these that is displayed."""
    one, = (each for each in browser.find_elements("css selector", selector) if each.is_displayed())
    return one


def test_languages(book, chromium):  # noqa: F811
    """The switch leads to the same section, which is that one reads now; the first page to the reader's language."""
    for width in (1280, 390):
        show(chromium, f"{book}/en/{LESSON}#banks", width)
        switch = seen(chromium, ".languages [lang=ja]")
        assert 0 <= switch.rect["x"] < width
        switch.click()
        wait(chromium, f"location.href.endsWith('/ja/{LESSON}#banks') && document.querySelector('#banks h3')")
        assert re.search("[\u3040-\u9fff]", ask(chromium, "document.querySelector('#banks h3').textContent"))
        ask(chromium, "document.getElementById('measurement').scrollIntoView()")
        assert wait(chromium, "location.hash === '#banks' && place() === '#measurement'")
    chromium.execute_cdp_cmd("Emulation.setUserAgentOverride", {"userAgent": "test", "acceptLanguage": "zh-CN"})
    show(chromium, f"{book}/index.html")
    wait(chromium, "location.pathname.endsWith('/zh/index.html')")


@pytest.mark.parametrize("language, said", [("en", "shared memory: "), ("ja", "共有メモリ"), ("zh", "共享内存")])
def test_on_a_phone(book, chromium, language, said):  # noqa: F811
    """Words are explained in the language that the whole navigation has, on focus, until Escape. Figures and pictures of characters
    are seen without scrolling. A heading that was chosen from the contents is seen."""
    show(chromium, f"{book}/{language}/{LESSON}", width=390)
    labels, tips, wrong, figures = ask(chromium, """(all => [
        all(".sidebar-tree a, .toc-title, .visually-hidden").map(each => each.textContent.trim()),
        all(".term [role=tooltip]").map(tip => tip.textContent), all(":is(h1, h2, a, pre, code) .term").length,
        all("td.text-right, pre.picture").map(each => each.getBoundingClientRect().right > 374 || each.scrollWidth > each.clientWidth)
    ])(selector => [...document.querySelectorAll(selector)])""")
    assert language == "en" or [label for label in labels if re.search("[a-z]", label) and not re.search(
        "[\u3040-\u9fff]|^[0-9]{2} · ", label)] == []
    assert any(tip.startswith(said) for tip in tips) and not wrong and figures and not any(figures)
    shown = "[...document.querySelectorAll('.term [role=tooltip]')].map(tip => tip.offsetHeight > 0)"
    ask(chromium, "document.querySelector('.term').focus()")
    assert ask(chromium, shown)[:2] == [True, False] and ask(chromium, "document.documentElement.scrollWidth") <= 390
    press(chromium, "ESCAPE")
    assert not any(ask(chromium, shown))
    click(chromium, ".toc-header-icon")
    wait(chromium, "document.querySelector('.toc-drawer').getBoundingClientRect().right <= 390")
    click(chromium, ".toc-tree a[href='#measurement']")
    wait(chromium, "document.querySelector('.toc-drawer').getBoundingClientRect().left >= 390")
    wait(chromium, """(h => h.top >= 0 && document.elementFromPoint(h.x + 20, h.y + 20)?.closest("h2"))(
        document.querySelector("#measurement h2").getBoundingClientRect())""")


def test_view(book, chromium):  # noqa: F811
    """A lesson's view is wide, follows the switch for the dark, and has nothing over it. The command leads to it, and is marked until
    another caption is shown."""
    show(chromium, f"{book}/ja/{LESSON}")
    frame = chromium.find_element("css selector", "#view iframe")
    assert frame.size["width"] >= 1050

    def inside(expression):
        chromium.switch_to.frame(frame)
        wait(chromium, expression)
        chromium.switch_to.default_content()

    for theme, other in (("dark", "light"), ("light", "dark")):  # in a browser that gives a frame the other one
        ask(chromium, f"(document.querySelector('#view iframe').style.colorScheme = '{other}', document.body.dataset.theme = '{theme}', "
                      "scrollTo(0, 0))")
        inside(f"document.documentElement.dataset.theme === '{theme}'")
        ask(chromium, "document.querySelector('article a[target=view]').click()")
        wait(chromium, "Math.abs(document.querySelector('#view').getBoundingClientRect().top) < 100")
        inside("location.href.includes('/views/03.html?ja#') && location.hash.endsWith('/5') && document.readyState === 'complete'")
        current = "document.querySelectorAll('article a[target=view][aria-current=true]').length"
        wait(chromium, f"{current} === 1")
        wait(chromium, "document.elementFromPoint(innerWidth - 99, 200)?.closest('#view')")
        inside("document.querySelector(\"[data-tell='-1']\").click() || true")
        wait(chromium, f"{current} === 0")
    assert errors(chromium) == []


@pytest.mark.parametrize("language, lesson", [("ja", LESSON), ("en", "10_async_mma/index.html"), ("zh", "11_wgmma/index.html")])
def test_frames(book, chromium, language, lesson):  # noqa: F811
    """They are as high as their pages, also where the window becomes narrow, and do not become lower while a reader uses them; a
    screen reader names them."""
    show(chromium, f"{book}/{language}/{lesson}")
    for frame in (frames := chromium.find_elements("css selector", "article figure iframe")):
        for width in (1280, 390):
            resize(chromium, width)
            chromium.execute_script("arguments[0].scrollIntoView()", frame)  # it loads when it is on the screen
            chromium.switch_to.frame(frame)
            wait(chromium, "location.href !== 'about:blank' && document.readyState === 'complete'")
            wait(chromium, "innerHeight - Math.ceil(document.documentElement.getBoundingClientRect().height) === 0")
            assert ask(chromium, "document.documentElement.classList.contains('embedded')")
            chromium.switch_to.default_content()
        chromium.switch_to.frame(frame)
        height = ask(chromium, "innerHeight")
        ask(chromium, "(document.body.tabIndex = -1, document.body.focus(), "
                      "document.body.style = 'height: 9px; min-height: 0; overflow: hidden')")
        assert ask(chromium, f"new Promise(done => setTimeout(done, 100)).then(() => {DRAWN}).then(() => innerHeight)") == height
        ask(chromium, f"(document.documentElement.dataset.theme = '', document.body.style.height = '{height + 99}px')")
        assert wait(chromium, f"innerHeight > {height} && document.documentElement.dataset.theme")
        high = ask(chromium, "(document.body.style.height = '120vh', innerHeight)")  # it rises with its frame, as a zoomed one may
        assert ask(chromium, f"new Promise(done => setTimeout(done, 200)).then(() => {DRAWN}).then(() => innerHeight)") < 3 * high
        chromium.switch_to.default_content()
        assert frame.accessible_name
    assert frames


def test_contents_and_theme(book, chromium):  # noqa: F811
    """The contents mark the heading that a link led to, and the switch for the dark stays in reach. A view, a toy and a source opened
    alone have the theme that was chosen on the site."""
    for width, headings in ((1440, ("prediction", "measurement")), (830, ("measurement",))):
        show(chromium, f"{book}/ja/{LESSON}", width)
        for heading in headings:
            ask(chromium, f"(location.hash = '{heading}')")
            wait(chromium, f"[...document.querySelectorAll('.toc-tree .scroll-current > a')].at(-1)?.hash === '#{heading}'")
        assert ask(chromium, "scrollY") > 500
        before = ask(chromium, "document.body.dataset.theme")
        seen(chromium, ".theme-toggle").click()
        assert ask(chromium, "document.body.dataset.theme") != before and "search" not in chromium.current_url
    for theme in ("dark", "light"):
        ask(chromium, f"localStorage.setItem('theme', '{theme}')")
        for page in ("views/03.html", "ja/docs/toys/banks.html", "tree/03_shared_blocking/matmul.cu.html"):
            show(chromium, book / page)
            assert ask(chromium, "getComputedStyle(document.documentElement).colorScheme") == theme, page
    ask(chromium, "localStorage.clear()")


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

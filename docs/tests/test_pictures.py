"""The pictures of ./run pictures are those of the kernels' accesses, and of the files that they are drawn from. Each stands
in the book, with its title as the text for those who can't see it, and can be read.
"""
import re
import xml.etree.ElementTree

import pytest

import browser
import pictures
from browser import chromium  # noqa: F401
from support import ROOT, program

FILES = {name: pictures.FOLDER / f"{name}.svg" for name in pictures.PICTURES}


@pytest.mark.parametrize("name", FILES)
def test_committed(name):
    drawn = pictures.drawn(name, lambda step: program(pictures.target(step)))
    assert FILES[name].read_text() == drawn, "is not what the kernels do, or was edited by hand: ./run pictures"


def test_in_the_book():
    """Each picture is in a text, with its title for those who can't see it; and each chapter has one."""
    pages = (page for folder in ("[0-9][0-9]_*", "docs", "emulator") for page in ROOT.glob(f"{folder}/*.md"))
    texts = {page: page.read_text() for page in pages}
    shown = {page: re.findall(r"(?m)^!\[(.+)\]\((?:\S*/)?(\S+)\.svg\)$", text) for page, text in texts.items()}
    for file in pictures.FOLDER.iterdir():
        title, about = (next(xml.etree.ElementTree.parse(file).iter(f"{{http://www.w3.org/2000/svg}}{tag}")).text
                        for tag in ("title", "desc"))
        assert about and (title, file.stem) in sum(shown.values(), []), file.name
    assert not [page for page in shown if page.name == "README.md" and not shown[page]]


def test_text_fits(chromium, tmp_path):  # noqa: F811
    """No text is small, cut off or over another one."""
    page = tmp_path / "page.html"
    page.write_text("".join(path.read_text() for path in (*pictures.FOLDER.iterdir(), *ROOT.glob("docs/results/*/*.svg"))))
    browser.show(chromium, page)
    assert browser.ask(chromium, """[...document.querySelectorAll("svg")].flatMap(svg => {
        const card = svg.getBoundingClientRect(), texts = [...svg.querySelectorAll("text")];
        const boxes = texts.map(text => text.getBoundingClientRect());
        const over = (a, b) => a.left < b.right && b.left < a.right && a.top + 3 < b.bottom - 3 && b.top + 3 < a.bottom - 3;
        return texts.filter((text, i) => parseFloat(getComputedStyle(text).fontSize) < 11 || boxes[i].left < card.left + 4 ||
            boxes[i].right > card.right - 4 || boxes[i].bottom > card.bottom || boxes.slice(0, i).some(box => over(box, boxes[i]))
        ).map(text => text.textContent);
    })""") == []

"""Each of docs/pictures stands in the book, with its title as the text for those who can't see it."""
import re
import xml.etree.ElementTree

from support import ROOT


def test_in_the_book():
    """Each picture is in a text, with its title for those who can't see it; and each chapter has one."""
    pages = (page for folder in ("[0-9][0-9]_*", "docs", "emulator") for page in ROOT.glob(f"{folder}/*.md"))
    texts = {page: page.read_text() for page in pages}
    shown = {page: re.findall(r"(?m)^!\[(.+)\]\((?:\S*/)?(\S+)\.svg\)$", text) for page, text in texts.items()}
    for file in ROOT.glob("docs/pictures/*.svg"):
        title, about = (next(xml.etree.ElementTree.parse(file).iter(f"{{http://www.w3.org/2000/svg}}{tag}")).text
                        for tag in ("title", "desc"))
        assert about and (title, file.stem) in sum(shown.values(), []), file.name
    assert not [page for page in shown if page.name == "README.md" and not shown[page]]

"""./run pictures: the committed pictures are those of the kernels' accesses, and of the files that they are drawn from. Each stands in
the book, with its title as the text for those who can't see it, and can be read in light, in dark and in grey.
"""
import re
import xml.etree.ElementTree

import pytest

import browser
import pictures
import svg
from support import ROOT, program

FILES = {name: pictures.FOLDER / f"{name}.svg" for name in pictures.PICTURES}


def drawn(name, instead={}):
    """`instead`: {a step: the one whose program runs for it}."""
    return pictures.drawn(name, lambda step: program(pictures.target(instead.get(step, step))))


@pytest.mark.parametrize("name", FILES)
def test_committed(name):
    assert FILES[name].read_text() == drawn(name), "is not what the kernels do, or was edited by hand: ./run pictures"


OTHERS = {"01_naive": "02_register_blocking", "02_register_blocking": "01_naive", "03_shared_blocking": "04_unroll",
          "04_unroll": "04_unroll.2_wide_loads", "04_unroll.2_wide_loads": "04_unroll",  # without the pad, and with it
          "05_step 04_unroll": "05_double_buffer", "05_double_buffer": "04_unroll", "06_wmma": "06_wmma.2_fragments",
          "09_warp_tiling": "05_double_buffer", "10_async_mma.3_swizzle": "10_async_mma.2_aligned_rows",
          "11_wgmma.2_store": "11_wgmma.1_wgmma"}


@pytest.mark.parametrize("name, step", [(name, step) for name, (_, runs) in pictures.PICTURES.items() for step in runs])
def test_another_kernel_changes_it(name, step):
    try:
        other = drawn(name, {step: OTHERS.get(f"{name} {step}", OTHERS[step])})
    except Exception as error:  # it can't be drawn of this kernel
        other = error
    assert FILES[name].read_text() != other


@pytest.mark.parametrize("name", FILES)
def test_in_the_book(name):
    title, about = (next(xml.etree.ElementTree.parse(FILES[name]).iter(f"{{http://www.w3.org/2000/svg}}{tag}")).text
                    for tag in ("title", "desc"))
    assert len(about) > 40 and FILES[name].stat().st_size < 60e3
    pages = [*ROOT.glob("[0-9][0-9]_*/README.md"), *ROOT.glob("docs/*.md")]
    assert any(re.search(rf"^!\[{re.escape(title)}\]\(\S*pictures/{name}\.svg\)$", page.read_text(), re.M) for page in pages)


def test_no_others():
    assert sorted(pictures.FOLDER.iterdir()) == sorted(FILES.values())
    chapters = [page for page in ROOT.glob("[0-9][0-9]_*/README.md") if not re.search(r"(?m)^!\[.+\]\(.+\.svg\)$", page.read_text())]
    assert not chapters, "a chapter without a picture"


def light(colour):
    """Its luminance, as WCAG 2 has it, and 0.05."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[at:at + 2], 16) / 255 for at in (0, 2, 4)]
    return .05 + sum(share * (part / 12.92 if part < .04 else ((part + .055) / 1.055) ** 2.4)
                     for share, part in zip((.2126, .7152, .0722), parts))


@pytest.mark.parametrize("colours", [svg.LIGHT, svg.DARK], ids=["light", "dark"])
def test_contrast(colours):
    card, ink, lesser, _, *rest = map(light, colours.split())
    for on, under in ((ink, card), (lesser, card), *zip(rest[5:], rest)):
        assert max(on / under, under / on) > 4.5, "text"
    for near, far in zip(rest, rest[1:5]):
        assert (near > far if ink < card else near < far) and max(near / far, far / near) > 1.25, "fills, in grey"


def test_text_fits(tmp_path):
    """No text is small, cut off or over another one."""
    page = tmp_path / "page.html"
    page.write_text("".join(path.read_text() for path in FILES.values()))
    chromium = browser.Browser()
    chromium.open(page)
    bad = chromium.ask("""[...document.querySelectorAll("svg")].flatMap(svg => {
        const card = svg.getBoundingClientRect(), texts = [...svg.querySelectorAll("text")];
        const boxes = texts.map(text => text.getBoundingClientRect());
        const over = (a, b) => a.left < b.right && b.left < a.right && a.top + 3 < b.bottom - 3 && b.top + 3 < a.bottom - 3;
        return texts.filter((text, i) => parseFloat(getComputedStyle(text).fontSize) < 11 || boxes[i].left < card.left + 4 ||
            boxes[i].right > card.right - 4 || boxes[i].bottom > card.bottom || boxes.slice(0, i).some(box => over(box, boxes[i]))
        ).map(text => text.textContent);
    })""")
    chromium.close()
    assert bad == []

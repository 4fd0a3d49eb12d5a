"""The explanations on the page: captions of a kernel, and the glossary's words.

Captions are in the chapter's view.txt, each with the event that it is about. They and the glossary's meanings are
translated in docs/po/*/tables.po; texts that wait for a translator appear in English. All other words are in
page/words.js.
"""
import re

from languages import LANGUAGES, glossary, translations
from programs import ROOT

USUAL = 128, 128, 24  # the shape that a page shows if neither a reader nor the chapter says which
WORDS = (
    "asynchronous copy",
    "bank",
    "bank conflict",
    "broadcast",
    "coalesced",
    "fragment",
    "lane",
    "mbarrier",
    "padding",
    "phase",
    "sector",
    "swizzle",
    "TMA",
    "tensor core",
    "tile",
    "warp",
    "wgmma",
)
# Terms for which the pages use other words than the glossary, in each language, and their meaning there.
OWN = {
    ("at best", "最少", "最少"): "The fewest sectors or wavefronts that a request for so many bytes can take.",
    ("wavefront", "ウェーブフロント", "wavefront"): (
        "A cycle of shared memory, in which each bank delivers at most one word."
    ),
}


def parts_about(step, root=ROOT):
    """The parts of a chapter's view.txt that are about this step. A part that begins "[1_wgmma 2_tma_store]" is about
    these steps alone, where "matmul" is the chapter's own, and any other part is about each."""
    chapter, name = (*re.split(r"[./]", step), "matmul")[:2]
    file = root / chapter / "view.txt"
    for part in file.read_text().strip().split("\n\n") if file.is_file() else ():
        steps, text = re.fullmatch(r"(?s)(?:\[([^]]*)\] )?(.*)", part).groups()
        if not steps or name in steps.split():
            yield text


def usual_launch(step):
    """The shape that a page shows, and options of the program: a tile of C or two, and so large a K that every stage of
    the pipeline is used again. view.txt may begin with them, "shape 64 x 128 x 192" or, for a configuration that would
    not be chosen for so small a shape, "shape 64 x 128 x 192 --config 32x64-1x1x1"."""
    for part in parts_about(step):
        if part.startswith("shape "):
            shape, *options = part.split(" --")
            words = [word for option in options for word in f"--{option}".split()]
            return tuple(int(edge) for edge in re.findall(r"\d+", shape)), words
    return USUAL, []


def usual_shape(step):
    return usual_launch(step)[0]


def terms():
    """The glossary's rows that a page explains: [(the terms, their names), meaning], by language."""
    left = set(WORDS)
    for term, row in glossary().items():
        texts = term, *(row.get(LANGUAGES[language], "") for language in ("ja", "zh"))
        called = [re.split(", |、", re.sub(r" \(.*?\)| 命令| 指令", "", text)) for text in texts]
        if left & set(called[0]):
            left -= set(called[0])
            yield texts, called, row["meaning"]


def words(language="en"):
    """{word: its meaning in the glossary}, of the words that a page uses without explaining them in a sentence."""
    at, own = list(LANGUAGES).index(language), translations(language)
    found = {names[at]: own.get(text, text) for names, text in OWN.items()}
    for texts, called, meaning in terms():
        for word, name in zip(called[0], called[at]):
            if word in WORDS:  # Japanese and Chinese texts use some words, such as TMA, in English
                found[word] = found[name] = f"{texts[at]}: " + own.get(meaning, meaning)
    return found


def translatable_texts(root=ROOT):
    """The entries of docs/po/*/tables.po for the pages."""
    yield from OWN.values()
    yield from (row["meaning"] for row in glossary(root).values())
    for file in sorted(root.glob("[0-9][0-9]_*/view.txt")):
        for step in file.parent.glob("*.cu"):
            yield from (caption["text"][0] for caption in captions(f"{file.parent.name}.{step.stem}", root))


def captions(step, root=ROOT):
    """The captions of view.txt, which are separated by empty lines. The first line of each is its place: "warp 4 shared
    load of Bs after barrier, lane 3: b[j] = Bs" is the warp's first shared load of Bs after a barrier, by a source line
    with these words if there is one. A place without a warp is that of the first warp that has such an event. The other
    lines are the text."""
    found, own = [], [translations(language, root) for language in LANGUAGES]
    for part in parts_about(step, root):
        if part.startswith("shape "):
            continue
        where, *text = part.split("\n")
        warp, kind, of, after, lane, statement = re.fullmatch(
            r"(?:warp (\d+) )?([a-z ]+?)(?: of (\w+))?(?: after ([a-z ]+))?(?:, lane (\d+))?(?:: (.+))?", where
        ).groups("")
        text = " ".join(text)
        at = {"warp": int(warp) if warp else None, "kind": kind, "of": of, "after": after, "lane": int(lane or 0)}
        found.append({**at, "statement": statement, "text": [each.get(text, text) for each in own]})
    return found

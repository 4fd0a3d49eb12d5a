"""./run view: records kernels, and makes the page that steps through them."""
import os
import pathlib
import webbrowser

import build
import process
import view
from build import BUILD
from command_line import Parser, check_writable, count, need_tools, refuse, steps_meant
from process import fail
from programs import LADDER, described, listed
from results import write_whole
from user_kernel import UserKernel, round_up


def run(words):
    parser = Parser("view", "-v", "--html --caption")
    parser.add_argument("steps", nargs="*")
    for option in ("-m", "-n", "-k"):
        parser.add_argument(option, type=count(view.LONGEST))
    given = parser.parse_args(words)
    process.verbose = given.v
    if given.html is not None:
        check_writable(given.html, "--html")
    if given.steps in (["7"], ["07"], ["07_fragment_probe"]):
        if given.caption is not None:
            fail(2, "view: --caption: view 07 has none")
        return show_page(given.html, "07_fragment_probe", view.page("Fragments", view.fragments(), "fragments"))
    if not 1 <= len(given.steps) <= 2:
        fail(2, "view: takes a step, such as 03 or 04/1, or two, which it shows side by side; or 07, for fragments")
    chosen = []
    for word in given.steps:
        found = [UserKernel(word)] if word.endswith(".cu") else steps_meant(word)
        if not found:
            refuse("view: ", word, [each.source for each in listed(*LADDER)])
        chosen.append(found[-1])  # a chapter stands for its last step
    captions = len(view.captions(chosen[0].name))
    if given.caption is not None and given.caption not in map(str, range(1, captions + 1)):
        fail(2, f"view: --caption '{given.caption}': {chosen[0].name} has {captions}; takes a whole number from 1 to "
                "that")
    need_tools(cpu=True)
    if steps := [each.target(cpu=True) for each in chosen if not isinstance(each, UserKernel)]:
        build.build(steps)
    records = []
    for each in chosen:
        (m, n, k), options = view.usual_launch(each.name)
        if given.m or given.n or given.k:
            options = []  # they belong to the usual shape
        shape = [given.m or m, given.n or n, given.k or k]
        if isinstance(each, UserKernel):
            program = each.emulated()
            m, n, k = round_up(shape, described(program)["multiples"])
            shape = [given.m or m, given.n or n, given.k or k]
            record = view.record(program, shape)
            records.append(view.read(record, each.name, shape, each.path.resolve().parents[1]))
        else:
            records.append(view.read(view.record(BUILD / "bin" / each.target(cpu=True), shape, *options), each.name,
                                     shape))
    names = [each.name for each in chosen]
    return show_page(given.html, "_and_".join(names).replace("/", "."), view.page(" and ".join(names), records),
                     f"#////{given.caption}" if given.caption else "")


def show_page(html, name, text, place=""):
    """Writes the page to the file that an option names, or to one called `name`, and opens it at `place` if there is a
    display."""
    path = pathlib.Path(html or BUILD / "view" / f"{name}.html")
    if not html:
        path.parent.mkdir(parents=True, exist_ok=True)
    write_whole((path, text))
    print(f"{path}{place}")
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        webbrowser.open(path.resolve().as_uri() + place)
    return 0

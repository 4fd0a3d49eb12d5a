"""What moves on the site's pages: the first page's picture with its controls. theme/screen.js makes them work; without a
script the picture plays by itself."""
import html

from book import flow_picture
from book.measured import Results
from programs import ROOT

RESULTS = Results(ROOT / "docs/results/h200")
# Phrases in Japanese and Chinese.
WORDS = {
    "chapter": ("章", "章"),
    "chapter before": ("前の章", "上一章"),
    "next chapter": ("次の章", "下一章"),
    "play": ("再生", "播放"),
    "pause": ("停止", "暂停"),
    "moment": ("時点", "时刻"),
    "Read {}": ("{} を読む", "阅读 {}"),
    "{}: measured {} TFLOP/s, predicted {}": ("{}: 実測 {} TFLOP/s、予測 {}", "{}：实测 {} TFLOP/s，预测 {}"),
}


def screen(say, href, language, picture):
    """The picture of the first page. say: translates a phrase. href: the address in the site of a link. picture: the
    <img> that is shown without a script."""
    rows = [row for row, _ in flow_picture.road(RESULTS)]
    choices, links, told = [], [], []
    for row in rows:
        number = row.stage[:2]
        choices.append(f'<label><input type="radio" name="step" value="{number}"><span>{number}</span></label>')
        at = html.escape(href(f"{row.stage}/README.md"))
        links.append(f'<a data-step="{number}" href="{at}" hidden>{say("Read {}").format(number)}</a>')
        figures = f"{row.gflops:T}", f"{row.predicted_gflops:T}"
        text = say("{}: measured {} TFLOP/s, predicted {}").format(row.stage, *figures)
        told.append(f'<span data-step="{number}" hidden>{text}</span>')
    cycle = round(1000 * flow_picture.BEAT * flow_picture.BEATS)
    return (
        f'<div class="screen" data-cycle="{cycle}">{picture}<template>{flow_picture.draw(RESULTS, language)}</template>'
        f'<div class="picture"></div><p class="told">{"".join(told)}</p>'
        '<div class="controls" hidden>'
        f'<button type="button" data-go="-1" aria-label="{say("chapter before")}">◀</button>'
        f'<fieldset><legend>{say("chapter")}</legend>{"".join(choices)}</fieldset>'
        f'<button type="button" data-go="1" aria-label="{say("next chapter")}">▶</button>'
        f'<button type="button" data-play="{say("play")}" data-pause="{say("pause")}"></button>'
        f'<input type="range" min="0" max="{cycle}" step="20" value="0" aria-label="{say("moment")}">{"".join(links)}'
        "</div></div>"
    )

"""What moves on the site's pages: the first page's picture with its controls, and in a lesson the reader's own
prediction. theme/screen.js and theme/prediction.js make them work. Without a script the picture plays by itself, and no
measurement is covered."""
import html

import programs
from book import flow_picture
from book.measured import SPEEDS, UNITS, Results, unit
from book.tables import speeds_of
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
    "12, 13: other shapes": ("12、13：ほかの形状", "12、13：其他形状"),
    "Banks": ("バンク", "存储体"),
    "Swizzle": ("スウィズル", "地址重排"),
    "Waves": ("ウェーブ", "波次"),
    "{}: measured {} TFLOP/s, predicted {}": ("{}: 実測 {} TFLOP/s、予測 {}", "{}：实测 {} TFLOP/s，预测 {}"),
    "How fast will it be?": ("どれだけ速いか", "会有多快？"),
    "Move a bar, or type TFLOP/s. The measurement is covered until you uncover it.": (
        "棒を動かすか、TFLOP/s を入力してください。測定結果は、ボタンを押すまで隠してあります。",
        "拖动条形，或输入 TFLOP/s。实测结果在揭开之前一直遮着。",
    ),
    "Uncover the measurement": ("測定結果を見る", "揭开实测结果"),
    "Uncover without predicting": ("予測せずに見る", "不预测，直接揭开"),
    "Covered: predict first, above.": ("隠してあります。先に上で予測してください。", "已遮住：请先在上面预测。"),
    "yours": ("あなた", "你的"),
    "model": ("モデル", "模型"),
    "measured": ("実測", "实测"),
    "You have predicted {} of {} chapters.": ("{} 章を予測しました (全 {} 章)。", "你已预测 {} 章，共 {} 章。"),
    "Forget my predictions": ("予測を消す", "清除我的预测"),
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
    beyond = html.escape(href("12_clusters/README.md"))
    links.append(f'<a class="beyond" href="{beyond}">{say("12, 13: other shapes")}</a>')
    cycle = round(1000 * flow_picture.BEAT * flow_picture.BEATS)
    drawn = (RESULTS.folder / ("flow.svg" if language == "en" else f"flow.{language}.svg")).read_text()
    return (
        f'<div class="screen" data-cycle="{cycle}">{picture}<template>{drawn}</template>'
        f'<div class="picture"></div><p class="told">{"".join(told)}</p>'
        '<div class="controls" hidden>'
        f'<button type="button" data-go="-1" aria-label="{say("chapter before")}">◀</button>'
        f'<fieldset><legend>{say("chapter")}</legend>{"".join(choices)}</fieldset>'
        f'<button type="button" data-go="1" aria-label="{say("next chapter")}">▶</button>'
        f'<button type="button" data-play="{say("play")}" data-pause="{say("pause")}"></button>'
        f'<input type="range" min="0" max="{cycle}" step="20" value="0" aria-label="{say("moment")}">{"".join(links)}'
        "</div></div>"
    )


def stills(say, href):
    """Small pictures of three toys, each a link to its toy, for the door to them: lanes that wait for one bank, a
    swizzled tile of which a column is read, and SMs of which some have no work."""
    fan = "".join(f'<path d="M6 {y}L46 8"/>' for y in range(6, 60, 6)) + "".join(
        f'<rect class="full" x="{x}" y="4" width="5" height="8"/>' for x in range(48, 96, 6)
    )
    tile = "".join(
        f'<rect class="{"full" if column == 2 else "pale"}" x="{20 + 7 * (column ^ row)}" y="{4 + 7 * row}" '
        'width="6" height="6"/>'
        for row in range(8)
        for column in range(8)
    )
    waves = "".join(
        f'<rect class="c" x="6" y="{4 + 4 * sm}" width="{84 if sm < 9 else 42}" height="3"/>'
        f'<rect class="wait" x="{90 if sm < 9 else 48}" y="{4 + 4 * sm}" width="{0 if sm < 9 else 42}" height="3"/>'
        for sm in range(14)
    )
    parts = []
    for toy, name, drawn in (("banks", "Banks", fan), ("swizzle", "Swizzle", tile), ("waves", "Waves", waves)):
        to = html.escape(href(f"docs/toys/{toy}.html"))
        parts.append(f'<a href="{to}"><svg viewBox="0 0 96 64" aria-hidden="true">{drawn}</svg>{say(name)}</a>')
    return f'<p class="stills">{"".join(parts)}</p>'


def prediction(say, chapter):
    """The form in which a reader predicts the speed of each program of a chapter, or "" if they have not been timed."""
    rows = [(file, row) for file, row in speeds_of(RESULTS, chapter) if row]
    own = [(programs.name(file), row) for file, row in rows if file.parent.name == chapter]
    if not own:
        return ""
    folder = SPEEDS.get(chapter, "").rpartition("/")[0] or "."  # of the GPU
    most = round(RESULTS.one(f"{folder}/limits", what=UNITS[unit(own[-1][0])][0]).limit / 1000, 1)
    step, lines = 0.1 if most < 100 else 1, []
    before = next((row for file, row in rows if file.parent.name != chapter), None)
    begin = min(most, before.gflops / 1000) if before else 0
    known = f'<i class="before" style="--at:{begin / most:.4f}"></i>' if before else ""
    for name, row in own:
        measured, model = row.gflops / 1000, row.predicted_gflops / 1000
        lines.append(
            f'<div class="guess" data-program="{name}" '
            f'style="--measured:{measured / most:.4f};--model:{model / most:.4f}">'
            f'<label for="{name}">{name}</label>'
            f'<span class="track">{known}<i class="measured"></i><i class="model"></i><i class="own"></i>'
            f'<input type="range" min="0" max="{most:g}" step="{step}" value="{begin:.1f}" '
            f'aria-label="{name}, TFLOP/s"></span>'
            f'<input type="number" id="{name}" min="0" max="{2 * most:g}" step="any" placeholder="?">'
            f'<output><span class="by-you"><b data-own></b> {say("yours")} · </span>{model:.1f} {say("model")} · '
            f'<b>{measured:.1f}</b> {say("measured")}</output></div>'
        )
    reference = f"┊ {before.stage}: {before.gflops:T}" if before else ""
    without = say("Uncover without predicting")
    cover = f'<p>{say("Covered: predict first, above.")} <button type="button">{without}</button></p>'
    return (
        f'<form class="prediction" data-chapter="{chapter}" hidden><p><b>{say("How fast will it be?")}</b></p>'
        f'<p>{say("Move a bar, or type TFLOP/s. The measurement is covered until you uncover it.")}</p>'
        f'{"".join(lines)}<p class="scale"><span>{reference}</span><span class="ends"><span>0</span>'
        f"<span>{most:g} TFLOP/s</span></span></p>"
        f'<button type="submit" data-with="{say("Uncover the measurement")}">{without}</button>'
        f"<template>{cover}</template></form>"
    )


def predicted(say):
    """Below the table of the first page, whose rows get the reader's predictions."""
    timed = {stage for speeds in ("ladder", *SPEEDS.values()) for stage in RESULTS.stages(speeds)}
    chapters = timed & {file.parent.name for file in programs.steps()}
    text = html.escape(say("You have predicted {} of {} chapters."))
    return (
        f'<p class="predicted" data-of="{len(chapters)}" data-text="{text}" data-yours="{say("yours")}" hidden>'
        f'<span></span> <button type="button">{say("Forget my predictions")}</button></p>'
    )

"""Draws figures with Altair or with Matplotlib: the same marks, colours and words."""

from __future__ import annotations

import json
import re
import textwrap
from typing import Any

from .._support.extras import load
from .._text.user_text import visible
from .figure import Axis, Figure, Mark

__all__ = ["GREY", "altair", "matplotlib"]

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito's colours, without the two that would be invisible on white or on black."""
DASHES = ((), (6, 3))
GREY = "#7f7f7f"
"""The grey of Altair's text and axes, with about the same contrast to white and to a dark page."""
FAINT = 0.25
FONT = "Helvetica, Arial, Liberation Sans, sans-serif"
"""Fonts of the same metrics, so that text measured on one machine fits on another."""
WIDTH = 520
DRAWN = {"x", "x2", "y", "y2", "size", "series"}
"""The columns that are drawn; the others are shown in tooltips."""


def colour(figure: Figure, name: str) -> str:
    """A series' colour."""
    return PALETTE[figure.series.index(name) % len(PALETTE)]


def dashes(figure: Figure, name: str) -> tuple[int, ...]:
    """A series' dashes, which distinguish series of the same colour."""
    return DASHES[figure.series.index(name) // len(PALETTE) % len(DASHES)]


def altair(figure: Figure) -> Any:
    """The figure as an Altair chart, transparent and in colours readable on light and dark pages."""
    alt = load("altair", "plot")
    figure = figure.written(_without_markup)
    words = {"labelColor": GREY, "titleColor": GREY, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": 500}
    title = alt.TitleParams(figure.title, subtitle=_wrapped(figure.subtitle))
    return (
        alt.layer(*(_altair_mark(alt, figure, mark) for mark in figure.marks))
        .properties(
            width=WIDTH,
            height=figure.height,
            background="transparent",
            title=title,
            description=f"{figure.title}. {figure.subtitle}",
        )
        .configure(font=FONT)
        .configure_view(stroke=None)
        .configure_mark(aria=False)  # a screen reader reads the description, not hundreds of marks
        .configure_axis(
            **words,
            domainColor=GREY,
            tickColor=GREY,
            gridColor=GREY,
            gridOpacity=FAINT,
            labelLimit=240,
            titlePadding=10,
        )
        .configure_legend(**words, orient="bottom", columns=3, labelLimit=240)
        .configure_title(
            color=GREY,
            subtitleColor=GREY,
            fontSize=15,
            subtitleFontSize=12,
            anchor="start",
            offset=12,
            subtitlePadding=4,
        )
    )


def _altair_mark(alt: Any, figure: Figure, mark: Mark) -> Any:
    rows = mark.rows
    x = alt.X("x:Q", title=figure.x.title, **_altair_axis(alt, figure.x))
    y = alt.Y("y:Q", title=figure.y.title, **_altair_axis(alt, figure.y))
    if mark.kind == "rule":
        over = {"x": x} if "x" in rows.columns else {"y": y}
        return alt.Chart(rows).mark_rule(color=GREY, strokeDash=[4, 3]).encode(**over)
    domain = list(figure.series)
    legend = alt.Legend(title=None, symbolOpacity=1) if figure.legend and len(domain) > 1 else None
    colours = alt.Scale(domain=domain, range=[colour(figure, name) for name in domain])
    encoding: dict[str, Any] = {
        "x": x,
        "y": y,
        "color": alt.Color("series:N", scale=colours, legend=legend),
        "tooltip": [
            alt.Tooltip(name, format=".4f" if rows[name].dtype.is_float() else "")
            for name in rows.columns
            if name not in DRAWN
        ],
        **{end: end for end in ("x2", "y2") if end in rows.columns},
    }
    chart = alt.Chart(rows)
    if mark.kind == "line":
        scale = alt.Scale(domain=domain, range=[list(dashes(figure, name)) for name in domain])
        encoding["strokeDash"] = alt.StrokeDash("series:N", scale=scale, legend=legend)
        chart = chart.mark_line(strokeWidth=2, point={"size": 24} if _few(mark) else False)
    elif mark.kind == "band":
        chart = chart.mark_area(opacity=FAINT)
    elif mark.kind == "bar":
        encoding["stroke"] = alt.Stroke("series:N", scale=colours, legend=None)  # no seams between neighbours
        chart = chart.mark_rect(strokeWidth=0.5)
    elif mark.kind == "interval":
        chart = chart.mark_rule(strokeWidth=2)
    elif mark.kind == "tick":
        encoding["color"] = alt.value(GREY)
        chart = chart.mark_rule(strokeWidth=2)
    elif "size" in rows.columns:
        scale = alt.Scale(domain=[0, _largest(mark)], range=[0, 300])
        encoding["size"] = alt.Size("size:Q", scale=scale, legend=None)
        chart = chart.mark_circle(opacity=_opacity(mark))
    else:
        chart = chart.mark_circle(size=80, opacity=1, stroke="white", strokeWidth=1)
    return chart.encode(**encoding)


def _altair_axis(alt: Any, axis: Axis) -> dict[str, Any]:
    scale: dict[str, Any] = {"type": "log"} if axis.log else {"zero": False}
    if axis.limits is not None:
        scale.update(domain=list(axis.limits), nice=False)
    if axis.ticks is None:
        whole = {"axis": alt.Axis(tickMinStep=1, format=",d")} if axis.whole else {}
        return {"scale": alt.Scale(**scale), **whole}
    places, names = ([tick[i] for tick in axis.ticks] for i in (0, 1))
    label = f"{json.dumps(names, ensure_ascii=False)}[indexof({json.dumps(places)}, datum.value)]"
    return {"scale": alt.Scale(**scale), "axis": alt.Axis(values=places, labelExpr=label, labelOverlap=False)}


def matplotlib(figure: Figure, ax: Any = None) -> Any:
    """The figure on Matplotlib axes, new ones if none are given; text and background follow the user's style."""
    pyplot = load("matplotlib.pyplot", "plot")
    lines = [_without_formulas(line) for line in _wrapped(visible(figure.subtitle))]
    figure = figure.written(_without_formulas)
    own = ax is None
    if own:
        _, ax = pyplot.subplots(figsize=(6.8, 1.6 + figure.height / 90), layout="constrained")
    ink = pyplot.rcParams["text.color"]
    ax.grid(True, alpha=FAINT)
    ax.set_axisbelow(True)
    for mark in figure.marks:
        _matplotlib_mark(ax, figure, mark, ink)
    for side, axis in (("x", figure.x), ("y", figure.y)):
        ax.set(**{f"{side}label": axis.title})
        if axis.log:
            ax.set(**{f"{side}scale": "log"})
        if axis.ticks is not None:
            ax.set(**{f"{side}ticks": [place for place, _ in axis.ticks]})
            ax.set(**{f"{side}ticklabels": [name for _, name in axis.ticks]})
            ax.minorticks_off()
        elif axis.whole:
            getattr(ax, f"{side}axis").get_major_locator().set_params(integer=True)
        if axis.limits is not None:
            ax.set(**{f"{side}lim": axis.limits})
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title(figure.title, loc="left", weight="bold", pad=10 + 13 * len(lines))
    ax.annotate(
        "\n".join(lines),
        (0, 1),
        (0, 4),
        "axes fraction",
        "offset points",
        va="bottom",
        fontsize="small",
        alpha=0.8,
    )
    if figure.legend and len(figure.series) > 1:
        handles = {handle.get_label(): handle for handle in ax.get_legend_handles_labels()[0]}
        names = [name for name in figure.series if name in handles]
        below = {"loc": "upper left", "bbox_to_anchor": (0, -50 / figure.height), "ncols": 3} if own else {}
        ax.legend([handles[name] for name in names], names, frameon=False, fontsize="small", **below)
    return ax


def _matplotlib_mark(ax: Any, figure: Figure, mark: Mark, ink: Any) -> None:
    if mark.kind == "rule":
        for place in mark.rows.to_series():
            (ax.axvline if mark.rows.columns == ["x"] else ax.axhline)(
                place, color=ink, alpha=0.6, ls=(0, (4, 3)), lw=1
            )
        return
    for (name,), part in mark.rows.group_by("series", maintain_order=True):
        rows = {column: part[column].to_list() for column in part.columns}
        own, label = colour(figure, str(name)), str(name)
        if mark.kind == "line":
            spaces = dashes(figure, str(name))
            ax.plot(
                rows["x"], rows["y"], color=own, label=label, lw=2, ls=(0, spaces) if spaces else "-",
                marker="o" if _few(mark) else "", ms=4,
            )  # fmt: skip
        elif mark.kind == "band":
            ax.fill_between(rows["x"], rows["y"], rows["y2"], color=own, alpha=FAINT, lw=0)
        elif mark.kind == "bar":
            widths = [end - start for start, end in zip(rows["x"], rows["x2"], strict=True)]
            heights = [end - start for start, end in zip(rows["y"], rows["y2"], strict=True)]
            ax.bar(rows["x"], heights, widths, bottom=rows["y"], align="edge", color=own, label=label, lw=0)
        elif mark.kind == "interval":
            ax.hlines(rows["y"], rows["x"], rows["x2"], color=own, lw=2)
        elif mark.kind == "tick":
            ax.vlines(rows["x"], rows["y"], rows["y2"], color=ink, lw=2)
        elif "size" in rows:
            sizes = [size / _largest(mark) * 160 for size in rows["size"]]
            ax.scatter(rows["x"], rows["y"], s=sizes, color=own, alpha=_opacity(mark), lw=0)
        else:
            ax.scatter(
                rows["x"], rows["y"], s=45, color=own, label=label, edgecolors="white", lw=1, zorder=3, clip_on=False
            )


def _few(mark: Mark) -> bool:
    """Whether a line has so few points that each gets a dot."""
    return len(mark.rows) <= 40 * mark.rows["series"].n_unique()


def _opacity(mark: Mark) -> float:
    """The opacity of dots: high if they are few, low if they are many."""
    return 0.85 if len(mark.rows) <= 100 else 0.5


def _largest(mark: Mark) -> float:
    """The number of queries of the largest dot, with a minimum so that a few queries are not drawn large."""
    return max(float(mark.rows["size"].max() or 0), 4.0)  # type: ignore[arg-type]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 84)


def _without_markup(text: str) -> str:
    """Text that begins no tag, even in Altair's pages, which escape nothing: U+2060, unseen, after each ``<`` of one."""
    return re.sub(r"<(?=[A-Za-z/!?])", "<\N{WORD JOINER}", visible(text))


def _without_formulas(text: str) -> str:
    """Text escaped for Matplotlib, where a dollar would begin a formula."""
    return visible(text).replace("$", r"\$")

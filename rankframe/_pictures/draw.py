"""Draws figures with Altair or with Matplotlib: the same marks, colours and words."""

from __future__ import annotations

import json
import re
import textwrap
from types import ModuleType
from typing import TYPE_CHECKING, Any

import polars as pl

from .._results.markup import visible
from .._support.extras import load
from ..errors import InvalidOption, option, shown
from .figure import Axis, Figure, Mark

if TYPE_CHECKING:
    from altair import LayerChart
    from matplotlib.axes import Axes
    from matplotlib.transforms import Transform
    from matplotlib.typing import ColorType

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito's colours, without the two that would be invisible on white or on black."""
DASHES = ((), (6, 3))
GREY = "#7f7f7f"
"""The colour of text without a background of its own; a page replaces it by the colour of its
text."""
FAINT = 0.25
"""The opacity of bands, grids and rules."""
INKS = ("#000000", "#ffffff")
NAMED = {"white": "#ffffff", "black": "#000000"}
FONT = "Helvetica, Arial, Liberation Sans, sans-serif"
"""Fonts of the same metrics, so that text measured on one machine fits on another."""
WIDTH = 480
"""The width of a picture in pixels: scaled to a phone's 350 pixels, its text is still 10 pixels
high."""
TEXT = 14
"""The size of the smallest text in pixels: Matplotlib's default of 10 points at 100 dots per
inch."""
TITLE = 16
LEGEND = 3
"""The most columns of a legend."""
STRENGTH = (0.05, 0.6)
"""The opacity of the weakest and the strongest cell; text is legible on both."""
NAME = 24
"""The most letters per line of a label beside an axis."""
ENDS = ("x", "y", "x2", "y2", "size")
DRAWN = {*ENDS, "label", "series"}
"""The columns that are drawn; the others are shown in tooltips."""


def colour(figure: Figure, name: str) -> str:
    """A series' colour."""
    return PALETTE[_place(figure, name) % len(PALETTE)]


def dashes(figure: Figure, name: str) -> tuple[int, ...]:
    """A series' dashes, which distinguish series of the same colour."""
    return DASHES[_place(figure, name) // len(PALETTE) % len(DASHES)]


def _place(figure: Figure, name: str) -> int:
    """A run's place among all runs, so that it looks alike in each picture of them."""
    return (figure.among or figure.series).index(name)


def altair(figure: Figure, background: str | None = None) -> LayerChart:
    """The figure as an Altair chart on a background.

    Without one it is transparent, with text in `GREY`, for a page that embeds the SVG and colours
    its text. Do not write it as PNG: vl-convert darkens translucent colours.
    """
    alt = load("altair", "plot")
    background = None if background is None else background_of(background)
    ink = GREY if background is None else ink_on(background)
    figure = figure.written(_without_markup)
    columns = _legend_columns(figure, 0.55 * TEXT, WIDTH, 50)
    words = {
        "labelColor": ink,
        "titleColor": ink,
        "labelFontSize": TEXT,
        "titleFontSize": TEXT,
        "titleFontWeight": 500,
    }
    lines = {"domainColor": ink, "tickColor": ink, "gridColor": ink, "gridOpacity": FAINT / 2}
    title = {
        "color": ink,
        "subtitleColor": ink,
        "fontSize": TITLE,
        "subtitleFontSize": TEXT,
        "subtitlePadding": 4,
    }
    above = _lines(figure.title, WIDTH / (0.57 * TITLE)) or ""
    chart: LayerChart = (
        alt.layer(
            *(_altair_mark(alt, figure, mark, ink, background or "white") for mark in figure.marks)
        )
        .properties(
            width=WIDTH,
            height=figure.height,
            autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
            background=background or "transparent",
            title=alt.TitleParams(above, subtitle=_wrapped(figure.below, WIDTH / (0.5 * TEXT))),
            description=". ".join(filter(None, (figure.title, figure.below))),
        )
        .configure(font=FONT)
        .configure_view(stroke=None)
        .configure_mark(aria=False)  # a screen reader reads the description, not hundreds of marks
        .configure_axis(**words, **lines, labelLimit=0.4 * WIDTH, titlePadding=10)
        .configure_legend(
            **words, orient="bottom", columns=columns, labelLimit=WIDTH / columns - 40
        )
        .configure_title(**title, anchor="start", frame="bounds", offset=12)
    )
    return chart


def _altair_mark(alt: ModuleType, figure: Figure, mark: Mark, ink: str, background: str) -> Any:
    rows, chart = mark.rows, alt.Chart(mark.rows)
    x = alt.X("x:Q", title=figure.x.title, **_altair_axis(alt, figure.x))
    y = alt.Y(
        "y:Q",
        title=_lines(figure.y.title, figure.height / (0.55 * TEXT)),
        **_altair_axis(alt, figure.y),
    )
    ends = {"x": x, "y": y, "x2": "x2", "y2": "y2"}
    encoding: dict[str, object] = {end: place for end, place in ends.items() if end in rows.columns}
    if mark.kind in ("rule", "divider"):
        look = {"strokeDash": [4, 3], "opacity": 0.7} if mark.kind == "rule" else {"opacity": FAINT}
        return chart.mark_rule(color=ink, **look).encode(**encoding)
    domain = list(figure.series)
    lines = any(mark.kind == "line" for mark in figure.marks)
    symbol = (
        {"symbolType": "stroke", "symbolSize": 400} if lines else {}
    )  # a dot would hide the dashes
    legend = (
        alt.Legend(title=None, symbolOpacity=1, **symbol)
        if figure.legend and len(domain) > 1
        else None
    )
    colours = alt.Scale(domain=domain, range=[colour(figure, name) for name in domain])
    own = (
        alt.Color("series:N", scale=colours, legend=legend)
        if "series" in rows.columns
        else alt.value(ink)
    )
    further = [name for name in rows.columns if name not in DRAWN]
    tips = [
        alt.Tooltip(name, format=".4f" if rows[name].dtype.is_float() else "") for name in further
    ]
    encoding |= {"color": own, "tooltip": tips}
    if mark.kind == "line":
        scale = alt.Scale(domain=domain, range=[list(dashes(figure, name)) for name in domain])
        encoding["strokeDash"] = alt.StrokeDash("series:N", scale=scale, legend=legend)
        chart = chart.mark_line(strokeWidth=2, point={"size": 24} if _few(mark) else False)
    elif mark.kind == "band":
        chart = chart.mark_area(opacity=FAINT)
    elif mark.kind == "bar" and "size" in rows.columns:
        scale = alt.Scale(domain=[0, 1], range=list(STRENGTH))
        encoding["opacity"] = alt.Opacity("size:Q", scale=scale, legend=None)
        middle = rows.with_columns(
            (pl.col("x") + pl.col("x2")) / 2, (pl.col("y") + pl.col("y2")) / 2
        )
        written = (
            alt.Chart(middle).mark_text(color=ink, fontSize=TEXT).encode(x=x, y=y, text="label:N")
        )
        return chart.mark_rect().encode(**encoding) + written
    elif mark.kind == "bar":
        encoding["stroke"] = alt.Stroke(
            "series:N", scale=colours, legend=None
        )  # no seams between neighbours
        chart = chart.mark_rect(strokeWidth=0.5)
    elif mark.kind == "interval":
        chart = chart.mark_rule(strokeWidth=2)
    elif "size" in rows.columns:
        scale = alt.Scale(domain=[0, _largest(mark)], range=[0, 300])
        encoding["size"] = alt.Size("size:Q", scale=scale, legend=None)
        chart = chart.mark_circle(opacity=_opacity(mark))
    else:
        chart = chart.mark_circle(size=80, opacity=1, stroke=background, strokeWidth=1)
    return chart.encode(**encoding)


def _altair_axis(alt: ModuleType, axis: Axis) -> dict[str, object]:
    scale: dict[str, object] = {"type": "log"} if axis.log else {"zero": False}
    if axis.limits is not None:
        scale.update(domain=list(axis.limits), nice=False)
    if axis.ticks is None:
        whole = {"tickMinStep": 1, "format": ",d"} if axis.whole else {}
        return {"scale": alt.Scale(**scale), "axis": alt.Axis(grid=axis.grid, tickCount=5, **whole)}
    places, names = (
        [place for place, _ in axis.ticks],
        [_lines(name, NAME) for _, name in axis.ticks],
    )
    label = f"{json.dumps(names, ensure_ascii=False)}[indexof({json.dumps(places)}, datum.value)]"
    shown = alt.Axis(
        grid=axis.grid, values=places, labelExpr=label, labelOverlap=False, labelFlush=False
    )
    return {"scale": alt.Scale(**scale), "axis": shown}


def matplotlib(figure: Figure, ax: Any = None, background: str | None = None) -> Axes:
    """Draw the figure on Matplotlib axes, new ones by default; without a background, colours follow
    the user's style.
    """
    pyplot = load("matplotlib.pyplot", "plot")
    own = ax is None
    if not own and not isinstance(ax, pyplot.Axes):
        raise InvalidOption(
            f"ax={shown(ax)} is no Matplotlib axes; give one, as ax=axes[0] of several in a row"
        )
    background = None if background is None else background_of(background)
    if background is not None and not own:
        where = " is for a new figure, and ax has one already; leave one of the two out"
        raise InvalidOption(option(background=background), where)
    plain, figure = figure, figure.written(_without_formulas)
    if own:
        _, ax = pyplot.subplots(
            figsize=(WIDTH / 100, 1.7 + figure.height / 100), layout="constrained"
        )
    ink = pyplot.rcParams["text.color"] if background is None else ink_on(background)
    ax.grid(True, alpha=FAINT)
    ax.set_axisbelow(True)
    for mark in figure.marks:
        _matplotlib_mark(ax, figure, mark, ink, background or ax.get_facecolor())
    ax.set_xlabel(figure.x.title)
    for side, axis in (("x", plain.x), ("y", plain.y)):
        if axis.log:
            ax.set(**{f"{side}scale": "log"})
        if axis.ticks is not None:
            ax.set(**{f"{side}ticks": [place for place, _ in axis.ticks]})
            ax.set(**{f"{side}ticklabels": [_fit(name, NAME) for _, name in axis.ticks]})
            ax.minorticks_off()
        elif axis.whole:
            getattr(ax, f"{side}axis").get_major_locator().set_params(integer=True)
        if axis.limits is not None:
            ax.set(**{f"{side}lim": axis.limits})
        ax.grid(axis.grid, axis=side)
    ax.spines[["top", "right"]].set_visible(False)
    width, height = _room(figure, ax, own, pyplot.rcParams["font.size"])
    under = _fit(plain.below, width / 0.53)
    pad = 9 + 13 * (1 + under.count("\n"))
    ax.set_title(_fit(plain.title, width / 0.78), loc="left", weight="bold", pad=pad)
    ax.annotate(
        under, (0, 1), (0, 5), "axes fraction", "offset points", va="bottom", in_layout=False
    )
    ax.set_ylabel(_fit(plain.y.title, height / 0.6))
    if figure.legend and len(figure.series) > 1:
        handles = {handle.get_label(): handle for handle in ax.get_legend_handles_labels()[0]}
        named = {
            name: _fit(text, 2 * NAME)
            for name, text in zip(figure.series, plain.series, strict=True)
        }
        columns = _legend_columns(figure, 0.6, width, 4.8)
        series, below = [name for name in figure.series if name in handles], {}
        if own:
            below = {
                "loc": "upper left",
                "ncols": columns,
                "bbox_to_anchor": (0, 0),
                "bbox_transform": _below(ax),
            }
            ax.figure.set_figheight(
                ax.figure.get_figheight() + 0.2 * ((len(series) - 1) // columns)
            )
        ax.legend(
            [handles[name] for name in series],
            [named[name] for name in series],
            frameon=False,
            **below,
        )
    if background is not None:
        _recolour(ax, ink, background)
    drawn: Axes = ax
    return drawn


def _below(ax: Axes) -> Transform:
    """The point half an inch below the axes; a share of their height would move with the layout."""
    from matplotlib.transforms import ScaledTranslation

    return ax.transAxes + ScaledTranslation(0, -0.5, ax.figure.dpi_scale_trans)


def _room(figure: Figure, ax: Axes, own: bool, size: float) -> tuple[float, float]:
    """The width for text above the axes and the height for text beside them, in multiples of a
    font's size in points.
    """
    if not own:
        box, unit = ax.get_window_extent(), ax.figure.dpi / 72 * size
        return float(box.width) / unit, float(box.height) / unit
    labels = max((min(len(name), NAME) for _, name in figure.y.ticks or ()), default=4)
    height = 0.72 * figure.height / size
    left = 1.2 * len(_wrapped(figure.y.title, height / 0.6)) + 0.6 * labels
    return 0.72 * WIDTH / size - left - 1.8, height


def _fit(text: str, width: float) -> str:
    """Wrap the text to `width` letters and escape it for Matplotlib line by line: an escape must
    not be cut in two.
    """
    return "\n".join(map(_without_formulas, _wrapped(visible(text), width)))


def _recolour(ax: Axes, ink: str, background: ColorType) -> None:
    """Set the background, and text and lines in a colour that contrasts with it."""
    from matplotlib.text import Text

    for patch in (ax.figure.patch, ax.patch):
        patch.set_facecolor(background)
    ax.tick_params(which="both", color=ink, labelcolor=ink, grid_color=ink)
    ax.spines[:].set_color(ink)
    for text in ax.findobj(Text):
        text.set_color(ink)


def _matplotlib_mark(ax: Axes, figure: Figure, mark: Mark, ink: str, background: ColorType) -> None:
    if mark.kind in ("rule", "divider"):
        style = {"ls": (0, (4, 3)), "alpha": 0.7} if mark.kind == "rule" else {"alpha": FAINT}
        for place in mark.rows.to_series():
            (ax.axvline if mark.rows.columns == ["x"] else ax.axhline)(
                place, color=ink, lw=1, **style
            )
        return
    rows = (
        mark.rows
        if "series" in mark.rows.columns
        else mark.rows.with_columns(series=pl.lit(None, pl.String))
    )
    for (name,), part in rows.group_by("series", maintain_order=True):
        label = None if name is None else str(name)
        look: dict[str, Any] = {
            "color": ink if label is None else colour(figure, label),
            "label": label,
        }
        ends: list[Any] = [part[end].to_numpy() if end in part.columns else None for end in ENDS]
        x, y, x2, y2, size = ends
        if mark.kind == "line":
            spaces, dot = dashes(figure, str(label)), "o" if _few(mark) else ""
            ax.plot(x, y, lw=2, ls=(0, spaces) if spaces else "-", marker=dot, ms=4, **look)
        elif mark.kind == "band":
            ax.fill_between(x, y, y2, color=look["color"], alpha=FAINT, lw=0)
        elif mark.kind == "bar":
            bars = ax.bar(x, y2 - y, x2 - x, y, align="edge", lw=0, **look)
            for bar, strength, text in (
                zip(bars, size, part["label"], strict=True) if size is not None else ()
            ):
                bar.set_alpha(STRENGTH[0] + (STRENGTH[1] - STRENGTH[0]) * strength)
                ax.annotate(text, bar.get_center(), ha="center", va="center")
        elif mark.kind == "interval":
            lines, *ends = (ax.vlines, x, y, y2) if x2 is None else (ax.hlines, y, x, x2)
            lines(*ends, color=look["color"], lw=2)
        elif size is not None:
            ax.scatter(
                x, y, s=size / _largest(mark) * 160, color=look["color"], alpha=_opacity(mark), lw=0
            )
        else:
            ax.scatter(x, y, s=45, edgecolors=background, lw=1, zorder=3, clip_on=False, **look)


def _few(mark: Mark) -> bool:
    """Whether a line has so few points that each gets a dot."""
    return len(mark.rows) <= 40 * mark.rows["series"].n_unique()


def _opacity(mark: Mark) -> float:
    """The opacity of dots: high if they are few, low if they are many."""
    return 0.85 if len(mark.rows) <= 100 else 0.5


def _largest(mark: Mark) -> float:
    """The largest `size` of a dot; at least 4, so that dots of few queries stay small."""
    return max(float(mark.rows["size"].max() or 0), 4.0)  # type: ignore[arg-type]


def _wrapped(text: str, width: float) -> list[str]:
    return textwrap.wrap(text, max(int(width), 20))


def _lines(text: str, width: float) -> str | list[str] | None:
    """A title as Altair takes it: one text, a list of lines, or None."""
    lines = _wrapped(text, width)
    return lines if len(lines) > 1 else (text or None)


def _legend_columns(figure: Figure, letter: float, width: float, mark: float) -> int:
    """The number of legend columns that fit into a width, for the width of a letter and of a mark
    with its gaps.
    """
    longest = max(map(len, figure.series), default=0)
    return max(1, min(LEGEND, len(figure.series), int(width / (longest * letter + mark))))


def _without_markup(text: str) -> str:
    """Text that cannot open a tag in Altair's pages, which escape nothing: an invisible U+2060
    follows such a ``<``.
    """
    return re.sub(r"<(?=[A-Za-z/!?])", "<\N{WORD JOINER}", visible(text))


def _without_formulas(text: str) -> str:
    """Text escaped for Matplotlib, where a dollar would begin a formula."""
    return visible(text).replace("$", r"\$")


def background_of(colour: str) -> str:
    """The colour as ``#rrggbb``."""
    digits = NAMED.get(colour.lower(), colour)
    if re.fullmatch("#[0-9a-fA-F]{6}", digits):
        return digits.lower()
    says = " is no colour that is known here; write white, black or six hexadecimal digits, as "
    raise InvalidOption(option(background=colour), says, option(background="#1e1e1e"))


def ink_on(background: str) -> str:
    """The colour of text: black or white, whichever contrasts more. At least 4.58 : 1, whatever the
    background.
    """
    return max(INKS, key=lambda ink: contrast(ink, background))


def contrast(a: str, b: str) -> float:
    """WCAG's contrast ratio of two colours, from 1 to 21; small text needs 4.5."""
    darker, lighter = sorted((_luminance(a), _luminance(b)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    """The relative luminance of sRGB, from 0 to 1."""
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue

"""Draws figures with Altair or with Matplotlib: the same marks, colours and words."""

from __future__ import annotations

import json
import re
import textwrap
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

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
BRACKET = re.compile(r"\([^()]{1,14}\)")
NO_BREAK = "\N{NO-BREAK SPACE}"
ENDS = ("x", "y", "x2", "y2", "size")
DRAWN = {*ENDS, "label", "series"}
"""The columns that are drawn; the others are shown in tooltips."""


def colour(figure: Figure, name: str) -> str:
    """A series' colour."""
    place = _place(figure, name)
    return PALETTE[place % len(PALETTE)]


def dashes(figure: Figure, name: str) -> tuple[int, ...]:
    """A series' dashes, which distinguish series of the same colour."""
    round_ = _place(figure, name) // len(PALETTE)
    return DASHES[round_ % len(DASHES)]


def _place(figure: Figure, name: str) -> int:
    """A run's place among all runs, so that it looks alike in each picture of them."""
    return (figure.among or figure.series).index(name)


def altair(figure: Figure, background: str | None = None) -> LayerChart:
    """The figure as an Altair chart on a background.

    Without one it is transparent, with text in `GREY`, for a page that embeds the SVG and colours
    its text. Do not write it as PNG: vl-convert darkens translucent colours.
    """
    alt = load("altair", "plot")
    ink = GREY
    ground = "transparent"
    if background is not None:
        ground = background_of(background)
        ink = ink_on(ground)
    figure = figure.written(_without_markup)
    edge = "white" if background is None else ground
    layers = [_altair_mark(alt, figure, mark, ink, edge) for mark in figure.marks]
    above = _lines(figure.title, WIDTH / (0.57 * TITLE)) or ""
    below = _wrapped(figure.below, WIDTH / (0.5 * TEXT))
    title = alt.TitleParams(above, subtitle=below)
    texts = filter(None, (figure.title, figure.below))
    description = ". ".join(texts)
    chart = alt.layer(*layers).properties(title=title, description=description)
    fit = alt.AutoSizeParams(type="fit-x", contains="padding")
    chart = chart.properties(width=WIDTH, height=figure.height, autosize=fit)
    chart = chart.properties(background=ground)
    columns = _legend_columns(figure, 0.55 * TEXT, WIDTH, 50)
    return _styled(chart, ink, columns)


def _styled(chart: LayerChart, ink: str, columns: int) -> LayerChart:
    """The chart with text and lines in a colour, and a legend of so many columns."""
    chart = chart.configure(font=FONT).configure_view(stroke=None)
    # a screen reader reads the description, not hundreds of marks
    chart = chart.configure_mark(aria=False)
    words: dict[str, Any] = {"labelColor": ink, "titleColor": ink, "titleFontWeight": 500}
    words |= {"labelFontSize": TEXT, "titleFontSize": TEXT}
    lines: dict[str, Any] = {"domainColor": ink, "tickColor": ink}
    lines |= {"gridColor": ink, "gridOpacity": FAINT / 2}
    chart = chart.configure_axis(**words, **lines, labelLimit=0.4 * WIDTH, titlePadding=10)
    room = WIDTH / columns - 40
    chart = chart.configure_legend(**words, orient="bottom", columns=columns, labelLimit=room)
    above: dict[str, Any] = {"color": ink, "fontSize": TITLE}
    below: dict[str, Any] = {"subtitleColor": ink, "subtitleFontSize": TEXT, "subtitlePadding": 4}
    titled: LayerChart = chart.configure_title(
        **above, **below, anchor="start", frame="bounds", offset=12
    )
    return titled


def _altair_mark(alt: ModuleType, figure: Figure, mark: Mark, ink: str, background: str) -> Any:
    rows = mark.rows
    chart = alt.Chart(mark.rows)
    if mark.kind == "bar" and "size" in rows.columns:
        return _altair_cells(alt, figure, rows, ink)
    encoding = _altair_ends(alt, figure, rows)
    if mark.kind == "rule":
        return chart.mark_rule(color=ink, strokeDash=[4, 3], opacity=0.7).encode(**encoding)
    if mark.kind == "divider":
        return chart.mark_rule(color=ink, opacity=FAINT).encode(**encoding)
    encoding |= _altair_look(alt, figure, rows, ink)
    if mark.kind == "line":
        strokes = [list(dashes(figure, name)) for name in figure.series]
        scale = alt.Scale(domain=list(figure.series), range=strokes)
        legend = _altair_legend(alt, figure)
        encoding["strokeDash"] = alt.StrokeDash("series:N", scale=scale, legend=legend)
        chart = chart.mark_line(strokeWidth=2, point={"size": 24} if _few(mark) else False)
    elif mark.kind == "band":
        chart = chart.mark_area(opacity=FAINT)
    elif mark.kind == "bar":
        # a stroke of the bar's own colour leaves no seams between neighbours
        scale = _altair_colours(alt, figure)
        encoding["stroke"] = alt.Stroke("series:N", scale=scale, legend=None)
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


def _altair_cells(alt: ModuleType, figure: Figure, rows: pl.DataFrame, ink: str) -> Any:
    """Bars whose opacity grows with their size, each with its label in the middle."""
    ends = _altair_ends(alt, figure, rows)
    scale = alt.Scale(domain=[0, 1], range=list(STRENGTH))
    opacity = alt.Opacity("size:Q", scale=scale, legend=None)
    look = _altair_look(alt, figure, rows, ink)
    cells = alt.Chart(rows).mark_rect().encode(**ends, **look, opacity=opacity)
    middle_x = pl.mean_horizontal("x", "x2")
    middle_y = pl.mean_horizontal("y", "y2")
    middles = rows.with_columns(x=middle_x, y=middle_y)
    texts = alt.Chart(middles).mark_text(color=ink, fontSize=TEXT)
    return cells + texts.encode(x=ends["x"], y=ends["y"], text="label:N")


def _altair_ends(alt: ModuleType, figure: Figure, rows: pl.DataFrame) -> dict[str, Any]:
    """The encoding of the places of marks."""
    letters = figure.height / (0.55 * TEXT)
    title = _lines(figure.y.title, letters)
    x = alt.X("x:Q", title=figure.x.title, **_altair_axis(alt, figure.x))
    y = alt.Y("y:Q", title=title, **_altair_axis(alt, figure.y))
    ends = {"x": x, "y": y, "x2": "x2", "y2": "y2"}
    return {end: place for end, place in ends.items() if end in rows.columns}


def _altair_look(alt: ModuleType, figure: Figure, rows: pl.DataFrame, ink: str) -> dict[str, Any]:
    """The encoding of the colours of marks, and their tooltips: the columns that are not drawn."""
    colours = alt.value(ink)
    if "series" in rows.columns:
        scale = _altair_colours(alt, figure)
        colours = alt.Color("series:N", scale=scale, legend=_altair_legend(alt, figure))
    tooltips = []
    for name, dtype in rows.schema.items():
        if name not in DRAWN:
            digits = ".4f" if dtype.is_float() else ""
            tooltips.append(alt.Tooltip(name, format=digits))
    return {"color": colours, "tooltip": tooltips}


def _altair_colours(alt: ModuleType, figure: Figure) -> Any:
    """The scale of the colours of series."""
    colours = [colour(figure, name) for name in figure.series]
    return alt.Scale(domain=list(figure.series), range=colours)


def _altair_legend(alt: ModuleType, figure: Figure) -> Any:
    """The legend of series that differ in colour; a dot in it would hide the dashes of lines."""
    if not figure.legend or len(figure.series) < 2:
        return None
    has_lines = any(mark.kind == "line" for mark in figure.marks)
    symbol = {"symbolType": "stroke", "symbolSize": 400} if has_lines else {}
    return alt.Legend(title=None, symbolOpacity=1, **symbol)


def _altair_axis(alt: ModuleType, axis: Axis) -> dict[str, object]:
    of_scale: dict[str, object] = {"type": "log"} if axis.log else {"zero": False}
    if axis.limits is not None:
        of_scale.update(domain=list(axis.limits), nice=False)
    scale = alt.Scale(**of_scale)
    if axis.ticks is None:
        whole = {"tickMinStep": 1, "format": ",d"} if axis.whole else {}
        # labels at the ends stand under their ticks, not inwards of them
        look = {"tickCount": 5, "labelFlush": False, **whole}
        return {"scale": scale, "axis": alt.Axis(grid=axis.grid, **look)}
    places = [place for place, _ in axis.ticks]
    names = [_lines(name, NAME) for _, name in axis.ticks]
    place = f"indexof({json.dumps(places)}, datum.value)"
    label = f"{json.dumps(names, ensure_ascii=False)}[{place}]"
    all_labels = {"labelOverlap": False, "labelFlush": False}
    ticks = alt.Axis(grid=axis.grid, values=places, labelExpr=label, **all_labels)
    return {"scale": scale, "axis": ticks}


def matplotlib(figure: Figure, ax: Any = None, background: str | None = None) -> Axes:
    """Draw the figure on Matplotlib axes, new ones by default.

    Without a background, colours follow the user's style; of a style without a ground, text is
    in `GREY`, legible on light and on dark pages.
    """
    pyplot = load("matplotlib.pyplot", "plot")
    refuse_other_axes(pyplot, ax)
    ground = None if background is None else background_of(background)
    if background is not None and ax is not None:
        where = " is for a new figure, and ax has one already; leave one of the two out"
        raise InvalidOption(option(background=ground), where)
    is_new = ax is None
    if is_new:
        size = (WIDTH / 100, 1.7 + figure.height / 100)
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    # without a ground, the picture stands on a page that may be dark
    is_clear = ground is None and is_new and ax.figure.get_facecolor()[3] == 0
    ink = pyplot.rcParams["text.color"] if ground is None else ink_on(ground)
    if is_clear:
        ink = GREY
    ax.grid(True, alpha=FAINT)
    ax.set_axisbelow(True)
    escaped = figure.written(_without_formulas)
    for mark in escaped.marks:
        _matplotlib_mark(ax, escaped, mark, ink, ground or ax.get_facecolor())
    ax.set_xlabel(escaped.x.title)
    _set_axis(ax, "x", figure.x)
    _set_axis(ax, "y", figure.y)
    ax.spines[["top", "right"]].set_visible(False)
    width, height = _room(escaped, ax, is_new, pyplot.rcParams["font.size"])
    _set_title(ax, figure, width)
    ax.set_ylabel(_fit(figure.y.title, height / 0.6))
    if figure.legend and len(figure.series) > 1:
        columns = _legend_columns(escaped, 0.6, width, 4.8) if is_new else None
        _set_legend(ax, figure, escaped, columns)
    if ground is not None:
        for patch in (ax.figure.patch, ax.patch):
            patch.set_facecolor(ground)
    if ground is not None or is_clear:
        _recolour(ax, ink)
    axes: Axes = ax
    return axes


def refuse_other_axes(pyplot: ModuleType, ax: object) -> None:
    """Refuse what is no axes of Matplotlib."""
    if ax is not None and not isinstance(ax, pyplot.Axes):
        raise InvalidOption(
            f"ax={shown(ax)} is no Matplotlib axes; give one, as ax=axes[0] of several in a row"
        )


def _set_axis(ax: Axes, side: Literal["x", "y"], axis: Axis) -> None:
    """Set the scale, the ticks, the limits and the grid of an axis."""
    if axis.log:
        ax.set(**{f"{side}scale": "log"})
    if axis.ticks is not None:
        places = [place for place, _ in axis.ticks]
        names = [_fit(name, NAME) for _, name in axis.ticks]
        ax.set(**{f"{side}ticks": places})
        ax.set(**{f"{side}ticklabels": names})
        ax.minorticks_off()
    elif axis.whole:
        getattr(ax, f"{side}axis").get_major_locator().set_params(integer=True)
    if axis.limits is not None:
        ax.set(**{f"{side}lim": axis.limits})
    ax.grid(axis.grid, axis=side)


def _set_title(ax: Any, figure: Figure, width: float) -> None:
    """Set the title, and the texts below it, in lines of this width."""
    under = _fit(figure.below, width / 0.53)
    pad = 9 + 13 * (1 + under.count("\n"))
    ax.set_title(_fit(figure.title, width / 0.78), loc="left", weight="bold", pad=pad)
    place = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "bottom"}
    ax.annotate(under, (0, 1), (0, 5), **place, in_layout=False)


def _set_legend(ax: Any, figure: Figure, escaped: Figure, columns: int | None) -> None:
    """Set the legend, below the axes if it has a number of columns."""
    artists, labels = ax.get_legend_handles_labels()
    handles = dict(zip(labels, artists, strict=True))
    handles_there = []
    texts = []
    for name, text in zip(escaped.series, figure.series, strict=True):
        if name in handles:
            handles_there.append(handles[name])
            texts.append(_fit(text, 2 * NAME))
    place: dict[str, Any] = {}
    if columns is not None:
        place = {"loc": "upper left", "ncols": columns, "bbox_to_anchor": (0, 0)}
        place["bbox_transform"] = _below(ax)
        further_lines = (len(texts) - 1) // columns
        height = ax.figure.get_figheight()
        ax.figure.set_figheight(height + 0.2 * further_lines)
    ax.legend(handles_there, texts, frameon=False, **place)


def _below(ax: Axes) -> Transform:
    """The point half an inch below the axes; a share of their height would move with the layout."""
    from matplotlib.transforms import ScaledTranslation

    return ax.transAxes + ScaledTranslation(0, -0.5, ax.figure.dpi_scale_trans)


def _room(figure: Figure, ax: Axes, is_new: bool, size: float) -> tuple[float, float]:
    """The width for text above the axes and the height for text beside them, in letters.

    A letter is as wide and as high as a font's size in points.
    """
    if not is_new:
        box = ax.get_window_extent()
        unit = ax.figure.dpi / 72 * size
        return float(box.width) / unit, float(box.height) / unit
    width = 0.72 * WIDTH / size
    height = 0.72 * figure.height / size
    lines = _wrapped(figure.y.title, height / 0.6)
    letters = [min(len(name), NAME) for _, name in figure.y.ticks or ()]
    left = 1.2 * len(lines) + 0.6 * max(letters, default=4)
    return width - left - 1.8, height


def _fit(text: str, width: float) -> str:
    """Wrap the text to `width` letters and escape it for Matplotlib line by line.

    An escape must not be cut in two.
    """
    lines = _wrapped(visible(text), width)
    return "\n".join(map(_without_formulas, lines))


def _recolour(ax: Axes, ink: str) -> None:
    """Set text and lines in a colour that contrasts with the background."""
    from matplotlib.text import Text

    ax.tick_params(which="both", color=ink, labelcolor=ink, grid_color=ink)
    ax.spines[:].set_color(ink)
    for text in ax.findobj(Text):
        text.set_color(ink)


def _matplotlib_mark(ax: Axes, figure: Figure, mark: Mark, ink: str, background: ColorType) -> None:
    rows = mark.rows
    if mark.kind in ("rule", "divider"):
        draw_line = ax.axvline if rows.columns == ["x"] else ax.axhline
        dashed = {"ls": (0, (4, 3)), "alpha": 0.7}
        style = dashed if mark.kind == "rule" else {"alpha": FAINT}
        for place in rows.to_series():
            draw_line(place, color=ink, lw=1, **style)
        return
    if "series" not in rows.columns:
        no_name = pl.lit(None, pl.String)
        rows = rows.with_columns(series=no_name)
    for (name,), part in rows.group_by("series", maintain_order=True):
        label = None if name is None else str(name)
        paint = ink if label is None else colour(figure, label)
        look = {"color": paint, "label": label}
        _matplotlib_series(ax, figure, mark, part, look, background)


def _matplotlib_series(
    ax: Any,
    figure: Figure,
    mark: Mark,
    part: pl.DataFrame,
    look: dict[str, Any],
    background: ColorType,
) -> None:
    """Draw the marks of one series."""
    paint = look["color"]
    ends: dict[str, Any] = dict.fromkeys(ENDS)
    ends |= {end: part[end].to_numpy() for end in ENDS if end in part.columns}
    x, y, x2, y2, size = ends.values()
    if mark.kind == "line":
        spaces = dashes(figure, str(look["label"]))
        style = (0, spaces) if spaces else "-"
        dot = "o" if _few(mark) else ""
        ax.plot(x, y, lw=2, ls=style, marker=dot, ms=4, **look)
    elif mark.kind == "band":
        ax.fill_between(x, y, y2, color=paint, alpha=FAINT, lw=0)
    elif mark.kind == "bar":
        bars = ax.bar(x, y2 - y, x2 - x, y, align="edge", lw=0, **look)
        if size is not None:
            weakest, strongest = STRENGTH
            for bar, strength, text in zip(bars, size, part["label"], strict=True):
                opacity = weakest + (strongest - weakest) * strength
                bar.set_alpha(opacity)
                ax.annotate(text, bar.get_center(), ha="center", va="center")
    elif mark.kind == "interval" and x2 is None:
        ax.vlines(x, y, y2, color=paint, lw=2)
    elif mark.kind == "interval":
        ax.hlines(y, x, x2, color=paint, lw=2)
    elif size is not None:
        area = size / _largest(mark) * 160
        ax.scatter(x, y, s=area, color=paint, alpha=_opacity(mark), lw=0)
    else:
        ax.scatter(x, y, s=45, edgecolors=background, lw=1, zorder=3, clip_on=False, **look)


def _few(mark: Mark) -> bool:
    """Whether a line has so few points that each gets a dot."""
    n_series = mark.rows["series"].n_unique()
    return len(mark.rows) <= 40 * n_series


def _opacity(mark: Mark) -> float:
    """The opacity of dots: high if they are few, low if they are many."""
    return 0.85 if len(mark.rows) <= 100 else 0.5


def _largest(mark: Mark) -> float:
    """The largest `size` of a dot; at least 4, so that dots of few queries stay small."""
    largest: Any = mark.rows["size"].max()
    return max(float(largest or 0), 4.0)


def _wrapped(text: str, width: float) -> list[str]:
    """The lines of a text; none ends within a short bracket, such as the range of labels."""
    letters = max(int(width), 20)
    whole = BRACKET.sub(lambda bracket: bracket[0].replace(" ", NO_BREAK), text)
    lines = textwrap.wrap(whole, letters)
    return [line.replace(NO_BREAK, " ") for line in lines]


def _lines(text: str, width: float) -> str | list[str] | None:
    """A title as Altair takes it: one text, a list of lines, or None."""
    lines = _wrapped(text, width)
    return lines if len(lines) > 1 else (text or None)


def _legend_columns(figure: Figure, letter: float, width: float, mark: float) -> int:
    """The number of legend columns that fit into a width.

    `letter` is the width of a letter, `mark` that of a mark with its gaps.
    """
    longest = max(map(len, figure.series), default=0)
    fitting = int(width / (longest * letter + mark))
    return max(1, min(LEGEND, len(figure.series), fitting))


def _without_markup(text: str) -> str:
    """Text that cannot open a tag in Altair's pages, which escape nothing.

    An invisible U+2060 follows each ``<`` that would.
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
    """The colour of text.

    It is black or white, whichever contrasts more: at least 4.58 : 1, whatever the background.
    """
    return max(INKS, key=lambda ink: contrast(ink, background))


def contrast(a: str, b: str) -> float:
    """WCAG's contrast ratio of two colours, from 1 to 21; small text needs 4.5."""
    luminances = (_luminance(a), _luminance(b))
    darker, lighter = sorted(luminances)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    """The relative luminance of sRGB, from 0 to 1."""
    linear = []
    for place in (1, 3, 5):
        part = int(colour[place : place + 2], 16) / 255
        linear.append(part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4)
    red, green, blue = linear
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue

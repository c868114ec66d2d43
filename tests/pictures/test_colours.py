"""Colours and text of pictures: what a decoded PNG has, contrast by WCAG, and text that a phone shows."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
import vl_convert

import rankframe as rf
from rankframe._command import main
from rankframe._pictures import draw, plots
from rankframe._pictures.draw import PALETTE, contrast, ink_on
from rankframe._table.setup import Setup
from rankframe._table.table import in_memory

mpl.use("Agg")
from matplotlib import pyplot
from matplotlib.text import Text

from tests.support.each import each

DF = rf.load_example().filter(pl.col("query_id").is_in(rf.load_example()["query_id"].unique().sort()[:24]))
FEW = DF.filter(pl.col("query_id").is_in(DF["query_id"].unique().sort()[:8]))
RUNS = ["score", "score_pca", "score_forest"]
SMALL, PHONE = 10, 350
"""The least height of text, and the width at which a phone of 400 pixels shows a picture in a page, in pixels."""

DRAWINGS: dict[str, Any] = {
    "curve": lambda plot, **options: plot.curve("ndcg", runs=RUNS, **options),
    "precision_recall": lambda plot, **options: plot.precision_recall(runs=RUNS, **options),
    "differences": lambda plot, **options: plot.differences("ndcg@10", runs=RUNS[:2], **options),
    "differences of several": lambda plot, **options: plot.differences("ndcg@10", runs=RUNS, **options),
    "distribution": lambda plot, **options: plot.distribution("map", runs=RUNS, **options),
    "slices": lambda plot, **options: plot.slices("map", by="digit", runs=RUNS, **options),
    "slices of one run": lambda plot, **options: plot.slices("map", by="digit", **options),
    "over": lambda plot, **options: plot.over("map", by="digit", runs=RUNS, **options),
    "judged": lambda plot, **options: plot.judged("ndcg@10", **options),
    "exposure": lambda plot, **options: plot.exposure(k=10, items=9999, runs=RUNS, **options),
    "long_tail": lambda plot, **options: plot.long_tail(k=10, interactions=DF, runs=RUNS, **options),
    "catalog": lambda plot, **options: plot.catalog("coverage", items=9999, cutoffs=[1, 5, 10], runs=RUNS, **options),
    "trade_off": lambda plot, **options: plot.trade_off("ndcg@10", "map", runs=RUNS, **options),
}
GROUNDS = ["#ffffff", "#000000", "#121417", "#767676", "#d55e00"]
STYLES = ["default", "dark_background"]


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    pyplot.close("all")


def pixels(png: bytes) -> np.ndarray:
    """Red, green, blue and opacity of a decoded PNG, from 0 to 255."""
    decoded = np.rint(pyplot.imread(io.BytesIO(png), format="png") * 255).astype(int)
    return decoded.reshape(-1, decoded.shape[-1])


def blend(colour: str, background: str, opacity: float) -> np.ndarray:
    """A colour over a background, by the usual sum of both."""
    above, below = (np.array([int(hexed[i : i + 2], 16) for i in (1, 3, 5)]) for hexed in (colour, background))
    return opacity * above + (1 - opacity) * below


def share(found: np.ndarray, colour: np.ndarray) -> float:
    """The share of pixels of that colour, of which rounding may change each part by 1."""
    return float((np.abs(found[:, :3] - colour) <= 1).all(axis=1).mean())


def saved(chart: Any) -> bytes:
    """The PNG that a user saves of an Altair chart or of Matplotlib's axes."""
    file = io.BytesIO()
    chart.save(file, format="png") if hasattr(chart, "to_dict") else chart.figure.savefig(file, format="png")
    return file.getvalue()


@each("library", ["altair", "matplotlib"], sample=3)
@each("background", [None, "#121417", "white"])
def test_a_band_in_a_png_is_its_colour_over_the_background(library: str, background: str | None) -> None:
    plot = (FEW if library == "altair" else FEW.to_pandas()).rank.plot
    found = pixels(saved(plot.curve("ndcg", runs=["score_pca", "score"], background=background)))
    ground = "#121417" if background == "#121417" else "#ffffff"
    assert (found[:, 3] == 255).all()
    assert (found[0, :3] == blend("#000000", ground, 0)).all()
    assert share(found, blend("#000000", ground, 0)) > 0.3
    for colour in PALETTE[:2]:
        assert share(found, blend(colour, ground, 0.25)) > 0.01


def test_the_picture_of_a_curve_that_the_command_line_writes_has_those_colours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    FEW.select("query_id", "doc_id", "score", "score_pca", "label").write_csv("t.csv")
    for options, ground in (([], "#ffffff"), (["--background", "#121417"], "#121417")):
        assert main(["curve", "t.csv", "--runs", "score_pca,score", "-m", "ndcg", "-o", "x.png", *options]) == 0
        found = pixels(Path("x.png").read_bytes())
        assert (found[:, 3] == 255).all()
        assert share(found, blend("#000000", ground, 0)) > 0.3
        for colour in PALETTE[:2]:
            assert share(found, blend(colour, ground, 0.25)) > 0.01


def test_a_page_of_a_curve_is_as_wide_as_a_phone_and_has_the_background(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with_scripts = vl_convert.vegalite_to_html  # which test_pages.py has, too
    monkeypatch.setattr(vl_convert, "vegalite_to_html", lambda chart, bundle: with_scripts(chart, bundle=not bundle))
    FEW.select("query_id", "doc_id", "score", "label").write_csv("t.csv")
    assert main(["curve", "t.csv", "-o", "x.html", "--background", "black", "--title", "Of my own"]) == 0
    page = Path("x.html").read_text(encoding="utf-8")
    assert "Of my own" in page
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in page
    assert "body { background: #000000; }" in page
    assert "svg { max-width: 100%; height: auto; }" in page
    assert main(["curve", "t.csv", "--background", "black"]) == 2
    assert "--background is that of a picture. Name its file too: -o curve.png" in capsys.readouterr().err
    assert main(["curve", "t.csv", "--title", "Mine"]) == 2
    assert "--title is that of a picture. Name its file too: -o curve.png" in capsys.readouterr().err
    assert main(["curve", "t.csv", "-o", "x.png", "--background", "rouge"]) == 2
    assert "hexadecimal digits, as --background '#1e1e1e'" in capsys.readouterr().err


def test_contrast_is_that_of_wcag() -> None:
    # the ratios that the Web Accessibility Initiative and contrast checkers give
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#ffffff", "#767676") == pytest.approx(4.54, abs=0.005)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)
    assert contrast("#ff0000", "#ffffff") == pytest.approx(4.00, abs=0.005)
    assert contrast("#0000ff", "#ffffff") == pytest.approx(8.59, abs=0.005)


def test_text_reads_on_every_background() -> None:
    for parts in itertools.product(range(0, 256, 15), repeat=3):
        background = "#{:02x}{:02x}{:02x}".format(*parts)
        assert contrast(ink_on(background), background) >= 4.5, background


def svg_of(chart: Any) -> ElementTree.Element:
    return ElementTree.fromstring(vl_convert.vegalite_to_svg(chart.to_dict()))


def texts(svg: ElementTree.Element) -> list[ElementTree.Element]:
    return [text for text in svg.iter("{http://www.w3.org/2000/svg}text") if "".join(text.itertext()).strip()]


@each("name", DRAWINGS, sample=len(DRAWINGS) // 2)
@each("background", GROUNDS)
def test_text_of_an_altair_chart_contrasts_with_its_background_and_is_10_pixels_high_on_a_phone(
    name: str, background: str
) -> None:
    chart = DRAWINGS[name](DF.rank.plot, background=background).to_dict()
    svg = ElementTree.fromstring(vl_convert.vegalite_to_svg(chart))
    rect = next(svg.iter("{http://www.w3.org/2000/svg}rect"))
    assert rect.attrib["fill"] == chart["background"] == background
    found = texts(svg)
    assert len(found) > 5
    for text in found:
        assert contrast(text.attrib["fill"], background) >= 4.5
        assert float(text.attrib.get("opacity", 1)) == 1
        assert float(text.attrib["font-size"].removesuffix("px")) * PHONE / float(svg.attrib["width"]) >= SMALL


@each("name", DRAWINGS, sample=len(DRAWINGS) // 2)
@each("look", [*({"background": ground} for ground in GROUNDS), *({"style": style} for style in STYLES)])
def test_text_of_a_matplotlib_figure_contrasts_with_its_ground_and_is_10_pixels_high_on_a_phone(
    name: str, look: dict[str, str]
) -> None:
    pyplot.close("all")  # of the case before
    background = look.get("background")
    with pyplot.style.context(look.get("style", "default")):
        ax = DRAWINGS[name](DF.to_pandas().rank.plot, background=background)
        saved(ax)
    ground = mpl.colors.to_hex(ax.figure.get_facecolor())
    assert background is None or ground == mpl.colors.to_hex(ax.get_facecolor()) == background
    for text in written(ax):
        assert contrast(mpl.colors.to_hex(text.get_color()), ground) >= 4.5, text.get_text()
        assert background is None or text.get_alpha() is None
        assert text.get_fontsize() * PHONE / (ax.figure.get_figwidth() * 72) >= SMALL, text.get_text()


@each("name", ["differences", "differences of several", "distribution", "slices"], sample=2)
def test_the_text_of_each_tick_stands_in_its_middle_also_at_the_ends(name: str) -> None:
    axis = next(
        g
        for g in svg_of(DRAWINGS[name](DF.rank.plot)).iter()
        if g.get("class", "").startswith("mark-text role-axis-label")
    )
    assert len(axis) > 3
    assert {text.attrib["text-anchor"] for text in axis} == {"middle"}


def test_no_line_of_a_title_ends_within_the_range_of_labels() -> None:
    assert draw._wrapped("relevance of people (0 to 3)", 24) == ["relevance of people", "(0 to 3)"]


@each("name", ["curve", "differences", "slices", "distribution"], sample=4)
def test_text_of_a_matplotlib_figure_without_a_ground_is_legible_on_light_and_on_dark_pages(name: str) -> None:
    pyplot.close("all")  # of the case before
    clear = {"figure.facecolor": (1, 1, 1, 0), "axes.facecolor": "none"}
    with pyplot.style.context(clear):
        ax = DRAWINGS[name](DF.to_pandas().rank.plot)
        saved(ax)
    assert ax.figure.get_facecolor()[3] == 0
    for text in written(ax):
        for page in ("#ffffff", "#111111", "#1e1e1e"):  # of Jupyter, of its dark theme, of VS Code's
            # WCAG asks 3 : 1 of what is needed to read a graphic, and no one colour has 4.5 on all of these
            assert contrast(mpl.colors.to_hex(text.get_color()), page) >= 4, text.get_text()


def written(ax: Any) -> list[Text]:
    """The texts that a figure shows."""
    found = [text for text in ax.figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    assert len(found) > 5
    return found


@each("name", ["curve", "differences", "differences of several", "distribution", "slices", "judged"], sample=4)
@each("long", [True, False])
def test_text_stays_inside_a_matplotlib_figure(name: str, long: bool) -> None:
    pyplot.close("all")  # of the case before
    named = {run: f"a {run} of the third stage" for run in RUNS} if long else {}
    runs = [named.get(run, run) for run in RUNS]
    draw: dict[str, Any] = {
        "curve": lambda plot: plot.curve("ndcg", runs=runs),
        "differences": lambda plot: plot.differences("ndcg@10", runs=runs[:2]),
        "differences of several": lambda plot: plot.differences("ndcg@10", runs=runs),
        "distribution": lambda plot: plot.distribution("map", runs=runs),
        "slices": lambda plot: plot.slices("map", by="digit", runs=runs),
        "over": lambda plot, **options: plot.over("map", by="digit", runs=RUNS, **options),
        "judged": lambda plot: plot.judged("ndcg@10"),
    }
    df = DF.rename(named).with_columns(score=named.get("score", "score"))
    ax = draw[name](df.to_pandas().rank.plot)
    saved(ax)
    right, top = (size * ax.figure.dpi for size in ax.figure.get_size_inches())
    for text in [ax._left_title, *ax.texts, ax.xaxis.label, ax.yaxis.label, *legend(ax)]:
        box = text.get_window_extent()
        inside = box.x0 >= 0 and box.x1 <= right and box.y0 >= 0 and box.y1 <= top
        assert inside or not text.get_text(), text.get_text()


def legend(ax: Any) -> list[Text]:
    return [] if ax.get_legend() is None else ax.get_legend().get_texts()


def test_a_chart_with_long_names_is_no_wider() -> None:
    df = DF.with_columns(digit=pl.format("the slice of the digit {} as it is written by hand", "digit"))
    wide = [float(svg_of(df.rank.plot.slices("map", by="digit", runs=runs)).attrib["width"]) for runs in (RUNS, None)]
    assert wide == [480, 480]


@each("given", ["rouge", "#12", "#12345g", "", "transparent", 7])
def test_what_is_no_colour_is_refused_before_the_work(given: Any) -> None:
    for df in (DF, DF.to_pandas()):
        wanted = "write text" if given == 7 else "write white, black or six hexadecimal digits, as background='#1e1e1e'"
        with pytest.raises(rf.InvalidOption, match=wanted):
            df.rank.plot.judged("no metric", background=given)


def test_a_background_is_not_for_axes_that_are_given() -> None:
    _, ax = pyplot.subplots()
    for df in (DF, DF.to_pandas()):
        with pytest.raises(rf.InvalidOption, match="background='#000000' is for a new figure, and ax has one already"):
            df.rank.plot.judged("rr", background="black", ax=ax)
    assert mpl.colors.to_hex(ax.figure.get_facecolor()) == "#ffffff"


# rows of slices and histograms


def test_rules_stand_between_the_rows_of_slices_and_rows_further_apart_than_runs() -> None:
    found = plots.slices(in_memory(DF, Setup()), "map", runs=RUNS, by="digit")
    by_kind = {mark.kind: mark.rows for mark in found.marks}
    slices = len(found.y.ticks or ())
    assert by_kind["divider"]["y"].to_list() == [i + 0.5 for i in range(slices - 1)]
    assert not found.y.grid
    height = by_kind["point"]["y"].sort().to_list()
    gaps = [later - y for y, later in itertools.pairwise(height)]
    within, between = [gap for i, gap in enumerate(gaps, 1) if i % 3], gaps[2::3]
    assert min(between) >= 1.99 * max(within)
    pixels_high = found.height / slices
    assert min(within) * pixels_high >= 12  # a dot is 10 pixels wide
    layer = DRAWINGS["slices"](DF.rank.plot).to_dict()["layer"][0]
    assert (layer["mark"]["type"], layer["encoding"]["y"]["axis"]["grid"]) == ("rule", False)
    ax = DRAWINGS["slices"](DF.to_pandas().rank.plot)
    assert [line.get_ydata()[0] for line in ax.lines] == [i + 0.5 for i in range(slices - 1)]
    assert not any(line.get_visible() for line in ax.get_ygridlines())


def test_a_median_at_the_rim_stands_apart_from_the_frame() -> None:
    best = DF.with_columns(score="label").filter(pl.col("label").max().over("query_id") > 0)
    found = plots.distribution(in_memory(best, Setup()), "rr")
    (median,) = (mark.rows for mark in found.marks if "median" in mark.rows.columns)
    assert median["x"].item() == 1
    assert found.x.limits == (-0.03, 1.03)
    assert median["y"].item() < 0 < median["y2"].item() < 0.85
    assert found.y.title == ""


# names of metrics


@each(
    ("text", "shown"),
    [
        ("ndcg@10", "nDCG@10"),
        ("ndcg(gain=exponential)@10", "nDCG(gain=exponential)@10"),
        ("map", "MAP"),
        ("rr", "RR"),
        ("mrr@10", "RR@10"),
        ("err@20", "ERR@20"),
        ("precision@10", "P@10"),
        ("recall@100", "Recall@100"),
        ("rbp(p=0.95)", "RBP(p=0.95)"),
        ("alpha_ndcg@20", "alpha-nDCG@20"),
        ("bpref", "bpref"),
    ],
)
def test_a_metric_is_shown_as_people_write_it(text: str, shown: str) -> None:
    (call,) = rf.parse(text)
    assert call.display == shown
    if "(" not in text and "k" in call.metric.parameters and not call.cutoff:
        assert DF.rank.plot.curve(text, cutoffs=[1, 2]).title.text == f"{shown} at every cutoff"


def folded(name: str) -> str:
    return re.sub("[ -]", "_", name.lower())


@each("metric", [*rf.METRICS.values(), *rf.CATALOG_METRICS.values()], ids=lambda metric: metric.name)
def test_a_shown_name_begins_a_title_with_a_capital_unless_its_field_writes_it_small(metric: Any) -> None:
    word = re.split("[ _-]", metric.display or metric.name)[0]
    assert not word.islower() or word in {"alpha", "11pt", "bpref", "num", "rbp", "relstring", "yaap", "p"}


def test_every_shown_name_is_one_that_text_is_read_by() -> None:
    for metric in (*rf.METRICS.values(), *rf.CATALOG_METRICS.values()):
        shown = folded(metric.display or metric.name)
        assert shown in {folded(name) for name in (metric.name, *metric.aliases)}, metric.name


def test_no_two_metrics_are_shown_by_one_name() -> None:
    shown = [metric.display or metric.name for metric in (*rf.METRICS.values(), *rf.CATALOG_METRICS.values())]
    assert len({folded(name) for name in shown}) == len(shown)


def test_a_metric_of_the_users_own_is_shown_by_its_display_or_its_text() -> None:
    def first(r: rf.Ranking, k: int | None = None) -> pl.Expr:
        return r.total(r.relevant, k)

    try:
        rf.metric(display="First")(first)
        assert rf.parse("first@3")[0].display == "First@3"
        rf.metric(first)
        assert rf.parse("first@3")[0].display == "first@3"
        with pytest.raises(rf.InvalidOption, match="display=3: write text"):
            rf.metric(display=3)(first)  # type: ignore[call-overload]
    finally:
        rf.unregister("first")

"""Plots: what is drawn, worked by hand, and pictures that are there, with their words, in both libraries."""

from __future__ import annotations

import inspect
import io
import itertools
import math
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest
import vl_convert
from scipy import stats

import rankframe as rf
from rankframe._catalog.parse import parse
from rankframe._pictures import item_plots, plots
from rankframe._pictures.draw import PALETTE, _fit
from rankframe._pictures.figure import Figure, Measured
from rankframe._pictures.plots import BARS, CELLS
from rankframe._table.runs import Runs
from rankframe._table.setup import Setup
from rankframe._table.table import in_memory
from rankframe._verbs.sample.resampling import Resampling
from rankframe.plot import PLOTS

mpl.use("Agg")
from matplotlib import pyplot
from matplotlib.text import Text

from tests.support.each import each

COLUMNS = Setup()

# Reciprocal ranks: by `old` 1/2, 1, 1/3, 0; by `new` 1, 1/2, 1, 0.
DF = pl.DataFrame(
    {
        "query_id": [1, 1, 1, 2, 2, 2, 3, 3, 3, 4],
        "doc_id": list("abcabcabca"),
        "old": [3.0, 2.0, 1.0] * 3 + [1.0],
        "new": [1.0, 3.0, 2.0, 2.0, 3.0, 1.0, 1.0, 2.0, 3.0, 1.0],
        "label": [0, 2, 0, 1, None, None, 0, -1, 1, 0],
        "day": ["mo"] * 3 + ["tu"] * 3 + ["mo"] * 3 + [None],
    }
)
OLD = DF.with_columns(score="old")
BOTH = ["old", "new"]
PAST = pl.DataFrame({"query_id": [1, 2, 3, 1, 2, 1], "doc_id": list("cccaad")})


def long() -> pl.DataFrame:
    """The two runs under each other."""
    return pl.concat(
        [DF.select("query_id", "doc_id", "label", "day", pl.lit(run).alias("system"), score=run) for run in BOTH]
    )


def many(queries: int, docs: int = 4) -> pl.DataFrame:
    rng = np.random.default_rng(queries)
    n = queries * docs
    label = rng.integers(0, 3, n)
    scores = {run: label + rng.normal(0, noise, n) for run, noise in (("a", 1), ("b", 2), ("score", 3))}
    is_judged = (rng.random(n) < 0.7) | (np.arange(n) % docs == 0)  # a document of each query at least
    judged = np.where(is_judged, label, None).tolist()
    return pl.DataFrame({"query_id": np.repeat(np.arange(queries), docs), "label": judged, **scores}).with_columns(
        market=pl.col("query_id") % 60, label=pl.col("label").cast(pl.Float64)
    )


def interval(x: list[float]) -> tuple[float, float]:
    """That of Learned-Miller and Thomas, by NumPy's Dirichlet distribution: one more value, 0 or 1, and random weights."""
    weights = np.random.default_rng(0).dirichlet(np.ones(len(x) + 1), 40_000)
    return float(np.quantile(weights @ [*x, 0], 0.025)), float(np.quantile(weights @ [*x, 1], 0.975))


def about(rows: Any) -> Any:
    """As near as two thousand random draws are."""
    return [pytest.approx(row, abs=0.05) for row in rows]


def marks(figure: Figure, kind: str) -> pl.DataFrame:
    (found,) = (mark.rows for mark in figure.marks if mark.kind == kind)
    return found


def approx(rows: Any) -> Any:
    return [tuple(pytest.approx(x) if isinstance(x, float) else x for x in row) for row in rows]


def test_a_curve_is_the_mean_at_every_cutoff_with_its_interval() -> None:
    found = plots.curve(in_memory(OLD, COLUMNS), "rr")
    at = [[0, 1, 0, 0], [0.5, 1, 0, 0], [0.5, 1, 1 / 3, 0]]
    line, band = marks(found, "line"), marks(found, "band")
    assert line.select("x", "y", "queries").rows() == approx((k + 1.0, float(np.mean(x)), 4) for k, x in enumerate(at))
    assert band.select("y", "y2").rows() == about(interval(x) for x in at)
    assert found.series == ("RR",)
    assert found.title == "RR at every cutoff"
    assert found.subtitle == "Mean of the first k documents over 4 queries, with 95% intervals (bounded)"
    assert (found.x.title, found.y.title) == ("cutoff k", "RR@k")


def test_curves_of_metrics_and_of_runs_are_named_by_what_tells_them_apart() -> None:
    assert plots.curve(in_memory(OLD, COLUMNS), "rr", "recall").series == ("RR", "Recall")
    assert plots.curve(in_memory(DF, COLUMNS), "rr", runs=["old", "new"], cutoffs=[1]).series == ("old", "new")
    both = plots.curve(in_memory(DF, COLUMNS), "rr", "recall", runs=["old", "new"], cutoffs=[1, 2])
    assert set(both.series) == {"RR, old", "RR, new", "Recall, old", "Recall, new"}
    assert plots.curve(in_memory(long(), COLUMNS), "rr", run="system", cutoffs=[1]).series == ("old", "new")
    assert both.y.title == "mean"


def test_a_curve_ends_with_the_longest_ranking_and_deep_ones_are_drawn_at_equal_ratios() -> None:
    assert marks(plots.curve(in_memory(OLD, Setup().on(depth=2)), "rr"), "line")["x"].to_list() == [1, 2]
    deep = many(3, 500)
    found = plots.curve(in_memory(deep, COLUMNS), "recall")
    cutoffs = marks(found, "line")["x"].to_list()
    assert cutoffs[:21] == [*range(1, 21), 22]
    assert cutoffs[-1] == 500
    assert all(later / k < 1.13 for k, later in itertools.pairwise(cutoffs[20:]))
    assert found.x.log
    assert deep.to_pandas().rank.plot.curve("recall").get_xscale() == "log"
    assert [name for _, name in found.x.ticks or ()] == ["1", "2", "5", "10", "20", "50", "100", "200", "500"]
    wanted = deep.rank.recall(k=200)["recall@200"].mean()
    near = plots.curve(in_memory(deep, COLUMNS), "recall", cutoffs=[200])
    assert marks(near, "line")["y"].item() == pytest.approx(wanted)


def test_precision_and_recall_are_those_of_the_eleven_points() -> None:
    found = plots.precision_recall(in_memory(DF, COLUMNS), runs=["new"])
    line = marks(found, "line")
    assert line["x"].to_list() == [i / 10 for i in range(11)]
    # one relevant document each in three queries, found at rank 1, 2 and 1; none in the fourth
    assert line["y"].to_list() == pytest.approx([2.5 / 4] * 11)
    assert found.x.limits == found.y.limits == (0, 1)


def test_differences_are_sorted_and_counted() -> None:
    found = plots.differences(in_memory(DF, COLUMNS), "rr", runs=["old", "new"])
    bars = marks(found, "bar")
    assert bars.select("x", "x2", "y", "y2", "series").rows() == approx(
        [
            (0.0, 1.0, 2 / 3, 0.0, "better"),
            (1.0, 2.0, 0.5, 0.0, "better"),
            (2.0, 3.0, 0.0, 0.0, "better"),
            (3.0, 4.0, -0.5, 0.0, "worse"),
        ]
    )
    assert found.title == "RR of each query: new minus old"
    assert found.subtitle == "new: 2 better, 1 worse, 1 equal, +0.167 on average"
    assert found.y.title == "RR, new minus old"
    other = plots.differences(in_memory(long(), COLUMNS), "rr", run="system", baseline="new")
    assert marks(other, "bar")["y"].to_list() == pytest.approx([0.5, 0, -0.5, -2 / 3])


def test_several_runs_are_lines_of_differences_in_their_order() -> None:
    three = DF.with_columns(worst=-pl.col("old"))
    found = plots.differences(in_memory(three, COLUMNS), "rr", runs=["old", "worst", "new"])
    assert found.series == ("worst", "new")
    line = marks(found, "line")
    assert line.filter(series="new").select("x", "y").rows() == approx(
        [(0.5, 2 / 3), (1.5, 0.5), (2.5, 0.0), (3.5, -0.5)]
    )
    # by worst: 1/2, 1/3, 1, 0
    assert line.filter(series="worst")["y"].to_list() == pytest.approx([2 / 3, 0, 0, -2 / 3])
    assert "worst: 1 better, 1 worse, 2 equal" in found.subtitle
    assert found.subtitle.endswith("Each run has its own order, so one place is not one query")
    assert (found.title, found.y.title) == ("RR of each query: run minus old", "RR, run minus old")
    assert found.x.title == "queries, sorted by their difference in each run"


def test_a_run_has_the_same_colour_in_the_picture_of_differences_as_in_that_of_means() -> None:
    three = DF.with_columns(worst=-pl.col("old"))
    options: Any = {"runs": ["old", "worst", "new"]}
    drawn = three.rank.plot.differences("rr", **options, baseline="worst").to_dict()["layer"][-1]["encoding"]["color"]
    assert drawn["scale"] == {"domain": ["old", "new"], "range": [PALETTE[0], PALETTE[2]]}
    ax = three.to_pandas().rank.plot.differences("rr", **options, baseline="worst")
    assert {line.get_label(): line.get_color() for line in ax.lines[1:]} == {"old": PALETTE[0], "new": PALETTE[2]}


def test_a_metric_where_less_is_better_says_better_of_less() -> None:
    name = next(name for name, metric in rf.METRICS.items() if not metric.higher_is_better and name == "fall_out")
    columns = Setup().on(collection_size=10)
    found = plots.differences(in_memory(DF, columns), f"{name}@1", runs=["old", "new"])
    values = DF.rank.on(collection_size=10, score="new").evaluate(f"{name}@1")[f"{name}@1"]
    gained = values - DF.rank.on(collection_size=10, score="old").evaluate(f"{name}@1")[f"{name}@1"]
    assert f"new: {(gained < 0).sum()} better, {(gained > 0).sum()} worse" in found.subtitle
    assert set(marks(found, "bar").filter(pl.col("y") < 0)["series"]) <= {"better"}
    assert set(marks(found, "bar").filter(pl.col("y") > 0)["series"]) <= {"worse"}


@pytest.mark.filterwarnings("ignore:.* of labels are null:rankframe.RankframeWarning")
def test_many_differences_are_put_together_in_bars_of_their_mean() -> None:
    df = many(1001)
    a, b = (df.rank.on(score=run).ndcg()["ndcg"] for run in "ab")
    bars = marks(plots.differences(in_memory(df, COLUMNS), "ndcg", runs=["a", "b"]), "bar")
    assert len(bars) == BARS
    assert bars["x"].to_list()[1:] == bars["x2"].to_list()[:-1]
    assert bars["queries"].sum() == 1001
    assert (bars["y"] * bars["queries"]).sum() == pytest.approx((b - a).sum())
    first = (b - a).sort(descending=True)[: int(bars["queries"][0])]
    assert bars["y"][0] == pytest.approx(first.mean())


def test_a_distribution_counts_queries_in_twentieths_of_the_metrics_range() -> None:
    found = plots.distribution(in_memory(DF, COLUMNS), "rr", runs=["old", "new"])
    bars = marks(found, "bar").sort("series", "x")
    old = bars.filter(series="old")
    assert old.select("x", "x2", "queries", "share").rows() == approx(
        [(0.0, 0.05, 1, 0.25), (0.3, 0.35, 1, 0.25), (0.5, 0.55, 1, 0.25), (0.95, 1.0, 1, 0.25)]
    )
    assert bars.filter(series="new", queries=2).select("x", "x2").rows() == approx([(0.95, 1.0)])
    heights = {row["queries"]: row["y2"] - row["y"] for row in bars.to_dicts()}
    assert heights[2] == pytest.approx(2 * heights[1])
    assert marks(found, "point").select("series", "x").rows() == approx([("old", 11 / 24), ("new", 0.625)])
    medians, means = (mark.rows for mark in found.marks if mark.kind == "interval")
    assert medians.select("x", "y").rows() == approx([(5 / 12, 0.92), (0.75, -0.08)])
    assert means["series"].to_list() == ["old", "new"]
    assert means.select("x", "x2").rows() == about(interval(x) for x in ([1 / 2, 1, 1 / 3, 0], [1, 1 / 2, 1, 0]))
    assert dict(found.y.ticks or ()) == {0.0: "new", 1.0: "old"}


def test_the_axis_of_a_metric_without_bounds_is_that_of_its_values() -> None:
    found = plots.distribution(in_memory(OLD, COLUMNS), "dcg")
    most = 2 / math.log2(3)
    assert found.x.limits == pytest.approx((-0.03 * most, 1.03 * most))
    nothing = OLD.with_columns(label=0)
    assert plots.distribution(in_memory(nothing, COLUMNS), "dcg").x.limits == (-0.03, 1.03)


def test_the_axis_of_weighted_documents_reaches_the_values_beyond_the_bounds_of_the_metric() -> None:
    df = pl.DataFrame({"query_id": range(4), "doc_id": "a", "score": 1, "label": [0, 1, 1, 1], "w": [1, 1, 5, 8]})
    found = plots.distribution(in_memory(df, Setup().on(weight="w")), "precision@1")
    assert marks(found, "bar")["x"].to_list() == pytest.approx([0, 0.8, 4.8, 7.6])  # of twenty cells from 0 to 8
    assert found.x.limits == pytest.approx((-0.24, 8.24))


def test_slices_have_their_mean_interval_and_size_the_best_above() -> None:
    found = plots.slices(in_memory(OLD, COLUMNS), "rr", by="day")
    assert found.y.ticks == ((0.0, "null (1)"), (1.0, "mo (2)"), (2.0, "tu (1)"))
    assert marks(found, "point").sort("y").select("x", "y", "slice").rows() == approx(
        [(0.0, 0.0, "null"), (5 / 12, 1.0, "mo"), (1.0, 2.0, "tu")]
    )
    low, high = interval([1 / 2, 1 / 3])
    assert marks(found, "interval").select("x", "x2", "y").rows() == about([(low, high, 1.0)])
    assert marks(found, "rule")["x"].item() == pytest.approx(11 / 24)
    assert "over 4 queries" in found.subtitle


def test_a_document_without_the_slice_of_its_query_is_in_it_and_a_query_in_two_slices_is_refused() -> None:
    missed = pl.DataFrame({"query_id": [1, 2], "doc_id": ["x", "x"], "label": [0, 0]})
    found = plots.slices(in_memory(pl.concat([missed, OLD], how="diagonal"), COLUMNS), "rr", by="day")
    assert found.y.ticks == ((0.0, "null (1)"), (1.0, "mo (2)"), (2.0, "tu (1)"))
    with pytest.raises(rf.InvalidData, match="a query has several values of 'doc_id'"):
        OLD.rank.plot.slices("rr", by="doc_id")


def test_runs_stand_side_by_side_in_a_slice() -> None:
    points = marks(plots.slices(in_memory(DF, COLUMNS), "rr", runs=["old", "new"], by="day"), "point")
    assert points.filter(slice="mo").select("series", "x", "y").rows() == approx(
        # over both runs, tu is at 0.75, above; a row is 39 pixels high, the runs are 13 apart
        [("old", 5 / 12, 1 + 1 / 6), ("new", 1.0, 1 - 1 / 6)]
    )
    same = marks(plots.slices(in_memory(long(), COLUMNS), "rr", run="system", by="day"), "point")
    assert same.sort("series", "y").rows() == points.sort("series", "y").rows()


def test_of_many_slices_the_largest_are_shown() -> None:
    df = many(119)  # a slice of one query, 59 of two
    found = plots.slices(in_memory(df, COLUMNS), "ndcg", by="market")
    assert len(marks(found, "point")) == 40
    assert set(marks(found, "point")["queries"]) == {2}
    assert "the 40 largest of 60 slices" in found.subtitle


def test_queries_stand_at_their_number_of_judged_documents() -> None:
    found = plots.judged(in_memory(OLD, COLUMNS), "rr")
    points = marks(found, "point")
    assert points.select("x", "y", "queries").rows() == approx(
        [(1.0, 0.0, 1), (1.0, 1.0, 1), (2.0, 1 / 3, 1), (3.0, 0.5, 1)]
    )
    assert [mark.kind for mark in found.marks] == ["point"]  # no mean of so few
    twice = pl.concat([OLD, OLD.with_columns(pl.col("query_id") + 10)])
    assert marks(plots.judged(in_memory(twice, COLUMNS), "rr"), "point")["queries"].to_list() == [2, 2, 2, 2]


@pytest.mark.filterwarnings("ignore:.* of labels are null:rankframe.RankframeWarning")
def test_many_queries_make_few_dots_and_a_line_of_means() -> None:
    df = many(3000, 60)
    found = plots.judged(in_memory(df, COLUMNS), "ndcg")
    points = marks(found, "point")
    assert len(points) <= CELLS**2
    assert points["queries"].sum() == 3000
    assert points["x"].min() >= 20  # type: ignore[operator] - 42 of 60 are judged, on average
    line = marks(found, "line")
    assert line["queries"].sum() == 3000
    mean = (line["y"] * line["queries"]).sum() / 3000
    assert mean == pytest.approx(df.rank.ndcg()["ndcg"].mean())


def test_negative_labels_are_not_judged_and_subtopics_count_a_document_once() -> None:
    df = pl.DataFrame(
        {"query_id": [1] * 3, "doc_id": list("aab"), "subtopic": list("xyx"), "score": [2, 2, 1], "label": [1, 0, 1]}
    )
    assert marks(plots.judged(in_memory(df, Setup().on(subtopic="subtopic")), "rr"), "point").select("x", "y").row(
        0
    ) == (2.0, 1.0)


def test_one_query_is_drawn_without_an_interval() -> None:
    one = OLD.filter(query_id=1)
    found = plots.curve(in_memory(one, COLUMNS), "rr")
    assert marks(found, "line")["y"].to_list() == [0, 0.5, 0.5]
    assert len(marks(found, "band")) == 0


DRAWINGS: dict[str, tuple[Callable[..., Any], list[str]]] = {
    "curve": (lambda plot, **ax: plot.curve("rr", runs=BOTH, **ax), ["RR at every cutoff", "cutoff k", "RR@k"]),
    "precision_recall": (
        lambda plot, **ax: plot.precision_recall(runs=BOTH, **ax),
        ["Interpolated precision at eleven levels of recall", "recall", "mean interpolated precision"],
    ),
    "differences": (
        lambda plot, **ax: plot.differences("rr", runs=BOTH, **ax),
        ["RR of each query: new minus old", "queries, sorted by their difference", "RR, new minus old"],
    ),
    "distribution": (
        lambda plot, **ax: plot.distribution("rr", runs=BOTH, **ax),
        ["Distribution of RR over the queries", "RR", ""],
    ),
    "slices": (lambda plot, **ax: plot.slices("rr", by="day", runs=BOTH, **ax), ["RR by day", "RR", "day"]),
    "over": (lambda plot, **ax: plot.over("rr", by="day", runs=BOTH, **ax), ["RR over day", "day", "RR"]),
    "judged": (
        lambda plot, **ax: plot.judged("rr", **ax),
        ["RR against the number of judged documents", "judged documents of a query", "RR"],
    ),
    "exposure": (
        lambda plot, **ax: plot.exposure(k=1, items=4, runs=BOTH, **ax),
        ["Lorenz curve of exposure@1", "share of the catalog's items, the least shown first", "share of exposure"],
    ),
    "long_tail": (
        lambda plot, **ax: plot.long_tail(k=1, interactions=PAST, runs=BOTH, **ax),
        ["Exposure@1 of items by popularity", "rank by popularity", "share of exposure"],
    ),
    "catalog": (
        lambda plot, **ax: plot.catalog("coverage", items=4, runs=BOTH, **ax),
        ["Coverage at every cutoff", "cutoff k", "Coverage@k"],
    ),
    "trade_off": (
        lambda plot, **ax: plot.trade_off("precision@1", "rr", runs=BOTH, **ax),
        ["RR against P@1", "P@1", "RR"],
    ),
}
every_drawing = each("name", DRAWINGS)


@cache
def chart_of(name: str) -> dict[str, Any]:
    """Altair's chart of a Polars frame, which tests read and do not change."""
    return DRAWINGS[name][0](OLD.rank.plot).to_dict()  # type: ignore[no-any-return]


@cache
def axes_of(name: str) -> Any:
    """Matplotlib's axes of a pandas frame, which tests read and do not change."""
    return DRAWINGS[name][0](OLD.to_pandas().rank.plot)


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    pyplot.close("all")


def spread(png: bytes) -> float:
    """How much the opacity or the colour of a picture varies: nothing in an empty one."""
    return float(np.std(pyplot.imread(io.BytesIO(png))))


def axis_titles(spec: dict[str, Any], channel: str) -> set[str]:
    layers = spec["layer"]
    return {layer["encoding"][channel]["title"] or "" for layer in layers if channel in layer["encoding"]}


def test_the_last_cutoffs_of_a_curve_do_not_run_into_each_other() -> None:
    svg = vl_convert.vegalite_to_svg(OLD.rank.plot.curve("map", cutoffs=[1, 10, 1000]).to_dict())
    label = r'text-anchor="(\w+)" transform="translate\(([\d.]+),[^>]*font-size="(\d+)px"[^>]*>(\d+)</text>'
    (half, left, size, one), (end, right, _, other) = [x for x in re.findall(label, svg) if x[3] in ("500", "1000")]
    assert (half, one, end, other) == ("middle", "500", "middle", "1000")
    half_widths = 0.56 * int(size) * (len(one) + len(other)) / 2  # a digit is 0.56 of its size wide
    between = float(right) - float(left) - half_widths
    assert between > 0.3 * int(size)


@every_drawing
def test_altair_draws_polars_frames(name: str) -> None:
    _, (title, x, y) = DRAWINGS[name]
    spec = chart_of(name)
    assert spec["title"]["text"] == title
    assert spec["title"]["subtitle"]
    assert axis_titles(spec, "x") == {x}
    assert axis_titles(spec, "y") == {y}
    assert spec["background"] == "#ffffff"
    svg = vl_convert.vegalite_to_svg(spec)
    assert title in svg
    assert any(colour in svg for colour in PALETTE)


@each("name", DRAWINGS, sample=5)
def test_altair_draws_lazy_frames_as_their_rows(name: str) -> None:
    assert DRAWINGS[name][0](OLD.lazy().rank.plot).to_dict() == chart_of(name)


@each("name", DRAWINGS, sample=4)
def test_a_chart_of_altair_is_a_picture(name: str) -> None:
    png = vl_convert.vegalite_to_png(chart_of(name))
    assert png.startswith(b"\x89PNG")
    assert spread(png) > 0.05


@every_drawing
def test_matplotlib_draws_pandas_frames(name: str) -> None:
    _, (title, x, y) = DRAWINGS[name]
    ax = axes_of(name)
    assert ax.get_title(loc="left").replace("\n", " ") == title
    assert (ax.get_xlabel(), ax.get_ylabel()) == (x, y)
    assert len(ax.patches) + len(ax.lines) + len(ax.collections) > 0


@each("name", DRAWINGS, sample=3)
@each("style", ["default", "dark_background"])
def test_matplotlib_draws_in_the_users_style(name: str, style: str) -> None:
    pyplot.close("all")  # of the case before
    with pyplot.style.context(style):
        ax = DRAWINGS[name][0](OLD.to_pandas().rank.plot)
        drawn = io.BytesIO()
        ax.figure.savefig(drawn, format="png")
        assert spread(drawn.getvalue()) > 0.05
        assert ax.title.get_color() == mpl.rcParams["text.color"]


@every_drawing
def test_both_libraries_draw_the_same_marks(name: str) -> None:
    chart, ax = chart_of(name), axes_of(name)
    assert len(chart["layer"]) >= 1
    names = {"better", "worse"} if name == "differences" else {"old", "new"}
    names |= {"exposure": {"all items alike"}, "long_tail": {"past interactions"}}.get(name, set())
    if name in ("distribution", "judged"):
        assert ax.get_legend() is None
    else:
        assert {text.get_text() for text in ax.get_legend().get_texts()} == names
        assert set(chart["layer"][-1]["encoding"].get("color", {}).get("scale", {}).get("domain", names)) == names
    ticks = [text.get_text() for text in ax.get_yticklabels()]
    if name == "distribution":
        assert ticks == ["new", "old"]
    if name == "slices":
        assert ticks == ["null (1)", "mo (2)", "tu (1)"]


def placed(ax: Any) -> dict[str, list[tuple[float, ...]]]:
    """Where Matplotlib's artists stand."""
    bars = [(b.get_x(), b.get_x() + b.get_width(), b.get_y(), b.get_y() + b.get_height()) for b in ax.patches]
    dots = [tuple(xy) for scatter in ax.collections if hasattr(scatter, "get_sizes") for xy in scatter.get_offsets()]
    return {"bar": bars, "point": dots, "line": [tuple(xy) for line in ax.lines for xy in line.get_xydata()]}


@each("name", ["curve", "distribution", "slices", "over", "judged", "exposure", "long_tail", "trade_off"])
def test_every_mark_stands_where_the_figure_says(name: str) -> None:
    figures: dict[str, Callable[[], Figure]] = {
        "curve": lambda: plots.curve(in_memory(DF, COLUMNS), "rr", runs=BOTH),
        "distribution": lambda: plots.distribution(in_memory(DF, COLUMNS), "rr", runs=BOTH),
        "slices": lambda: plots.slices(in_memory(DF, COLUMNS), "rr", runs=BOTH, by="day"),
        "over": lambda: plots.over(in_memory(DF, COLUMNS), "rr", runs=BOTH, by="day"),
        "judged": lambda: plots.judged(in_memory(OLD, COLUMNS), "rr"),
        "exposure": lambda: item_plots.exposure(in_memory(DF, COLUMNS.on(items=4)), 1, runs=BOTH, weight="count"),
        "long_tail": lambda: item_plots.long_tail(
            in_memory(DF, COLUMNS.on(interactions=PAST)), 1, runs=BOTH, weight="count"
        ),
        "trade_off": lambda: item_plots.trade_off(in_memory(DF, COLUMNS), "precision@1", "rr", runs=BOTH),
    }
    found, spec = placed(axes_of(name)), chart_of(name)
    for mark, layer in zip(figures[name]().marks, spec["layer"], strict=True):
        ends = [end for end in ("x", "y", "x2", "y2") if end in mark.rows.columns]
        assert {end: layer["encoding"][end]["field"] for end in ends} == {end: end for end in ends}
        drawn = spec["datasets"][layer.get("data", spec.get("data"))["name"]]
        start = "y" if mark.kind == "divider" else "x"
        assert [row[start] for row in drawn] == pytest.approx(mark.rows[start].to_list())
        columns = {"bar": ["x", "x2", "y", "y2"], "point": ["x", "y"], "line": ["x", "y"]}.get(mark.kind)
        if columns is not None:
            wanted = mark.rows.select(columns).rows()
            assert sorted(found[mark.kind]) == [pytest.approx(row) for row in sorted(wanted)]


def test_columns_of_pandas_may_be_named_by_numbers() -> None:
    named = DF.to_pandas().rename(columns={"old": 0, "new": 1, "day": 2})
    ax = named.rank.plot.slices("rr", by=2, runs=[0, 1])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0", "1"]


def test_axes_that_are_given_are_drawn_on_even_for_polars_frames() -> None:
    _, (left, right) = pyplot.subplots(1, 2)
    assert OLD.rank.plot.curve("rr", ax=left) is left
    assert OLD.to_pandas().rank.plot.curve("rr", ax=right) is right
    assert [line.get_ydata().tolist() for line in left.lines] == [line.get_ydata().tolist() for line in right.lines]


@each("name", DRAWINGS, sample=3)
def test_a_title_of_the_users_replaces_ours_and_the_line_below_it_stays(name: str) -> None:
    pyplot.close("all")  # of the case before
    draw = DRAWINGS[name][0]
    ours, chart = chart_of(name), draw(OLD.rank.plot, title="Ours,\nagain").to_dict()
    assert chart["title"]["text"] == "Ours, again"
    assert chart["title"]["subtitle"] == ours["title"]["subtitle"]
    assert chart["description"] == ours["description"].replace(ours["title"]["text"], "Ours, again", 1)
    ax = draw(OLD.to_pandas().rank.plot, title="Ours,\nagain")
    assert ax.get_title(loc="left") == "Ours, again"
    assert [text.get_text() for text in ax.texts] == [text.get_text() for text in axes_of(name).texts]


@each("name", DRAWINGS, sample=3)
def test_without_a_title_a_later_one_of_matplotlib_meets_no_other_text(name: str) -> None:
    pyplot.close("all")  # of the case before
    draw = DRAWINGS[name][0]
    assert draw(OLD.rank.plot, title="").to_dict()["title"] == {"text": "", "subtitle": []}
    ax = draw(OLD.to_pandas().rank.plot, title="")
    ax.set_title("A title of my own")
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.findobj(Text) if text.get_text().strip() and text is not ax.title]
    assert not any(ax.title.get_window_extent().overlaps(box) for box in boxes)


def test_a_title_that_is_no_text_is_refused() -> None:
    with pytest.raises(rf.InvalidOption, match="title=3: write text or None"):
        OLD.rank.plot.judged("rr", title=3)


def test_names_are_drawn_as_they_are() -> None:
    odd = DF.rename({"old": "$old$ <b>", "new": "\"new\" \\ 'x'"})
    runs = ["$old$ <b>", "\"new\" \\ 'x'"]
    chart = odd.rank.plot.distribution("rr", runs=runs)
    svg = vl_convert.vegalite_to_svg(chart.to_dict()).replace("\N{WORD JOINER}", "")  # which nobody sees
    assert "$old$ &lt;b&gt;" in svg
    ax = odd.to_pandas().rank.plot.distribution("rr", runs=runs)
    assert ax.get_yticklabels()[1].get_text() == r"\$old\$ <b>"
    ax.figure.savefig(io.BytesIO())


ODD_NAMES = ["$\\frac$", "a\nb\u2028c", "\x1b[31m\x07", "\ufffe"]
OF_A_NAME: dict[str, Callable[[Any, str], Any]] = {
    "curve": lambda plot, name: plot.curve("rr", runs=[name, "new"]),
    "differences from it": lambda plot, name: plot.differences("rr", runs=[name, "new"], baseline=name),
    "differences of it": lambda plot, name: plot.differences("rr", runs=["new", name]),
    "distribution": lambda plot, name: plot.distribution("rr", runs=[name, "new"]),
    "slices": lambda plot, name: plot.slices("rr", by=f"{name} day", runs=[name, "new"]),
}


@each("library", ["polars", "pandas"], sample=10)
@each("name", ODD_NAMES, ids=ascii)
@each("plot", OF_A_NAME)
def test_no_name_stops_a_drawing(library: str, name: str, plot: str) -> None:
    pyplot.close("all")  # of the case before
    odd = DF.rename({"old": name}).with_columns(pl.lit(name).alias(f"{name} day"))
    chart = OF_A_NAME[plot]((odd if library == "polars" else odd.to_pandas()).rank.plot, name)
    drawn = io.BytesIO()
    if library == "polars":
        chart.save(drawn, format="png")
    else:
        chart.figure.savefig(drawn, format="png")
    assert spread(drawn.getvalue()) > 0.02


def test_a_dollar_at_the_end_of_a_line_of_the_subtitle_begins_no_formula() -> None:
    assert _fit(f"{'x' * 49}$\\frac$: 2 better", 50) == f"{'x' * 49}\\$\n\\frac\\$: 2 better"
    for length in range(45, 60):  # one of them ends a line, of some 50 characters
        name = f"{'x' * length}$\\frac$"
        ax = DF.rename({"new": name}).to_pandas().rank.plot.differences("rr", runs=["old", name])
        drawn = [ax.get_title(loc="left"), ax.get_ylabel(), *(text.get_text() for text in ax.texts)]
        assert not any(re.search(r"(?<!\\)\$", text) for text in drawn)
        assert r"\$" in drawn[2]
    ax.figure.savefig(io.BytesIO())


def test_more_than_six_lines_are_dashed_besides() -> None:
    runs = [f"run{i}" for i in range(8)]
    df = DF.with_columns(pl.col("old").alias(run) for run in runs)
    spec = df.rank.plot.curve("rr", runs=runs).to_dict()
    dash = spec["layer"][-1]["encoding"]["strokeDash"]["scale"]
    assert dash["domain"] == runs
    assert dash["range"] == [[]] * 6 + [[6, 3]] * 2
    assert {layer["encoding"]["color"]["legend"]["symbolType"] for layer in spec["layer"]} == {"stroke"}
    ax = df.to_pandas().rank.plot.curve("rr", runs=runs)
    assert [line.is_dashed() for line in ax.lines] == [False] * 6 + [True] * 2


def test_10000_queries_make_a_light_picture() -> None:
    df = many(10_000)
    for chart in (
        df.rank.plot.differences("ndcg", runs=["a", "b"]),
        df.rank.plot.distribution("ndcg", runs=["a", "b"]),
        df.rank.plot.judged("ndcg"),
        df.rank.plot.slices("ndcg", by="market"),
    ):
        assert sum(map(len, chart.to_dict()["datasets"].values())) < 5000


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_what_cannot_be_drawn_is_refused(library: str) -> None:
    plot = (OLD if library == "polars" else OLD.to_pandas()).rank.plot
    for draw, message in (
        (lambda: plot.curve(), "no metric given"),
        (lambda: plot.curve("auc", "map@5"), "names a cutoff"),
        (lambda: plot.curve("bpref"), "takes no cutoff"),
        (
            lambda: plot.curve(pl.len()),
            "an expression has no name among the metrics; write text, as in df.rank.plot.curve",
        ),
        (lambda: plot.distribution("P.5,10"), "names 2 metrics"),
        (lambda: plot.curve("relstring"), "relstring is String, which has no mean; evaluate it instead"),
        (lambda: plot.distribution("relstring@3"), "relstring@3 is String, which has no mean"),
        (lambda: plot.differences("relstring", runs=BOTH), "relstring is String, which has no mean"),
        (lambda: plot.slices("relstring", by="day"), "relstring is String, which has no mean"),
        (lambda: plot.judged("relstring"), "relstring is String, which has no mean"),
        (lambda: plot.curve("rr", cutoffs=[]), r"cutoffs=\(\) lists no cutoffs; write them as cutoffs=\[1, 5, 10\]"),
        (lambda: plot.curve("rr", cutoffs="15"), "cutoffs='15': write a list"),
        (lambda: plot.curve("rr", cutoffs=5), "cutoffs=5: write a list"),
        (lambda: plot.differences("rr"), "name at least two score columns"),
        (lambda: plot.differences("rr", runs=BOTH, baseline="odl"), "baseline='odl' is none of the runs, old, new"),
        (lambda: plot.differences("rr", runs="old"), "runs='old': write a list of columns' names"),
        (lambda: plot.curve("rr", runs=BOTH, run="day"), "not both"),
        (lambda: plot.distribution("rr", runs=["old", "old"]), "names a column twice; name each once"),
        (
            lambda: plot.curve("rr", "recall", "map", "ndcg", "P", "hit_rate", "f1", runs=BOTH),
            "14 series in one picture",
        ),
    ):
        with pytest.raises(rf.InvalidOption, match=message):
            draw()  # type: ignore[no-untyped-call]
    with pytest.raises(rf.MissingColumn, match="no column 'dya'"):
        plot.slices("rr", by="dya")
    with pytest.raises(rf.MissingColumn, match="no column 'odl'"):
        plot.curve("rr", runs=["odl"])
    bounded = OLD.rank.on(unjudged="bounds").plot
    with pytest.raises(rf.InvalidOption, match="two columns"):
        bounded.distribution("rr")


def test_a_run_without_a_name_is_refused_in_pictures_as_in_comparisons() -> None:
    nameless = long().with_columns(system=pl.when(pl.col("system") == "new").then("system"))
    for draw in (nameless.rank.plot.distribution, nameless.rank.compare):
        with pytest.raises(rf.InvalidData, match="column 'system' names the run of each row, and is null on"):
            draw("rr", run="system")


def test_the_mean_of_a_geometric_metric_is_the_geometric_one_in_pictures_too() -> None:
    # average precision of 1, 1/2 and 0, for which 0.00001 stands
    df = pl.DataFrame(
        {"query_id": [1, 1, 2, 2, 3], "doc_id": list("ababa"), "score": [2, 1, 2, 1, 1], "label": [1, 0, 0, 1, 0]}
    )
    df = df.with_columns(day=pl.lit("mo"))
    logs = [math.log(x) for x in (1, 0.5, 1e-5)]
    center = sum(logs) / 3
    half = stats.t.ppf(0.975, 2) * stats.sem(logs)
    found = plots.slices(in_memory(df, COLUMNS), "gm_map", by="day")
    assert marks(found, "point")["x"].item() == pytest.approx(math.exp(center), rel=1e-12)
    assert marks(found, "rule")["x"].item() == pytest.approx(math.exp(center), rel=1e-12)
    ends = marks(found, "interval").select("x", "x2").row(0)
    assert ends == pytest.approx((max(1e-5, math.exp(center - half)), min(1, math.exp(center + half))), rel=1e-12)
    dots = marks(plots.distribution(in_memory(df, COLUMNS), "gm_map"), "point")
    assert dots["x"].item() == pytest.approx(math.exp(center), rel=1e-12)


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(rf.errors.MissingExtra, match=r"altair is not installed; write pip install 'rankframe\[plot\]'"):
        OLD.rank.plot.judged("rr")


def test_plots_say_what_they_are() -> None:
    assert repr(OLD.rank.plot).startswith(".rank.plot by altair: curve, precision_recall")
    assert "matplotlib" in repr(OLD.to_pandas().rank.plot)
    assert isinstance(OLD.to_pandas(), pd.DataFrame)


@each("name", DRAWINGS, sample=11)
@each("library", ["polars", "pandas"])
def test_nothing_to_draw_is_an_empty_picture(name: str, library: str) -> None:
    pyplot.close("all")  # of the case before
    draw, (title, *_) = DRAWINGS[name]
    empty = OLD.clear()
    if library == "polars":
        assert draw(empty.rank.plot).to_dict()["title"]["text"] == title
    else:
        assert draw(empty.to_pandas().rank.plot).get_title(loc="left").replace("\n", " ") == title


def test_a_row_of_a_distribution_is_high_enough_for_its_dot_and_interval_below_the_bars() -> None:
    for n in (2, 8, 9, 40):
        runs = [f"run{i}" for i in range(n)]
        df = DF.with_columns(pl.col("old").alias(run) for run in runs)
        figure = plots.distribution(in_memory(df, COLUMNS), "rr", runs=runs)
        low, high = figure.y.limits  # type: ignore[misc]
        row = figure.height / (
            high - low
        )  # a dot has a radius of 5 pixels, and a tenth of a row lies between it and the bars
        assert row > 45
        assert (min(marks(figure, "point")["y"]) - low) * row > 5


def test_a_distribution_of_nothing_is_over_no_query() -> None:
    found = plots.distribution(in_memory(OLD.clear(), COLUMNS), "rr")
    assert found.subtitle.startswith("Height of a bar: share of 0 queries")


def test_a_legend_beside_long_names_of_slices_stays_inside_the_picture() -> None:
    pdf = pd.DataFrame(
        {
            "query_id": [1, 2, 3, 4],
            "score": 1.0,
            "old": 1.0,
            "newest": 1.0,
            "label": [0, 1, 1, 0],
            "seg": ["lapsed for more than a year", "new"] * 2,
        }
    )
    ax = pdf.rank.plot.slices("rr", by="seg", runs=["score", "old", "newest"])
    ax.figure.canvas.draw()
    legend, picture = ax.get_legend().get_window_extent(), ax.figure.bbox
    assert legend.x1 <= picture.x1
    assert legend.y0 >= picture.y0


@pytest.mark.filterwarnings("ignore:.* of labels are null:rankframe.RankframeWarning")
def test_the_intervals_of_a_picture_are_those_of_the_summary() -> None:
    df = many(300).with_columns(market=pl.col("query_id") % 2 + pl.col("query_id") // 260)
    resampling = Resampling(0.95, "auto", 200, 3, progress=False)
    measured = Measured(in_memory(df, COLUMNS), Runs(), parse("ndcg@3"), "market", resampling)
    figure = plots.of_slices(measured, "market")
    wanted = df.rank.summarize("ndcg@3", by="market", resamples=200, seed=3)
    assert set(wanted["interval"]) == {"bca", "bounded"}
    assert figure.subtitle.startswith("Mean over 300 queries, with 95% intervals (BCa and bounded)")
    drawn = marks(figure, "interval").sort("slice").select("x", "x2").rows()
    assert drawn == wanted.sort("market").select("ci_low", "ci_high").rows()


BY = {"curve", "precision_recall", "distribution", "slices", "over", "judged"}
ESTIMATED = BY | {"propensities", "exposure", "catalog", "trade_off", "sequential"}


def test_every_plot_has_the_options_of_all_plots_in_its_signature_and_its_help() -> None:
    for name in PLOTS:
        plot = getattr(DF.rank.plot, name)
        options = inspect.signature(plot).parameters
        shared = ["runs", "run", *["by"] * (name in BY), *["ci"] * (name in ESTIMATED), "title", "background", "ax"]
        assert [x for x in options if x in ("runs", "run", "by", "ci", "title", "background", "ax")] == (
            ["by", *(x for x in shared if x != "by")] if name in ("slices", "over") else shared
        ), name
        assert {options[x].kind for x in shared} == {inspect.Parameter.KEYWORD_ONLY}
        assert options["ci"].default == 0.95 if "ci" in shared else "ci" not in options
        entries = re.findall(
            r"(?m)^(\w[\w, ]*)\n    \S", plot.__doc__.partition("Parameters\n")[2].partition("Returns\n")[0]
        )
        assert {x for entry in entries for x in entry.split(", ")} >= {*shared}, name


def test_slices_are_lines_histograms_and_dots_of_their_own() -> None:
    table = in_memory(OLD, COLUMNS)
    # reciprocal ranks: 1/2 and 1/3 on mo, 1 on tu, 0 of the query without a day
    wanted = {"mo": 5 / 12, "tu": 1.0, "null": 0.0}
    lines = marks(plots.curve(table, "rr", by="day", cutoffs=[3]), "line")
    assert dict(lines.select("series", "y").iter_rows()) == pytest.approx(wanted)
    assert dict(lines.select("series", "queries").iter_rows()) == {"mo": 2, "tu": 1, "null": 1}
    dots = marks(plots.distribution(table, "rr", by="day"), "point")
    assert dict(dots.select("series", "x").iter_rows()) == pytest.approx(wanted)
    recall = marks(plots.precision_recall(table, by="day"), "line").filter(x=1.0)
    assert dict(recall.select("series", "y").iter_rows()) == pytest.approx(wanted)  # of one relevant document each
    spots = marks(plots.judged(table, "rr", by="day"), "point")
    assert spots.sort("y").select("series", "x", "y").rows() == approx(
        [("null", 1.0, 0.0), ("mo", 2.0, 1 / 3), ("mo", 3.0, 1 / 2), ("tu", 1.0, 1.0)]
    )


def test_slices_of_several_runs_are_named_by_both() -> None:
    wide = plots.curve(in_memory(DF, COLUMNS), "rr", runs=BOTH, by="day", cutoffs=[3])
    assert wide.series == ("old, mo", "old, tu", "old, null", "new, mo", "new, tu", "new, null")
    same = plots.curve(in_memory(long(), COLUMNS), "rr", run="system", by="day", cutoffs=[3])
    assert marks(same, "line").rows() == marks(wide, "line").rows()
    runs = plots.curve(in_memory(long(), COLUMNS), "rr", run="system", by="system", cutoffs=[3])
    assert marks(runs, "line").select("series", "y").rows() == approx([("old", 11 / 24), ("new", 0.625)])


def test_judged_shows_each_run_by_the_documents_that_were_judged_of_its_queries() -> None:
    points = marks(plots.judged(in_memory(DF, COLUMNS), "rr", runs=BOTH), "point")
    wanted = [("new", 1.0, 0.0), ("new", 1.0, 0.5), ("new", 2.0, 1.0), ("new", 3.0, 1.0)]
    assert points.sort("series", "x", "y").select("series", "x", "y").rows()[:4] == approx(wanted)
    same = marks(plots.judged(in_memory(long(), COLUMNS), "rr", run="system"), "point")
    assert same.sort(pl.all()).rows() == points.sort(pl.all()).rows()


def test_the_confidence_of_intervals_is_that_of_ci() -> None:
    df, setup = DF, COLUMNS.on(items=4, score="new")
    for name, args, options in (
        ("curve", ("rr",), {"cutoffs": [3]}),
        ("slices", ("rr",), {"by": "day"}),
        ("over", ("rr",), {"by": "day"}),
        ("distribution", ("rr",), {}),
        ("trade_off", ("rr", "precision@1"), {}),
        ("exposure", (), {}),
        ("catalog", ("coverage",), {"cutoffs": [1]}),
    ):
        draw = getattr(plots, name, None) or getattr(item_plots, name)
        wide, narrow, none = (draw(in_memory(df, setup), *args, **options, ci=ci) for ci in (0.95, 0.5, None))
        if name == "exposure":
            assert "[" in narrow.subtitle
            assert narrow.subtitle != wide.subtitle
            assert "[" not in none.subtitle
            continue
        assert "95% intervals" in wide.subtitle, name
        assert "50% intervals" in narrow.subtitle, name
        assert "interval" not in none.subtitle
        ends = [
            [mark.rows for mark in found.marks if {"x2", "y2"} & {*mark.rows.columns}][-1] for found in (wide, narrow)
        ]
        of = "x2" if "x2" in ends[0].columns else "y2"
        assert (ends[0][of].drop_nulls() >= ends[1][of].drop_nulls()).all()
        assert not ends[0].equals(ends[1]), name
    (row,) = OLD.rank.summarize("rr@3", ci=0.5, resamples=1_000).to_dicts()
    band = marks(plots.curve(in_memory(OLD, COLUMNS), "rr", cutoffs=[3], ci=0.5), "band")
    assert band.select("y", "y2").rows() == [(row["ci_low"], row["ci_high"])]


def test_a_figure_takes_its_runs_as_the_plot_does_and_leaves_the_look_to_the_drawing() -> None:
    table = in_memory(DF, COLUMNS)
    named = plots.distribution(table, "rr", runs=["old", "new"], title="mine", background="black")
    assert named.series == ("old", "new")
    assert named.title == plots.distribution(table, "rr", runs=["old", "new"]).title


def test_means_of_a_picture_are_those_of_summarize() -> None:
    found = plots.curve(in_memory(DF, COLUMNS), "rr", runs=["old", "new"], cutoffs=[1, 3])
    line, band = marks(found, "line"), marks(found, "band")
    for run in ("old", "new"):
        for k in (1, 3):
            (row,) = DF.rank.on(score=run).summarize(f"rr@{k}", resamples=1_000).to_dicts()
            assert line.filter(series=run, x=k)["y"].item() == row["mean"]
            assert band.filter(series=run, x=k).select("y", "y2").rows() == [(row["ci_low"], row["ci_high"])]

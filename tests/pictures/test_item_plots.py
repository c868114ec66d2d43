"""Plots for recommenders: Lorenz curves, long tails, metrics of a catalog by cutoff and trade-offs, worked by hand."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import rankframe as rf
from rankframe._pictures import item_plots
from rankframe._pictures.figure import Figure
from rankframe._table.setup import Setup
from rankframe._table.table import in_memory
from tests.pictures.test_plots import BOTH, COLUMNS, DF, OLD, PAST, about, approx, interval, long, marks
from tests.support.undrawn import unpainted

# Shown at rank 1 by `old`: a, a, a and a. By `new`: b, b, c and a.
RUNS = ["old", "new"]


def points(found: pl.DataFrame, series: str) -> list[tuple[float, float]]:
    return found.filter(series=series).select("x", "y").rows()


def test_a_lorenz_curve_adds_up_shares_from_the_least_shown_item() -> None:
    found = item_plots.exposure(in_memory(DF, COLUMNS.on(items=4)), 1, runs=RUNS, weight="count")
    line = marks(found, "line")
    assert points(line, "old") == approx([(0.0, 0.0), (0.25, 0.0), (0.5, 0.0), (0.75, 0.0), (1.0, 1.0)])
    assert points(line, "new") == approx([(0.0, 0.0), (0.25, 0.0), (0.5, 0.25), (0.75, 0.5), (1.0, 1.0)])
    assert points(line, "all items alike") == [(0.0, 0.0), (1.0, 1.0)]
    assert found.series == ("old", "new", "all items alike")


def test_the_gini_index_of_a_lorenz_curve_is_twice_the_area_above_it() -> None:
    found = item_plots.exposure(in_memory(DF, COLUMNS.on(items=4)), 1, runs=RUNS, weight="count")
    for run in BOTH:
        corners = points(marks(found, "line"), run)
        area = sum((x2 - x1) * (y1 + y2) / 2 for (x1, y1), (x2, y2) in itertools.pairwise(corners))
        assert f"{run}: Gini {1 - 2 * area:.3f} [" in found.subtitle


def test_upper_ranks_get_more_exposure_by_a_weight() -> None:
    two = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0]})
    found = item_plots.exposure(in_memory(two, COLUMNS.on(items=2)), None, weight="rbp(p=0.5)")
    assert points(marks(found, "line"), "score") == approx([(0.0, 0.0), (0.5, 1 / 3), (1.0, 1.0)])
    assert found.subtitle == "Gini 0.167"  # (2/3 - 1/3) / 2; no interval for one user


def test_a_lorenz_curve_of_many_items_has_few_points_and_both_ends() -> None:
    n = 5_000
    many = pl.DataFrame({"query_id": 1, "doc_id": range(n), "score": range(n)})
    line = points(
        marks(item_plots.exposure(in_memory(many, COLUMNS.on(items=2 * n)), None, weight="log2"), "line"), "score"
    )
    assert len(line) <= item_plots.POINTS + 2
    assert (line[0], line[-1]) == ((0.0, 0.0), pytest.approx((1.0, 1.0)))
    assert [y for x, y in line if x <= 0.5] == pytest.approx([0.0] * sum(x <= 0.5 for x, _ in line))


def test_the_catalog_of_a_plot_is_that_of_on_if_none_is_given() -> None:
    given = OLD.rank.plot.exposure(k=1, items=list("abcd")).to_dict()
    assert OLD.rank.on(items=list("abcd")).plot.exposure(k=1).to_dict()["datasets"] == given["datasets"]
    assert OLD.rank.on(items=4).plot.exposure(k=1).to_dict()["datasets"] == given["datasets"]
    with pytest.raises(rf.InvalidOption, match="items=1000"):
        OLD.rank.plot.exposure(k=1)


def test_a_long_tail_shows_the_share_of_items_from_the_most_popular_one() -> None:
    found = item_plots.long_tail(in_memory(DF, COLUMNS.on(interactions=PAST)), 1, runs=RUNS, weight="count")
    line = marks(found, "line")
    # c has three users, a two, d one; b has none, and comes last
    assert points(line, "past interactions") == approx([(1, 1 / 2), (2, 1 / 3), (3, 1 / 6), (4, 0.0)])
    assert points(line, "old") == approx([(1, 0.0), (2, 1.0), (3, 0.0), (4, 0.0)])
    assert points(line, "new") == approx([(1, 1 / 4), (2, 1 / 4), (3, 0.0), (4, 1 / 2)])


def test_a_column_of_runs_draws_the_same_as_score_columns() -> None:
    setup = COLUMNS.on(items=4, interactions=PAST)
    plots: list[tuple[Callable[..., Figure], tuple[object, ...]]] = [
        (item_plots.exposure, (1,)),
        (item_plots.long_tail, (1,)),
        (item_plots.catalog, ("coverage",)),
        (item_plots.trade_off, ("precision@1", "rr")),
    ]
    for plot, options in plots:
        wide = plot(in_memory(DF, setup), *options, runs=RUNS)
        below = plot(in_memory(long(), setup), *options, run="system")
        assert below.subtitle == wide.subtitle
        for one, other in zip(below.marks, wide.marks, strict=True):
            assert sorted(one.rows.rows(), key=str) == sorted(other.rows.rows(), key=str)


def test_neighbouring_ranks_of_a_long_tail_are_combined_without_losing_exposure() -> None:
    ids = range(3_000)
    df = pl.DataFrame({"query_id": [1] * 3_000, "doc_id": ids, "score": ids})
    past = pl.DataFrame({"query_id": ids, "doc_id": ids})
    line = marks(
        item_plots.long_tail(in_memory(df, COLUMNS.on(interactions=past)), None, weight="count"), "line"
    ).filter(series="score")
    assert len(line) < 60
    assert line["items"].sum() == 3_000
    assert (line["y"] * line["items"]).sum() == pytest.approx(1)


def test_a_long_tail_without_interactions_says_what_to_write() -> None:
    with pytest.raises(rf.InvalidOption, match="say interactions=train, a frame"):
        OLD.rank.plot.long_tail()
    known = OLD.rank.on(interactions=PAST).plot.long_tail(k=1).to_dict()["datasets"]
    assert known == OLD.rank.plot.long_tail(k=1, interactions=PAST).to_dict()["datasets"]


def test_counts_of_items_are_enough_for_a_long_tail() -> None:
    counts = Setup().on(interactions=pl.DataFrame({"doc_id": list("cad"), "n": [3, 2, 1]}))
    found = item_plots.long_tail(in_memory(DF, counts), 1, runs=RUNS, weight="count")
    pairs = item_plots.long_tail(in_memory(DF, COLUMNS.on(interactions=PAST)), 1, runs=RUNS, weight="count")
    assert marks(found, "line").equals(marks(pairs, "line"))


def test_a_curve_of_a_catalog_metric_has_the_values_and_intervals_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(item_plots, "RESAMPLES", 1_000)  # the default of catalog
    found = item_plots.catalog(in_memory(DF, COLUMNS.on(items=5)), "coverage", runs=RUNS)
    line, band = marks(found, "line"), marks(found, "band")
    # by old: a; a and b; a, b and c. By new: a, b and c at once
    assert points(line, "old") == approx([(1, 0.2), (2, 0.4), (3, 0.6)])
    assert points(line, "new") == approx([(1, 0.6), (2, 0.6), (3, 0.6)])
    table = DF.rank.on(score="new").items.catalog("coverage@1", "coverage@2", "coverage@3", items=5)
    assert band.filter(series="new").select("y", "y2").rows() == table.select("ci_low", "ci_high").rows()
    assert found.subtitle == "All lists of 4 users together, with 95% intervals (users resampled)"


@pytest.mark.parametrize("text", ["coverage@3", "popularity"])
def test_a_catalog_metric_with_a_cutoff_or_of_no_catalog_has_no_curve(text: str) -> None:
    with pytest.raises(rf.RankframeError, match=r"coverage|popularity"):
        OLD.rank.plot.catalog(text, items=4)


def test_no_catalog_metric_is_refused() -> None:
    with pytest.raises(rf.InvalidOption, match="coverage"):
        OLD.rank.plot.catalog(items=4)


def test_a_trade_off_has_a_point_per_run_and_its_two_intervals() -> None:
    found = item_plots.trade_off(in_memory(DF, COLUMNS), "precision@1", "rr", runs=RUNS)
    at_1, rr = {"old": [0, 1, 0, 0], "new": [1, 0, 1, 0]}, {"old": [1 / 2, 1, 1 / 3, 0], "new": [1, 1 / 2, 1, 0]}
    assert marks(found, "point").select("series", "x", "y").rows() == approx(
        (run, sum(at_1[run]) / 4, sum(rr[run]) / 4) for run in BOTH
    )
    across, up = (mark.rows for mark in found.marks if mark.kind == "interval")
    assert across.select("x", "x2").rows() == about(interval(at_1[run]) for run in BOTH)
    assert up.select("y", "y2").rows() == about(interval(rr[run]) for run in BOTH)
    assert found.subtitle == "Means over 4 queries, with 95% intervals (bounded)"


def test_a_trade_off_says_over_how_many_queries_each_mean_is() -> None:
    # one of the four queries has nothing relevant
    found = item_plots.trade_off(
        in_memory(DF, COLUMNS.on(no_relevant="null", interactions=PAST)), "novelty@1", "rr", runs=RUNS
    )
    assert found.subtitle == "Means over 4 queries (Novelty@1) and 3 (RR), with 95% intervals (Student's t and bounded)"


def test_the_axis_of_a_metric_where_less_is_better_says_so() -> None:
    setup = Setup().on(interactions=PAST)
    found = item_plots.trade_off(in_memory(DF, setup), "mean_popularity@1", "rr", runs=RUNS)
    assert not rf.METRICS["mean_popularity"].higher_is_better
    assert found.x.title == "Mean popularity@1 (less is better)"


@unpainted()
def test_a_report_draws_the_items_if_catalog_and_interactions_are_known(tmp_path: Path) -> None:
    titles = ["Lorenz curve of exposure@1", "Exposure@1 of items by popularity"]
    plain = OLD.rank.report(tmp_path / "plain.html", "ndcg@1", resamples=100).read_text("utf-8")
    assert [title in plain for title in titles] == [False, False]
    ranker = OLD.rank.on(items=4, interactions=PAST)
    page = ranker.report(tmp_path / "page.html", "ndcg@1", resamples=100).read_text("utf-8")
    assert [title in page for title in titles] == [True, True]
    assert "Coverage at every cutoff" in page
    assert "against Novelty@1" not in page  # one run has no trade-off
    both = DF.rank.on(items=4, interactions=PAST)
    page = both.report(tmp_path / "both.html", "ndcg@1", runs=["old", "new"], resamples=100).read_text("utf-8")
    assert "nDCG@1 against Novelty@1" in page


@pytest.mark.parametrize("known", [["a", "b", "c"], pl.DataFrame({"doc_id": ["a", "b", "c"]})])
def test_plots_leave_out_items_that_the_catalog_lacks_as_the_table_of_metrics_does(known: object) -> None:
    df = pl.DataFrame({"query_id": [1, 1, 1, 2, 2], "doc_id": [*"abzab"], "score": [2.0, 1, 3, 2, 1]})
    with pytest.raises(rf.InvalidData, match="the catalog lacks"):
        df.rank.plot.exposure(items=known)
    with pytest.raises(rf.InvalidData, match="the catalog lacks"):
        df.rank.plot.catalog("coverage", items=known)
    setup = COLUMNS.on(items=known, score="score")
    curve = item_plots.exposure(in_memory(df, setup), None, weight="count", unknown_items="drop")
    line = marks(curve, "line").filter(pl.col("series") == "score")
    assert line["y"].to_list() == [0, 0, 0.5, 1]  # c, then a and b: two users each
    assert "Gini 0.333" in curve.subtitle  # ((-2) 0 + 0 * 2 + 2 * 2) / (3 * 4)
    shown = item_plots.catalog(in_memory(df, setup), "coverage", cutoffs=[3], unknown_items="drop")
    assert marks(shown, "line")["y"].to_list() == [2 / 3]
    assert df.rank.plot.exposure(items=known, unknown_items="drop").title.text == "Lorenz curve of exposure"
    assert df.rank.plot.catalog("coverage", items=known, unknown_items="drop").title.text == "Coverage at every cutoff"

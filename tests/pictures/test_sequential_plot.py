"""The plot of a difference as queries come in; its rows are those of the comparison at each look."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe._pictures.draw import PALETTE
from rankframe._statistics.confidence_sequences import confidence_sequence
from tests.support.runs import RUNS, table, values

DAYS = pl.concat(
    table(30, seed=i).with_columns(query_id=pl.format("{}/{}", pl.lit(i), "query_id"), date=pl.lit(i)) for i in range(3)
)
TWO: Any = {"runs": ["old", "new"]}


def rows(chart: Any, kind: str, series: str = "new") -> list[dict[str, Any]]:
    """The rows of a mark of one series, by the number of queries."""
    (mark,) = (layer for layer in chart.to_dict()["layer"] if layer["mark"]["type"] == kind)
    data = chart.to_dict()["datasets"][mark["data"]["name"]]
    return sorted((row for row in data if row["series"] == series), key=lambda row: row["x"])


def test_the_band_is_the_confidence_sequence_in_the_order_of_the_table() -> None:
    df = DAYS.head(300)
    chart = df.rank.plot.sequential("map", **TWO)
    d = (values("new", "map", df) - values("old", "map", df))[:, None]
    band, line = rows(chart, "area"), rows(chart, "line")
    assert [row["x"] for row in band] == list(range(2, 21)) + [row["x"] for row in band[19:]]
    assert band[-1]["x"] == 30
    for row, mean in zip(band, line, strict=True):
        n = int(row["x"])
        low, high, _ = confidence_sequence(d[:n], (np.array([-1.0]), np.array([1.0])))
        assert (row["y"], row["y2"], mean["y"]) == pytest.approx((low[0, 0], high[0, 0], d[:n].mean()))


def test_a_second_band_is_the_normal_interval_of_a_single_look() -> None:
    df = DAYS.head(300)
    chart = df.rank.plot.sequential("map", **TWO, ci=0.9)
    d = values("new", "map", df) - values("old", "map", df)
    single = rows(chart, "area", "interval of a single look")[-1]
    off = 1.6448536 * d.std(ddof=1) / 30**0.5
    assert (single["y"], single["y2"]) == pytest.approx((d.mean() - off, d.mean() + off))
    assert "90% at all looks together (betting)" in " ".join(chart.title.subtitle)
    assert not rows(chart, "line", "interval of a single look")  # its mean is that of the run


def test_looks_are_those_of_a_column_or_of_the_state_of_a_gate() -> None:
    chart = DAYS.rank.plot.sequential("map", **TWO, look="date", ci=0.9)
    by_look = rows(chart, "area")
    assert [row["x"] for row in by_look] == [30, 60, 90]
    state: Any = True
    for _, day in DAYS.group_by("date", maintain_order=True):
        verdict = day.rank.gate({"map": 0.1}, **TWO, sequential=state, most_moved=0)
        state = verdict.state
    ends = (
        DAYS.rank.compare("map", **TWO, test="sequential", look="date", ci=0.9).table.select("ci_low", "ci_high").row(0)
    )
    for at in (by_look, rows(DAYS.tail(300).rank.plot.sequential("map", **TWO, sequential=state), "area")):
        assert (at[-1]["y"], at[-1]["y2"]) == pytest.approx(ends)
        assert [row["x"] for row in at] == [30, 60, 90]


def test_several_runs_have_a_band_each() -> None:
    chart = DAYS.rank.plot.sequential("map", runs=RUNS, baseline="new", look="date")
    assert chart.title.text == "MAP as queries come in: run minus new"
    for run in ("old", "odd"):
        assert len(rows(chart, "area", run)) == 3
    scale = chart.to_dict()["layer"][-1]["encoding"]["color"]["scale"]
    assert scale["range"] == [PALETTE[RUNS.index(run)] for run in scale["domain"]]


def test_a_table_without_queries_has_an_empty_picture() -> None:
    for options in ({}, {"look": "date"}):
        chart = DAYS.clear().rank.plot.sequential("map", **TWO, **options)  # type: ignore[arg-type]
        assert chart.title.text == "MAP as queries come in: new minus old"


def test_pandas_draws_by_matplotlib() -> None:
    axes = DAYS.to_pandas().rank.plot.sequential("map", **TWO, look="date")
    assert axes.get_xlabel() == "queries"
    assert next(line.get_xdata().tolist() for line in axes.lines if len(line.get_xdata()) == 3) == [30, 60, 90]


def test_a_metric_without_bounds_is_refused() -> None:
    with pytest.raises(rf.InvalidOption, match="dcg has no bounds"):
        DAYS.rank.plot.sequential("dcg", **TWO)

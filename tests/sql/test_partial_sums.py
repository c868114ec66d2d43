"""Partial sums give the means, t intervals and t tests of the values that they were made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from tests.sql.databases import DuckDB
from tests.support.each import each
from tests.support.tables import BY_CHANCE, frame, random_table

pytestmark = BY_CHANCE

RNG = np.random.default_rng(3)
ONE = frame(random_table(4))
DAYS = {name: int(RNG.integers(3)) for name in sorted(ONE["query_id"].unique())}
NOISE = pl.Series(RNG.normal(0, 0.8, ONE.height))
RUNS = pl.concat(
    [ONE.with_columns(system=pl.lit("old")), ONE.with_columns(pl.col("score") + NOISE, system=pl.lit("new"))]
)
RUNS = RUNS.with_columns(day=pl.col("query_id").replace_strict(DAYS, return_dtype=pl.Int64))
METRICS = ["ndcg@10", "hits", "fall_out@5"]


@pytest.fixture(scope="module")
def sums() -> pl.DataFrame:
    """The sums of each run and day, with those of differences from the old run."""
    db = DuckDB()
    db.load("runs", RUNS)
    text = rf.sql(*METRICS, dialect="duckdb", table="runs", run="system", baseline="old", by="day", partial=True)
    return pl.DataFrame(db.run(text), infer_schema_length=None)


def test_merged_sums_are_the_summary_of_the_values(sums: pl.DataFrame) -> None:
    found = rf.partial_sums(sums, *METRICS, run="system")
    for by in (None, "day"):
        wanted = RUNS.rank.summarize(*METRICS, run="system", interval="t", by=by)
        keys = ["system", *([by] if by else []), "metric"]
        assert_frame_equal(found.summarize(by=by).sort(keys), wanted.sort(keys), check_exact=False, abs_tol=1e-9)
    assert found.summarize(ci=None).columns == ["system", "metric", "n_queries", "std", "total", "mean"]


def test_sums_of_differences_give_the_paired_t_test(sums: pl.DataFrame) -> None:
    found = rf.partial_sums(sums, *METRICS, run="system")
    for by in (None, "day"):
        options: dict[str, Any] = {"run": "system", "baseline": "old", "by": by}
        wanted = RUNS.rank.compare(*METRICS, test="t", interval="t", **options).table
        keys = [*([by] if by else []), "metric"]
        assert_frame_equal(found.compare(by=by).table.sort(keys), wanted.sort(keys), check_exact=False, abs_tol=1e-9)
    comparison = found.compare()
    assert "new" in comparison.sentences()[0]
    assert "t-test" in str(comparison)
    assert comparison.per_query.is_empty()


def test_a_gate_on_sums_is_the_gate_on_values_with_students_interval(sums: pl.DataFrame) -> None:
    found = rf.partial_sums(sums, *METRICS, run="system")
    for budget in (0.001, 0.2):
        verdict = found.gate({"ndcg@10": budget})
        wanted = RUNS.rank.gate({"ndcg@10": budget}, run="system", baseline="old", interval="t")
        assert bool(verdict) == bool(wanted)
        assert_frame_equal(verdict.table, wanted.table, check_exact=False, abs_tol=1e-9)
        assert verdict.sentences() == wanted.sentences()
    assert set(found.gate("ndcg@10", margin=0.2, by="day").table["verdict"]) == {"too few queries"}
    assert bool(found.gate({"ndcg@10": 0.2})) is True


def test_days_one_under_the_other_merge_to_the_sums_of_all_days(sums: pl.DataFrame) -> None:
    """Also those of pandas, and of names that are texts."""
    whole = rf.partial_sums(sums, "ndcg@10", run="system").summarize()
    shuffled = pl.concat([sums.filter(pl.col("day") == day) for day in (2, 0, 1)])
    again = rf.partial_sums(shuffled, "ndcg@10", run="system").summarize()
    assert_frame_equal(again.sort("system"), whole.sort("system"), abs_tol=1e-12)
    of_pandas = rf.partial_sums(sums.to_pandas(), "ndcg@10", run="system").summarize()
    assert of_pandas["mean"].tolist() == pytest.approx(whole["mean"].to_list())
    texts = sums.rename({name: name.replace("ndcg_at_10", "ndcg@10") for name in sums.columns})
    assert_frame_equal(rf.partial_sums(texts, "ndcg@10", run="system").summarize(), whole)
    lazy: Any = rf.partial_sums(sums.lazy(), "ndcg@10", run="system").summarize()
    assert_frame_equal(lazy.collect(), whole)


def sums_of(rows: list[tuple[str, str, list[float], list[float]]]) -> pl.DataFrame:
    """The sums of rr of each run and market, from its values and its differences from the baseline."""
    found = []
    for run, market, values, d in rows:
        counts = {"__n": len(values), "__mean": np.mean(values), "__m2": np.var(values) * len(values)}
        counts |= {"__min": min(values), "__max": max(values)}
        counts |= {"__diff_n": len(d), "__wins": sum(x > 0 for x in d), "__losses": sum(x < 0 for x in d)}
        counts |= {"__diff_mean": np.mean(d), "__diff_m2": np.var(d) * len(d)} if d else {}
        found.append({"system": run, "market": market} | {f"rr{x}": float(number) for x, number in counts.items()})
    return pl.DataFrame(found, infer_schema_length=None)


@each(
    ("runs", "means"),
    [
        (
            [("old", "de", [0, 0.5, 1], []), ("new", "de", [0.5, 1], [0.5, 0.5])],
            (0.25, 0.75),
        ),  # new lacks the third query
        ([("old", "de", [0, 0.5], []), ("new", "de", [0.5, 1, 1], [0.5, 0.5])], (0.25, 0.75)),
        ([("old", "de", [0, 0.5, 1], []), ("new", "de", [0.5, 1, 1], [0.5, 0.5])], (None, None)),  # each lacks one
    ],
)
def test_means_are_over_the_queries_of_both_runs_or_null(runs: Any, means: Any) -> None:
    found = rf.partial_sums(sums_of(runs), "rr", run="system")
    with pytest.warns(
        rf.RankframeWarning, match="rr is compared on the 2 queries with values of both runs: run 'new' has"
    ):
        table = found.compare().table
    row = table.row(0, named=True)
    assert (row["baseline_mean"], row["mean"]) == means
    assert [row[name] for name in ("difference", "effect_size", "wins", "n_queries")] == [0.5, None, 2, 2]


@each("lacks", ["old", "new"])
def test_a_market_that_a_run_lacks_does_not_pass_a_gate(lacks: str) -> None:
    gains = [0.1 + i / 1000 for i in range(60)]
    rows = [("old", "de", [0.5] * 60, []), ("new", "de", [0.5 + x for x in gains], gains)]
    rows += [("new" if lacks == "old" else "old", "fr", [1.0] * 60, [])]
    with pytest.warns(rf.RankframeWarning, match="on the 0 queries with values of both runs"):
        verdict = rf.partial_sums(sums_of(rows), "rr", run="system").gate({"rr": 0.2}, by="market")
    assert not verdict
    assert verdict.table.select("market", "difference", "verdict", "n_queries").rows() == [
        ("de", pytest.approx(np.mean(gains)), "passed", 60),
        ("fr", None, "too few queries", 0),
    ]


@each("name", ["rr__n", "rr__mean", "rr__m2", "rr__diff_mean", "rr__wins"])
def test_a_sum_that_is_lost_is_no_0(name: str) -> None:
    """A mean that is null would count as 0 for its two queries."""
    rows = sums_of([("old", "de", [0, 0.5], []), ("new", "de", [0.5, 1], [0.5, 0.5])])
    for lost in (None, float("nan")):
        lossy = rows.with_columns(pl.when(system="new").then(pl.lit(lost)).otherwise(name).alias(name))
        for ask in (lambda x: x.compare(), lambda x: x.gate({"rr": 0.1})):
            with pytest.raises(rf.InvalidData, match="1 of 2 rows lack a sum of rr"):
                ask(rf.partial_sums(lossy, "rr", run="system"))


def test_what_sums_cannot_tell_is_refused(sums: pl.DataFrame) -> None:
    found = rf.partial_sums(sums, *METRICS, run="system")
    with pytest.raises(rf.InvalidOption, match="test='permutation' needs the value of each query"):
        found.compare(test="permutation")  # type: ignore[arg-type]
    with pytest.raises(rf.MissingColumn, match="no column 'map__n'"):
        rf.partial_sums(sums, "map")
    with pytest.raises(rf.MissingColumn, match="no column 'hits__m2'"):
        rf.partial_sums(sums.drop("hits__m2"), "hits")
    with pytest.raises(rf.MissingColumn, match="no column 'market'; the slices are system, day"):
        found.summarize(by="market")
    with pytest.raises(rf.MissingColumn, match="no column 'tag'"):
        rf.partial_sums(sums, "hits", run="tag")
    with pytest.raises(rf.InvalidOption, match="a comparison needs runs"):
        rf.partial_sums(sums, "hits").compare()
    with pytest.raises(rf.MissingColumn, match=r"no differences of hits: write the sums with rf.sql\(..., baseline"):
        rf.partial_sums(sums.select(pl.exclude("^.*diff.*$")), "hits", run="system").compare()
    with pytest.raises(rf.InvalidData, match="one run, the baseline, has no differences"):
        rf.partial_sums(sums.filter(pl.col("system") == "new"), "hits", run="system").compare()
    with pytest.raises(rf.InvalidOption, match="map is not among these sums"):
        found.gate({"map": 0.1})
    with pytest.raises(rf.InvalidOption, match="gm_map has a geometric mean"):
        rf.partial_sums(sums, "gm_map")
    with pytest.raises(rf.InvalidData, match="dict is no frame"):
        rf.partial_sums({}, "map")
    assert "PartialSums of ndcg@10, hits, fall_out@5 in 6 rows, by system, day" in repr(found)


SUMS_OF_DAYS = pl.DataFrame(
    {"day": [1, 1, 2, 2], "model": ["a", "b"] * 2, "rr__n": [200.0] * 4, "rr__mean": [0.5, 0.9] * 2}
).with_columns(rr__m2=pl.lit(20.0), rr__min=pl.lit(0.0), rr__max=pl.lit(1.0))
"""Two models on 200 queries of either day."""


def test_a_day_that_was_computed_twice_is_refused_and_counts_once_when_one_row_is_kept() -> None:
    again = pl.concat([SUMS_OF_DAYS, SUMS_OF_DAYS.filter(day=1)])  # 600 queries of each model, where there are 400
    says = "^day 1, model a comes more than once, and sums of the same queries would add up; keep one row of each"
    for rows in (again, again.to_pandas()):
        with pytest.raises(rf.InvalidData, match=says):
            rf.partial_sums(rows, "rr", run="model")
    found = rf.partial_sums(again.unique(["day", "model"]), "rr", run="model").summarize(ci=None)
    assert {*found.select("model", "n_queries", "mean").rows()} == {("a", 400, 0.5), ("b", 400, 0.9)}
    with pytest.raises(rf.InvalidData, match="4 rows of sums have no column that tells them apart, such as their day"):
        rf.partial_sums(SUMS_OF_DAYS.drop("day", "model"), "rr")


def test_a_column_that_seems_to_name_runs_is_told_of_where_its_rows_would_be_merged() -> None:
    says = r"^column 'model' has 2 values and seems to name runs, .* say rf\.partial_sums\(\.\.\., run='model'\)$"
    with pytest.warns(rf.RankframeWarning, match=says):
        merged = rf.partial_sums(SUMS_OF_DAYS, "rr").summarize(by="day", ci=None)
    assert merged["mean"].to_list() == [0.7, 0.7]  # of no model
    right = rf.partial_sums(SUMS_OF_DAYS, "rr", run="model").summarize(ci=None)
    assert right["mean"].to_list() == [0.5, 0.9]
    assert rf.partial_sums(SUMS_OF_DAYS, "rr").summarize(by="model", ci=None)["mean"].to_list() == [0.5, 0.9]
    rf.partial_sums(SUMS_OF_DAYS.filter(model="a"), "rr").summarize()  # one model: no warning

"""Recall-paired preference in comparisons: a measure of two rankings that has no value for one."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe import stats
from rankframe._statistics.bayes import signed_rank
from rankframe._statistics.confidence_sequences import confidence_sequence
from tests.metrics.oracles.agreement import rpp
from tests.support.each import each
from tests.support.tables import BY_CHANCE, frame, random_pairs, random_table

pytestmark = BY_CHANCE

TABLE = {q: [(doc, a, b, label) for doc, a, b, label in rows] for q, rows in random_pairs(51, queries=40).items()}
DF = frame(TABLE, columns=("doc_id", "new", "old", "label"))
LONG = DF.unpivot(["old", "new"], index=["query_id", "doc_id", "label"], variable_name="run", value_name="score")
WANTED = {query: rpp(rows) for query, rows in TABLE.items()}
"""How far the new run is ahead; None for a query that nobody judged."""
JUDGED = {query: value for query, value in WANTED.items() if value is not None}


def per_query(found: rf.results.Comparison[Any], text: str = "rpp") -> dict[str, float]:  # type: ignore[name-defined]
    delta = found.per_query_delta
    delta = delta if isinstance(delta, pl.DataFrame) else pl.from_pandas(delta.reset_index())
    return dict(zip(delta["query_id"], delta[text], strict=True))


TABLES = {x: DF.rename({x: "score"}) for x in ("old", "new")}
FORMS: dict[str, tuple[Any, dict[str, Any]]] = {
    "columns": (DF, {"runs": ["old", "new"]}),
    "rows": (LONG, {"run": "run", "baseline": "old"}),
    "rows in any order": (LONG.sample(fraction=1, shuffle=True, seed=1), {"run": "run", "baseline": "old"}),
    "pandas": (DF.to_pandas(), {"runs": ["old", "new"]}),
    "tables": (TABLES["old"], {"runs": TABLES, "baseline": "old"}),
}


@each("form", FORMS)
def test_the_difference_is_the_mean_preference_for_the_run(form: str) -> None:
    df, options = FORMS[form]
    found = rf.rank(df).compare("rpp", "map", **options, progress=False)
    assert per_query(found) == pytest.approx(WANTED)
    of_rpp = next(iter(pl.DataFrame(found).filter(metric="rpp").to_dicts()))
    assert of_rpp["difference"] == pytest.approx(np.mean([*JUDGED.values()]))
    assert (of_rpp["baseline"], of_rpp["run"]) == ("old", "new")
    assert (of_rpp["baseline_mean"], of_rpp["mean"]) == (None, None)
    signs = np.sign([*JUDGED.values()])
    assert [of_rpp[name] for name in ("wins", "ties", "losses")] == [(signs == x).sum() for x in (1, 0, -1)]
    alone = rf.rank(df).compare("map", **options, progress=False)
    of_map = pl.DataFrame(found).filter(metric="map").drop("p_adjusted")
    assert_frame_equal(of_map, pl.DataFrame(alone).drop("p_adjusted"))


def test_its_test_and_its_interval_are_those_of_the_values_per_query() -> None:
    found = DF.rank.compare("rpp", runs=["old", "new"]).table.row(0, named=True)
    d = np.array([JUDGED.get(query, np.nan) for query in sorted(WANTED)])[:, None]
    ones = np.ones(len(d))
    p, _ = stats.paired_test(d, ones, "permutation", 10_000, 0)
    assert found["p_value"] == p.item()
    assert found["interval"] == "permutation"
    found = DF.rank.compare("rpp", runs=["old", "new"], interval="bounded").table.row(0, named=True)
    ends = stats.intervals(d, ones, 0.95, "bounded", 10_000, 0, limits=(np.array([-1.0]), np.array([1.0])))
    assert (found["interval"], found["ci_low"], found["ci_high"]) == ("bounded", ends[0].item(), ends[1].item())


def test_every_two_of_several_runs_have_a_value_of_their_own() -> None:
    third = [row[1] for rows in random_table(52, queries=40).values() for row in rows]
    df = DF.with_columns(third=pl.Series((third * 2)[: DF.height], dtype=pl.Float64))
    found = df.rank.compare("rpp@5", runs=["old", "new", "third"], correction=None)
    for row in found.table.to_dicts():
        own = df.rank.on(score=row["run"]).agreement(row["baseline"], "rpp@5")
        assert row["difference"] == pytest.approx(own["rpp@5"].mean())
    assert found.per_query["rpp@5"].null_count() == found.per_query.height
    assert "third" in str(found)
    assert "| rpp@5 |" in found.to_markdown()


def test_a_cut_ranking_and_a_slice_count_as_in_other_metrics() -> None:
    cut = {query: rpp(rows, k=3) for query, rows in TABLE.items()}
    assert per_query(DF.rank.on(depth=3).compare("rpp", runs=["old", "new"])) == pytest.approx(cut)
    halves = DF.with_columns(half=pl.col("query_id").hash(seed=0) % 2)
    found = halves.rank.compare("rpp", runs=["old", "new"], by="half").table
    assert found["n_queries"].sum() == len(JUDGED) > 30
    assert (found["difference"] * found["n_queries"]).sum() == pytest.approx(sum(JUDGED.values()))


def test_columns_that_other_metrics_read_do_not_matter() -> None:
    df = DF.with_columns(group=pl.col("doc_id"), cost=pl.lit(1.0))
    assert per_query(df.rank.on(group="group", cost="cost").compare("rpp", runs=["old", "new"])) == pytest.approx(
        WANTED
    )


def test_a_query_that_a_run_lacks_is_refused_left_out_or_counts_as_nothing_retrieved() -> None:
    first = sorted(TABLE)[0]
    lacking = LONG.filter(~((pl.col("run") == "old") & (pl.col("query_id") == first)))
    with pytest.raises(rf.InvalidData, match="run 'old' lacks 1 of 40 queries"):
        lacking.rank.compare("rpp", run="run")
    dropped = lacking.rank.compare("rpp", run="run", baseline="old", missing="drop")
    assert per_query(dropped) == pytest.approx({query: x for query, x in WANTED.items() if query != first})
    zero = lacking.rank.compare("rpp", run="run", baseline="old", missing="zero")
    assert per_query(zero)[first] == rpp([(doc, new, None, label) for doc, new, _, label in TABLE[first]])


def test_looks_and_chances_are_those_of_its_values() -> None:
    found = DF.rank.compare("rpp", "ndcg", runs=["old", "new"], test="sequential")
    deltas = found.per_query_delta
    for text, ends in (("rpp", 1), ("ndcg", 1)):
        low, high, p = confidence_sequence(deltas.select(text).to_numpy(), (np.array([-ends]), np.array([ends])))
        row = found.table.row(by_predicate=pl.col("metric") == text, named=True)
        assert (row["ci_low"], row["ci_high"], row["p_value"]) == pytest.approx((low.item(), high.item(), p.item()))
    chances = DF.rank.compare("rpp", runs=["old", "new"], test="bayes").table.row(0, named=True)
    wanted = signed_rank(deltas.sort("query_id")["rpp"].to_numpy(), 0.0, 10_000, 0)
    assert [chances[f"p_{x}"] for x in ("worse", "equivalent", "better")] == pytest.approx(wanted)


def test_only_a_comparison_takes_it_and_no_test_that_permutes_values_among_runs() -> None:
    for wrong in ({"test": "tukey"}, {"model_labels": "old"}, {"adjust": "num_retrieved"}):
        with pytest.raises(rf.InvalidOption, match=" needs a value of each run, and rpp compares two; leave it out"):
            DF.rank.compare("rpp", runs=["old", "new"], **wrong)
    with pytest.raises(rf.UnknownMetric, match=r"unknown metric 'rpp'. Did you mean 'rpp' \(of agreement\)\?"):
        DF.rank.on(score="old").evaluate("rpp")
    with pytest.raises(rf.UnknownMetric):
        DF.rank.gate({"rpp": 0.1}, runs=["old", "new"])

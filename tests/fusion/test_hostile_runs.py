"""Runs that hurt: what each gives, by hand, or what the error says to write instead."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from tests.support.each import each

TWO = pl.DataFrame({"query_id": [1, 1, 1], "doc_id": ["a", "b", "c"], "x": [3.0, 2.0, 1.0], "y": [1.0, 2.0, None]})
LONG = TWO.unpivot(["x", "y"], index=["query_id", "doc_id"], variable_name="run", value_name="score").drop_nulls()


def of(*scores: float | None) -> pl.DataFrame:
    return pl.DataFrame({"query_id": 1, "doc_id": [f"d{i}" for i in range(len(scores))], "x": scores})


def fused(table: Any, method: str, runs: Any = ("x", "y"), **options: Any) -> list[float | None]:
    scores: list[float | None] = table.rank.fuse(method, runs=list(runs), **options)["score"].to_list()
    return scores


# Scores near the ends of what a number holds

FAR = {
    "min_max": [0, 1, 0], "min_max_inverted": [1, 0, 1], "sum": [0, 1, 0], "rank": [1 / 3, 1, 2 / 3], "max": [1, 1, 1],
}  # fmt: skip


@each("name", FAR)
def test_large_scores_with_small_differences_are_told_apart(name: str) -> None:
    assert fused(of(1e16, 1e16 + 2, 1e16), "comb_sum", "x", normalize=name) == pytest.approx(FAR[name], abs=1e-12)


SIZES = [f"comb_sum(normalize={name})" for name in ("min_max", "max", "sum", "zmuv", "l2", "dbsf", "None")]
SIZES += ["qdrant_dbsf", "opensearch_hybrid", "llamaindex", "haystack"]


@each("method", SIZES)
@each("score", [math.inf, 1e200])
def test_scores_whose_squares_are_no_numbers_are_refused(method: str, score: float) -> None:
    with pytest.raises(
        rf.InvalidData, match=r"infinite or beyond 1e\+150.*give smaller scores, or fuse by ranks, as with 'rrf'"
    ):
        fused(of(score, 1.0, 0.0), method, "x")
    assert fused(of(score, 1.0, 0.0), "rrf(k=0)", "x") == [1, 1 / 2, 1 / 3]


@each("method", ["comb_sum(normalize=zmuv)", "comb_sum(normalize=dbsf)", "comb_sum(normalize=l2)", "qdrant_dbsf"])
def test_scores_whose_differences_are_lost_in_squares_are_refused(method: str) -> None:
    with pytest.raises(rf.InvalidData, match=r"differ by less than 1e-150.*multiply them, as by 1e200"):
        fused(of(2e-200, 1e-200, 0.0), method, "x")
    multiplied = fused(of(2.0, 1.0, 0.0), method, "x")
    assert multiplied == pytest.approx(fused(of(2e-140, 1e-140, 0.0), method, "x"), rel=1e-9)
    assert fused(of(2e-200, 1e-200, 0.0), "comb_sum(normalize=min_max)", "x") == [1, 0.5, 0]


@each(("method", "weights"), [("wsum", [1e200, 1]), ("comb_gmnz(gamma=2000)", None)])
def test_a_fused_score_that_is_no_number_is_refused(method: str, weights: Any) -> None:
    table = TWO.with_columns(pl.col("x") * 1e149)
    for verb in (table.rank.fuse, table.rank.fusion.explain):
        with pytest.raises(rf.InvalidData, match="gives a document a score that is NaN or infinite; give smaller"):
            verb(method, runs=["x", "y"], weights=weights)


# Weights


@each("method", ["elasticsearch_rrf", "elasticsearch_linear", "opensearch_hybrid", "opensearch_rrf"])
def test_weights_below_0_are_refused_where_the_engine_refuses_them(method: str) -> None:
    with pytest.raises(rf.InvalidOption, match="each a finite number from 0 on"):
        fused(TWO, method, weights=[-1, 1])


@each("method", ["opensearch_hybrid", "haystack", "llamaindex"])
@each("weight", [0, 1e308])
def test_weights_that_add_up_to_0_or_infinity_are_no_shares(method: str, weight: float) -> None:
    said = f"weights={[weight] * 2} cannot be brought to a sum of 1; give weights from 0 on"
    with pytest.raises(rf.InvalidOption, match=re.escape(said)):
        fused(TWO, method, weights=[weight] * 2)


@each("method", ["opensearch_hybrid", "haystack(join_mode=merge)", "llamaindex(mode=relative_score)"])
def test_shares_do_not_depend_on_the_sum_of_the_weights(method: str) -> None:
    assert fused(TWO, method, weights=[3, 1]) == pytest.approx(fused(TWO, method, weights=[0.75, 0.25]), abs=1e-15)


def test_weights_below_0_count_against_a_run_in_the_sums_of_the_literature() -> None:
    assert fused(TWO, "wsum", weights=[1, -2]) == [1, -2, 1]
    assert fused(TWO, "condorcet", weights=[1, -1]) == [1.5, 0.5, 1]


@each("method", ["rrf", "wsum", "condorcet", "haystack", "langchain", "opensearch_hybrid"])
@each("weights", [[], [1], [1, 2, 3]])
def test_an_error_of_too_many_or_too_few_weights_shows_those_that_were_given(method: str, weights: list[int]) -> None:
    given = rf"weights=\{weights!r}: the runs are 2, the weights {len(weights)}; give one weight for each run"
    with pytest.raises(rf.InvalidOption, match=given.replace("]:", "\\]:")):
        fused(TWO, method, weights=weights)


@each("bad", [math.nan, math.inf, None, "0.5", True])
def test_weights_that_are_no_numbers_are_refused(bad: Any) -> None:
    with pytest.raises(rf.InvalidOption, match=r"a list \(each a (finite )?number"):
        fused(TWO, "wsum", weights=[bad, 1])


# Depth


@each("depth", [0, -1, 1.5, "2", True])
def test_a_depth_is_a_whole_number_from_1_on(depth: Any) -> None:
    with pytest.raises(rf.InvalidOption, match="whole number from 1 on"):
        fused(TWO, "rrf", depth=depth)
    with pytest.raises(rf.InvalidOption, match="whole number from 1 on"):
        TWO.rank.on(depth=depth)


def test_the_depth_is_the_window_of_an_engine_that_has_one() -> None:
    expected = [1 / 61, 1 / 61, None]
    assert fused(TWO, "elasticsearch_rrf", depth=1) == fused(TWO, "elasticsearch_rrf(rank_window_size=1)") == expected
    with pytest.raises(rf.InvalidOption, match="both give rank_window_size"):
        fused(TWO, "elasticsearch_rrf(rank_window_size=1)", depth=2)


@each("tables", [pl.DataFrame.clone, lambda x: x[::-1], pl.DataFrame.lazy, pl.DataFrame.to_pandas])
def test_of_equal_scores_at_the_depth_those_with_the_larger_ids_stay(tables: Callable[[pl.DataFrame], Any]) -> None:
    table = of(1.0, 1.0, 1.0, 2.0)
    found = tables(table).rank.on(ties="expected").fuse("rrf(k=0)", runs=["x"], depth=3)
    found = found.collect() if isinstance(found, pl.LazyFrame) else found
    scores = dict(zip(found["doc_id"], found["score"], strict=True))
    assert [scores[name] for name in ("d1", "d2", "d3")] == [(1 / 2 + 1 / 3) / 2, (1 / 2 + 1 / 3) / 2, 1]
    assert scores["d0"] is None or math.isnan(scores["d0"])


# Names of runs


MISSING: dict[str, Callable[[Any], Any]] = {
    "fuse": lambda df: df.rank.fuse("rrf", run="system"),
    "explain_fusion": lambda df: df.rank.fusion.explain("rrf", run="system"),
    "fit_fusion": lambda df: df.rank.fusion.fit("mapfuse", run="system"),
    "overlap": lambda df: df.rank.fusion.overlap(run="system"),
    "oracle": lambda df: df.rank.fusion.oracle("rr", run="system"),
    "tune": lambda df: df.rank.tune("rrf", run="system"),
}


@each("kind", [pl.DataFrame.clone, pl.DataFrame.lazy, pl.DataFrame.to_pandas], ids=lambda x: x.__name__)
@each("verb", MISSING)
def test_a_missing_column_of_runs_is_named(verb: str, kind: Any) -> None:
    with pytest.raises(rf.MissingColumn, match=r"no column 'system' for run.*Did you mean 'run'"):
        MISSING[verb](kind(LONG.with_columns(label=1)))


def test_the_advice_on_repeated_documents_names_no_column_twice() -> None:
    with pytest.raises(rf.InvalidData, match=r"df\.rank\.on\(query=\[\.\.\., 'run', 'query_id'\]\) \(found in 10 rows"):
        pl.concat([LONG, LONG]).rank.fuse("rrf", run="run")


# Runs that differ


A, B = (TWO.select("query_id", "doc_id", score=name).drop_nulls() for name in "xy")


def test_runs_of_different_queries_are_fused_query_by_query() -> None:
    found = rf.fuse([A, B.with_columns(query_id=pl.lit(2, pl.Int64))], "comb_mnz(normalize=min_max)")
    assert found.rows() == [(1, "a", 1), (1, "b", 0.5), (1, "c", 0), (2, "a", 0), (2, "b", 1)]


@each("empty", [lambda: rf.fuse([A, B.clear()], "rrf(k=0)"),
                                   lambda: TWO.with_columns(y=None).rank.fuse("rrf(k=0)", runs=["x", "y"])])  # fmt: skip
def test_an_empty_run_adds_nothing(empty: Any) -> None:
    assert empty()["score"].to_list() == [1, 1 / 2, 1 / 3]


def test_runs_without_rows_give_none() -> None:
    assert rf.fuse([A.clear(), B.clear()]).rows() == []


def test_a_null_id_is_an_id_like_any_other() -> None:
    queries = TWO.with_columns(query_id=pl.Series([None, None, 1]))
    assert fused(queries, "rrf(k=0)") == [1 / 1 + 1 / 2, 1 / 2 + 1, 1]
    table = pl.DataFrame({"run": ["a", "b", "b"], "query_id": 1, "doc_id": [None, None, "x"], "score": [1.0, 2.0, 1.0]})
    assert table.rank.fuse("rrf(k=0)", run="run").rows() == [(1, None, 2), (1, "x", 1 / 2)]


@each("column", ["query_id", "doc_id"])
def test_ids_of_different_types_are_refused_with_advice(column: str, tmp_path: Path) -> None:
    numbers = B.with_columns(doc_id=pl.Series([1, 2]), query_id=pl.lit(1, pl.Int64)).select(
        "query_id", "doc_id", "score"
    )
    texts = A.cast({"query_id": pl.String}) if column == "query_id" else A
    numbers = numbers if column == "doc_id" else numbers.cast({"doc_id": pl.String})
    with pytest.raises(rf.InvalidData, match=f"column '{column}' holds .*cast one of them to the type of the other"):
        rf.fuse([texts, numbers])
    assert rf.fuse([texts, numbers.cast({column: pl.String})]).height == 5
    A.cast({"query_id": pl.String}).write_parquet(tmp_path / "a.parquet")
    numbers.write_parquet(tmp_path / "b.parquet")
    if column == "query_id":
        with pytest.raises(
            rf.InvalidData, match="'query_id' holds String in the table of 'a' and Int64 in the table of 'b'"
        ):
            rf.fuse([tmp_path / "a.parquet", tmp_path / "b.parquet"])


# Fusions that were trained


def test_a_trained_fusion_is_explained_with_the_runs_of_its_training() -> None:
    fitted = LONG.with_columns(label=1).rank.fusion.fit("mapfuse", run="run")
    found = LONG.rank.fusion.explain(fitted)
    assert found.equals(LONG.rank.fusion.explain(fitted, run="run"))
    # x has all three documents, so its average precision is 1; y has two of three: 2/3
    assert found.filter(doc_id="a").select("run", "contribution").rows() == [("x", 1), ("y", pytest.approx(1 / 3))]


@each("given", [{}, {"runs": ["y", "x"]}, {"run": "run"}, {"run": "run", "runs": ["y", "x"]}], ids=str)
def test_a_kernel_applies_a_trained_fusion(given: dict[str, Any]) -> None:
    wide = given in ({"runs": ["y", "x"]},)
    fitted = LONG.with_columns(label=1).rank.fusion.fit("mapfuse", run="run")
    table = TWO if wide else LONG
    found = pl.DataFrame(rf.arrow_kernel(fusion=fitted, **given)(table.to_arrow()))
    assert found["score"].to_list() == pytest.approx([1 + 1 / 3, 1 / 2 + 2 / 3, 1 / 3])


def test_a_kernel_refuses_runs_that_a_fusion_was_not_trained_on() -> None:
    fitted = LONG.with_columns(label=1).rank.fusion.fit("mapfuse", run="run")
    with pytest.raises(
        rf.InvalidOption, match="the runs x, z are other ones than those on which mapfuse was trained, x, y"
    ):
        rf.arrow_kernel(fusion=fitted, runs=["x", "z"])


def test_a_trained_fusion_stands_where_the_text_of_a_method_does(tmp_path: Path) -> None:
    table = TWO.with_columns(label=1)
    fitted = table.rank.fusion.fit("slidefuse(w=1)", runs=["x", "y"])
    found = table.rank.fusion.oracle("rr", runs=["x", "y"], fusion=fitted, resamples=100, progress=False)
    assert found.table["run"].to_list() == ["x", "y", "slidefuse(w=1)"]
    assert found.settings["fusion"] == "slidefuse(w=1)"
    assert table.rank.plot.contributions(fitted).title.text == "What each run contributes to slidefuse(w=1)"
    table.rank.report(tmp_path / "report.html", "rr", runs=["x", "y"], fusion=fitted, resamples=100)
    assert (tmp_path / "report.html").read_text().count("slidefuse(w=1)") > 2

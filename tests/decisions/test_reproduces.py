"""How far runs reproduce original ones, by hand and by plain Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

import rankframe as rf
from tests.support.each import each

ORIGINAL = {"new_b": "b", "new_a": "a"}


def runs(seed: int = 0, queries: int = 15, documents: int = 12) -> pl.DataFrame:
    """A baseline, a better run, and both reproduced; each retrieves nine documents."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, (queries, documents))
    columns: dict[str, Any] = {
        "query_id": np.arange(queries).repeat(documents),
        "doc_id": np.tile([f"d{i}" for i in rng.permutation(documents)], queries),
        "label": truth.ravel(),
    }
    scores = {"b": truth * 0.5, "a": truth * 1.0}
    for name, worth in scores.items():
        own = worth + rng.normal(0, 1, truth.shape)
        for run, x in ((name, own), (f"new_{name}", own + rng.normal(0, 0.5, truth.shape))):
            least = np.sort(x, axis=1)[:, -9][:, None]
            columns[run] = np.where(x >= least, x, np.nan).ravel()
    return pl.DataFrame(columns).fill_nan(None)


DF = runs()


def plain_tau(one: list[Any], other: list[Any], names: list[Any]) -> float:
    """Kendall's tau of the places in the union, pair by pair of ranks."""
    n = min(len(one), len(other))
    x, y = ([names.index(doc) for doc in ranking[:n]] for ranking in (one, other))
    signs = [(x[i] - x[j]) * (y[i] - y[j]) for i in range(n) for j in range(i)]
    return sum((s > 0) - (s < 0) for s in signs) / len(signs)


def rankings(run: str, df: pl.DataFrame = DF) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = {}
    for query, doc in df.drop_nulls(run).sort(run, descending=True).select("query_id", "doc_id").rows():
        found.setdefault(query, []).append(doc)
    return found


@each(("union", "k"), [("ranked", None), ("sorted", None), ("ranked", 4)])
def test_the_order_is_kendalls_tau_of_places_in_the_union(union: Any, k: int | None) -> None:
    found = DF.rank.collection.reproduces("map", original=ORIGINAL, union=union, k=k)
    for new, old in ORIGINAL.items():
        of_old, of_new = rankings(old), rankings(new)
        wanted = []
        for query in sorted(of_old):
            one, other = of_old[query][:k], of_new[query][:k]
            names = sorted({*one, *other}) if union == "sorted" else [*dict.fromkeys([*one, *other])]
            wanted.append(plain_tau(one, other, names))
        assert found.per_query.filter(run=new).sort("query_id")["ktu"].to_list() == pytest.approx(wanted)
        assert found.table.filter(run=new)["ktu"].item() == pytest.approx(np.mean(wanted))


def test_renamed_documents_have_the_same_order_unless_the_union_is_sorted() -> None:
    renamed = DF.with_columns(pl.col("doc_id").str.reverse() + pl.col("doc_id").hash(3).cast(pl.String))
    same, other = (x.rank.collection.reproduces("map", original=ORIGINAL).table["ktu"].to_list() for x in (DF, renamed))
    assert same == pytest.approx(other)
    one, two = (
        x.rank.collection.reproduces("map", original=ORIGINAL, union="sorted").table["ktu"].to_list()
        for x in (DF, renamed)
    )
    assert one != pytest.approx(two)


def test_error_effect_and_p_are_those_of_their_definitions() -> None:
    found = DF.rank.collection.reproduces("map", "ndcg@5", original=ORIGINAL).table
    assert found.select("metric", "run").rows() == [(m, r) for m in ("map", "ndcg@5") for r in ("new_b", "new_a")]
    for metric in ("map", "ndcg@5"):
        x = {run: DF.rank.on(score=run).evaluate(metric)[metric].to_numpy() for run in ("a", "b", "new_a", "new_b")}
        for new, old in ORIGINAL.items():
            row = found.filter(metric=metric, run=new).row(0, named=True)
            assert (row["original"], row["n_queries"]) == (old, 15)
            assert [row["mean"], row["original_mean"]] == pytest.approx([x[new].mean(), x[old].mean()])
            assert row["rmse"] == pytest.approx(math.sqrt(np.mean((x[new] - x[old]) ** 2)))
            assert row["p_value"] == pytest.approx(stats.ttest_rel(x[new], x[old]).pvalue)
        base, better = (found.filter(metric=metric, run=run).row(0, named=True) for run in ORIGINAL)
        assert base["effect_ratio"] is base["delta_relative_improvement"] is None
        assert better["effect_ratio"] == pytest.approx((x["new_a"] - x["new_b"]).mean() / (x["a"] - x["b"]).mean())
        relative = [x[one].mean() / x[two].mean() - 1 for one, two in (("a", "b"), ("new_a", "new_b"))]
        assert better["delta_relative_improvement"] == pytest.approx(relative[0] - relative[1])


def test_a_copy_reproduces_all() -> None:
    df = DF.with_columns(new_a="a", new_b="b")
    row = df.rank.collection.reproduces("map", original=ORIGINAL).table.row(1, named=True)
    figures = ("ktu", "rmse", "effect_ratio", "delta_relative_improvement", "p_value")
    assert [row[x] for x in figures] == pytest.approx([1, 0, 1, 0, 1])


def test_runs_are_columns_rows_or_tables_of_any_kind() -> None:
    wanted = DF.rank.collection.reproduces("map", original=ORIGINAL)
    names = ["b", "a", "new_b", "new_a"]
    assert_frame_equal(DF.rank.collection.reproduces("map", original=ORIGINAL, runs=names).table, wanted.table)
    long = DF.unpivot(names, index=["query_id", "doc_id", "label"], variable_name="system", value_name="score")
    found = long.rank.collection.reproduces("map", original=ORIGINAL, run="system")
    assert_frame_equal(found.table, wanted.table)
    assert_frame_equal(found.per_query, wanted.per_query)
    tables = {name: DF.select("query_id", "doc_id", "label", score=name) for name in names}
    assert_frame_equal(
        tables["a"].rank.collection.reproduces("map", original=ORIGINAL, runs=tables).table, wanted.table
    )
    lazy = DF.lazy().rank.collection.reproduces("map", original=ORIGINAL)
    assert_frame_equal(lazy.table.collect(), wanted.table)
    of_pandas = DF.to_pandas().rank.collection.reproduces("map", original=ORIGINAL)
    assert isinstance(of_pandas.per_query, pd.DataFrame)
    assert of_pandas.table["ktu"].tolist() == pytest.approx(wanted.table["ktu"].to_list())


def test_per_query_has_the_differences_of_each_metric() -> None:
    found = DF.rank.collection.reproduces("map", "rr", original={"new_b": "b"}).per_query
    assert found.columns == ["query_id", "run", "original", "ktu", "map", "rr"]
    values = [DF.rank.on(score=run).evaluate("rr")["rr"] for run in ("new_b", "b")]
    assert found["rr"].to_list() == pytest.approx((values[0] - values[1]).to_list())


def test_rankings_of_fewer_than_two_documents_have_no_tau_and_queries_without_a_value_do_not_count() -> None:
    df = pl.DataFrame({"query_id": [1, 2, 2, 3, 3], "doc_id": [*"aabab"], "label": [1, 1, 0, 0, 0]})
    df = df.with_columns(old=pl.Series([1, 2, 1, 2, 1]), new=pl.Series([1, 2, 1, 1, 2]))
    found = df.rank.on(no_relevant="null").collection.reproduces("rr", original={"new": "old"})
    assert found.per_query["ktu"].to_list() == [None, 1, -1]
    assert found.table["ktu"].item() == 0
    assert found.table["n_queries"].item() == 2
    nothing = (
        df.filter(pl.col("query_id") == 3)
        .rank.on(no_relevant="null")
        .collection.reproduces("rr", original={"new": "old"})
    )
    row = nothing.table.row(0, named=True)
    assert (row["mean"], row["rmse"], row["p_value"], row["n_queries"]) == (None, None, None, 0)
    assert nothing.table["ktu"].item() == -1


def test_null_queries_and_baselines_without_gain_are_kept_apart() -> None:
    same = DF.with_columns(a="b").rank.collection.reproduces("map", original=ORIGINAL).table.row(1, named=True)
    assert same["effect_ratio"] is None
    missing = DF.with_columns(query_id=pl.when(pl.col("query_id") > 0).then("query_id"))
    assert_frame_equal(
        missing.rank.collection.reproduces("map", original=ORIGINAL).table,
        DF.rank.collection.reproduces("map", original=ORIGINAL).table,
    )


@each(
    ("table", "original", "message"),
    [
        (DF, {"new_a": "a", "b": "b"}, "'b' and 'b' are to be two of the runs"),
        (DF.drop("doc_id"), {"new_a": "a"}, "compares rankings by document"),
        (DF, {"newer": "a"}, "no column 'newer' for runs"),
    ],
)
def test_what_cannot_be_compared_is_refused(table: pl.DataFrame, original: Any, message: str) -> None:
    with pytest.raises(rf.RankframeError, match=message):
        table.rank.collection.reproduces("map", original=original)
    with pytest.raises(rf.InvalidOption, match="'x' and 'a' are to be two of the runs, a, b"):
        DF.rank.collection.reproduces("map", original={"x": "a"}, runs=["a", "b"])


def test_the_result_shows_a_sentence_and_a_row_for_each_run() -> None:
    found = DF.rank.collection.reproduces("map", original=ORIGINAL)
    assert [line.partition(" on map: ")[0] for line in found.sentences()] == [
        "`new_b` against `b`",
        "`new_a` against `a`",
    ]
    assert ", RMSE 0." in found.sentences()[0]
    assert ", p = " in found.sentences()[0]
    assert "KTU   RMSE  effect ratio  delta RI" in repr(found)
    far = runs(queries=60).with_columns(best="label").rank.collection.reproduces("map", original={"new_a": "best"})
    assert far.table["p_value"].item() < 0.0001
    assert "< 0.0001" in repr(far).split("\n\n")[1]
    assert found.settings["original"] == ORIGINAL

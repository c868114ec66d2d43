"""What runs have in common, and what the best run of each query would gain."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from tests.support.each import each

from .test_worked_values import LONG, WIDE

TOPS = {"a": {1: "abc", 2: "xy"}, "b": {1: "bad", 2: "z"}, "c": {1: "e"}}
RELEVANT = {(1, "a"), (1, "d"), (2, "y"), (1, "e"), (2, "w")}


def table(tops: dict[str, dict[int, str]], relevant: set[tuple[int, str]]) -> pl.DataFrame:
    """A row per run and document, best first."""
    rows = [
        (run, query, doc, -rank, int((query, doc) in relevant))
        for run, lists in tops.items()
        for query, docs in lists.items()
        for rank, doc in enumerate(docs)
    ]
    return pl.DataFrame(rows, schema=["system", "query_id", "doc_id", "score", "label"], orient="row")


def rank_biased_overlap(one: str, other: str, p: float = 0.9) -> float:
    """Equation 32 of Webber, Moffat and Zobel, term by term."""
    short, long = sorted([one, other], key=len)
    s, n = len(short), len(long)
    x = [len({*short[:d]} & {*long[:d]}) for d in range(n + 1)]
    if not s:
        return 0.0
    total = sum(x[d] / d * p**d for d in range(1, n + 1))
    total += sum(x[s] * (d - s) / (s * d) * p**d for d in range(s + 1, n + 1))
    return (1 - p) / p * total + ((x[n] - x[s]) / n + x[s] / s) * p**n


def expected_pair(one: dict[int, str], other: dict[int, str], k: int | None) -> dict[str, float]:
    """The figures of a pair, query by query in plain Python."""
    queries = list(one.keys() | other.keys())
    lists = [(one.get(query, ""), other.get(query, "")) for query in queries]
    tops = [({*a[:k]}, {*b[:k]}) for a, b in lists]
    over = [k or max(len(a), len(b)) for a, b in lists]
    n = len(queries)
    return {
        "overlap": sum(len(a & b) / k for (a, b), k in zip(tops, over, strict=True)) / n,
        "jaccard": sum(len(a & b) / len(a | b) for a, b in tops) / n,
        "rbo": sum(rank_biased_overlap(a, b) for a, b in lists) / n,
        "n_queries": n,
    }


@each("k", [1, 2, 10, None])
def test_a_pair_has_the_means_of_its_queries(k: int | None) -> None:
    found = table(TOPS, RELEVANT).rank.fusion.overlap(run="system", k=k)
    for row in found.table.iter_rows(named=True):
        expected = expected_pair(TOPS[row.pop("run")], TOPS[row.pop("other")], k)
        assert row == pytest.approx(expected, abs=1e-12)


def test_a_pair_has_the_worked_values_of_the_example() -> None:
    # d1 d2 d3 d4 and d3 d5 d1: two of five in common
    row = LONG.rank.fusion.overlap(run="run").table.row(0, named=True)
    assert (row["overlap"], row["jaccard"]) == (0.2, 0.4)


@each("k", [1, 3, 10])
def test_random_runs_have_the_means_of_their_queries(k: int) -> None:
    draw = random.Random(5)
    tops = {run: {query: "".join(draw.sample("abcdefghij", draw.randint(1, 8))) for query in range(6)} for run in "xyz"}
    found = table(tops, set()).rank.fusion.overlap(run="system", k=k)
    for row in found.table.iter_rows(named=True):
        expected = expected_pair(tops[row.pop("run")], tops[row.pop("other")], k)
        assert row == pytest.approx(expected, abs=1e-12)


def test_the_order_of_the_runs_does_not_matter() -> None:
    one, other = (WIDE.rank.fusion.overlap(runs=runs).table.row(0)[2:] for runs in (["A", "B"], ["B", "A"]))
    assert one == pytest.approx(other, abs=1e-12)


def test_a_run_has_all_in_common_with_itself() -> None:
    row = WIDE.with_columns(copy="A").rank.fusion.overlap(runs=["A", "copy"], k=None).table.row(0, named=True)
    assert (row["overlap"], row["jaccard"], row["rbo"]) == pytest.approx((1, 1, 1), abs=1e-12)


def test_documents_of_one_run_only_are_counted_in_the_top_k() -> None:
    found = table(TOPS, RELEVANT).rank.fusion.overlap(run="system", k=2).runs
    # tops: a: a b, x y; b: b a, z; c: e. Relevant: a, y; a; e
    assert found.rows() == [("a", 4, 2, 2, 1), ("b", 3, 1, 1, 0), ("c", 1, 1, 1, 1)]
    assert found.schema["only_relevant"] == pl.UInt32


def test_documents_below_the_depth_of_the_policy_do_not_count() -> None:
    deep = table(TOPS, RELEVANT).rank.on(depth=1).fusion.overlap(run="system", k=None)
    assert deep.table["jaccard"].to_list() == [0, 0, 0]
    assert deep.runs["retrieved"].to_list() == [2, 2, 1]


def test_without_labels_relevant_documents_are_not_counted() -> None:
    found = table(TOPS, RELEVANT).drop("label").rank.fusion.overlap(run="system", k=2)
    assert found.runs.rows() == [("a", 4, 2, None, None), ("b", 3, 1, None, None), ("c", 1, 1, None, None)]
    assert "relevant" not in repr(found)


def test_relevance_follows_the_policy() -> None:
    df = table(TOPS, RELEVANT).with_columns(pl.col("label") * 2)
    assert df.rank.on(relevant=2).fusion.overlap(run="system").runs["relevant"].to_list() == [2, 2, 1]
    assert df.rank.on(relevant=3).fusion.overlap(run="system").runs["relevant"].to_list() == [0, 0, 0]


@each("verb", ["overlap", "oracle"])
def test_lazy_and_pandas_tables_give_the_same_in_their_own_kind(verb: str) -> None:
    df = table(TOPS, RELEVANT).filter(pl.col("system") != "c")
    requests = ["ndcg@10"] if verb == "oracle" else []
    options: dict[str, Any] = {"run": "system"}
    eager = getattr(df.rank.fusion, verb)(*requests, **options)
    lazy = getattr(df.lazy().rank.fusion, verb)(*requests, **options)
    of_pandas = getattr(df.to_pandas().rank.fusion, verb)(*requests, **options)
    assert lazy.table.collect().equals(eager.table)
    assert pl.from_pandas(of_pandas.table).cast(dict(eager.table.schema)).equals(eager.table)
    assert repr(of_pandas) == repr(eager)
    assert "LazyFrame" in repr(lazy)


def test_the_sentences_say_which_runs_are_alike_and_what_each_finds_alone() -> None:
    found = table(TOPS, RELEVANT).rank.fusion.overlap(run="system", k=2)
    first, second, *_ = repr(found).splitlines()
    assert (
        first
        == "`a` and `b` have most in common, 50% of the documents in the top 2 of either, and `a` and `c` least, 0%"
    )
    assert second == "Relevant documents in the top 2 of one run only: `a` 1, `b` 0, `c` 1"
    two = WIDE.rank.fusion.overlap(runs=["A", "B"], k=None)
    assert repr(two).splitlines()[0] == "`A` and `B` have 40% of the documents of either in common"
    assert "<strong>“A” and “B” have 40%" in two._repr_html_()


def test_names_of_runs_are_escaped_in_notebooks() -> None:
    df = WIDE.rename({"A": "<b>"})
    assert "<b>" not in df.rank.fusion.overlap(runs=["<b>", "B"])._repr_html_()


def test_runs_without_documents_have_no_overlap() -> None:
    df = WIDE.with_columns(A=pl.lit(None, pl.Float64), B=pl.lit(None, pl.Float64))
    found = df.rank.fusion.overlap(runs=["A", "B"])
    assert found.table.row(0) == ("A", "B", None, None, None, 0)
    assert repr(found).startswith("No run has a document\n")


@each("k", [0, -1, 2.5, True, "10"])
def test_a_cutoff_that_is_no_whole_number_is_refused(k: Any) -> None:
    with pytest.raises(rf.InvalidOption, match=r"k=.*: write a whole number from 1 on or None"):
        WIDE.rank.fusion.overlap(runs=["A", "B"], k=k)


def test_one_run_has_nothing_to_compare_with() -> None:
    with pytest.raises(rf.InvalidOption, match="there is one run to compare, 'A'; give two or more"):
        WIDE.rank.fusion.overlap(runs=["A"])
    with pytest.raises(rf.InvalidOption, match="there is one run to compare, 'A'; give two or more"):
        WIDE.with_columns(label=1).rank.fusion.oracle("rr", runs=["A"])


def test_labels_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(rf.InvalidData, match="label"):
        WIDE.with_columns(label=pl.lit("yes")).rank.fusion.overlap(runs=["A", "B"])


def random_table(seed: int) -> pl.DataFrame:
    """Twenty queries of ten documents with three score columns, some of them null."""
    draw = random.Random(seed)
    rows = [
        (query, doc, *(draw.random() if draw.random() < 0.7 else None for _ in range(3)), int(draw.random() < 0.3))
        for query in range(20)
        for doc in range(10)
    ]
    return pl.DataFrame(rows, schema=["query_id", "doc_id", "x", "y", "z", "label"], orient="row")


@each("metric", ["ndcg@10", "rr", "average_relevance_position"])
def test_the_oracle_takes_the_best_run_of_each_query(metric: str) -> None:
    df, runs = random_table(1), ["x", "y", "z"]
    better = max if rf.METRICS[metric.partition("@")[0]].higher_is_better else min
    values = [df.rank.on(score=run).evaluate(metric)[metric].to_list() for run in runs]
    best = [better((x for x in of_query if x is not None), default=None) for of_query in zip(*values, strict=True)]
    found = df.rank.fusion.oracle(metric, runs=runs, resamples=100)
    assert found.per_query.filter(run="oracle")[metric].to_list() == pytest.approx(best, abs=1e-12)
    for run, own in zip(runs, values, strict=True):
        pairs = [(a, b) for a, b in zip(best, own, strict=True) if b is not None and a is not None]
        row = found.table.row(by_predicate=pl.col("run") == run, named=True)
        assert row["gain"] == pytest.approx(sum(a - b for a, b in pairs) / len(pairs), abs=1e-12)
        assert row["mean"] == pytest.approx(sum(b for _, b in pairs) / len(pairs), abs=1e-12)
        assert (row["better"], row["n_queries"]) == (sum(a != b for a, b in pairs), len(pairs))
        assert row["gain"] * (1 if better is max else -1) >= 0


def test_the_fusion_is_evaluated_as_by_hand() -> None:
    df, runs = random_table(2), ["x", "y", "z"]
    text = "comb_sum(normalize=min_max)"
    found = df.rank.fusion.oracle("ndcg@5", runs=runs, fusion=text, resamples=100)
    by_hand = df.rank.fuse(text, runs=runs).rank.evaluate("ndcg@5")
    own = found.per_query.filter(run=text)
    assert own["ndcg@5"].to_list() == pytest.approx(by_hand["ndcg@5"].to_list(), abs=1e-12)
    row = found.table.row(by_predicate=pl.col("run") == text, named=True)
    assert row["mean"] == pytest.approx(by_hand["ndcg@5"].mean(), abs=1e-12)
    assert row["oracle"] - row["mean"] == pytest.approx(row["gain"], abs=1e-12)


def test_the_interval_of_a_gain_is_that_of_its_mean() -> None:
    df = random_table(3)
    found = df.rank.fusion.oracle("ndcg@5", runs=["x", "y", "z"], fusion=None, interval="bca")
    values = found.per_query.pivot("run", index="query_id", values="ndcg@5")
    # the gain of one document at rank 1 is its label, so that a summary of these labels has the same draws
    gain = values.select(label=pl.col("oracle") - pl.col("x"), query_id="query_id", score=1.0)
    summary = gain.rank.on(no_relevant="zero").summarize("dcg(gain=linear)", interval="bca").row(0, named=True)
    row = found.table.row(by_predicate=pl.col("run") == "x", named=True)
    assert row["gain"] == pytest.approx(summary["mean"], abs=1e-12)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((summary["ci_low"], summary["ci_high"]), abs=1e-12)


def test_fused_scores_rank_from_the_top_where_scores_of_runs_rank_from_the_bottom() -> None:
    df = random_table(4)
    turned = df.with_columns(-pl.col("x", "y"))
    one = df.rank.fusion.oracle("ndcg@5", runs=["x", "y"], resamples=100).table
    other = turned.rank.on(ascending=True).fusion.oracle("ndcg@5", runs=["x", "y"], resamples=100).table
    assert one.equals(other)


def test_an_option_of_the_metric_may_say_that_less_is_better() -> None:
    """The run that shows a document of each group first is closer to equal exposure: awrf is a distance, unless it is "jsd"."""
    df = pl.DataFrame({"query_id": [1] * 3, "doc_id": [*"xyz"], "group": [*"MMF"], "label": [1, 0, 0]})
    df = df.with_columns(fair=pl.Series([3, 1, 2]), unfair=pl.Series([3, 2, 1]))
    of_groups = df.rank.on(group="group")
    for metric in ("awrf(target=equal)", "awrf(target=equal,distance=jsd)"):
        table = of_groups.fusion.oracle(metric, runs=["fair", "unfair"], fusion=None).table
        assert table["oracle"].to_list() == [table.filter(run="fair")["mean"].item()] * 2


def test_the_sentence_says_what_the_oracle_gains_over_the_best_run_and_over_the_fusion() -> None:
    df = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": list("abab"), "label": [1, 0, 1, 0]})
    df = df.with_columns(x=pl.Series([2, 1, 1, 2]), y=pl.Series([1, 2, 2, 1]), z=pl.Series([1, 2, 1, 2]))
    # x is right on the first query, y on the second, z on none; equal fused scores stand by document
    found = df.rank.on(ties="doc_asc").fusion.oracle("rr", runs=["x", "y", "z"], fusion="rrf", interval="percentile")
    assert found.table.select("run", "mean", "oracle", "gain").rows() == [
        ("x", 0.75, 1.0, 0.25), ("y", 0.75, 1.0, 0.25), ("z", 0.5, 1.0, 0.5), ("rrf", 0.5, 1.0, 0.5),
    ]  # fmt: skip
    assert repr(found).splitlines()[0] == (
        "rr would be 1.000 with the best run of each query: +0.250 [0.000, 0.500] over `x`, the best single run, and "
        "+0.500 [0.500, 0.500] over the fusion `rrf`"
    )


def test_a_run_that_lacks_queries_is_refused_with_the_options_that_help() -> None:
    with pytest.raises(rf.InvalidData, match="run 'c' lacks 1 of 2 queries"):
        table(TOPS, RELEVANT).rank.fusion.oracle("rr", run="system")
    found = table(TOPS, RELEVANT).rank.fusion.oracle("rr", run="system", missing="zero", resamples=100)
    assert found.table["n_queries"].to_list() == [2, 2, 2, 2]
    dropped = table(TOPS, RELEVANT).rank.fusion.oracle("rr", run="system", missing="drop", resamples=100)
    assert dropped.table["n_queries"].to_list() == [1, 1, 1, 1]


@each("name", ["oracle", "rrf"])
def test_a_run_with_the_name_of_a_row_is_refused(name: str) -> None:
    df = random_table(1).rename({"x": name})
    with pytest.raises(rf.InvalidOption, match=f"a run has the name '{name}'"):
        df.rank.fusion.oracle("rr", runs=[name, "y"])


def test_an_oracle_shows_itself_in_notebooks() -> None:
    found = random_table(1).rank.fusion.oracle("rr", runs=["x", "y"], resamples=100)
    assert "<strong>rr would be " in found._repr_html_()
    assert "of 20" in found._repr_html_()


def test_a_gain_has_an_interval() -> None:
    with pytest.raises(rf.InvalidOption, match="ci=None: write a"):
        random_table(1).rank.fusion.oracle("rr", runs=["x", "y"], ci=None)


def test_a_metric_without_a_value_has_no_gain() -> None:
    df = random_table(1).with_columns(label=0)
    found = df.rank.on(no_relevant="null").fusion.oracle("rr", runs=["x", "y"], resamples=100)
    assert found.table.select("mean", "oracle", "gain", "n_queries").unique().rows() == [(None, None, None, 0)]
    assert repr(found).startswith("No query has a value of rr\n")


def test_the_grid_says_over_which_length_documents_are_in_common() -> None:
    df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "one": [2.0, 1.0], "two": [1.0, 2.0]})
    whole, top = (df.rank.fusion.overlap(runs=["one", "two"], k=k).grids()[0].notes[0] for k in (None, 1))
    assert "common documents over the length of the longer ranking" in whole
    assert "common documents over 1;" in top


def test_an_oracle_weighs_queries_as_the_means_do() -> None:
    df = pl.DataFrame(
        {
            "query_id": [1, 1, 2, 2],
            "doc_id": list("abab"),
            "label": [1, 0, 0, 1],
            "bm25": [2, 1, 2, 1],
            "dense": [1, 2, 1, 2],
            "often": [3, 3, 1, 1],
        }
    )
    found = df.rank.fusion.oracle("rr", runs=["bm25", "dense"], fusion=None, weights="often", resamples=39).table
    assert found["mean"].to_list() == [0.875, 0.625]  # (3 + 1/2) / 4 and (3/2 + 1) / 4; the oracle is always right
    assert found["gain"].to_list() == [0.125, 0.375]

"""The expected exposure of documents over several rankings, by its definition in plain Python."""

from __future__ import annotations

import itertools
import math
import random
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from tests.support.each import each

FOUR = pl.DataFrame({"query_id": [1] * 4, "doc_id": [*"abcd"], "score": [4, 3, 2, 1], "label": [1, 0, 1, 0]})

Labels = Mapping[str, float | None]
Values = tuple[float | None, float | None, float | None, int]


def oracle(
    rankings: Sequence[Sequence[str]], labels: Labels, p: float = 0.5, k: float = math.inf, *, complete: bool = True
) -> Values:
    """The figures of one query whose rankings hold documents, best first."""
    rankings = [x for x in rankings if x]
    if not rankings:
        return None, None, None, 0
    weight = [p**place if place < k else 0.0 for place in range(len(labels))]
    level = {doc: max(label or 0.0, 0.0) for doc, label in labels.items()}
    ideal = sorted(labels, key=lambda doc: -level[doc])
    e, t = {}, {}
    for doc in labels:
        e[doc] = statistics.fmean(weight[x.index(doc)] if doc in x else 0.0 for x in rankings)
        t[doc] = statistics.fmean(w for w, other in zip(weight, ideal, strict=True) if level[other] == level[doc])
        if level[doc] == 0 and not complete:
            t[doc] = 0.0
    return (
        math.fsum(e[doc] ** 2 for doc in labels),
        math.fsum(e[doc] * t[doc] for doc in labels),
        math.fsum((e[doc] - t[doc]) ** 2 for doc in labels),
        len(rankings),
    )


Query = tuple[list[list[str]], dict[str, float | None]]


def random_queries(seed: int) -> dict[int, Query]:
    """Three rankings of each query, some empty, and the labels of their documents and of one that none has."""
    draw, queries = random.Random(seed), {}
    for query in range(12):
        docs = [*"abcdefg"[: draw.randint(1, 7)]]
        rankings = [draw.sample(docs, draw.randint(0, len(docs))) for _ in range(3)]
        labels = {doc: draw.choice([None, -1.0, 0.0, 0.0, 1.0, 2.0, 0.5]) for doc in docs}
        queries[query] = rankings, {**labels, "z": draw.choice([0.0, 1.0])}
    return queries


def wide(queries: Mapping[int, Query]) -> pl.DataFrame:
    """A score column per ranking."""
    rows = [
        (query, doc, label, *(-float(x.index(doc)) if doc in x else None for x in rankings))
        for query, (rankings, labels) in queries.items()
        for doc, label in labels.items()
    ]
    names = ["query_id", "doc_id", "label"]
    scores = [f"run{i}" for i in range(len(next(iter(queries.values()))[0]))]
    schema = dict(zip([*names, *scores], [pl.Int64, pl.String, *[pl.Float64] * (1 + len(scores))], strict=True))
    return pl.DataFrame(rows, schema=schema, orient="row")


def long(queries: Mapping[int, Query]) -> pl.DataFrame:
    """A row per document and ranking, for documents without a score, too."""
    df = wide(queries)
    of_runs = [name for name in df.columns if name.startswith("run")]
    return df.unpivot(of_runs, index=["query_id", "doc_id", "label"], variable_name="run", value_name="score")


def found_in(found: Any) -> dict[Any, Values]:
    return {row[0]: row[1:] for row in found.lazy().collect().iter_rows()}


def assert_values(found: Any, wanted: Mapping[Any, Values]) -> None:
    found = found_in(found)
    assert found.keys() == wanted.keys()
    for query, values in wanted.items():
        assert found[query] == pytest.approx(values, abs=1e-12), query


RUNS = ["run0", "run1", "run2"]


def test_the_worked_example_has_its_figures() -> None:
    # attention 1, .5, .25, .125; targets .75 and .1875
    assert found_in(FOUR.rank.items.expected_exposure()) == {1: (1.328125, 1.0546875, 0.4140625, 1)}


@each("options", [{}, {"persistence": 0.8}, {"k": 2}, {"judgments": "incomplete"}], ids=str)
@each("seed", [1, 2])
def test_figures_are_those_of_the_definition(seed: int, options: dict[str, Any]) -> None:
    queries = random_queries(seed)
    complete = options.get("judgments") != "incomplete"
    p, k = options.get("persistence", 0.5), options.get("k", math.inf)
    wanted = {query: oracle(*given, p, k, complete=complete) for query, given in queries.items()}
    assert_values(wide(queries).rank.items.expected_exposure(runs=RUNS, **options), wanted)
    assert_values(long(queries).rank.items.expected_exposure(run="run", **options), wanted)


def test_every_kind_of_table_gives_the_same() -> None:
    queries = random_queries(3)
    df, rows = wide(queries), long(queries)
    wanted = df.rank.items.expected_exposure(runs=RUNS)
    tables = {name: df.select("query_id", "doc_id", "label", score=name) for name in RUNS}
    both = rows.lazy().rank.on(query=["run", "query_id"]).items.expected_exposure(run="run").collect()
    for found in (
        df.lazy().rank.items.expected_exposure(runs=RUNS).collect(),
        df.lazy().rank.on(memory_limit=1).items.expected_exposure(runs=RUNS).collect(),
        rows.lazy().rank.on(memory_limit=1).items.expected_exposure(run="run").collect(),
        tables["run0"].rank.items.expected_exposure(runs=tables),
        both,
    ):
        assert_frame_equal(found.sort("query_id"), wanted, abs_tol=1e-14)
    assert wanted.columns == ["query_id", "ee_d", "ee_r", "ee_l", "n_rankings"]
    assert df.lazy().rank.items.expected_exposure(runs=RUNS).collect_schema() == wanted.schema


@each("query", ["query_id", ["run", "query_id"]])
def test_pandas_tables_give_a_frame_indexed_by_the_query(query: Any) -> None:
    queries = random_queries(4)
    found = long(queries).to_pandas().rank.on(query=query).items.expected_exposure(run="run")
    assert isinstance(found, pd.DataFrame)
    assert found.index.name == "query_id"
    assert_frame_equal(
        pl.from_pandas(found.reset_index()).with_columns(pl.col("n_rankings").cast(pl.UInt32)).fill_nan(None),
        wide(queries).rank.items.expected_exposure(runs=RUNS),
        abs_tol=1e-14,
    )


def test_neither_the_order_of_rows_nor_the_names_or_the_order_of_runs_matter() -> None:
    rows = long(random_queries(5))
    wanted = rows.rank.items.expected_exposure(run="run").sort("query_id")
    renamed = rows.with_columns(pl.col("run").replace_strict(dict(zip(RUNS, [7, 5, 6], strict=True))))
    for other in (rows.sample(fraction=1.0, shuffle=True, seed=1), rows.reverse(), renamed):
        assert_frame_equal(other.rank.items.expected_exposure(run="run").sort("query_id"), wanted, abs_tol=1e-14)


def test_a_ranking_drawn_twice_counts_as_once() -> None:
    df = wide(random_queries(6)).with_columns(pl.col(RUNS).name.suffix(" again"))
    figures = pl.exclude("n_rankings")
    twice = df.rank.items.expected_exposure(runs=[*RUNS, *(f"{name} again" for name in RUNS)])
    assert_frame_equal(twice.select(figures), df.rank.items.expected_exposure(runs=RUNS).select(figures), abs_tol=1e-14)


def test_all_orders_of_documents_with_one_label_as_often_have_no_loss() -> None:
    ideals = [[*first, *last] for first in itertools.permutations("ac") for last in itertools.permutations("bd")]
    queries = {1: (ideals, dict(FOUR.select("doc_id", "label").iter_rows()))}
    found = wide(queries).rank.items.expected_exposure(runs=[f"run{i}" for i in range(4)])
    assert found["ee_l"].item() == pytest.approx(0, abs=1e-15)
    assert found["ee_d"].item() == found["ee_r"].item() == pytest.approx(2 * (0.75**2 + 0.1875**2))


def test_tied_documents_have_the_mean_attention_of_all_their_orders() -> None:
    tied = FOUR.with_columns(score=pl.Series([3, 2, 2, 1]))
    orders = {1: ([[*"abcd"], [*"acbd"]], dict(FOUR.select("doc_id", "label").iter_rows()))}
    found = found_in(tied.rank.on(ties="expected").items.expected_exposure())
    assert found[1][:3] == pytest.approx(oracle(*orders[1])[:3])
    assert found_in(tied.rank.on(ties="doc_asc").items.expected_exposure())[1] == oracle([[*"abcd"]], orders[1][1])


@each("depth", [None, 2])
def test_unjudged_documents_are_dropped_from_rankings_and_target(depth: int | None) -> None:
    queries = random_queries(7)
    wanted = {}
    for query, (rankings, labels) in queries.items():
        judged = {doc: label for doc, label in labels.items() if label is not None and label >= 0}
        wanted[query] = oracle([[doc for doc in x[:depth] if doc in judged] for x in rankings], judged)
    assert any(values[3] < 3 for values in wanted.values())
    assert_values(wide(queries).rank.on(unjudged="drop", depth=depth).items.expected_exposure(runs=RUNS), wanted)
    assert_values(long(queries).rank.on(unjudged="drop", depth=depth).items.expected_exposure(run="run"), wanted)


def test_documents_that_no_ranking_has_can_be_left_out() -> None:
    queries = random_queries(8)
    wanted = {}
    for query, (rankings, labels) in queries.items():
        tops = [x[:2] for x in rankings]
        wanted[query] = oracle(tops, {doc: x for doc, x in labels.items() if any(doc in top for top in tops)})
    assert_values(wide(queries).rank.on(unretrieved="drop", depth=2).items.expected_exposure(runs=RUNS), wanted)


def test_a_query_without_relevant_documents_has_figures_unless_the_policy_says_null() -> None:
    df = FOUR.with_columns(label=pl.Series([0, 0, None, 1]))
    assert found_in(df.rank.items.expected_exposure())[1][0] == 1.328125
    assert found_in(df.rank.on(no_relevant="null").items.expected_exposure())[1][0] == 1.328125
    assert found_in(df.rank.on(no_relevant="null", relevant=2).items.expected_exposure()) == {1: (None, None, None, 1)}


def test_a_query_without_rankings_has_no_figures() -> None:
    df = FOUR.with_columns(score=pl.lit(None, pl.Float64))
    assert found_in(df.rank.items.expected_exposure()) == {1: (None, None, None, 0)}
    for form in (df.clear(), df.clear().lazy()):
        assert found_in(form.rank.items.expected_exposure()) == {}


def test_distances_rank_the_lowest_first() -> None:
    df = FOUR.with_columns(score=-pl.col("score"))
    assert found_in(df.rank.on(ascending=True).items.expected_exposure()) == found_in(
        FOUR.rank.items.expected_exposure()
    )


@each(
    ("options", "message"),
    [
        ({"persistence": 1}, r"^persistence=1: write a number between 0 and 1\."),
        ({"k": 0}, r"^k=0: write a whole number from 1 on or None\."),
        ({"judgments": "all"}, r"^judgments='all': write one of 'complete', 'incomplete'\."),
        ({"runs": ["score"], "run": "doc_id"}, "name the runs"),
    ],
)
def test_other_values_of_options_are_refused_at_the_call(options: dict[str, Any], message: str) -> None:
    for form in (FOUR, FOUR.lazy(), FOUR.to_pandas()):
        with pytest.raises(rf.InvalidOption, match=message):
            form.rank.items.expected_exposure(**options)


def test_what_leaves_figures_undefined_is_refused() -> None:
    for form in (FOUR, FOUR.lazy()):
        with pytest.raises(rf.MissingColumn, match="no column 'label' for label"):
            form.drop("label").rank.items.expected_exposure()
        with pytest.raises(rf.InvalidOption, match="gives each metric two columns"):
            form.rank.on(unjudged="bounds").items.expected_exposure()
        with pytest.raises(rf.InvalidOption, match="a second column 'ee_d', which the query has"):
            form.rename({"query_id": "ee_d"}).rank.on(query="ee_d").items.expected_exposure()
        with pytest.raises(rf.InvalidData, match="label"):
            form.with_columns(label=pl.lit(math.inf)).rank.items.expected_exposure().lazy().collect()

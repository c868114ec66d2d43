"""Average precision from samples of the pool: against plain Python, trec_eval, and AP of all judgments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
import pytrec_eval

import rankframe as rf
from tests.support.calls import assert_equal, values
from tests.support.each import each
from tests.support.tables import BY_CHANCE

pytestmark = BY_CHANCE

Row = tuple[str, float | None, float | None, Any]
"""A document: its id, its score, its label and its stratum, or the probability with which it was drawn."""


def random_rows(seed: int, queries: int = 40) -> dict[str, list[Row]]:
    rng, found = np.random.default_rng(seed), {}
    for q in range(queries):
        n = int(rng.integers(1, 12))
        scores = rng.choice([None, 1.0, 2.0, 3.0, 4.0, 5.0], n).tolist()
        labels = rng.choice([None, -1.0, 0.0, 1.0, 2.0], n).tolist()
        strata = rng.choice([None, "top", "middle", "rest"], n).tolist()
        rows = zip("abcdefghijkl"[:n], scores, labels, strata, strict=True)
        # documents that were judged or refused are in the pool
        found[f"q{q}"] = [(d, s, x, k if x is None else k or "rest") for d, s, x, k in rows]
    return found


def frame(table: dict[str, list[Row]], name: str) -> pl.DataFrame:
    rows = [(query, *row) for query, rows in table.items() for row in rows]
    columns = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64, "label": pl.Float64}
    return pl.DataFrame(rows, {**columns, name: pl.String if name == "stratum" else pl.Float64}, orient="row").sample(
        fraction=1.0, shuffle=True, seed=0
    )


def ranked(rows: list[Row]) -> list[Row]:
    return sorted((row for row in rows if row[1] is not None), key=lambda row: (row[1], row[0]), reverse=True)


def xinf_ap(rows: list[Row], relevant: float = 1) -> float:
    """The paper's, stratum by stratum: the mean precision of its relevant documents, weighted by their estimated number."""
    ranking, epsilon = ranked(rows), 0.00001
    strata = {row[3] for row in rows} - {None}
    estimate, total = 0.0, 0.0
    for stratum in strata:
        members = [row for row in rows if row[3] == stratum]
        judged = [row for row in members if row[2] is not None and row[2] >= 0]
        found = [row for row in judged if row[2] is not None and row[2] >= relevant]
        if not found:
            continue
        number = len(members) * len(found) / len(judged)
        precisions = []
        for row in found:
            if row not in ranking:
                precisions.append(0.0)
                continue
            rank = ranking.index(row) + 1
            above, expected = ranking[: rank - 1], 0.0
            for other in strata:
                there = [x for x in above if x[3] == other]
                known = [x for x in there if x[2] is not None and x[2] >= 0]
                hits = sum(x[2] is not None and x[2] >= relevant for x in known)
                expected += len(there) * (hits + epsilon) / (len(known) + 2 * epsilon)
            precisions.append((1 + expected) / rank)
        estimate += number * sum(precisions) / len(precisions)
        total += number
    return estimate / total if total else 0.0


def stat_ap(rows: list[Row], relevant: float = 1, itself: str = "drawn") -> float:
    ranking = ranked(rows)
    worth = {row[0]: 1 / row[3] for row in rows if row[2] is not None and row[2] >= relevant}
    total = sum(worth.values())
    found = 0.0
    for rank, row in enumerate(ranking, 1):
        if row[0] in worth:
            above = sum(worth.get(x[0], 0.0) for x in ranking[: rank - 1])
            found += worth[row[0]] * (above + (worth[row[0]] if itself == "drawn" else 1)) / rank
    return found / total if total else 0.0


def forms(df: pl.DataFrame, text: str, **on: Any) -> list[dict[Any, float | None]]:
    """The values in each form of a call."""
    in_pandas = df.to_pandas().rank.on(**on).evaluate(text)[text]
    found = [
        df.rank.on(**on).evaluate(text),
        df.lazy().rank.on(**on).evaluate(text).collect(),
        df.group_by("query_id").agg(getattr(rf.expr.on(**on), text)()),
    ]
    return [*(values(x, text) for x in found), {q: None if math.isnan(x) else x for q, x in in_pandas.items()}]


@each("relevant", [1, 2], sample=5)
@each("seed", range(5))
def test_xinf_ap_is_that_of_plain_python(seed: int, relevant: int) -> None:
    table = random_rows(seed)
    wanted: dict[Any, float | None] = {q: xinf_ap(rows, relevant) for q, rows in table.items()}
    for found in forms(frame(table, "stratum"), "xinf_ap", stratum="stratum", relevant=relevant):
        assert_equal(found, wanted, (seed, relevant))


def test_a_judged_document_without_a_stratum_is_an_error() -> None:
    """It would stand for all documents outside the pool."""
    df = pl.DataFrame({"query_id": 1, "doc_id": list("abcd"), "score": [4, 3, 2, 1], "label": [1, 1, None, None]})
    df = df.with_columns(stratum=pl.Series(["top", None, None, None]))
    with pytest.raises(rf.InvalidData, match="a judged document has no stratum"):
        df.rank.on(stratum="stratum").evaluate("xinf_ap")
    with pytest.raises(pl.exceptions.InvalidOperationError, match="a judged document has no stratum"):
        df.group_by("query_id").agg(rf.expr.on(stratum="stratum").xinf_ap())


@each("relevant", [1, 2])
@each("seed", range(5))
def test_stat_ap_is_that_of_plain_python(seed: int, relevant: int) -> None:
    chance = {"top": 1.0, "middle": 0.5, "rest": 0.1, None: None}
    table = {q: [(d, s, x, chance[k]) for d, s, x, k in rows] for q, rows in random_rows(seed).items()}
    wanted: dict[Any, float | None] = {q: stat_ap(rows, relevant) for q, rows in table.items()}
    for found in forms(frame(table, "chance"), "stat_ap", inclusion="chance", relevant=relevant):
        assert_equal(found, wanted, (seed, relevant))


def test_a_document_may_count_once_in_the_precision_at_its_own_rank() -> None:
    chance = {"top": 1.0, "middle": 0.5, "rest": 0.1, None: None}
    table = {q: [(d, s, x, chance[k]) for d, s, x, k in rows] for q, rows in random_rows(9).items()}
    found = frame(table, "chance").rank.on(inclusion="chance").evaluate("stat_ap(itself=once)")
    wanted: dict[Any, float | None] = {q: stat_ap(rows, itself="once") for q, rows in table.items()}
    assert_equal(values(found, "stat_ap(itself=once)"), wanted, "once")


def test_one_stratum_is_inferred_ap_as_trec_eval_has_it() -> None:
    table = {
        q: [(d, s, x, "pool" if x is not None else None) for d, s, x, _ in rows] for q, rows in random_rows(7).items()
    }
    df = frame(table, "stratum")
    found = values(df.rank.on(stratum="stratum").evaluate("xinf_ap"), "xinf_ap")
    assert_equal(found, values(df.rank.evaluate("infAP"), "inferred_ap"), "one stratum")
    qrels = {q: {d: int(x) for d, _, x, _ in rows if x is not None} for q, rows in table.items()}
    run = {q: {d: s for d, s, *_ in rows if s is not None} for q, rows in table.items()}
    judged = {q: x for q, x in qrels.items() if x and run[q]}
    by_trec_eval = pytrec_eval.RelevanceEvaluator(judged, {"infAP"}).evaluate({q: run[q] for q in judged})
    for query, measures in by_trec_eval.items():
        assert found[query] == pytest.approx(measures["infAP"], abs=1e-9)


def test_where_everything_was_judged_both_are_average_precision() -> None:
    rng = np.random.default_rng(0)
    rows = {"query_id": np.repeat(np.arange(20), 30), "doc_id": np.tile(np.arange(30), 20), "score": rng.random(600)}
    df = pl.DataFrame({**rows, "label": rng.integers(0, 2, 600)}).with_columns(
        stratum=pl.when(pl.col("doc_id") < 10).then(pl.lit("top")).otherwise(pl.lit("rest")), chance=pl.lit(1.0)
    )
    found = df.rank.on(stratum="stratum", inclusion="chance").evaluate("xinf_ap", "stat_ap", "map")
    assert found["stat_ap"].to_list() == pytest.approx(found["map"].to_list(), rel=1e-12)
    assert found["xinf_ap"].to_list() == pytest.approx(found["map"].to_list(), abs=1e-4)


def test_samples_estimate_the_average_precision_of_all_judgments() -> None:
    """The upper stratum is judged, of the lower a fifth is drawn, in 400 samples of 60 documents of one query."""
    rng, n, times = np.random.default_rng(1), 60, 400
    label = (rng.random(n) < np.linspace(0.8, 0.1, n)).astype(int)
    whole = pl.DataFrame({"query_id": 0, "doc_id": np.arange(n), "score": -np.arange(n), "label": label})
    true = whole.rank.evaluate("map")["map"].item()
    draws = [rng.permutation(np.arange(10, n))[:10] for _ in range(times)]
    drawn = pl.DataFrame({"query_id": np.repeat(np.arange(times), 10), "doc_id": np.concatenate(draws), "drawn": True})
    copies = pl.DataFrame({"query_id": np.repeat(np.arange(times), n), "doc_id": np.tile(np.arange(n), times)})
    copies = copies.join(whole.drop("query_id"), on="doc_id").join(drawn, on=["query_id", "doc_id"], how="left")
    known = pl.col("drawn").fill_null(False) | (pl.col("doc_id") < 10)
    sampled = copies.with_columns(
        label=pl.when(known).then("label"),
        stratum=pl.col("doc_id") < 10,
        chance=pl.when(pl.col("doc_id") < 10).then(1.0).otherwise(0.2),
    )
    metrics = ("xinf_ap", "stat_ap", "stat_ap(itself=once)", "map")
    found = sampled.rank.on(stratum="stratum", inclusion="chance").mean(*metrics).row(0, named=True)
    assert found["xinf_ap"] == pytest.approx(true, abs=0.02)
    assert found["stat_ap(itself=once)"] == pytest.approx(true, abs=0.03)
    assert found["stat_ap"] > true + 0.05  # as its own rank counts a document drawn with 1/5 five times
    assert found["map"] < true - 0.04


@each("bad", [None, 0.0, -1.0, 1.5, math.nan])
def test_a_relevant_document_has_a_probability(bad: float | None) -> None:
    df = pl.DataFrame({"query_id": 1, "doc_id": list("ab"), "score": [2, 1], "label": [0, 1], "pi": [bad, 0.5]})
    assert df.rank.on(inclusion="pi").evaluate("statAP")["stat_ap"].item() == 1.0
    unfit = df.with_columns(label=pl.Series([1, 0]))
    for plan in (unfit.rank.on(inclusion="pi").evaluate, unfit.lazy().rank.on(inclusion="pi").evaluate):
        with pytest.raises(rf.InvalidData, match="judged with a probability that is null, 0, negative or above 1"):
            plan("statAP").lazy().collect()


def test_the_columns_are_asked_for() -> None:
    df = pl.DataFrame({"query_id": 1, "doc_id": list("ab"), "score": [2, 1], "label": [0, 1]})
    with pytest.raises(rf.InvalidOption, match=r"xinf_ap: it needs the column of the strata .*on\(stratum='stratum'\)"):
        df.rank.evaluate("xinf_ap")
    with pytest.raises(
        rf.InvalidOption, match=r"stat_ap: it needs the column of the probabilities .*on\(inclusion='inclusion'\)"
    ):
        df.rank.evaluate("stat_ap")
    with pytest.raises(rf.InvalidOption, match="no SQL"):
        rf.sql("xinf_ap", dialect="duckdb", table="runs", stratum="s")


def test_curves_and_contributions_add_up() -> None:
    df = frame(random_rows(3), "stratum").with_columns(pi=pl.lit(0.5))
    for on, text in (({"stratum": "stratum"}, "xinf_ap"), ({"inclusion": "pi"}, "stat_ap")):
        wanted = values(df.rank.on(**on).evaluate(text), text)
        parts = df.rank.on(**on).explain(text).group_by("query_id").agg(pl.col(text).sum())
        assert_equal(values(parts, text), wanted, text)

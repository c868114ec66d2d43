"""Weights of documents: what each is worth is multiplied by them, in the ranking, the ideal and the divisor alike."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from tests.metrics.oracles.gain import divisor
from tests.metrics.oracles.query import is_judged, prepare, ratio
from tests.support.calls import ALL, assert_equal, spell, values
from tests.support.each import each
from tests.support.tables import BY_CHANCE, FRACTIONAL_LABELS, frame, random_table

pytestmark = BY_CHANCE

TABLE = random_table(71, queries=25, labels=FRACTIONAL_LABELS)
DOCS = sorted({row[0] for rows in TABLE.values() for row in rows})
WEIGHT = dict(zip(DOCS, np.random.default_rng(3).choice([0, 0.25, 1, 2, 7.5], len(DOCS)).tolist(), strict=True))
DF = frame(TABLE).with_columns(ips=pl.col("doc_id").replace_strict(WEIGHT))


def gain(row: Any, kind: str) -> float:
    label = row[2] if is_judged(row) else 0
    worth = {"linear": label, "exponential": 2**label - 1, "relevant": float(label >= 1)}[kind]
    return worth * WEIGHT[row[0]]


def weighted(rows: Any, name: str, kind: str, k: int | None) -> float:
    """The definition: every gain, and every relevant document, counts its weight."""
    q = prepare(rows)
    gains = [gain(row, kind) for row in q.ranking][:k]
    everything = sorted((gain(row, kind) for row in q.rows), reverse=True)
    discounted, best = (sum(g / divisor(i, "log2") for i, g in enumerate(x, 1)) for x in (gains, everything[:k]))
    return {
        "cg": sum(gains), "hits": sum(gains), "dcg": discounted, "ndcg": ratio(discounted, best),
        "precision": ratio(sum(gains), q.n if k is None else k), "recall": ratio(sum(gains), sum(everything)),
    }[name]  # fmt: skip


def test_a_metric_that_does_not_weigh_is_refused_beside_one_that_does() -> None:
    with pytest.raises(rf.InvalidOption, match="bpref does not weigh documents"):
        DF.rank.on(weight="ips").evaluate("ndcg", "bpref")


CASES = [
    (name, kind, k)
    for name, k in itertools.product(["cg", "dcg", "ndcg", "hits", "precision", "recall"], [None, 1, 3, 10])
    for kind in (["linear", "exponential"] if name in ("cg", "dcg", "ndcg") else ["relevant"])
]


def test_documents_count_by_their_weight() -> None:
    texts = [
        name + ("(gain=exponential)" if kind == "exponential" else "") + ("" if k is None else f"@{k}")
        for name, kind, k in CASES
    ]
    calls = [call for text in texts for call in rf.parse(text)]
    alone = [getattr(rf.expr.on(weight="ips"), call.metric.formula.__name__)(**call.arguments) for call in calls]
    forms = (
        DF.rank.on(weight="ips").evaluate(*texts),
        DF.lazy().rank.on(weight="ips").evaluate(*texts).collect(),
        DF.group_by("query_id").agg(alone),
    )
    for text, case in zip(texts, CASES, strict=True):
        wanted = {query: weighted(rows, *case) for query, rows in TABLE.items()}
        for found in forms:
            assert_equal(values(found, text), wanted, text)


def test_equal_weights_change_nothing_and_scale_what_is_no_share() -> None:
    texts = ["ndcg@3", "recall@3", "ndcg(gain=binary)", "ndcg(ideal=perfect)@3", "dcg@3", "precision@3"]
    double = DF.with_columns(ips=pl.lit(2)).rank.on(weight="ips").evaluate(*texts)
    plain = DF.rank.evaluate(*texts)
    assert_frame_equal(double.select(texts[:4]), plain.select(texts[:4]), rel_tol=1e-12)
    assert_frame_equal(double.select(texts[4:]), plain.select(pl.col(texts[4:]) * 2), rel_tol=1e-12)


def test_weights_go_with_expectations_curves_explanations_and_pandas() -> None:
    df = pl.DataFrame({"query_id": 1, "doc_id": list("abc"), "score": [1, 1, 0], "label": [1, 1, 2], "ips": [2, 4, 1]})
    ranker = df.rank.on(weight="ips")
    assert ranker.on(ties="expected").cg(k=1).item(0, 1) == 3
    assert ranker.on(ties="doc_asc").curve("cg")["cg"].to_list() == [2, 6, 8]
    assert ranker.on(ties="doc_asc").explain("cg")["cg"].to_list() == [2, 4, 2]
    pandas = df.to_pandas().rank.on(weight="ips").ndcg(k=2)
    assert pandas["ndcg@2"].tolist() == ranker.ndcg(k=2)["ndcg@2"].to_list()


NOT_WEIGHED = ["map", "rr", "hit_rate@3", "f1", "err(max_label=4)", "bpref", "rbp(gain=scaled)", "auc"]
NOT_WEIGHED += [f"{name}(divisor='min(k,R)')@3" for name in ("precision", "recall")]  # the divisor counts documents
OVER_AN_IDEAL = ["nerr@3", "g", "ndcg_rel", "rndcg"]  # a metric may divide by the best order, and yet weigh no document


@each("text", [*NOT_WEIGHED, *OVER_AN_IDEAL])
def test_a_metric_that_weighs_no_documents_refuses_weights(text: str) -> None:
    with pytest.raises(rf.InvalidOption, match="does not weigh documents"):
        DF.rank.on(weight="ips").evaluate(text)


def test_a_weighted_value_stays_within_the_bounds_that_its_call_has_with_weights() -> None:
    ranker, weighted = DF.rank.on(weight="ips"), []
    for name, options in ALL:
        call = rf.parse(spell(name, options))[0]
        try:
            found = ranker.evaluate(call.text)[call.text].drop_nulls()
        except rf.InvalidOption:
            continue
        low, high = call.under(ranker._setup).bounds
        assert low is None or found.min() >= low, call
        assert high is None or found.max() <= high + 1e-12, call
        weighted.append(name)
    assert {"precision", "recall", "hits", "cg", "dcg", "ndcg", "mean_label", "rbp"} <= {*weighted}


@each("bad", [None, -1.0, math.nan, math.inf])
def test_a_judged_document_without_a_fit_weight_is_an_error(bad: float | None) -> None:
    df = pl.DataFrame({"query_id": 1, "doc_id": list("ab"), "score": [1, 0], "label": [1, None]})
    fine = df.with_columns(ips=pl.Series([1.0, bad]))
    assert fine.rank.on(weight="ips").cg().item(0, 1) == 1
    unfit = df.with_columns(ips=pl.Series([bad, 1.0]))
    with pytest.raises(rf.InvalidData, match=r"column 'ips' holds a weight .*doc_id='a'"):
        unfit.rank.on(weight="ips").cg()
    for late in (
        unfit.lazy().rank.on(weight="ips").cg(),
        unfit.lazy().group_by("query_id").agg(rf.expr.on(weight="ips").cg()),
    ):
        with pytest.raises((rf.InvalidData, pl.exceptions.InvalidOperationError), match="holds a weight"):
            late.collect()


def test_the_weights_column_must_be_there_and_hold_numbers() -> None:
    with pytest.raises(rf.MissingColumn, match="no column 'w' for weight"):
        DF.rank.on(weight="w").ndcg()
    with pytest.raises(rf.InvalidData, match="not numbers"):
        DF.rank.on(weight="doc_id").ndcg()

"""Batches of scores add up to the table of all their rows, in whatever form and order they come."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankframe as rf
from tests.support.each import each
from tests.support.tables import random_table

SECOND = 1 / math.log2(3)


class Tensor:
    """What is asked of a tensor of PyTorch, which may be on another device and of a type that NumPy lacks."""

    def __init__(self, values: Any, place: str = "gpu") -> None:
        self.values, self.place = np.asarray(values), place

    def detach(self) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        return Tensor(self.values, "cpu")

    def is_floating_point(self) -> bool:
        return self.values.dtype.kind == "f"

    def element_size(self) -> int:
        return self.values.dtype.itemsize

    def float(self) -> Tensor:
        return Tensor(self.values.astype(np.float32), self.place)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        assert self.place == "cpu"
        assert self.values.dtype != np.float16
        return self.values


@each("size", [1, 7, 1000])
def test_batches_in_which_queries_come_apart_give_the_values_of_the_long_table(size: int) -> None:
    rows = [(q, d, s, x) for q, docs in random_table(3, queries=40).items() for d, s, x in docs]
    df = pl.DataFrame(rows, ["query_id", "doc_id", "score", "label"], orient="row").sample(
        fraction=1, shuffle=True, seed=1
    )
    df = df.with_columns(pl.col("label").cast(pl.Float64))
    metrics = ("ndcg@10", "map", "bpref", "rbp(p=0.5)")
    found = rf.Accumulator(*metrics, ties="doc_asc", relevant=2)
    for batch in df.iter_slices(size):
        found.update(batch["score"], batch["label"], batch["query_id"], doc=batch["doc_id"])
    ranker = df.rank.on(ties="doc_asc", relevant=2)
    assert found.per_query().equals(ranker.evaluate(*metrics))
    wanted = dict(ranker.summarize(*metrics, ci=None).select("metric", "mean").iter_rows())
    assert found.compute() == pytest.approx(wanted, abs=1e-12)


@each("form", [list, tuple, np.array, np.float16, pl.Series, pd.Series, Tensor, lambda x: Tensor(np.float16(x))])
def test_scores_and_labels_come_in_any_form(form: Any) -> None:
    found = rf.Accumulator("ndcg@10")
    found.update(form([0.5, 0.25, 1.0]), form([0, 1, 0]), query=np.array([1, 1, 2]))
    assert found.compute() == {"ndcg@10": pytest.approx(SECOND / 2, abs=1e-15)}


@each("ids", [[1, 1, 2], ["a", "a", "b"], np.int32([1, 1, 2]), Tensor([1, 1, 2]), pl.Series([1, 1, 2])])
def test_queries_are_named_by_numbers_or_texts(ids: Any) -> None:
    found = rf.Accumulator("rr")
    found.update([0.5, 0.25, 1.0], [0, 1, 1], ids)
    assert found.compute() == {"rr": 0.75}


def test_a_batch_may_be_of_one_query() -> None:
    found = rf.Accumulator("rr")
    for query in ("a", "b", "a"):
        found.update([0.5], [query == "b"], query)
    assert found.per_query().rows() == [("a", 0.0), ("b", 1.0)]


def test_rows_of_a_matrix_are_queries_of_their_own_and_a_mask_leaves_out_padding() -> None:
    found = rf.Accumulator("rr", "recall@1")
    for _ in range(2):
        found.update([[0.9, 0.1, 5.0], [0.5, 0.4, 0.1]], [[0, 1, 1], [1, 0, 1]], mask=[[True, True, False], [True] * 3])
    assert found.per_query().rows() == [(i, (0.5, 1.0)[i % 2], (0.0, 0.5)[i % 2]) for i in range(4)]
    found.reset()
    found.update([[0.9, 0.1]], [[0, 1]], ["a"])
    found.update([[0.5], [0.05]], [[1], [1]], ["b", "a"])
    assert found.compute() == {"rr": 0.75, "recall@1": 0.5}


def test_a_null_is_a_document_that_was_missed_or_that_nobody_judged() -> None:
    found = rf.Accumulator("recall", "judged@2")
    found.update(pl.Series([1.0, 0.5, None]), [1, None, 1], "a")
    assert found.compute() == {"recall": 0.5, "judged@2": 0.5}


def test_computing_goes_on_where_it_was_and_a_reset_forgets() -> None:
    found = rf.Accumulator("rr")
    found.update([0.5], [1], "a")
    assert found.compute() == found.compute() == {"rr": 1.0}
    found.update([0.9], [0], "a")
    assert found.compute() == {"rr": 0.5}
    assert pickle.loads(pickle.dumps(found)).compute() == {"rr": 0.5}
    found.reset()
    found.update([[0.5]], [[1]])  # of another kind
    assert found.compute() == {"rr": 1.0}


def test_documents_without_ids_keep_their_order_where_scores_tie() -> None:
    for doc, rank in ((None, 1), (["x", "y"], 2), (["y", "x"], 1)):
        found = rf.Accumulator("rr")
        found.update([0.5, 0.5], [1, 0], "a", doc=doc)
        assert found.compute() == {"rr": 1 / rank}


@each(
    ("given", "error", "said"),
    [
        (
            {"scores": [1.0, 2.0], "labels": [1]},
            rf.InvalidData,
            r"the shapes are score \(2,\), label \(1,\); give all one shape",
        ),
        ({"scores": [1.0], "labels": [1], "doc": ["a", "b"]}, rf.InvalidData, r"the shapes are .* doc_id \(2,\)"),
        (
            {"scores": [1.0, 2.0], "labels": [1, 0], "query": None},
            rf.InvalidOption,
            "either all batches name their queries",
        ),
        (
            {"scores": [1.0] * 3, "labels": [1] * 3, "query": [1, 2]},
            rf.InvalidData,
            "2 queries for 3 rows; give one for each",
        ),
        (
            {"scores": [[1.0]] * 3, "labels": [[1]] * 3, "query": [1, 2]},
            rf.InvalidData,
            "2 queries for 3 rows; give one for each",
        ),
        ({"scores": [[[1.0]]], "labels": [[[1]]]}, rf.InvalidData, r"score \(1, 1, 1\), .* of one or two dimensions"),
        ({"scores": 1.0, "labels": 1}, rf.InvalidData, r"score \(\), .* of one or two dimensions"),
        ({"scores": [[1.0], [1.0, 2.0]], "labels": [1]}, rf.InvalidData, "scores is no array of one shape"),
        (
            {"scores": [1.0], "labels": [1], "query": 1},
            rf.InvalidData,
            r"query_id \(Int64\).*those before have query_id \(String\)",
        ),
        ({"scores": [1.0], "labels": [1], "doc": ["a"]}, rf.InvalidData, r"doc_id \(String\)"),
        (
            {"scores": [[1.0]], "labels": [[1]], "query": None},
            rf.InvalidOption,
            "either all batches name their queries",
        ),
        ({"scores": ["high"], "labels": [1]}, rf.InvalidData, "score holds String, which are no numbers"),
    ],
)
def test_a_batch_that_does_not_fit_is_refused_and_not_added(
    given: dict[str, Any], error: type[Exception], said: str
) -> None:
    found = rf.Accumulator("rr")
    found.update([0.5], [1], query="a")
    with pytest.raises(error, match=said):
        found.update(**{"query": "a", **given})
    found.update([0.7], [0], query="a")
    assert len(found.per_query()) == 1


def test_an_empty_batch_adds_nothing() -> None:
    found = rf.Accumulator("rr")
    found.update([], [], [])
    found.update([0.5], [1], [1])
    assert found.compute() == {"rr": 1.0}


def test_nothing_to_compute_is_said() -> None:
    with pytest.raises(rf.InvalidData, match=r"no scores yet; call update\(scores, labels, query=queries\)"):
        rf.Accumulator("rr").compute()


def test_rows_that_no_metric_is_defined_for_are_refused() -> None:
    found = rf.Accumulator("rr")
    found.update([math.nan], [1], "a")
    with pytest.raises(rf.InvalidData, match="NaN"):
        found.compute()


@each(
    ("metrics", "options", "error"),
    [(["rrr@x"], {}, rf.UnknownMetric), (["rr"], {"ties": "no"}, rf.InvalidOption), ([], {}, rf.InvalidOption),
     (["rr"], {"label": "rel"}, rf.InvalidOption)],
)  # fmt: skip
def test_what_is_wrong_is_refused_when_it_is_made(metrics: list[str], options: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        rf.Accumulator(*metrics, **options)


def test_it_says_what_it_is() -> None:
    assert repr(rf.Accumulator("nDCG@10", "rr")) == "Accumulator('ndcg@10', 'rr')"

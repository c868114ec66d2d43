"""Arrays of scores and labels: the table that a loop over their elements makes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.metrics
from scipy import sparse

import rankframe as rf
from tests.support.each import each
from tests.support.tables import BY_CHANCE

pytestmark = BY_CHANCE


class Tensor:
    """An array of another library: all that it has in common with NumPy's is ``__array__``."""

    def __init__(self, values: Any) -> None:
        self.values = np.array(values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return self.values


def random_matrices(seed: int, rows: int = 20, columns: int = 12) -> tuple[Any, Any]:
    draw = np.random.default_rng(seed)
    return draw.random((rows, columns)), draw.integers(0, 4, (rows, columns))


@each("as_given", [np.asarray, list, pd.DataFrame, Tensor, np.ma.asarray], ids=lambda x: x.__name__)
def test_ndcg_of_matrices_is_that_of_scikit_learn(as_given: Any) -> None:
    scores, labels = random_matrices(1)
    ours = rf.from_arrays(scores=as_given(scores), labels=as_given(labels)).rank.ndcg(k=5)["ndcg@5"]
    theirs = [sklearn.metrics.ndcg_score([y], [x], k=5) for x, y in zip(scores, labels, strict=True)]
    assert ours.to_list() == pytest.approx(theirs, abs=1e-12)


def test_masked_elements_and_nan_were_not_retrieved_or_not_judged() -> None:
    scores = np.ma.array([[0.1, 0.9, 0.5], [0.5, 0.4, 0.3]], mask=[[0, 0, 1], [0, 0, 0]])
    labels = [[1, math.nan, 2], [0, 2, math.nan]]
    assert rf.from_arrays(scores=scores, labels=labels).rows() == [
        (0, 0, 0.1, 1.0),
        (0, 1, 0.9, None),
        (0, 2, None, 2.0),
        (1, 0, 0.5, 0.0),
        (1, 1, 0.4, 2.0),
        (1, 2, 0.3, None),
    ]


def test_padding_in_both_arrays_leaves_no_row_and_a_query_of_padding_has_one() -> None:
    nan = math.nan
    found = rf.from_arrays(scores=[[0.5, nan], [nan, nan]], labels=[[1, nan], [nan, nan]])
    assert found.rows() == [(0, 0, 0.5, 1.0), (1, None, None, None)]
    with pytest.warns(rf.RankframeWarning, match="1 of 2 queries have no judgments: they have no value"):
        assert found.rank.evaluate("map")["map"].to_list() == [1.0, None]
    counted = found.with_columns(pl.col("label").fill_null(-1))
    assert counted.rank.evaluate("map")["map"].to_list() == [1.0, 0.0]


def test_flat_arrays_are_cut_by_groups_or_told_apart_by_queries() -> None:
    scores, labels = [0.1, 0.9, 0.5, 0.4], [1, 0, 2, 0]
    by_group = rf.from_arrays(scores=scores, labels=labels, group=[2, 0, 2])
    assert by_group.rows() == [
        (0, 0, 0.1, 1),
        (0, 1, 0.9, 0),
        (1, None, None, None),
        (2, 2, 0.5, 2),
        (2, 3, 0.4, 0),
    ]
    by_query = rf.from_arrays(scores=scores, labels=labels, query=["b", "a", "b", "a"])
    assert by_query.rows() == [("b", 0, 0.1, 1), ("b", 2, 0.5, 2), ("a", 1, 0.9, 0), ("a", 3, 0.4, 0)]


def test_rows_of_a_matrix_take_names() -> None:
    assert rf.from_arrays(scores=[[1.0], [2.0]], query=["x", "y"]).rows() == [("x", 0, 1.0), ("y", 0, 2.0)]


def test_stored_elements_of_sparse_matrices_were_retrieved_or_judged() -> None:
    scores = sparse.csr_matrix(np.array([[0, 2.0, 1], [0, 0, 0]]))
    labels = sparse.coo_array(np.array([[1, 0, 1], [0, 1, 0]]))
    assert rf.from_arrays(scores=scores, labels=labels).rows() == [
        (0, 1, 2.0, None),
        (0, 2, 1.0, 1),
        (0, 0, None, 1),
        (1, 1, None, 1),
    ]
    assert rf.from_arrays(scores=[[3.0, 2.0]], labels=sparse.csr_matrix([[0, 1]])).rows() == [
        (0, 0, 3.0, None),
        (0, 1, 2.0, 1),
    ]


@each("k", [1, 3, 12, 50])
def test_keeping_the_best_of_each_row_leaves_metrics_with_that_cutoff_as_they_are(k: int) -> None:
    scores, labels = random_matrices(2)
    scores = scores.round(1)  # many ties
    metrics = [f"ndcg@{min(k, 12)}", f"map@{min(k, 12)}", f"recall@{min(k, 12)}"]
    whole = rf.from_arrays(scores=scores, labels=labels).rank.evaluate(*metrics)
    assert rf.from_arrays(scores=scores, labels=labels, k=k).rank.evaluate(*metrics).equals(whole)
    assert rf.from_arrays(scores=scores, k=k).height >= 20 * min(k, 12)


def test_documents_below_the_best_are_kept_if_they_are_relevant() -> None:
    found = rf.from_arrays(scores=[[3.0, 2.0, 1.0]], labels=[[0, 0, 1]], k=1)
    assert found.rows() == [(0, 0, 3.0, 0), (0, 2, None, 1)]


@each("dtype", [np.float16, np.float32, np.int8, np.uint64, bool])
def test_numbers_of_every_type_are_scores(dtype: Any) -> None:
    assert rf.from_arrays(scores=np.array([[0, 1]], dtype=dtype))["score"].cast(pl.Float64).to_list() == [0.0, 1.0]


HOSTILE: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "rows of unequal length": (
        {"scores": [[1, 2], [1]]},
        rf.InvalidData,
        "scores is no array of one shape: .* inhomogeneous",
    ),
    "other shapes": ({"scores": [[1, 2]], "labels": [[1]]}, rf.InvalidData, r"shape \(1, 2\) and labels \(1, 1\)"),
    "three dimensions": ({"scores": np.zeros((1, 1, 1))}, rf.InvalidData, "scores have 3 dimensions"),
    "a number": ({"scores": 5}, rf.InvalidData, "scores have 0 dimensions"),
    "texts": ({"scores": [["a"]]}, rf.InvalidData, "scores hold <U1, not numbers"),
    "objects": ({"scores": [[{}]]}, rf.InvalidData, "scores hold object, not numbers"),
    "complex numbers": ({"scores": [[1j]]}, rf.InvalidData, "scores hold complex128, not numbers"),
    "a flat array alone": ({"scores": [1, 2]}, rf.InvalidOption, "flat ones take either group or query"),
    "groups and queries": (
        {"scores": [1], "group": [1], "query": [1]},
        rf.InvalidOption,
        "flat ones take either group or query",
    ),
    "groups that do not add up": ({"scores": [1, 2], "group": [1]}, rf.InvalidData, "whole numbers that add up to 2"),
    "broken groups": ({"scores": [1, 2], "group": [1.0, 1.0]}, rf.InvalidData, "write the sizes of the groups"),
    "groups of a matrix": ({"scores": [[1]], "group": [1]}, rf.InvalidOption, "and a matrix only query"),
    "too few queries": ({"scores": [1, 2], "query": [1]}, rf.InvalidData, "1 queries for 2 elements"),
    "queries of two types": (
        {"scores": [1, 2], "query": [b"a", object()]},
        rf.InvalidData,
        "write texts, or numbers of 64 bits",
    ),
    "too few names": ({"scores": [[1], [2]], "query": [1]}, rf.InvalidData, "1 queries for 2 rows"),
    "a name twice": ({"scores": [[1], [2]], "query": ["a", "a"]}, rf.InvalidData, "query 'a' has several rows"),
    "the best of a flat array": ({"scores": [1, 2], "group": [2], "k": 1}, rf.InvalidOption, "k=1 keeps the best"),
    "no cutoff": ({"scores": [[1]], "k": 0}, rf.InvalidOption, "k=0"),
}


@each("name", HOSTILE)
def test_what_cannot_be_read_is_an_error_at_the_call(name: str) -> None:
    options, error, message = HOSTILE[name]
    with pytest.raises(error, match=message):
        rf.from_arrays(**options)


def test_a_tensor_that_gives_no_array_is_an_error_with_the_reason() -> None:
    class WithGradients(Tensor):
        def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")

    with pytest.raises(rf.InvalidData, match=r"scores is no array of one shape: Can't call numpy\(\) on Tensor"):
        rf.from_arrays(scores=WithGradients([[1.0]]))


def test_a_series_with_nulls_is_an_array_in_which_these_are_missing() -> None:
    found = rf.from_arrays(scores=pl.Series([0.5, 0.4]), labels=pl.Series([1, None]), group=[2])
    assert found.rows() == [(0, 0, 0.5, 1.0), (0, 1, 0.4, None)]


def test_labels_that_look_like_scores_are_a_warning_and_right_the_other_way_round() -> None:
    predicted, relevant = np.array([[0.9, 0.2, 0.4], [0.1, 0.8, 0.3]]), np.array([[0, 1, 0], [0, 1, 1]])
    says = r"^the scores are whole numbers and the labels are not, .* rf\.from_arrays\(scores=labels, labels=scores\)$"
    with pytest.warns(rf.RankframeWarning, match=says):
        swapped = rf.from_arrays(scores=relevant, labels=predicted)
    assert swapped.rank.mean("dcg@1").item() == pytest.approx((0.2 + 0.3) / 2)  # the trap
    right = rf.from_arrays(scores=predicted, labels=relevant)  # a warning fails the test
    assert right.rank.mean("dcg@1").item() == (0 + 1) / 2
    for scores, labels in ((relevant, relevant), (predicted, predicted), (predicted, relevant * 1.0), (relevant, None)):
        rf.from_arrays(scores=scores, labels=labels)
    bools = rf.from_arrays(scores=predicted, labels=relevant == 1)
    assert bools["label"].dtype == pl.Boolean
    rf.from_arrays(scores=relevant == 1, labels=relevant == 1)

"""Metrics for LightGBM, XGBoost and CatBoost: groups, weights, tables, what is kept, what is refused."""

from __future__ import annotations

import gc
import math
import pickle
import weakref
from collections.abc import Callable
from copy import deepcopy
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from tests.support.each import each
from tests.trainers.protocols import Dataset, DMatrix, Pool

# Two queries: labels in the order of their scores 0 1, and 0 0.
LABELS, GROUP, SCORES = [0, 1, 0, 0], [2, 2], np.array([0.9, 0.1, 0.5, 0.4])
SECOND = 1 / math.log2(3)  # the nDCG of one relevant document on rank 2

HOOKS: dict[str, Callable[..., Any]] = {
    "lightgbm": rf.lightgbm_metric,
    "xgboost": rf.xgboost_metric,
    "catboost": lambda *metrics, **options: rf.catboost_callback(*metrics, pool=Pool(LABELS, [1, 1, 2, 2]), **options),
}


def values(tool: str, hook: Any, scores: Any = SCORES) -> dict[str, float]:
    """The metrics of the two queries, as a tool asks for them."""
    if tool == "catboost":
        hook.evaluate([scores], np.array(LABELS), None)
        hook.after_iteration(SimpleNamespace(iteration=1))
        return {name: found[-1] for name, found in hook.history.items()}
    found = hook(scores, (Dataset if tool == "lightgbm" else DMatrix)(LABELS, GROUP))
    return {x[0].removesuffix("_rankframe"): x[1] for x in (found if isinstance(found, list) else [found])}


@each("tool", HOOKS)
def test_the_mean_goes_over_the_queries_of_the_groups(tool: str) -> None:
    assert values(tool, HOOKS[tool]("ndcg@10")) == {"ndcg@10": pytest.approx(SECOND / 2, abs=1e-15)}
    assert values(tool, HOOKS[tool]("rr", "precision@1", "recall")) == {"rr": 0.25, "precision@1": 0.0, "recall": 0.5}


@each("tool", HOOKS)
def test_policies_are_those_of_on(tool: str) -> None:
    assert values(tool, HOOKS[tool]("rr", no_relevant="null")) == {"rr": 0.5}
    assert values(tool, HOOKS[tool]("rr", relevant=2)) == {"rr": 0.0}
    assert values(tool, HOOKS[tool]("rr", ascending=True)) == {"rr": 0.5}  # predictions are distances
    assert values(tool, HOOKS[tool]("ndcg", convention="lightgbm")) == {"ndcg": pytest.approx((SECOND + 1) / 2)}


@each("tool", HOOKS)
@each(
    ("metrics", "options", "error", "said"),
    [
        (["ndgc@10"], {}, rf.UnknownMetric, r"Did you mean 'ndcg'\?"),
        ([], {}, rf.InvalidOption, "no metric given; name at least one"),
        (["ndcg@10"], {"tie": "order"}, rf.InvalidOption, r"no option 'tie'\. Did you mean 'ties'\?"),
        (["ndcg@10"], {"ties": "lowest"}, rf.InvalidOption, "ties='lowest'"),
        (["ndcg@10"], {"query": "qid"}, rf.InvalidOption, "query='qid' names a column, and .* was given no table"),
        (["ndcg@10"], {"names": "pyterrier"}, rf.InvalidOption, "names='pyterrier' names a column, and .* no table"),
        (
            ["ndcg@10"],
            {"rank": "rank"},
            rf.InvalidOption,
            "rank='rank': .* ranks by the scores of the trainer; leave it out",
        ),
        (["ndcg@10"], {"unjudged": "bounds"}, rf.InvalidOption, "gives each metric two columns"),
        (["alpha_ndcg"], {}, rf.InvalidOption, "subtopic"),
        (["err"], {"convention": "lightgbm"}, rf.InvalidOption, "lightgbm has no err"),
        (["relstring"], {}, rf.InvalidOption, "has no mean"),
        (["rr"], {"ties": "doc_asc"}, rf.InvalidOption, "the table has no document column"),
        (["rr"], {"table": [1, 2]}, rf.InvalidData, "is no table; give a DataFrame"),
        (["rr"], {"table": pl.DataFrame({"query_id": [1]})}, rf.MissingColumn, "label"),
    ],
)
def test_what_is_wrong_is_refused_before_the_training(
    tool: str, metrics: list[str], options: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        HOOKS[tool](*metrics, **options)


# The same two queries with ids, and below them a relevant document of the first that was not retrieved.
TABLE = pl.DataFrame({"qid": ["a", "a", "b", "b", "a"], "doc_id": list("vwxyz"), "label": [0, 1, 0, 0, 2]})
FORMS: list[Callable[[pl.DataFrame], Any]] = [
    lambda x: x, pl.DataFrame.lazy, pl.DataFrame.to_arrow, pl.DataFrame.to_pandas,
    lambda x: x.to_pandas().assign(other=[object()] * 5),
]  # fmt: skip


@each("form", FORMS)
@each("tool", HOOKS)
def test_a_table_brings_what_was_missed(tool: str, form: Callable[[pl.DataFrame], Any]) -> None:
    found = values(tool, HOOKS[tool]("recall", "ndcg", table=form(TABLE), query="qid"))
    assert found == {"recall": 0.25, "ndcg": pytest.approx(SECOND / (2 + SECOND) / 2, abs=1e-15)}


@each("tool", HOOKS)
def test_a_table_brings_ids_by_which_ties_are_ordered(tool: str) -> None:
    table = TABLE.head(4).with_columns(score=pl.lit(7))  # a score of its own does not count
    hook = HOOKS[tool]("rr", table=table, query="qid")
    assert values(tool, hook) == {"rr": 0.25}
    assert values(tool, hook, np.zeros(4)) == {"rr": 0.5}  # w before v
    in_order = HOOKS[tool]("rr", table=table, query="qid", ties="doc_asc")
    assert values(tool, in_order, np.zeros(4)) == {"rr": 0.25}


@each("tool", HOOKS)
@each(
    ("table", "said"),
    [
        (TABLE.head(3), "4 predictions, and `table` has 3 rows"),
        (
            TABLE.with_columns(label=pl.Series([0, 2, 0, 0, 2])),
            r"row 1 of `table` has the label 2, and that of the trainer 1",
        ),
        (TABLE.with_columns(qid=pl.Series(list("aaabb"))), "row 2 of `table` begins or continues a query"),
    ],
)
def test_a_table_of_other_rows_is_refused(tool: str, table: pl.DataFrame, said: str) -> None:
    with pytest.raises(rf.InvalidData, match=said):
        values(tool, HOOKS[tool]("rr", table=table, query="qid"))


@each("tool", HOOKS)
def test_a_mean_of_no_query_is_refused(tool: str) -> None:
    with pytest.raises(rf.InvalidData, match="no query has a value of rr, so there is no mean"):
        values(tool, HOOKS[tool]("rr", relevant=2, no_relevant="null"))


def test_weights_weigh_the_mean_of_the_queries() -> None:
    hook = rf.lightgbm_metric("rr")
    labels = [0, 1, 1, 0]  # reciprocal ranks 1/2 and 1
    assert hook(SCORES, Dataset(labels, GROUP, [1, 3, 4, 8])) == ("rr_rankframe", (2 * 0.5 + 6 * 1) / 8, True)
    assert rf.xgboost_metric("rr")(SCORES, DMatrix(labels, GROUP, [2, 6])) == ("rr_rankframe", (2 * 0.5 + 6 * 1) / 8)
    assert rf.xgboost_metric("rr")(SCORES, DMatrix(labels, GROUP, [1, 3, 4, 8])) == (
        "rr_rankframe",
        (2 * 0.5 + 6 * 1) / 8,
    )
    with pytest.raises(rf.InvalidData, match="no query has a value of rr"):
        hook(SCORES, Dataset(labels, GROUP, [0, 0, 0, 0]))
    whole = rf.lightgbm_metric("rr", table=TABLE.with_columns(label=pl.Series([*labels, 1])), query="qid")
    assert whole(SCORES, Dataset(labels, GROUP, [1, 3, 4, 8])) == ("rr_rankframe", (2 * 0.5 + 6 * 1) / 8, True)
    missed = pl.concat([TABLE, TABLE.tail(1).with_columns(qid=pl.lit("c"))])  # a query without a prediction weighs 1
    hook = rf.lightgbm_metric("rr", table=missed.with_columns(label=pl.Series([*labels, 1, 1])), query="qid")
    assert hook(SCORES, Dataset(labels, GROUP, [1, 3, 4, 8]))[1] == pytest.approx((2 * 0.5 + 6 * 1) / 9, abs=1e-15)


def test_a_group_without_rows_is_no_query() -> None:
    assert rf.lightgbm_metric("rr")(SCORES, Dataset(LABELS, [2, 0, 2], [1, 1, 3, 3])) == ("rr_rankframe", 0.125, True)


def test_lightgbm_is_told_which_way_is_better() -> None:
    assert rf.lightgbm_metric("fall_out@1")(SCORES, Dataset(LABELS, GROUP))[2] is False
    assert [x[2] for x in rf.lightgbm_metric("rr", "unjudged@1")(SCORES, Dataset(LABELS, GROUP))] == [True, False]
    assert rf.catboost_callback("rr", pool=Pool(LABELS, [1, 1, 2, 2])).is_max_optimal()
    assert not rf.catboost_callback("fall_out@1", pool=Pool(LABELS, [1, 1, 2, 2])).is_max_optimal()


OWN = {"ndcg@5", "ndcg@5-", "ndcg", "map@5", "map@5-", "map", "pre@5", "pre", "auc", "aucpr", "average_precision"}
"""What LightGBM and XGBoost call their own metrics of rankings."""

MAXIMIZED = ("auc", "aucpr", "pre", "map", "ndcg")
"""The beginnings of the names that XGBoost maximizes unless it is told."""


@each(("hook", "kind"), [(rf.lightgbm_metric, Dataset), (rf.xgboost_metric, DMatrix)])
def test_no_name_is_one_of_the_boosters_own_and_each_begins_alike(hook: Any, kind: Any) -> None:
    texts = ["ndcg@5", "map@5", "auc", "precision@5", "ndcg", "map"]
    names = [x[0] for x in hook(*texts)(SCORES, kind(LABELS, GROUP))]
    assert not {*names} & OWN
    assert all(name.startswith(text) and name.startswith(MAXIMIZED) for name, text in zip(names, texts, strict=True))


def test_the_names_for_xgboost_have_no_colon() -> None:
    name, _ = rf.xgboost_metric("ndcg(gain={1:1,2:3})@5")(SCORES, DMatrix(LABELS, GROUP))
    assert name == "ndcg(gain={1=1,2=3})@5_rankframe"


def test_a_set_without_groups_is_refused() -> None:
    with pytest.raises(rf.InvalidData, match=r"Dataset\(\.\.\., group=sizes\)"):
        rf.lightgbm_metric("rr")(SCORES, Dataset(LABELS, None))
    with pytest.raises(rf.InvalidData, match=r"DMatrix\(\.\.\., qid=queries\)"):
        rf.xgboost_metric("rr")(SCORES, DMatrix(LABELS, []))
    with pytest.raises(rf.InvalidData, match=r"xgboost\.train\(\.\.\., custom_metric=\.\.\.\)"):
        rf.xgboost_metric("rr")(np.array(LABELS), SCORES)  # as XGBRanker calls it
    with pytest.raises(rf.InvalidData, match=r"Pool\(\.\.\., group_id=queries\)"):
        rf.catboost_callback("rr", pool=Pool(LABELS, None))
    with pytest.raises(rf.InvalidData, match=r"pool=\[1, 2\] is no Pool; give the eval_set"):
        rf.catboost_callback("rr", pool=[1, 2])


def test_sizes_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(rf.InvalidData, match="the groups have 3 rows, and there are 4 labels"):
        rf.lightgbm_metric("rr")(SCORES, Dataset(LABELS, [2, 1]))
    with pytest.raises(rf.InvalidData, match="8 predictions for 4 rows"):
        rf.lightgbm_metric("rr")(np.zeros((4, 2)), Dataset(LABELS, GROUP))


def test_a_set_that_changes_in_place_is_seen() -> None:
    metric, data = rf.lightgbm_metric("rr"), Dataset(LABELS, GROUP)
    assert metric(SCORES, data)[1] == 0.25
    data.label[0] = 1
    assert metric(SCORES, data)[1] == 0.5


def test_nothing_is_kept_of_a_set_that_is_gone() -> None:
    metric, data = rf.lightgbm_metric("rr"), Dataset(LABELS, GROUP)
    metric(SCORES, data)
    gone = weakref.ref(data)
    del data
    gc.collect()
    assert gone() is None


@each("hook", [rf.lightgbm_metric("rr"), rf.xgboost_metric("rr")], ids=repr)
def test_a_hook_can_be_copied_and_pickled_after_it_was_used(hook: Any) -> None:
    data = (Dataset if "lightgbm" in repr(hook) else DMatrix)(LABELS, GROUP)
    wanted = hook(SCORES, data)
    for other in (deepcopy(hook), pickle.loads(pickle.dumps(hook))):
        assert other(SCORES, data) == wanted


def callback(**options: Any) -> Any:
    return rf.catboost_callback("rr", pool=Pool(LABELS, [1, 1, 2, 2]), **options)


def train(hook: Any, *relevant_on: int) -> list[bool]:
    """CatBoost's part: iterations in which the relevant document of the first query is on a rank, or nothing is evaluated."""
    said = []
    for iteration, rank in enumerate(relevant_on, 1):
        assert hook.evaluate([np.zeros(3)], np.zeros(3), None) == (-1.0, 1.0)  # the rows that are learnt from
        if rank:
            value, weight = hook.evaluate([SCORES if rank == 2 else -SCORES], np.array(LABELS), None)
            assert hook.get_final_error(value, weight) == 0.5 / rank
        said.append(hook.after_iteration(SimpleNamespace(iteration=iteration)))
    return said


def test_the_callback_of_catboost_stops_once_its_patience_is_over() -> None:
    hook = callback(patience=2)
    assert train(hook, 2, 1, 1, 2) == [True, True, True, False]
    assert hook.best_iteration == 1
    assert hook.history == {"rr": [0.25, 0.5, 0.5, 0.25]}
    assert train(hook, 1, 0, 0) == [True, True, False]  # a training anew, with few evaluations
    assert hook.history == {"rr": [0.5]}
    assert train(callback(), *[2] * 50) == [True] * 50
    assert train(rf.catboost_callback("rr", "map", pool=Pool(LABELS, [1, 1, 2, 2]), patience=1), 2, 1, 2) == [
        True,
        True,
        False,
    ]


def test_the_callback_of_catboost_goes_down_where_lower_is_better() -> None:
    hook = rf.catboost_callback("fall_out@1", pool=Pool([0, 1], [1, 1]), patience=1)
    for iteration, (scores, goes_on) in enumerate([([1, 0], True), ([0, 1], True), ([1, 0], False)], 1):
        hook.evaluate([np.array(scores)], np.array([0, 1]), None)
        assert hook.after_iteration(SimpleNamespace(iteration=iteration)) is goes_on
    assert hook.best_iteration == 1


def test_a_callback_that_sees_no_predictions_says_how_to_get_them() -> None:
    with pytest.raises(rf.InvalidOption, match=r"CatBoostRanker\(eval_metric=callback\)"):
        callback().after_iteration(SimpleNamespace(iteration=1))


@each("patience", [0, -1, 1.5, "2", True])
def test_a_patience_that_is_no_number_of_iterations_is_refused(patience: Any) -> None:
    with pytest.raises(rf.InvalidOption, match="patience="):
        callback(patience=patience)


def test_catboost_copies_its_metric_and_still_has_the_callback() -> None:
    hook = callback()
    assert deepcopy({"eval_metric": hook})["eval_metric"] is hook
    assert hook.no_jit
    assert not hook.is_additive()


def test_the_estimator_of_lightgbm_calls_with_labels_weights_and_groups() -> None:
    metric, labels = rf.lightgbm_metric(rf.metrics.reciprocal_rank), np.array(LABELS)
    assert metric(labels, SCORES, None, np.array(GROUP)) == ("rr_rankframe", 0.25, True)
    assert metric(labels, SCORES, np.array([3, 3, 1, 1]), np.array(GROUP)) == ("rr_rankframe", 0.375, True)
    with pytest.raises(rf.InvalidData, match=r"fit\(\.\.\., eval_group=\[sizes\]\)"):
        metric(labels, SCORES)


def test_hooks_say_what_they_are() -> None:
    assert repr(rf.lightgbm_metric("P_5", "rr")) == "lightgbm_metric('precision@5', 'rr')"
    assert repr(rf.xgboost_metric("rr")) == "xgboost_metric('rr')"
    assert repr(callback()) == "catboost_callback('rr')"

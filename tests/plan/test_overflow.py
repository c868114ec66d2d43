"""What would add up beyond the largest float is refused; what is just below adds up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from tests.support.each import each

DF = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": 1.0, "w": 1.0})
FORMS: dict[str, Callable[[pl.DataFrame, dict[str, Any], str, dict[str, Any]], Any]] = {
    "eager": lambda df, on, name, options: getattr(df.rank.on(**on).metrics, name)(**options),
    "lazy": lambda df, on, name, options: getattr(df.lazy().rank.on(**on).metrics, name)(**options).collect(),
    "expr": lambda df, on, name, options: df.group_by("query_id").agg(getattr(rf.expr.on(**on), name)(**options)),
    "over": lambda df, on, name, options: df.select(getattr(rf.expr.on(**on), name)(**options).over("query_id")),
    "pandas": lambda df, on, name, options: getattr(df.to_pandas().rank.on(**on).metrics, name)(**options),
    "kernel": lambda df, on, name, options: rf.arrow_kernel(name, **on)(df.to_arrow()),
    "bounds": lambda df, on, name, options: df.rank.on(**on, unjudged="bounds").evaluate(name),
}
LARGE = {
    "labels": (
        {"label": 1.7e308},
        {},
        {},
        "column 'label' holds NaN or an infinite label, or one beyond 1e\\+280; .*smaller",
    ),
    "weights": (
        {"w": 1.7e308},
        {"weight": "w"},
        {},
        "'w' holds a weight that is null, negative, NaN or beyond 1e\\+280",
    ),
    "labels times weights": (
        {"label": 1e200, "w": 1e200},
        {"weight": "w"},
        {},
        "a gain times its weight is above 1e\\+280; give smaller weights",
    ),
    "gains of an expression": (
        {"w": 1.7e308},
        {},
        {"gain": pl.col("w")},
        "is negative, NaN or above 1e\\+280 for a document",
    ),
    "exponential gains": ({"label": 1023.9}, {}, {"gain": "exponential"}, "a label of 900 or more is beyond 2\\^label"),
}
CASES = [
    (case, form)
    for case, (_, on, options, _) in LARGE.items()
    for form in FORMS
    if not (form in ("kernel", "bounds") and options) and not (form == "bounds" and on)
]


@each("metric", ["cg", "dcg", "ndcg"])
@each(("case", "form"), CASES)
def test_what_adds_up_beyond_the_largest_float_is_refused_in_every_form(case: str, form: str, metric: str) -> None:
    columns, on, options, says = LARGE[case]
    df = DF.with_columns(**{name: pl.lit(value) for name, value in columns.items()})
    with pytest.raises((rf.InvalidData, pl.exceptions.InvalidOperationError), match=says):
        FORMS[form](df, on, metric, options)


@each("form", FORMS)
def test_the_greatest_labels_still_rank_perfectly(form: str) -> None:
    df = DF.with_columns(label=pl.lit(1e280))
    if form == "bounds":
        df = df.with_columns(label=pl.lit(3.0))  # of which there are few between
    values = FORMS[form](df, {}, "ndcg", {})
    found = values.iloc[:, -1].tolist() if form == "pandas" else pl.DataFrame(values).to_series(-1).to_list()
    assert set(found) == {1.0}


@pytest.mark.filterwarnings("ignore:every row has a score:rankframe.RankframeWarning")
@each("text", ["cg", "dcg", "ndcg", "average_relevance_position", "mean_label"])
def test_the_greatest_labels_of_many_documents_add_up(text: str) -> None:
    df = pl.DataFrame({"query_id": 1, "doc_id": range(100_000), "score": range(100_000)}).with_columns(label=1e280)
    one = {"cg": 1e285, "ndcg": 1.0, "average_relevance_position": 100_001 / 2, "mean_label": 1e280}
    value = df.rank.evaluate(text).item(0, 1)
    assert value == pytest.approx(one[text], rel=1e-12) if text in one else 1e280 < value < 1e285


def test_whole_numbers_never_overflow() -> None:
    for dtype in (pl.Int64, pl.UInt64, pl.Int128):
        label = pl.select(dtype.max()).item()
        df = DF.with_columns(label=pl.lit(label, dtype=dtype))
        assert df.rank.ndcg().item(0, 1) == df.lazy().rank.ndcg().collect().item(0, 1) == 1.0


@each("gain", [{1: 1.7e308}, {1: 1e300}, {1.7e308: 1}])
def test_a_mapping_to_gains_that_overflow_is_refused(gain: dict[float, float]) -> None:
    for ranker in (DF.rank, DF.lazy().rank, DF.to_pandas().rank, rf.expr):
        with pytest.raises(
            rf.InvalidOption, match="each key a number from 0 to 1e\\+280, each value a number from 0 to 1e\\+280"
        ):
            ranker.ndcg(gain=gain)


@each("most", [10**281, 10**400])
def test_labels_that_the_unjudged_cannot_have_are_refused(most: int) -> None:
    with pytest.raises(rf.InvalidOption, match="whole number from 0 to 1e\\+280"):
        DF.rank.on(unjudged="bounds", unjudged_labels=(0, most))


def test_weights_of_queries_that_overflow_are_refused() -> None:
    with pytest.raises(rf.InvalidData, match="a query's weight, 'w', is null, negative, NaN or beyond 1e\\+280"):
        DF.with_columns(w=1.7e308).rank.summarize("ndcg", weights="w")


def test_check_lists_labels_that_overflow() -> None:
    found = DF.with_columns(label=pl.Series([1.7e308, 1.0])).rank.check().rows
    assert found.row(0)[:4] == ("error", "label not finite", 1, "a")

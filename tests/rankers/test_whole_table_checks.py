"""A whole table tells what a value of a single query does not: that nobody judged a document, or that a group is not there."""

from __future__ import annotations

import math
import warnings
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from tests.support.each import each

DF = pl.DataFrame(
    {
        "query_id": [1, 1, 2, 2],
        "doc_id": ["a", "b", "a", "b"],
        "score": [2.0, 1.0, 2.0, 1.0],
        "other": [1.0, 2.0, 1.0, 2.0],
        "label": [1, 0, 0, 1],
        "by": ["x", "y", "y", "y"],
    }
)
UNJUDGED = DF.with_columns(label=pl.lit(None, pl.Int64))
EAGER: dict[str, Any] = {"polars": lambda x: x, "pandas": pl.DataFrame.to_pandas}
FORMS: dict[str, Any] = {**EAGER, "lazy": pl.DataFrame.lazy}
NOBODY = "nobody judged a document: column 'label' is null in all 4 rows"


def run(found: Any) -> Any:
    return found.collect() if isinstance(found, pl.LazyFrame) else found


@each("form", EAGER.values(), ids=EAGER)
@each(
    ("ask", "named"),
    [
        (lambda x: x.ndcg(k=10), "ndcg@10"),
        (lambda x: x.evaluate("map"), "map"),
        (lambda x: x.evaluate("num_retrieved", "P_5"), "precision@5"),
        (lambda x: x.evaluate("num_retrieved", "unj@1"), "unj@1"),
        (lambda x: x.with_metrics("rr"), "rr"),
        (lambda x: x.curve("recall"), "recall"),
        (lambda x: x.mean("map"), "map"),
        (lambda x: x.summarize("map", ci=None), "map"),
        (lambda x: x.compare("map", runs=["score", "other"], resamples=99, progress=False), "map"),
        (lambda x: x.on(unjudged="drop").ndcg(), "ndcg"),
    ],
    ids=[
        "method",
        "text",
        "beside another",
        "of judgments",
        "with_metrics",
        "curve",
        "mean",
        "summarize",
        "compare",
        "condensed",
    ],
)
def test_values_of_a_table_that_nobody_judged_come_with_a_warning(ask: Any, named: str, form: Any) -> None:
    with pytest.warns(
        rf.RankframeWarning, match=rf"^{NOBODY}; join the judgments, .*\(it concerns {named}\)$"
    ) as caught:
        ask(form(UNJUDGED).rank)
    assert [warning.filename for warning in caught] == [__file__]


@each("form", EAGER.values(), ids=EAGER)
@each(
    "ask",
    [
        lambda x: x.evaluate("num_retrieved"),  # which counts what it is to count
        lambda x: x.on(no_relevant="null").ndcg(),
        lambda x: x.on(unjudged="bounds").ndcg(),
        lambda x: x.on(group="by").group_exposure(group="x"),
        lambda x: x.agreement("other", "tau"),
        lambda x: x.with_ranks(),
        lambda x: x.check().rows,
    ],
    ids=["counts", "null", "bounds", "no labels read", "agreement", "ranks", "check"],
)
def test_what_needs_no_judgments_or_shows_that_there_are_none_comes_without_one(ask: Any, form: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ask(form(UNJUDGED).rank)


@each("form", EAGER.values(), ids=EAGER)
@each("df", [DF, DF.head(2).with_columns(label=pl.Series([0, None])), UNJUDGED.clear()])
def test_a_table_with_one_judged_document_or_without_rows_comes_without_one(df: pl.DataFrame, form: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        form(df).rank.evaluate("ndcg@10", "map")


def test_following_the_advice_ends_the_warning() -> None:
    qrels = DF.select("query_id", "doc_id", "label")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert UNJUDGED.drop("label").rank.judge(qrels).rank.reciprocal_rank()["rr"].to_list() == [1.0, 0.5]
        assert UNJUDGED.rank.on(label="by_hand", no_relevant="null")._setup.roles.label == "by_hand"
        assert UNJUDGED.rank.on(no_relevant="null").reciprocal_rank()["rr"].to_list() == [None, None]


ABSENT: dict[str, Any] = {
    "method": lambda x: x.metrics.demographic_parity(group="typo"),
    "text": lambda x: x.evaluate("awrf", "group_exposure(group=typo)@1"),
    "with_metrics": lambda x: x.with_metrics("awrf(group=typo)"),
    "curve": lambda x: x.curve("group_exposure(group=typo)"),
    "explain": lambda x: x.explain("group_exposure(group=typo)"),
    "mean": lambda x: x.mean("ndkl(group=typo)"),
    "summarize": lambda x: x.summarize("rnd(group=typo)", ci=None),
    "compare": lambda x: x.compare("rkl(group=typo)", runs=["score", "other"], resamples=99, progress=False),
    "rrd": lambda x: x.metrics.rrd(group="typo"),
    "exposed_utility_ratio": lambda x: x.metrics.exposed_utility_ratio(group="typo"),
    "realized_utility_ratio": lambda x: x.metrics.realized_utility_ratio(group="typo"),
    "spilled": lambda x: x.on(memory_limit=1).metrics.demographic_parity(group="typo"),
    "grouped": lambda x: x.on(grouped=True).metrics.demographic_parity(group="typo"),
}


@each("form", FORMS.values(), ids=FORMS)
@each("ask", ABSENT.values(), ids=ABSENT)
def test_a_group_that_no_row_has_is_refused_with_those_that_are_there(ask: Any, form: Any) -> None:
    said = r"\(group=typo\).*: column 'by' nowhere holds 'typo'; write one of its values for group: 'x', 'y'\.$"
    with pytest.raises(rf.InvalidOption, match=said):
        run(ask(form(DF).rank.on(group="by")))


def test_a_lazy_group_is_looked_for_when_the_plan_runs() -> None:
    asked = DF.lazy().rank.on(group="by").metrics.demographic_parity(group="X")
    with pytest.raises(rf.InvalidOption, match=r"holds 'X'; .*'x', 'y'\. Did you mean 'x'\?"):
        asked.collect()


@each("form", FORMS.values(), ids=FORMS)
@each("policies", [{}, {"memory_limit": 1}, {"grouped": True}])
def test_a_group_that_only_some_queries_have_is_not_refused(form: Any, policies: dict[str, Any]) -> None:
    found = run(form(DF).rank.on(group="by", **policies).metrics.demographic_parity(group="x"))
    frame = found if isinstance(found, pl.DataFrame) else pl.from_pandas(found.reset_index())
    first, second = frame.sort("query_id")["demographic_parity(group=x)"]
    assert first == pytest.approx(math.log(math.log2(3)))  # 1 over 1 / log2(3)
    assert second is None
    lazy = DF.lazy().rank.on(group="by").metrics.demographic_parity(group="x").filter(query_id=2).collect()
    assert lazy["demographic_parity(group=x)"].to_list() == [None]


def test_groups_of_items_are_those_of_the_catalog() -> None:
    items = pl.DataFrame({"doc_id": ["a", "b", "c"], "by": ["x", "y", "z"]})
    ranker = DF.drop("by").rank.on(group="by", items=items)
    assert ranker.group_exposure(group="z")["group_exposure(group=z)"].to_list() == [0.0, 0.0]
    with pytest.raises(rf.InvalidOption, match="'x', 'y', 'z'"):
        ranker.group_exposure(group="typo")


def test_an_error_lists_twelve_groups_at_most() -> None:
    many = pl.DataFrame({"query_id": 1, "score": range(14), "by": [f"g{i:02}" for i in range(14)]})
    with pytest.raises(rf.InvalidOption, match="'g10', 'g11' and 2 more"):
        many.rank.on(group="by").group_exposure(group="typo")


def test_a_table_without_rows_or_groups_refuses_none() -> None:
    assert DF.clear().rank.on(group="by").metrics.demographic_parity(group="x").height == 0
    nobody = DF.with_columns(by=pl.lit(None, pl.String))
    assert (
        nobody.rank.on(group="by").metrics.demographic_parity(group="x")["demographic_parity(group=x)"].to_list()
        == [None] * 2
    )

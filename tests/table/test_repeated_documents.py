"""A query that holds a document on several rows is refused, and the error says what to name if these are several rankings."""

from __future__ import annotations

import re
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from tests.support.each import each

ROWS = pl.DataFrame(
    {"query_id": ["1", "1", "2"], "doc_id": ["a", "b", "a"], "score": [2.0, 1.0, 1.0], "label": [1, 0, 1]}
)
DAYS = pl.concat(ROWS.with_columns(day=pl.lit(day)) for day in ("mon", "tue"))
QRELS = ROWS.select("query_id", "doc_id", "label")
FORMS: dict[str, Any] = {"polars": lambda x: x, "pandas": pl.DataFrame.to_pandas, "lazy": pl.DataFrame.lazy}
VERBS: dict[str, Any] = {
    "evaluate": lambda x: x.evaluate("rr"),
    "with_metrics": lambda x: x.with_metrics("rr"),
    "with_ranks": lambda x: x.with_ranks(),
    "curve": lambda x: x.curve("precision"),
    "summarize": lambda x: x.summarize("rr", ci=None),
    "exposure": lambda x: x.items.exposure(),
    "catalog": lambda x: x.on(items=9).items.catalog("coverage", ci=None),
}


def collected(found: Any) -> Any:
    return found.collect() if isinstance(found, pl.LazyFrame) else found


def refused(ask: Any) -> str:
    """The message of the error that the call, or its plan, raises."""
    with pytest.raises(rf.InvalidData) as caught:
        collected(ask())
    return str(caught.value)


@each("form", FORMS.values(), ids=FORMS)
@each("ask", VERBS.values(), ids=VERBS)
def test_every_verb_refuses_a_document_twice_and_says_how_several_rankings_are_named(ask: Any, form: Any) -> None:
    df = form(DAYS)
    said = refused(lambda: ask(df.rank))
    assert said.startswith(
        "a query holds the same 'doc_id' twice; keep one row of each, or, if these are several rankings,"
    )
    assert "(found in 6 rows: " in said
    code = re.search(r"df\.rank\.on\(.*?\)", said)
    assert code is not None
    eval(code[0].replace("...", "'day'"), {"df": df}).evaluate("rr")


@each("form", FORMS.values(), ids=FORMS)
def test_the_advice_gives_each_day_its_own_values(form: Any) -> None:
    means = collected(form(DAYS).rank.on(query=["day", "query_id"]).mean("rr", by="day"))
    assert sorted(means["day"]) == ["mon", "tue"]
    assert [*means["rr"]] == [1.0, 1.0]  # the relevant document of either query is the first


@each("number", [pl.Float64, pl.Decimal(10, 2), pl.List(pl.Int64)], ids=str)
def test_a_column_called_run_names_the_runs_whatever_its_type(number: pl.DataType) -> None:
    day = pl.col("day").replace_strict({"mon": 1, "tue": 2})
    run = day.implode().over(pl.int_range(pl.len())) if number == pl.List else day
    runs = DAYS.drop("label").select(pl.exclude("day"), run.cast(number).alias("run"))
    assert runs.rank.judge(QRELS).height == DAYS.height


def test_columns_of_any_type_do_not_disturb_the_refusal() -> None:
    odd = {"run": pl.Series([object()] * 6, dtype=pl.Object), "list": [[1]] * 6, "null": [None] * 6}
    assert "a document of a query more than once" in refused(
        lambda: DAYS.drop("label").with_columns(**odd).rank.judge(QRELS)
    )

"""Advice for a table in which a query holds a document on several rows: it names the columns that tell these rows apart."""

from __future__ import annotations

import re
from typing import Any

import polars as pl
import pytest

import rankframe as rf

ROWS = pl.DataFrame(
    {
        "query_id": ["1", "1", "2"],
        "doc_id": ["a", "b", "a"],
        "score": [2.0, 1.0, 1.0],
        "label": [1, 0, 1],
        "market": ["DE", "DE", "FR"],
    }
)
DAYS = pl.concat(ROWS.with_columns(day=pl.lit(day), clicks=pl.Series([0, 1, 0])) for day in ("mon", "tue"))
QRELS = ROWS.select("query_id", "doc_id", "label")
FORMS: dict[str, Any] = {"polars": lambda x: x, "pandas": pl.DataFrame.to_pandas}


def numbered(df: pl.DataFrame) -> pl.DataFrame:
    """The table with a column that numbers its rows, as files of logs have."""
    return df.with_row_index("line")


def advised(ask: Any) -> str:
    """The message of the error that the call raises."""
    with pytest.raises(rf.InvalidData, match=r"the same 'doc_id' twice|a document of a query more than once") as caught:
        ask()
    assert type(caught.value) is rf.InvalidData
    return str(caught.value)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("name", ["day", "fold", "run"])
@pytest.mark.parametrize("change", [lambda x: x, numbered], ids=["plain", "numbered"])
@pytest.mark.parametrize(
    "ask",
    [
        lambda x: x.evaluate("rr"),
        lambda x: x.with_metrics("rr"),
        lambda x: x.curve("precision"),
        lambda x: x.summarize("rr"),
        lambda x: x.compare("rr", runs=["score", "label"]),
        lambda x: x.plot.curve("ndcg"),
    ],
    ids=["evaluate", "with_metrics", "curve", "summarize", "compare", "plot"],
)
def test_the_column_that_tells_repeated_rows_apart_is_named(ask: Any, change: Any, name: str, form: Any) -> None:
    df = form(change(DAYS.rename({"day": name})))
    said = advised(lambda: ask(df.rank))
    assert f"say df.rank.on(query=['{name}', 'query_id']), or compare them as runs, with run='{name}'" in said
    assert "run='run'" not in said or name == "run"


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_the_advice_gives_each_day_its_own_values(form: Any) -> None:
    df = form(DAYS)
    code = re.search(r"df\.rank\.on\(.*?\)", advised(lambda: df.rank.rr()))
    assert code is not None
    means = eval(code[0], {"df": df}).mean("rr", by="day")
    assert [*means["day"]] == ["mon", "tue"]
    assert [*means["rr"]] == [1.0, 1.0]  # the relevant document of either query is the first


LAZY: dict[str, Any] = {
    "evaluate": lambda x: x.evaluate("rr"),
    "curve": lambda x: x.curve("precision"),
    "summarize": lambda x: x.summarize("rr", ci=None),
    "exposure": lambda x: x.items.exposure(),
    "with_ranks": lambda x: x.with_ranks(),
    "catalog": lambda x: x.on(items=9).items.catalog("coverage", ci=None),
}


@pytest.mark.parametrize("ask", LAZY.values(), ids=LAZY)
def test_an_error_of_a_lazy_table_names_the_columns_that_may_tell_its_rows_apart(ask: Any) -> None:
    df = DAYS.with_columns(price=pl.lit(1.5), tags=pl.lit(["x"]))  # of types that name no runs
    said = advised(lambda: ask(df.lazy().rank).collect())
    which = "name the column that says which (one of 'market', 'day', 'clicks'), as query=[..., 'query_id']"
    assert which in said
    assert "(found in 6 rows: " in said
    one = advised(lambda: ask(df.drop("market", "clicks").lazy().rank).collect())
    assert "name the column that says which, as query=['day', 'query_id']; or keep" in one
    usual = advised(lambda: ask(df.rename({"day": "system"}).lazy().rank).collect())
    assert (
        "if each value of column 'system' has a ranking of its own, say df.rank.on(query=['system', 'query_id'])"
        in usual
    )


def test_the_check_of_a_lazy_table_names_them_too() -> None:
    twice = r"the same 'doc_id' twice; .*name the column that says which, as query=\['day', 'query_id'\]"
    lazy = DAYS.drop("market", "clicks").lazy()
    assert re.search(twice, lazy.rank.check().collect()["advice"][0])


@pytest.mark.parametrize(
    ("left_out", "said"),
    [
        (["market", "clicks"], "name the column that tells them apart: df.rank.judge(qrels, run='day')"),
        (["clicks"], "the column that tells them apart (one of 'market', 'day'): df.rank.judge(qrels, run=...)"),
        (["market", "clicks", "day"], "the column that tells them apart, or add one: df.rank.judge(qrels, run=...)"),
    ],
)
def test_a_lazy_join_names_the_columns_that_may_tell_runs_apart(left_out: list[str], said: str) -> None:
    joined = DAYS.drop("label", *left_out).lazy().rank.judge(QRELS.lazy())
    with pytest.raises(pl.exceptions.InvalidOperationError, match=re.escape(said)):
        joined.collect()


def test_an_advice_names_six_columns_at_most() -> None:
    many = DAYS.with_columns(pl.lit(1).alias(f"c{i}") for i in range(9))
    said = advised(lambda: many.lazy().rank.rr().collect())
    assert "(one of 'market', 'day', 'clicks', 'c0', 'c1', 'c2' and 6 more)" in said


@pytest.mark.parametrize("number", [pl.Float64, pl.Decimal(10, 2), pl.List(pl.Int64)], ids=str)
def test_a_column_called_run_names_the_runs_whatever_its_type(number: pl.DataType) -> None:
    day = pl.col("day").replace_strict({"mon": 1, "tue": 2})
    run = day.implode().over(pl.int_range(pl.len())) if number == pl.List else day
    runs = DAYS.drop("label").select(pl.exclude("day"), run.cast(number).alias("run"))
    assert runs.rank.judge(QRELS).height == DAYS.height


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("name", ["day", "fold"])
def test_judge_names_the_column_that_tells_the_runs_apart(name: str, form: Any) -> None:
    runs = form(DAYS.rename({"day": name}).drop("label"))
    assert f"tells them apart: df.rank.judge(qrels, run='{name}')." in advised(lambda: runs.rank.judge(form(QRELS)))
    assert len(runs.rank.judge(form(QRELS), run=name)) == len(DAYS)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_check_names_the_column_that_tells_repeated_rows_apart(form: Any) -> None:
    advice = str(form(DAYS).rank.check()["advice"][0])
    assert "df.rank.on(query=['day', 'query_id'])" in advice


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_two_columns_that_tell_rows_apart_together_are_both_named(form: Any) -> None:
    twice = form(pl.concat(DAYS.with_columns(fold=pl.lit(fold)) for fold in (1, 2)))
    assert "columns 'day' and 'fold' has a ranking of its own, say df.rank.on(query=['day', 'fold', 'query_id']);" in (
        advised(lambda: twice.rank.rr())
    )
    runs = twice.drop("label") if isinstance(twice, pl.DataFrame) else twice.drop(columns="label")
    said = advised(lambda: runs.rank.judge(form(QRELS)))
    assert "together name the run, name both: df.rank.on(query=['day', 'fold', 'query_id'])" in said
    assert len(runs.rank.on(query=["day", "fold", "query_id"]).judge(form(QRELS))) == 12
    said = advised(lambda: runs.rank.judge(form(QRELS), run="day"))
    assert "than 'day' tell runs apart, name all: df.rank.on(query=['fold', 'day', 'query_id'])" in said


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("change", [lambda x: x, numbered], ids=["plain", "numbered"])
def test_no_column_is_named_where_none_tells_rows_apart(change: Any, form: Any) -> None:
    said = advised(lambda: form(change(pl.concat([ROWS, ROWS.head(1)]))).rank.rr())
    assert "name the column that says which, as query=[..., 'query_id']; or keep the best row of each" in said


def test_a_usual_name_comes_before_other_columns() -> None:
    df = DAYS.with_columns(system=pl.col("day").replace_strict({"mon": "x", "tue": "y"}))
    assert "query=['system', 'query_id']" in advised(lambda: df.rank.rr())


def test_a_lazy_table_names_a_column_with_a_usual_name() -> None:
    lf = DAYS.rename({"day": "run"}).lazy()
    assert "query=['run', 'query_id']" in advised(lambda: lf.rank.rr().collect())


def test_columns_of_any_type_do_not_disturb_the_advice() -> None:
    odd = {
        "list": pl.Series([[1]] * 6),
        "object": pl.Series([object()] * 6, dtype=pl.Object),
        "null": pl.Series([None] * 6),
        "part": pl.Series([0.5] * 3 + [1.5] * 3),
    }
    assert "query=['day', 'query_id']" in advised(lambda: DAYS.with_columns(**odd).rank.rr())

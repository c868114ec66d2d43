"""An error carries what it says in parts, and the kind of a table's fault, from which each front makes its sentence."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe._command.output import in_options
from rankframe._lift.pandas_tables import spelled
from rankframe._table.columns import TEXTS
from rankframe._table.setup import Setup
from rankframe._table.steps import cast
from rankframe.errors import (
    Advice,
    Code,
    InvalidData,
    InvalidOption,
    MissingColumn,
    MissingExtra,
    OutOfSpace,
    RankframeError,
    RankframeWarning,
    Text,
    UnknownMetric,
    judge,
    on,
    option,
    worded,
)
from tests.support.each import each

OK = pl.DataFrame({"query_id": [1, 1, 2], "doc_id": ["a", "b", "c"], "score": [2.0, 1.0, 1.0], "label": [0, 1, 0]})
SAID: tuple[Text, ...] = (
    "cast it",
    Code("df.cast()", "df.astype()", phrase=", as in {}"),
    (", or say ", on(label="rel")),
)


@each(
    "kind", [RankframeError, InvalidData, InvalidOption, MissingColumn, MissingExtra, OutOfSpace, UnknownMetric, RankframeWarning]
)  # fmt: skip
@each("way", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy], ids=["pickle", "copy"])
def test_an_error_is_the_same_in_another_process(kind: type[Any], way: Any) -> None:
    found = way(kind(*SAID))
    text = "cast it, as in df.cast(), or say df.rank.on(label='rel')"
    assert type(found) is kind
    assert (str(found), found.args, found.parts) == (text, (text,), SAID)
    assert in_options(found.parts) == "cast it, or say --label rel"
    assert worded(found.parts, spelled) == "cast it, as in df.astype(), or say df.rank.on(label='rel')"


def test_an_error_of_one_text_says_just_that() -> None:
    error = rf.InvalidOption("no such thing")
    assert (str(error), error.args, error.parts, error.kind) == (
        "no such thing",
        ("no such thing",),
        ("no such thing",),
        None,
    )


@each(
    ("advice", "python"),
    [
        (on(label="rel", query=["run", "q"]), "df.rank.on(label='rel', query=['run', 'q'])"),
        (on(query=..., doc=None), "df.rank.on(query=..., doc=None)"),
        (on(query=[...]), "df.rank.on(query=[...])"),
        (judge(run="run"), "df.rank.judge(qrels, run='run')"),
        (option(depth=0, relevant=math.inf), "depth=0, relevant=inf"),
        (option(ties=OK), "ties=a DataFrame"),
        (option(relevant=10**50), "relevant=<a whole number of 51 digits; 38 are the most>"),
        (Advice("check"), "df.rank.check()"),
    ],
)
def test_an_advice_is_written_in_python(advice: Advice, python: str) -> None:
    assert str(advice) == python
    assert str(pickle.loads(pickle.dumps(InvalidOption(advice)))) == python


@each(
    ("dtype", "polars", "pandas"),
    [
        (pl.String(), "pl.String", "str"),
        (pl.Int64(), "pl.Int64", "'int64'"),
        (pl.Datetime("us"), "pl.Datetime(time_unit='us', time_zone=None)", "'datetime64[us]'"),
    ],
)
def test_a_cast_names_the_type_as_each_library_does(dtype: pl.DataType, polars: str, pandas: str) -> None:
    code = cast("x", dtype, frame="qrels")
    assert str(code) == f"qrels.with_columns(pl.col('x').cast({polars}))"
    assert spelled(code) == f"qrels.astype({{'x': {pandas}}})"


FAULTS: dict[str, tuple[pl.DataFrame, dict[str, Any]]] = {
    "NaN score": (OK.with_columns(score=pl.Series([1.0, math.nan, 2])), {}),
    "label not finite": (OK.with_columns(label=pl.Series([1.0, math.inf, 2])), {}),
    "repeated document": (OK.with_columns(doc_id=pl.lit("a")), {}),
    "forbidden tie": (OK.with_columns(score=1.0), {"ties": "error"}),
    "weight": (OK.with_columns(w=pl.Series([1, None, 2])), {"weight": "w"}),
}


@each("kind", FAULTS)
def test_a_fault_of_the_rows_has_its_kind_wherever_it_is_found(kind: str) -> None:
    df, policies = FAULTS[kind]
    ranker = df.rank.on(**policies)
    with pytest.raises(rf.InvalidData) as caught:
        ranker.evaluate("dcg")
    assert caught.value.kind == kind
    assert "(found in " in str(caught.value)
    assert ranker.check().rows.filter(severity="error")["problem"].to_list()[0] == kind
    expression = rf.expr.on(**policies).dcg()
    with pytest.raises(pl.exceptions.InvalidOperationError, match=f'"rankframe: {kind}: '):
        df.lazy().group_by("query_id").agg(expression).collect()


def test_a_fault_that_only_a_plan_finds_is_told_by_its_kind_whatever_columns_are_called() -> None:
    name = 's"], x: y'
    df = FAULTS["NaN score"][0].rename({"score": name})
    with pytest.raises(rf.InvalidData) as caught:
        df.rank.on(score=name).with_ranks()
    assert caught.value.kind == "NaN score"
    assert str(caught.value) == (
        f"column {name!r} holds NaN; write null for a document that was not retrieved, as "
        "df.fill_nan(None) does (found in 1 row: query_id=1, doc_id='b')"
    )


def test_an_option_that_labels_contradict_has_no_kind() -> None:
    with pytest.raises(rf.InvalidData, match=r"a label is above max_label=0\.5.* \(found: label 1\.0\)$") as caught:
        OK.rank.evaluate("err(max_label=0.5)")
    assert caught.value.kind is None


def test_every_kind_of_fault_has_its_sentence() -> None:
    setup = Setup().changed(ties="doc_asc", weight="w", subtopic="s")
    for kind, said in TEXTS.items():
        assert worded(said(setup)), kind
        assert ": " not in kind

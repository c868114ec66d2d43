"""A verb is declared once: the fronts read its result's shape and its columns from there."""

from __future__ import annotations

import inspect
import pickle
import re
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar, get_args

import pandas as pd
import polars as pl
import pytest

import rankframe as rf
from rankframe._catalog.registry import VERBS
from rankframe._lift.method import lift
from rankframe._lift.pandas import PandasRanker
from rankframe._lift.pandas_tables import SHAPES
from rankframe._lift.polars import PolarsRanker
from rankframe._support.option_kinds import Column
from rankframe._table import shared_options
from rankframe._table.setup import Setup
from rankframe._table.table import Table, in_memory
from rankframe._verbs.call.declaration import Gives, VerbCall, call_of_verb, verb, verb_of
from rankframe._verbs.items.summarize import summarize
from rankframe._verbs.measure import evaluate as verbs
from rankframe._verbs.measure.summary import mean
from tests.support.each import each

R = TypeVar("R")

DF = pd.DataFrame(
    {"query_id": ["x", "x", "y"], "score": [1.0, 2.0, 3.0], "label": [1, 0, 1], "price": [5, 7, 9]}, index=[30, 20, 10]
)


@verb(gives="query", labels=False)
def dearest(table: Table[Any], of: Column) -> pl.DataFrame:
    """The greatest value of a column in each query."""
    return table.rows.group_by(table.setup.roles.query, maintain_order=True).agg(pl.col(of).max())


@verb(gives="row", labels=False)
def with_share(table: Table[Any], of: Column) -> pl.DataFrame:
    """The rows with a column's share in the query's sum."""
    return table.rows.with_columns(share=pl.col(of) / pl.col(of).sum().over(table.setup.roles.query))


def undeclared(table: Table[Any]) -> pl.DataFrame:
    return table.rows


class Ranker(PandasRanker):
    """The ranker of pandas with two verbs more."""

    dearest = lift(lambda: dearest)
    with_share = lift(lambda: with_share)


def test_a_new_verb_is_a_function_and_a_method_and_pandas_knows_its_index() -> None:
    per_query = Ranker(DF).dearest("price")
    assert per_query.index.name == "query_id"
    assert per_query["price"].to_dict() == {"x": 7, "y": 9}
    rows = Ranker(DF).with_share("price")
    assert rows.index.tolist() == [30, 20, 10]
    assert rows["share"].tolist() == [5 / 12, 7 / 12, 1]


def test_a_new_verb_needs_no_column_that_it_does_not_read() -> None:
    without = DF.drop(columns=["label"]).assign(odd=[1j, 2j, 3j])
    assert Ranker(without).dearest("price")["price"].tolist() == [7, 9]
    with pytest.raises(rf.InvalidData, match="column 'odd' holds complex128"):
        Ranker(without).dearest("odd")


def test_a_column_that_a_verb_reads_may_have_a_label_that_is_no_text() -> None:
    assert Ranker(DF.rename(columns={"price": 0})).with_share(0)["share"].tolist() == [5 / 12, 7 / 12, 1]  # type: ignore[arg-type]
    sliced = DF.rename(columns={"price": 0}).assign(**{"1": 3.0}).rename(columns={"1": 1})
    sliced[0] = ["a", "a", "b"]
    found = sliced.rank.summarize("rr", by=[0], weights=1, ci=None)  # type: ignore[attr-defined]
    assert found["0"].tolist() == ["a", "b"]


@each("front", [PandasRanker(DF), PolarsRanker(pl.DataFrame({"query_id": [1]}))], ids=["pandas", "Polars"])
def test_a_verb_that_is_not_declared_is_an_error(front: Any) -> None:
    with pytest.raises(TypeError, match=r"undeclared is not declared as a verb.*write @verb\(gives=\.\.\.\) above it"):
        lift(lambda: undeclared).__get__(front)()


def test_a_declaration_of_what_no_front_knows_is_an_error() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'reads'"):
        verb(gives="query", reads=["of"])(undeclared)


def test_a_verb_names_columns_by_the_annotations_of_its_parameters() -> None:
    assert verb_of(dearest).reads == ("of",)
    assert verb_of(verbs.with_ranks).reads == ()
    assert verb_of(summarize).reads == ("runs", "run", "by", "model_labels", "weights", "cluster")
    assert call_of_verb(dearest, "price").columns(Setup()) >= {"query_id", "score", "price"}
    assert "label" not in call_of_verb(dearest, "price").columns(Setup())


def test_options_that_verbs_share_stand_one_by_one_in_signatures_and_help() -> None:
    several = 0
    for name, entry in VERBS.items():
        declared: Any = verb_of(entry.function)  # type: ignore[attr-defined]
        shared = shared_options.HELP.keys() & declared.parameters.keys()
        several += len(shared)
        said = inspect.getdoc(declared.function) or ""
        assert not [x for x in declared.parameters.values() if x.kind is x.VAR_KEYWORD], name
        listed = said.partition("\nParameters\n")[2].partition("\nReturns\n")[0]
        documented = {x.strip("*") for line in re.findall(r"(?m)^\S.*$", listed) for x in line.split(", ")}
        assert shared <= documented, name
        assert said.count("\nprogress\n") <= 1
    assert several > 60
    assert inspect.signature(mean).parameters["by"].default is None
    assert verb_of(summarize).parameters["resamples"].default == 10_000  # its own; the others' is 1,000


def test_a_verb_called_as_a_function_has_the_defaults_of_its_signature() -> None:
    table = in_memory(pl.DataFrame(DF), Setup())
    assert mean(table, "rr").equals(call_of_verb(mean, "rr").on(table))
    assert summarize(table, "rr", ci=None).equals(call_of_verb(summarize, "rr", ci=None).on(table))


def test_a_call_and_its_verb_go_to_workers_by_name() -> None:
    call = call_of_verb(verbs.evaluate, "ndcg@5", pl.len())
    back = pickle.loads(pickle.dumps(call))
    assert back.verb is call.verb
    assert [x.text for x in back.calls] == ["ndcg@5"]
    table = in_memory(pl.DataFrame(DF), Setup())
    assert back.on(table).equals(call.on(table))


def test_every_shape_comes_back_as_pandas() -> None:
    assert set(SHAPES) == set(get_args(Gives))


METHODS = [
    *("evaluate", "with_metrics", "with_ranks", "curve", "explain", "judge", "check", "agreement"),
    *("summarize", "compare", "power", "gate", "collection.reliability"),
]
ROWS: dict[Gives, str] = {
    "query": "one per query",
    "row": "the caller's, in their order",
    "document": "one per document, in rank order",
    "join": "one per pair of query and document in either table",
    "table": "one per finding|one per metric and slice",
    "whole": "an object with several frames|one per metric and slice",
}


class Asked(Exception):
    """What a method ran."""


class Asking(PolarsRanker[Any]):
    """A ranker that tells which verb a method runs."""

    def _run(self, call: VerbCall) -> Any:
        raise Asked(call.verb)


@each("name", METHODS)
def test_the_page_of_pandas_says_of_each_verb_what_it_gives(name: str) -> None:
    arguments: dict[str, Any] = {
        "agreement": ["other"],
        "judge": [pl.DataFrame()],
        "check": [],
        "with_ranks": [],
        "gate": [{"rr": 0.1}],
    }
    options: dict[str, Any] = (
        {} if name not in ("compare", "power", "gate", "collection.reliability") else {"runs": ["a", "b"]}
    )
    options |= {"difference": 0.1} if name == "power" else {}
    with pytest.raises(Asked) as asked:
        attrgetter(name)(Asking(pl.DataFrame()))(*arguments.get(name, ["rr"]), **options)
    (declared,) = asked.value.args
    page = (Path(__file__).parents[2] / "docs" / "pandas.md").read_text(encoding="utf-8")
    (rows,) = re.findall(rf"^\| (?=[^|]*`{name}`)[^|]*\|([^|]*)\|", page, re.MULTILINE)
    assert declared.name == name.rpartition(".")[2]
    assert re.search(ROWS[declared.gives], rows)

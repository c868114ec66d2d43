"""Metrics in lists, sets and generators, objects of ir_measures, and trec_eval's sets, wherever metrics are taken."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe._table.trec_eval import MEASURES, OF_GROUPS, OF_PREFERENCES, SETS
from tests.support.each import each

DF = pl.DataFrame(
    {"query_id": [1, 1, 2], "doc_id": list("abc"), "score": [2.0, 1.0, 1.0], "label": [0, 1, 1], "new": [1.0, 2.0, 1.0]}
)
RUNS: dict[str, Any] = {"runs": ["score", "new"]}


class Measure:
    """A measure as those of ir_measures, which are called and combined, and whose text names them."""

    __module__ = "ir_measures.measures"

    def __init__(self, text: str) -> None:
        self.text = text

    def __call__(self, **options: object) -> Measure:
        raise AssertionError(f"{self.text} is no function of a ranking")

    def __str__(self) -> str:
        return self.text


MANY: dict[str, Callable[[], Iterable[Any]]] = {
    "list": lambda: ["rr", "precision@2"],
    "tuple": lambda: ("rr", "precision@2"),
    "generator": lambda: (text for text in ("rr", "precision@2")),
    "keys": lambda: {"rr": 1, "precision@2": 2}.keys(),
    "lists in lists": lambda: [["rr"], [["precision@2"]]],
    "ir_measures": lambda: [Measure("RR"), Measure("P@2")],
    "calls": lambda: [rf.parse("rr"), *rf.parse("precision@2")],
}
VERBS: dict[str, Callable[..., Any]] = {
    "evaluate": lambda *metrics: DF.rank.evaluate(*metrics),
    "lazy": lambda *metrics: DF.lazy().rank.evaluate(*metrics).collect(),
    "pandas": lambda *metrics: pl.from_pandas(DF.to_pandas().rank.evaluate(*metrics)),
    "with_metrics": lambda *metrics: DF.rank.with_metrics(*metrics),
    "mean": lambda *metrics: DF.rank.mean(*metrics),
    "summarize": lambda *metrics: DF.rank.summarize(*metrics, ci=None),
    "compare": lambda *metrics: DF.rank.compare(*metrics, **RUNS).table,
    "gate": lambda *metrics: DF.rank.gate(*metrics, margin=0.1, baseline="score", **RUNS).table.drop("queries_needed"),
    "explain": lambda *metrics: DF.rank.explain(*metrics),
    "rf.evaluate": lambda *metrics: rf.evaluate({"q": {"a": 1.0}}, {"q": {"a": 1}}, *metrics),
    "rf.compare": lambda *metrics: rf.compare([{"q": ["a"]}, {"q": ["b"]}], {"q": ["b"]}, *metrics).table,
    "expressions": lambda *metrics: DF.rank.evaluate(*metrics, pl.col("label").sum()),
}


@cache
def of_several(verb: str) -> Any:
    return VERBS[verb]("rr", "precision@2")


@each("many", MANY, sample=3 * len(VERBS))
@each("verb", VERBS)
def test_several_metrics_are_taken_in_one_argument_as_in_several(many: str, verb: str) -> None:
    assert VERBS[verb](MANY[many]()).equals(of_several(verb))


def test_a_set_has_the_order_of_its_texts() -> None:
    assert DF.rank.evaluate({"rr", "map", "precision@2"}).columns == ["query_id", "map", "precision@2", "rr"]


def test_other_currencies_take_lists_too() -> None:
    curves = DF.rank.curve(["precision", "recall"])
    assert curves.equals(DF.rank.curve("precision", "recall"))
    measures = ["kendall_tau", "overlap@2"]
    assert DF.rank.agreement("new", measures).equals(DF.rank.agreement("new", *measures))
    catalog = DF.rank.items.catalog(["coverage@2", "gini@2"], items=5, ci=None)
    assert catalog["metric"].to_list() == ["coverage@2", "gini@2"]
    assert rf.sql(["rr", "map"], dialect="duckdb", table="t") == rf.sql("rr", "map", dialect="duckdb", table="t")
    table = DF.to_arrow()
    assert rf.arrow_kernel(["rr", "map"])(table).equals(rf.arrow_kernel("rr", "map")(table))


@each("given", [3, [["rr", 3]], b"rr", {"rr": 1}, ["rr", None]], ids=str)
def test_what_is_no_metric_is_refused_inside_a_list_too(given: Any) -> None:
    with pytest.raises(rf.InvalidOption, match="is no metric; write text"):
        DF.rank.evaluate(given)


@each("given", [[], (), [[]], iter(())], ids=str)
def test_an_empty_list_is_no_metric(given: Any) -> None:
    with pytest.raises(rf.InvalidOption, match="no metric given"):
        DF.rank.mean(given)


@each("name", SETS)
def test_a_set_of_trec_eval_names_each_of_its_numbers_with_the_default_parameters(name: str) -> None:
    numbers = [x for x in map(MEASURES.__getitem__, SETS[name]) if x.metric and x.name != "relstring"]
    found = [call.text for call in rf.parse(name)]
    assert len(found) == sum(max(len(x.defaults), 1) for x in numbers)
    assert DF.rank.evaluate(name).columns[1:] == found
    assert DF.rank.mean(f"{name},ndcg@7").columns == [*found, "ndcg@7"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rf.errors.RankframeWarning)
        compared = DF.with_columns(other="score").rank.compare(
            name, runs=["score", "other"], resamples=99, progress=False
        )
    assert compared.table["metric"].to_list() == found


@each("name", [*OF_GROUPS, *OF_PREFERENCES])
def test_a_set_of_measures_of_judgment_groups_or_preferences_is_no_metric(name: str) -> None:
    with pytest.raises(rf.UnknownMetric, match=f"^unknown metric '{name}'"):
        DF.rank.evaluate(name)


def test_the_official_set_has_trec_evals_official_measures() -> None:
    texts = ["num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank"]
    texts += [f"iprec_at_recall_{tenth / 10:.2f}" for tenth in range(11)]
    texts += [f"P_{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)]
    assert rf.parse("official") == [call for text in texts for call in rf.parse(text)]


class Dictionary:
    """A run, or judgments, as ranx holds them."""

    def __init__(self, plain: dict[str, dict[str, float]]) -> None:
        self.plain = plain

    def to_dict(self) -> dict[str, dict[str, float]]:
        return self.plain


def test_runs_and_judgments_that_give_dictionaries_are_taken_as_these() -> None:
    run, better = Dictionary({"q": {"a": 2.5, "b": 1.0}}), Dictionary({"q": {"b": 2.5, "a": 1.0}})
    qrels = Dictionary({"q": {"b": 1}})
    assert rf.evaluate(run, qrels, "rr").rows() == [("q", 0.5)]
    assert rf.compare([run, better], qrels, "rr").table["difference"].to_list() == [0.5]

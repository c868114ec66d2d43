"""A text or a method may ask for several columns: cutoffs and metrics with commas, and lists of cutoffs."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import rankframe as rf
from tests.support.each import each
from tests.support.recommenders import ROLES
from tests.support.tables import ANY_TOP_GRADE, frame, random_table

DF = pl.DataFrame(
    {
        "query_id": [1, 1, 1, 2, 2],
        "doc_id": list("abcab"),
        "score": [3.0, 2.0, 1.0, 1.0, 2.0],
        "new": [1.0, 2.0, 3.0, 2.0, 1.0],
        "label": [0, 1, 2, 1, 0],
    }
)
ONE_BY_ONE = {
    "ndcg@1,2": ["ndcg@1", "ndcg@2"],
    "map@1, 2": ["map@1", "map@2"],
    "P_1,2": ["precision@1", "precision@2"],
    "ndcg_cut.1,2": ["ndcg@1", "ndcg@2"],
    "ndcg@1,2,rr": ["ndcg@1", "ndcg@2", "rr"],
    "rr,ndcg_cut.1,2,map": ["rr", "ndcg@1", "ndcg@2", "map"],
    "rr,utility.1,-1,0,0": ["rr", "utility"],
    "ndcg(gain={1:3,2:7})@1,2": ["ndcg(gain={1:3,2:7})@1", "ndcg(gain={1:3,2:7})@2"],
    "rr,rbp(p=0.5),err(max_label=4)@1,2": ["rr", "rbp(p=0.5)", "err(max_label=4)@1", "err(max_label=4)@2"],
    "interpolated_precision@0,0.5": ["interpolated_precision@0", "interpolated_precision@0.5"],
}


def frames() -> dict[str, Any]:
    return {"eager": DF, "lazy": DF.lazy(), "pandas": DF.to_pandas()}


def polars(found: Any) -> pl.DataFrame:
    """A result as a Polars frame, queries in order."""
    if isinstance(found, pl.LazyFrame):
        found = found.collect()
    elif not isinstance(found, pl.DataFrame):
        found = pl.from_pandas(found.reset_index())
    return found.sort("query_id") if "query_id" in found.columns else found


@each("kind", ["eager", "lazy", "pandas"], sample=len(ONE_BY_ONE))
@each("text", ONE_BY_ONE)
def test_a_text_with_commas_gives_the_columns_of_the_texts_one_by_one(kind: str, text: str) -> None:
    ranker = frames()[kind].rank
    columns = polars(ranker.evaluate(text))
    assert columns.columns[1:] == ONE_BY_ONE[text]
    for name in ONE_BY_ONE[text]:
        alone = polars(ranker.evaluate(name))[name]
        assert columns[name].equals(alone)


def test_cutoffs_in_one_text_have_the_values_of_the_definition() -> None:
    precision = DF.rank.evaluate("P@1,3").rows()  # of query 1: nothing, then 2 of 3; of query 2: nothing, then 1 of 3
    assert precision == [(1, 0.0, 2 / 3), (2, 0.0, 1 / 3)]


@each("kind", ["eager", "lazy", "pandas"])
@each("cutoffs", [[1, 3], (1, 3), range(1, 4, 2)])
def test_a_method_takes_several_cutoffs(kind: str, cutoffs: Any) -> None:
    assert polars(frames()[kind].rank.precision(k=cutoffs)).rows() == [(1, 0.0, 2 / 3), (2, 0.0, 1 / 3)]
    assert polars(frames()[kind].rank.precision(cutoffs)).columns == ["query_id", "precision@1", "precision@3"]


WITH_CUTOFF = [name for name, entry in rf.METRICS.items() if entry.first == "k"]


@ANY_TOP_GRADE
@each("name", WITH_CUTOFF, sample=len(WITH_CUTOFF) // 2)
def test_every_metric_with_a_cutoff_takes_several(name: str) -> None:
    entry = rf.METRICS[name]
    method, diversity = entry.formula.__name__, entry.over == "subtopics"
    df = DF.with_columns(label=pl.Series([0, 1, 1, 1, 0]))  # of a scale that every metric takes
    df = df.with_columns(subtopic=pl.Series(["x", "y", "x", "y", "x"])) if diversity else df
    if entry.needs:
        ranker = frame(random_table(3, queries=5)).rank.on(**ROLES)
    else:
        ranker = df.rank.on(subtopic="subtopic") if diversity else df.rank
    needed = {
        option: "F" if option == "group" else 0.5
        for option, parameter in entry.parameters.items()
        if parameter.default is parameter.empty and option != "k"
    }
    both = getattr(ranker.metrics, method)(k=[1, 2], **needed)
    one, two = (getattr(ranker.metrics, method)(k=k, **needed) for k in (1, 2))
    assert both.equals(pl.concat([one, two.drop("query_id")], how="horizontal"))


def test_other_options_of_a_method_hold_for_each_cutoff() -> None:
    found = DF.rank.ndcg(k=[1, 2], gain="exponential")
    assert found.columns == ["query_id", "ndcg(gain=exponential)@1", "ndcg(gain=exponential)@2"]


def test_a_cutoff_given_twice_is_one_column() -> None:
    assert DF.rank.ndcg(k=[2, 2]).columns == DF.rank.evaluate("ndcg@2,2").columns == ["query_id", "ndcg@2"]


BY_VERB = {
    "with_metrics": lambda ranker: ranker.with_metrics("rr,ndcg@1,2").columns[-3:],
    "mean": lambda ranker: ranker.mean("rr,ndcg@1,2").columns,
    "summarize": lambda ranker: ranker.summarize("rr,ndcg@1,2", ci=None)["metric"].to_list(),
    "compare": lambda ranker: ranker.compare("rr,ndcg@1,2", runs=["score", "new"]).table["metric"].to_list(),
    "gate": lambda ranker: ranker.gate({"rr,ndcg@1,2": 0.25}, runs=["score", "new"]).table["metric"].to_list(),
    "gate with a margin": lambda ranker: (
        ranker.gate("rr,ndcg@1,2", margin=0.25, runs=["score", "new"]).table["metric"].to_list()
    ),
    "explain": lambda ranker: ranker.explain("rr,ndcg@1,2").columns[-3:],
}


@each("verb", BY_VERB)
def test_every_verb_reads_several_metrics_in_a_text(verb: str) -> None:
    assert list(BY_VERB[verb](DF.rank)) == ["rr", "ndcg@1", "ndcg@2"]


def test_curves_and_agreement_read_several_in_a_text() -> None:
    assert DF.rank.curve("precision,recall").columns[-2:] == ["precision", "recall"]
    assert DF.rank.agreement("new", "overlap@1,2").columns == ["query_id", "overlap@1", "overlap@2"]


def test_a_comma_in_the_brackets_or_in_a_quoted_option_belongs_to_its_metric() -> None:
    @rf.metric()
    def spelt(r: rf.Ranking, k: int | None = None, *, word: str = "") -> pl.Expr:
        return r.total(r.relevant, k, over=r.rank)

    try:
        text = rf.METRICS["spelt"].name + "(word='a),b')@1"
        assert DF.rank.evaluate(f"rr,{text},rr@2").columns == ["query_id", "rr", text, "rr@2"]
    finally:
        rf.unregister("spelt")


def test_one_text_that_is_parsed_stays_one_metric() -> None:
    with pytest.raises(rf.InvalidOption, match="'5,10' in 'ndcg@5,10' is no number"):
        rf.parse("ndcg@5,10")


def test_the_wrong_one_of_several_is_named() -> None:
    with pytest.raises(rf.UnknownMetric, match=r"unknown metric 'ndgc' in 'ndgc@10'. Did you mean 'ndcg'\?"):
        DF.rank.evaluate("map,ndgc@10")
    with pytest.raises(rf.InvalidOption, match="'map,,rr' has a comma without a metric"):
        DF.rank.evaluate("map,,rr")


def test_a_verb_for_one_metric_refuses_several() -> None:
    with pytest.raises(rf.InvalidOption, match="'ndcg@1,2' names 2 metrics; ask for one"):
        DF.rank.conventions("ndcg@1,2")

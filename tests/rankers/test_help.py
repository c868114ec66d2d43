"""The help of rankers, as `help()` prints it: what they are, all verbs, metrics and options, and an example that runs."""

from __future__ import annotations

import doctest
import inspect
import pydoc
import re
from typing import Any

import pandas as pd
import polars as pl

import rankframe as rf
from rankframe._lift.polars import PolarsRanker
from rankframe._table.setup import OPTIONS
from tests.support.each import each

DF = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]})
RANKERS: dict[str, Any] = {
    "polars": lambda: DF.rank,
    "lazy": lambda: DF.lazy().rank,
    "pandas": lambda: DF.to_pandas().rank,
    "typed pandas": lambda: rf.rank(DF.to_pandas()),
    "expressions": lambda: rf.expr,
}
FRAMES = [kind for kind in RANKERS if kind != "expressions"]


def printed(ranker: Any) -> str:
    return pydoc.plain(pydoc.render_doc(ranker))


@each("kind", RANKERS)
def test_the_help_shows_no_internals(kind: str) -> None:
    text = printed(RANKERS[kind]())
    assert re.findall(r"\b_[a-z]\w*\(", text) == []
    assert not re.search(r"Method resolution order|Data descriptors|__\w+__", text)


@each("kind", FRAMES)
def test_the_help_has_a_line_for_each_verb_before_the_metrics(kind: str) -> None:
    ranker = RANKERS[kind]()
    verbs, _ = printed(ranker).split("Metrics\n    -------")
    formulas = {entry.formula.__name__ for entry in rf.METRICS.values()}
    for name in set(dir(ranker)) - formulas - {name for name in dir(ranker) if name.startswith("_")}:
        first, _, _ = (inspect.getdoc(getattr(type(ranker), name)) or "").partition("\n")
        assert len(re.findall(rf"(?m)^    {name} +(\S.*)$", verbs)) == 1, name
        assert first.split()[0] in verbs
    assert re.search("compare +Compare two or more runs on the same queries, by paired tests.", verbs)
    assert ":meth:" not in verbs


@each("kind", RANKERS)
def test_the_help_names_each_metric_once_under_its_family(kind: str) -> None:
    text = printed(RANKERS[kind]()).split("Metrics\n    -------")[1].split("Columns and policies\n")[0]
    listed = re.findall(r"(?<= )\w+(?=,|$)", "\n".join(re.findall(r"(?m)^ {8}.*", text)).replace("\n", ",\n"))
    assert sorted(listed) == sorted(entry.formula.__name__ for entry in rf.METRICS.values())
    assert (
        "    Cumulative gain\n        cg, mean_label, average_relevance_position, dcg, ndcg, q_measure, graded_average_precision\n"
        in text
    )


def test_the_help_has_your_own_metrics() -> None:
    @rf.metric
    def mine(r: rf.Ranking) -> pl.Expr:
        return r.hits

    try:
        assert "    Your own\n        mine\n" in printed(DF.rank)
    finally:
        rf.unregister(mine)


@each("kind", RANKERS)
def test_the_help_names_every_option_of_on(kind: str) -> None:
    text = printed(RANKERS[kind]()).split("Columns and policies\n")[1]
    assert [name for name in OPTIONS if not re.search(rf"(?<= ){name}[,\n]", text)] == []


@each("kind", RANKERS)
def test_the_example_of_the_help_runs(kind: str) -> None:
    text = inspect.getdoc(RANKERS[kind]()) or ""
    (own,) = re.findall(r"(?ms)^Examples\n-+\n(>>> import p.*?)(?=\n\n|\Z)", text)
    test = doctest.DocTestParser().get_doctest(own, {}, kind, None, 0)
    assert len(test.examples) == 4 if kind != "expressions" else 3
    assert doctest.DocTestRunner().run(test).failed == 0
    assert ("pd.DataFrame(" in own) == ("pandas" in kind)


def test_the_help_tells_that_most_metrics_are_methods_of_a_topic() -> None:
    text = " ".join(printed(DF.rank).split())
    assert "A method each, as df.rank.metrics.nerr8(k=10) and, if many type it, df.rank.ndcg(k=10);" in text
    assert "A method each, as rf.expr.ndcg(k=10);" in " ".join(printed(rf.expr).split())


@each("topic", ["fusion", "items", "metrics"])
@each("kind", FRAMES)
def test_the_help_of_a_topic_has_a_line_for_each_method_and_no_internals(kind: str, topic: str) -> None:
    methods = getattr(RANKERS[kind](), topic)
    text = printed(methods)
    assert not re.search(r"Method resolution order|__\w+__|\b_[a-z]\w*\(", text)
    for name in dir(methods):
        assert len(re.findall(rf"(?m)^    {name} +\S", text)) == 1, name
    assert type(methods).__doc__.startswith(("The verbs of", "All metrics of"))


@each("topic", ["fusion", "items", "collection", "clicks", "preferences"])
def test_a_line_of_the_help_is_the_whole_first_sentence(topic: str) -> None:
    lines = re.findall(r"(?m)^\w+ {2,}(\S.*)$", getattr(RANKERS["polars"](), topic).__doc__)
    assert lines
    assert [line for line in lines if not line.endswith(".")] == []


def test_the_help_of_pandas_tells_where_that_of_its_own_method_is() -> None:
    pdf = DF.to_pandas()
    text = inspect.getdoc(pdf.rank) or ""
    own = inspect.getdoc(pd.DataFrame.rank) or ""
    assert text.startswith("The rankings of a pandas frame; a call, ``df.rank(...)``, is pandas' own method")
    assert text.endswith(own)
    assert own.startswith("Compute numerical data ranks")
    assert "help(pd.DataFrame.rank)" in text


def test_the_classes_keep_their_own_text() -> None:
    assert PolarsRanker.__doc__ == "The rankings of a Polars frame; a LazyFrame gives LazyFrames."
    assert inspect.getdoc(DF.rank) != PolarsRanker.__doc__

"""Methods of rankers, as tools and readers see them: what they return, their text, their own display."""

from __future__ import annotations

import copy
import doctest
import inspect
import pickle
import pydoc
import re
from collections.abc import Iterator, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from matplotlib import pyplot

import rankframe as rf
from tests.support.each import each

FRAME = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]})
RANKERS: dict[str, tuple[Any, type, str]] = {
    "eager": (FRAME.rank, pl.DataFrame, "polars.DataFrame"),
    "lazy": (FRAME.lazy().rank, pl.LazyFrame, "polars.LazyFrame"),
    "pandas": (FRAME.to_pandas().rank, pd.DataFrame, "pandas.DataFrame"),
    "function": (rf.rank(FRAME.to_pandas()), pd.DataFrame, "pandas.DataFrame"),
    "expression": (rf.expr, pl.Expr, "polars.Expr"),
}
OF_FRAMES = [name for name in RANKERS if name != "expression"]


@pytest.fixture
def top_heavy() -> Iterator[None]:
    @rf.metric
    def top_heavy(r: rf.Ranking, k: int | None = None) -> pl.Expr:
        "Sum of 1 / rank^2."
        return r.total(r.relevant, k, over=r.rank**2)

    yield
    rf.unregister("top_heavy")


@each("name", RANKERS)
def test_a_metric_says_that_it_returns_the_callers_kind_of_frame(name: str) -> None:
    ranker, kind, _ = RANKERS[name]
    assert inspect.signature(ranker.ndcg).return_annotation is kind
    assert isinstance(ranker.ndcg(k=1), kind)


@each("name", OF_FRAMES)
@each("verb", ["evaluate", "judge", "curve", "summarize"])
def test_a_verb_says_that_it_returns_the_callers_kind_of_frame(name: str, verb: str) -> None:
    ranker, kind, _ = RANKERS[name]
    assert inspect.signature(getattr(ranker, verb)).return_annotation is kind


@each("name", OF_FRAMES)
def test_a_verb_of_several_tables_says_of_which_kind_they_are(name: str) -> None:
    ranker, kind, _ = RANKERS[name]
    assert inspect.signature(ranker.compare).return_annotation == rf.results.Comparison[kind]  # type: ignore[valid-type]
    assert inspect.signature(ranker.gate).return_annotation == rf.results.Verdict[kind]  # type: ignore[valid-type]
    assert inspect.signature(ranker.check).return_annotation == rf.results.Findings[kind]  # type: ignore[valid-type]
    assert inspect.signature(ranker.report).return_annotation is Path


@each("name", RANKERS)
def test_on_says_that_it_returns_a_ranker_of_the_same_class(name: str) -> None:
    ranker = RANKERS[name][0]
    assert inspect.signature(ranker.on).return_annotation is type(ranker)


@each("name", RANKERS)
def test_help_of_a_metric_tells_the_call_on_this_frame(name: str) -> None:
    ranker, kind, spelled = RANKERS[name]
    text = pydoc.plain(pydoc.render_doc(ranker.ndcg))
    special = {pl.Expr: "One value per group", pd.DataFrame: "One row per query, indexed by the query: the metric"}
    rows = special.get(kind, "One row per query: the query columns, then the metric")
    assert text.splitlines()[0].endswith("method in module rankframe.metrics.gain")
    assert f"-> {inspect.formatannotation(kind)}" in text
    assert f"Returns\n    -------\n    {spelled}\n        {rows}, named by" in text
    assert "One Float64 per query, from 0 to 1." in text


def test_help_of_a_verb_names_the_kind_of_frame() -> None:
    text = pydoc.plain(pydoc.render_doc(FRAME.lazy().rank.compare))
    assert "    rankframe.results.Comparison[polars.LazyFrame]\n        A :class:`rankframe.results.Comparison`" in text


PANDAS = RANKERS["pandas"][0]


PLOTS = [name for name in dir(PANDAS.plot) if not name.startswith("_")]


TOPICS = ["fusion", "items", "collection", "clicks", "plot", "preferences"]
NAMES = [
    *(name for name in dir(PANDAS) if name not in (*TOPICS, "metrics")),
    *(f"{topic}.{name}" for topic in TOPICS for name in dir(getattr(PANDAS, topic)) if not name.startswith("_")),
    *(f"metrics.{name}" for name in dir(PANDAS.metrics) if name not in dir(PANDAS)),
]


@each("name", NAMES, sample=16)
def test_an_example_in_the_help_of_a_pandas_frame_is_one_of_pandas_and_runs(name: str) -> None:
    text = inspect.getdoc(attrgetter(name)(PANDAS)) or ""
    example = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    source = "".join(line.source for line in example.examples)
    assert "import pandas as pd" in source
    assert not re.search(r"\bpl\b|polars", source)
    printed: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=printed.append)
    pyplot.close("all")
    assert not printed, "".join(printed)


@each("name", PLOTS)
def test_help_of_a_plot_tells_what_is_drawn_for_this_frame(name: str) -> None:
    charts, axes = (pydoc.plain(pydoc.render_doc(getattr(RANKERS[x][0].plot, name))) for x in ("eager", "pandas"))
    assert ") -> altair.LayerChart\n" in charts
    assert "    altair.LayerChart\n        A chart, or Matplotlib axes if `ax` is given" in charts
    assert ") -> matplotlib.axes.Axes\n" in axes
    assert "    matplotlib.axes.Axes\n        The axes" in axes
    assert "chart or axes" not in charts + axes


def test_a_plot_alone_shows_its_call() -> None:
    shown = repr(PANDAS.on(relevant=2).plot.distribution)
    assert (
        shown
        == "df.rank.on(relevant=2).plot.distribution(metric, *, runs=None, run=None, by=None, ci=0.95, title=None, "
        "background=None, ax=None)"
    )


def test_help_of_on_tells_every_option() -> None:
    text = pydoc.plain(pydoc.render_doc(FRAME.rank.on))
    assert all(f"\n    {name}\n" in text for name in inspect.signature(FRAME.rank.on).parameters)


def test_a_metric_that_was_declared_later_says_what_it_returns(top_heavy: None) -> None:
    method = FRAME.lazy().rank.top_heavy
    assert inspect.signature(method).return_annotation is pl.LazyFrame
    about = (
        "One row per query: the query columns, then the metric, named by its canonical text, as ``ndcg@10``; several "
        "cutoffs, as ``k=[5, 10]``, give a column each."
    )
    assert inspect.getdoc(method) == f"Sum of 1 / rank^2.\n\nReturns\n-------\npolars.LazyFrame\n    {about}"


def test_on_the_class_a_method_is_its_function_and_returns_no_expression() -> None:
    of_class = type(FRAME.rank).ndcg
    assert inspect.isfunction(of_class)
    assert str(inspect.signature(of_class)).endswith("-> ~R")
    assert of_class(FRAME.rank, k=1).rows() == [(1, 0.0)]


@each("name", RANKERS)
def test_a_method_alone_shows_its_call_with_all_defaults(name: str) -> None:
    ranker, kind, _ = RANKERS[name]
    start = "rf.expr" if kind is pl.Expr else "df.rank"
    assert repr(ranker.precision) == f"{start}.precision(k=None, *, divisor='k')"
    assert repr(ranker.on(relevant=2, query=["a", "b"]).reciprocal_rank) == (
        f"{start}.on(query=['a', 'b'], relevant=2).reciprocal_rank(k=None)"
    )


def test_a_verb_alone_shows_its_call() -> None:
    assert repr(FRAME.rank.evaluate) == "df.rank.evaluate(*metrics, runs=None, run=None)"
    assert repr(FRAME.rank.on).startswith("df.rank.on(*, query=None, doc=..., score=None")


@each("name", OF_FRAMES)
def test_a_method_is_a_callable_like_pythons_own(name: str) -> None:
    ranker = RANKERS[name][0]
    method = ranker.reciprocal_rank
    assert (method.__name__, method.__module__) == ("reciprocal_rank", "rankframe.metrics.order")
    assert method.__self__ is ranker
    assert callable(method)
    assert inspect.isroutine(method)
    assert method == ranker.reciprocal_rank != ranker.ndcg
    assert len({method, ranker.reciprocal_rank, ranker.ndcg}) == 2


@each("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_method_can_be_copied_and_pickled(copied: Any) -> None:
    assert copied(FRAME.rank.on(relevant=0).reciprocal_rank)().rows() == [(1, 1.0)]
    assert copied(FRAME.rank.evaluate)("rr").rows() == [(1, 0.5)]


def test_a_method_on_a_class_of_the_users_stays_bound_to_its_ranker() -> None:
    class Holder:
        measure = FRAME.rank.reciprocal_rank

    assert Holder().measure().rows() == [(1, 0.5)]


# listings


@each("name", RANKERS)
def test_a_ranker_lists_verbs_and_metrics_and_nothing_inner(name: str) -> None:
    ranker = RANKERS[name][0]
    assert {"on", "ndcg"} <= set(dir(ranker))
    assert "gm_map" in dir(rf.expr if ranker is rf.expr else ranker.metrics)
    assert [name for name in dir(ranker) if name.startswith("_")] == []
    assert ("evaluate" in dir(ranker)) == (ranker is not rf.expr)
    for listed in dir(ranker):
        getattr(ranker, listed)


def test_a_ranker_names_its_verbs_before_its_metrics_to_tools_that_do_not_sort() -> None:
    listed = FRAME.rank.__dir__()
    verbs = {"evaluate", "compare", "judge", "on", "plot", "report", "summarize"}
    metrics = {x.formula.__name__ for x in rf.METRICS.values()} & {*listed}
    assert max(map(listed.index, verbs)) < min(map(listed.index, metrics))


@each("name", OF_FRAMES)
def test_a_ranker_has_nineteen_verbs_thirty_metrics_and_seven_topics(name: str) -> None:
    listed = {*dir(RANKERS[name][0])}
    metrics = listed & {x.formula.__name__ for x in rf.METRICS.values()}
    topics = {"fusion", "items", "collection", "clicks", "preferences", "metrics"}
    assert topics <= listed
    assert (len(metrics), len(listed - metrics - topics)) == (30, 20)  # `on` makes a ranker


TOPICS_OF_FRAMES = {
    "fusion": ["fuse", "explain", "overlap", "oracle", "tune", "fit"],
    "items": ["catalog", "compare", "counts", "exposure", "expected_exposure", "without"],
    "collection": ["pool", "leave_one_run_out", "label_agreement", "reliability", "reproduces", "difficulty"],
    "clicks": ["propensities", "interleave", "preference"],
    "preferences": ["evaluate", "bradley_terry"],
    "metrics": [x.formula.__name__ for x in rf.METRICS.values()],
}


@each("topic", TOPICS_OF_FRAMES)
@each("name", OF_FRAMES)
def test_a_topic_lists_and_shows_its_methods_and_nothing_inner(name: str, topic: str) -> None:
    ranker, found = RANKERS[name][0], TOPICS_OF_FRAMES[topic]
    assert getattr(ranker, topic).__dir__() == found
    assert repr(getattr(ranker, topic)) == f".rank.{topic}: {', '.join(found)}"
    for listed in found:
        assert callable(getattr(getattr(ranker, topic), listed))


@each("name", OF_FRAMES)
def test_a_method_of_a_topic_shows_its_call_and_the_kind_of_frame_that_it_returns(name: str) -> None:
    ranker, kind, _ = RANKERS[name]
    assert repr(ranker.on(relevant=2).metrics.hits) == "df.rank.on(relevant=2).metrics.hits(k=None)"
    for method in (ranker.metrics.hits, ranker.fusion.explain, ranker.items.exposure):
        assert inspect.signature(method).return_annotation is kind


@each("owner", ["df.rank", "rankframe"])
@each(
    ("name", "there"),
    [
        ("nerr8", "metrics.nerr8"),
        ("overlap", "fusion.overlap"),
        ("catalog", "items.catalog"),
        ("judged", "metrics.judged"),
        ("slices", "plot.slices"),
        ("unj", "metrics.unjudged"),
        ("gaps", "compare_groups"),
        ("judges", "collection.label_agreement"),
        ("prediction", "collection.difficulty"),
        ("pool", "collection.pool"),
        ("interleave", "clicks.interleave"),
        ("expected_exposure", "items.expected_exposure"),
    ],
)
def test_a_name_of_a_topic_is_answered_by_where_it_is(name: str, there: str, owner: str) -> None:
    of: Any = rf if owner == "rankframe" else FRAME.rank
    with pytest.raises(AttributeError) as caught:
        getattr(of, name)
    said = there if of is not rf else f"df.rank.{there}"
    assert str(caught.value).endswith(f" has no attribute {name!r}. Did you mean {said!r}?")
    assert getattr(of, name, None) is None


def test_a_metric_that_was_declared_later_is_listed(top_heavy: None) -> None:
    assert "top_heavy" in dir(FRAME.rank)


def test_the_package_lists_public_names_alone() -> None:
    listed = [name for name in dir(rf) if not name.startswith("__")]
    modules = {"fusion", "io", "metrics", "plot", "report", "results", "stats"}
    assert listed == sorted({*rf.__all__, *modules})


@each(
    ("names", "wrong", "meant"),
    [
        (rf.METRICS, "mrr", "rr"),
        (rf.METRICS, "NDCG", "ndcg"),
        (rf.METRICS, "diversitymetric", "DiversityMetric"),
        (rf.CATALOG_METRICS, "coverge", "coverage"),
        (rf.AGREEMENTS, "tau", "kendall_tau"),
        (rf.FUSIONS, "RRF", "rrf"),
        (rf.fusion.NORMALIZATIONS, "minmax", "min_max"),
    ],
)
def test_a_list_by_name_proposes_the_entry_that_another_name_means(
    names: Mapping[str, object], wrong: str, meant: str
) -> None:
    with pytest.raises(KeyError, match=f"unknown .* '{wrong}'. Did you mean '{meant}'"):
        names[wrong]
    assert names.get(wrong) is None


@each("wrong", ["xyzzy", 3])
def test_a_list_by_name_names_its_entries_if_none_is_similar(wrong: Any) -> None:
    with pytest.raises(KeyError, match=f"unknown measure '{wrong}'. Known names: .* kendall_tau, .* rbo"):
        rf.AGREEMENTS[wrong]

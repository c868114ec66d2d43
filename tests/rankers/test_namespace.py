"""`.rank` on Polars' classes: there, light, and in nobody's way."""

from __future__ import annotations

import gc
import inspect
import weakref
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe._lift.polars import PolarsRanker
from rankframe.hook import Namespace
from tests.support.each import each
from tests.support.interpreters import run_after

FRAME = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]})


def test_frames_lazy_frames_and_the_function_give_the_same_ranker() -> None:
    wanted = [(1, 0.5)]
    assert FRAME.rank.reciprocal_rank().rows() == wanted
    assert rf.rank(FRAME).reciprocal_rank().rows() == wanted
    assert FRAME.lazy().rank.reciprocal_rank().collect().rows() == wanted
    assert rf.rank(FRAME.lazy()).reciprocal_rank().collect().rows() == wanted


@each("kind", [pl.DataFrame, pl.LazyFrame])
def test_the_class_itself_shows_the_ranker_for_help_and_completion(kind: type) -> None:
    assert kind.rank is PolarsRanker  # type: ignore[attr-defined]


def test_a_frame_is_freed_at_once_after_its_namespace_was_used() -> None:
    gc.disable()
    try:
        frame = FRAME.clone()
        frame.rank.precision(k=1)
        gone = weakref.ref(frame)
        del frame
        assert gone() is None
    finally:
        gc.enable()


def test_registering_again_and_reloading_neither_warn_nor_wrap() -> None:
    # in a process of its own: others hold the classes that are made anew
    code = """
        import importlib, polars as pl, rankframe as rf
        from rankframe import hook
        from rankframe._lift import polars
        frame = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]})
        hook.register()
        importlib.reload(polars)
        importlib.reload(rf)
        print(frame.rank.reciprocal_rank().rows())
    """
    assert run_after("import polars", code) == "[(1, 0.5)]"


def test_a_rank_of_polars_own_is_left_alone_and_the_function_carries_on() -> None:
    code = """
        import warnings, polars as pl
        pl.DataFrame.rank = lambda self: "polars' own"
        pl.api.register_dataframe_namespace = lambda name: (_ for _ in ()).throw(AttributeError(name))
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            import rankframe as rf
        frame = pl.DataFrame({"query_id": [1], "score": [1], "label": [1]})
        print(frame.rank(), rf.rank(frame).precision(k=1).row(0), *(w.message for w in seen), sep=" | ")
    """
    assert run_after("import polars", code).startswith(
        "polars' own | (1, 1.0) | Polars has a DataFrame.rank of its own; use rankframe.rank(df)"
    )


def test_methods_have_the_formulas_signature_and_docstring() -> None:
    method = FRAME.rank.ndcg
    assert list(inspect.signature(method).parameters) == ["k", "gain", "discount", "ideal", "min_label"]
    assert "Normalised DCG" in (inspect.getdoc(method) or "")


@each("name", rf.METRICS)
def test_every_metric_is_a_method_of_frames_and_of_expressions(name: str) -> None:
    function = rf.METRICS[name].formula.__name__
    assert callable(getattr(FRAME.rank.metrics, function))
    assert callable(getattr(rf.expr, function))


def test_on_gives_a_new_ranker_and_leaves_the_old_one() -> None:
    ranker = FRAME.rank
    strict = ranker.on(relevant=2)
    assert strict.on(ties="order").reciprocal_rank().rows() == [(1, 0.0)]
    assert ranker.reciprocal_rank().rows() == [(1, 0.5)]


@each("make", [pl.DataFrame, pl.DataFrame.lazy, pl.DataFrame.to_pandas])
def test_an_option_that_on_does_not_have_is_refused_by_the_nearest_or_the_signature(make: Any) -> None:
    with pytest.raises(rf.InvalidOption, match=r"^on has no option 'tie'\. Did you mean 'ties'\?$"):
        make(FRAME).rank.on(tie="order")
    with pytest.raises(rf.InvalidOption, match=r"^on: got an unexpected keyword argument 'foo'; its signature is on\("):
        make(FRAME).rank.on(foo="order")


def test_rankers_say_what_they_are() -> None:
    assert ".rank of a DataFrame" in repr(FRAME.rank)
    assert ".rank.evaluate('ndcg@10', 'map')" in repr(FRAME.rank)
    assert "rf.expr.ndcg(k=10)" in repr(rf.expr)


def test_anything_but_a_frame_is_refused() -> None:
    with pytest.raises(rf.InvalidData, match="int is no frame"):
        rf.rank(3)  # type: ignore[call-overload]


def test_the_namespace_makes_a_new_ranker_at_every_access() -> None:
    assert isinstance(vars(pl.DataFrame)["rank"], Namespace) or vars(pl.DataFrame)["rank"].rankframe
    assert FRAME.rank is not FRAME.rank


def test_what_is_listed_is_there() -> None:
    assert {"METRICS", "expr", "report", "io", "__version__"} <= set(dir(rf))
    for name in dir(rf):
        getattr(rf, name)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        rf.nonsense  # type: ignore[attr-defined]  # noqa: B018


def test_every_name_of_a_metric_in_texts_is_a_method_of_the_same_metric() -> None:
    names = {name: entry for entry in rf.METRICS.values() if entry.own for name in (entry.name, *entry.aliases)}
    methods = {name: getattr(rf.expr, name).__name__ for name in names if name.isidentifier()}
    assert methods == {name: names[name].formula.__name__ for name in methods}
    assert len(methods) > len(rf.METRICS)  # some metrics have several names
    frame = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]})
    assert frame.rank.mrr(k=[1, 2]).row(0) == (1, 0.0, 0.5)
    assert frame.rank.map().row(0) == (1, 0.5)


def test_the_types_of_rankers_are_public() -> None:
    frame = pl.DataFrame({"query_id": [1], "doc_id": ["a"], "score": [2.0], "label": [0]})
    for ranker in (frame.rank, frame.lazy().rank, rf.rank(frame), frame.to_pandas().rank):
        assert isinstance(ranker, rf.Ranker)
    assert isinstance(frame.to_pandas().rank, rf.PandasRanker)
    assert not isinstance(rf.expr, rf.Ranker)

"""The grid of options and hostile values: every call works, or is refused by an error of the library."""

from __future__ import annotations

import inspect
import random
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe._lift.ranker import Ranker
from rankframe._support.methods import Lifted
from tests.support.each import each
from tests.support.hostile import DECLARE, FUNCTIONS, HOSTILE, SAME, SLOW, TABLE, VERBS, Works

FRONTS: list[Callable[[pl.DataFrame], Any]] = [pl.DataFrame.clone, pl.DataFrame.to_pandas, pl.DataFrame.lazy]
NAMESPACES = ("fusion", "items", "collection", "clicks", "preferences", "plot")
NOT_THERE = FileNotFoundError, IsADirectoryError
"""What an option that names a file may raise."""

Calls = Iterable[tuple[str, str, Any, Callable[[], object]]]
"""A call each: its name, the option and its value, and the call."""


def options_of(function: Callable[..., Any]) -> list[str]:
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [x.name for x in inspect.signature(function).parameters.values() if x.kind not in several]


def of_grid(calls: Mapping[str, Works], of: Callable[[str, Works], Any], values: Callable[[], list[Any]]) -> Calls:
    """Each option of each function with each value, where the other arguments are those of a call that works."""
    for name, works in calls.items():
        function = of(name, works)
        parameters = inspect.signature(function).parameters.values()
        named = [x.name for x in parameters if x.kind is x.POSITIONAL_OR_KEYWORD]
        first = dict(zip(named, works.args, strict=False))
        rest = works.args[len(first) :]
        for option in options_of(function):
            for value in values():
                given: Any = {**first, **works.options, option: value}
                args = [given.pop(place) for place in first]
                yield name, option, value, partial(function, *args, *rest, **given)
        if any(x.kind is x.VAR_POSITIONAL for x in parameters):
            for value in values():
                yield name, "*", value, partial(function, *first.values(), *rest[:-1], value, **works.options)


def collected(found: Any) -> object:
    return found.collect() if isinstance(found, pl.LazyFrame) else found


def refused(calls: Calls) -> int:
    """How many calls are refused; each by an error of the library."""
    errors = [(f"{name}({option}={value!r:.60})", error_of(call)) for name, option, value, call in calls]
    raised = [(given, error) for given, error in errors if error is not None]
    foreign = [
        f"{given}: {type(error).__name__}: {error!s:.150}"
        for given, error in raised
        if not isinstance(error, (rf.RankframeError, *NOT_THERE))
    ]
    assert not foreign, f"{len(foreign)} foreign errors:\n" + "\n".join(foreign)
    return len(raised)


def error_of(call: Callable[[], object]) -> Exception | None:
    """The error that a call raises, if any; what it warns of is no matter."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rf.RankframeWarning)
            collected(call())
    except Exception as error:
        return error
    finally:
        if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
            pyplot.close("all")  # it warns of many open figures
    return None


def verbs_of(front: Callable[[pl.DataFrame], Any]) -> tuple[dict[str, Works], Callable[[str, Works], Any]]:
    """The verbs with their tables in a front, and what gives the method of a verb."""

    def fronted(works: Works) -> Works:
        args = tuple(front(x) if isinstance(x, pl.DataFrame) else x for x in works.args)
        return works._replace(args=args)

    def method(name: str, works: Works) -> Any:
        return attrgetter(name)(rf.rank(front(works.table)))

    return {name: fronted(works) for name, works in VERBS.items()}, method


def sampled(seed: str, n: int) -> Callable[[], list[Any]]:
    return partial(random.Random(seed).sample, HOSTILE, n)


def test_the_grid_has_every_verb_and_every_function() -> None:
    verbs = {name for name, x in vars(Ranker).items() if isinstance(x, Lifted) and name not in rf.METRICS}
    of_metrics = {alias for metric in rf.METRICS.values() for alias in (metric.name, metric.formula.__name__)}
    ranker = TABLE.rank
    within = {f"{space}.{x}" for space in NAMESPACES for x in dir(getattr(ranker, space)) if not x.startswith("_")}
    assert (verbs - of_metrics | within) - SAME.keys() == VERBS.keys() - {"on"}
    functions = {name for name in rf.__all__ if inspect.isfunction(getattr(rf, name))}
    assert functions - DECLARE == FUNCTIONS.keys() - {"Accumulator"}


def test_an_option_that_is_not_there_is_told_in_two_lines_with_the_call_that_is() -> None:
    ranker = rf.rank(TABLE)
    calls = {name: (attrgetter(name)(ranker), works) for name, works in VERBS.items()}
    calls |= {f"rf.{name}": (getattr(rf, name), works) for name, works in FUNCTIONS.items() if name != "unregister"}
    for name, (function, works) in calls.items():
        with pytest.raises(rf.InvalidOption) as caught:
            function(*works.args, **works.options, zzz=1)
        message = str(caught.value)
        assert "'zzz'" in message, name
        assert f"its signature is {name.split('.')[-1]}(" in message, name
        assert len(message) <= 200, name


@each("front", FRONTS)
def test_no_value_of_an_option_gives_an_error_of_another_library(
    front: Callable[[pl.DataFrame], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    verbs, method = verbs_of(front)
    quick = {name: works for name, works in verbs.items() if not name.startswith(SLOW)}
    for name, works in quick.items():
        collected(method(name, works)(*works.args, **works.options))
    assert refused(of_grid(quick, method, sampled(front.__name__, 2))) > 300


READS = {
    "subtopic": "alpha_ndcg", "weight": "dcg", "propensity": "dcg", "stratum": "xinf_ap", "inclusion": "stat_ap",
    "cost": "time_biased_gain", "category": "category_diversity@2", "group": "group_exposure(of=a)@2", "features": "ild@2",
    "base": "p_mrr", "interactions": "novelty@2", "items": "hole@2",
}  # fmt: skip
"""A metric that reads an option of `on`, of those that others leave alone."""


def asked(**options: Any) -> object:
    """A metric of relevance, or the one that reads an option of `on`."""
    return TABLE.rank.on(**options).evaluate(*(READS.get(name, "map") for name in options))


def asked_of_expressions(**options: Any) -> object:
    return TABLE.group_by("query_id").agg(rf.expr.on(**options).ndcg(k=2))


def of_on(call: Callable[..., object], values: Callable[[], list[Any]]) -> Calls:
    """Each option of `on` with each value."""
    for option in options_of(TABLE.rank.on):
        for value in values():
            yield call.__name__, option, value, partial(call, **{option: value})


def test_no_option_of_on_gives_an_error_of_another_library() -> None:
    assert refused(of_on(asked, sampled("on", 20))) > 400


def built(**options: Any) -> object:
    """An expression, before any table: columns that are not there are Polars' to name."""
    return rf.expr.on(**options).ndcg(k=2)


def test_no_option_of_on_of_expressions_gives_an_error_of_another_library() -> None:
    assert refused(of_on(built, sampled("expr", 20))) > 300


def function_of(name: str, _: Works) -> Any:
    return getattr(rf, name)


def test_no_value_of_an_option_of_a_function_gives_an_error_of_another_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # some values are names of files that can be written
    assert refused(of_grid(FUNCTIONS, function_of, sampled("functions", 6))) > 120


def every() -> list[Any]:
    return HOSTILE


@pytest.mark.nightly
@pytest.mark.parametrize("name", VERBS)
def test_no_hostile_value_of_a_verb_gives_an_error_of_another_library(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for front in FRONTS:
        verbs, method = verbs_of(front)
        refused(of_grid({name: verbs[name]}, method, every))


@pytest.mark.nightly
def test_no_hostile_value_of_on_or_of_a_function_gives_an_error_of_another_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused(of_on(asked, every))
    refused(of_on(built, every))
    refused(of_grid(FUNCTIONS, function_of, every))

"""Options of every verb and function: each is read by its annotation, and a wrong value gives an error of the library."""

from __future__ import annotations

import inspect
import io
import math
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankframe as rf
from rankframe._lift.ranker import FrameRanker
from rankframe._support.methods import Lifted, called_by_users
from rankframe._support.option_kinds import kinds_of
from rankframe._support.option_values import Range
from rankframe._table.setup import OPTIONS
from rankframe.plot import PLOTS, Plots
from tests.support.each import each

HOSTILE: list[Any] = [
    None, True, 0, -1, 5, 2**64, 10**400, 1.5, float("nan"), float("inf"), "", "x", "\ud800", b"x", [], {}, (), set(), [None],
    ["nope"], {"a": 1}, {"x": object()}, object(), int, len, np.array([1.0, 2.0]), pl.Series([1]), pl.lit(1),
    pl.DataFrame({"a": [1]}), pd.DataFrame({"a": [1]}), pd.Series(["a"]), Fraction(1, 3), ..., [object()], [[1]], [10**400],
    [float("nan")], np.int64(3), Exception("x"),
]  # fmt: skip

TABLE = pl.DataFrame(
    {"query_id": [1, 1, 1, 2, 2, 2], "doc_id": [*"abc"] * 2, "label": [1, 0, 2, 0, 1, 0], "side": [*"xxxyyy"]}
).with_columns(score=pl.Series([3.0, 2, 1, 1, 2, 3]), s2=pl.Series([1.0, 2, 3, 3, 1, 2]))
RUN, QRELS = TABLE.drop("label"), TABLE.select("query_id", "doc_id", "label")
FRONTS: list[Callable[[pl.DataFrame], Any]] = [pl.DataFrame.clone, pl.DataFrame.to_pandas, pl.DataFrame.lazy]
TWO: dict[str, Any] = {"runs": ["score", "s2"]}
QUICK: dict[str, Any] = {"resamples": 100, "progress": False}
VERBS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "with_ranks": ((), {}),
    "judge": ((TABLE.select("query_id", "doc_id", rel="label").rename({"rel": "label"}),), {}),
    "agreement": (("s2", "kendall_tau"), {}),
    "conventions": (("ndcg@3",), {}),
    "mean": (("map",), TWO),
    "summarize": (("map",), QUICK),
    "compare": (("map",), TWO | QUICK),
    "power": (("map",), {**TWO, "difference": 0.1}),
    "gate": (({"map": 0.1},), TWO | QUICK),
    "fuse": (("wsum",), TWO),
    "fusion.explain": (("rrf",), TWO),
    "fusion.overlap": ((), TWO),
    "fusion.oracle": (("map",), TWO | QUICK),
    "expected_exposure": ((), TWO),
    "fusion.fit": (("posfuse",), TWO),
    "tune": (("wsum",), TWO | QUICK | {"step": 0.5, "folds": 2}),
    "items.exposure": ((), {}),
    "items.catalog": (("coverage@2",), {"items": 9, **QUICK}),
    "items.compare": (("coverage@2",), TWO | QUICK | {"items": 9}),
    "items.counts": (("coverage@2",), {"items": 9}),
    "gaps": (("map",), {"by": "side", **QUICK}),
    "on": ((), {}),
}
"""A call of each verb that works."""

FUNCTIONS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "fuse": (([TABLE, TABLE], "rrf"), {}),
    "fit_fusion": ((TABLE, "posfuse"), TWO),
    "evaluate": ((RUN, QRELS, "map"), {}),
    "mean": ((RUN, QRELS, "map"), {}),
    "summarize": ((RUN, QRELS, "map"), QUICK),
    "compare": (([RUN, RUN], QRELS, "map"), QUICK),
    "gate": (([RUN, RUN], QRELS, {"map": 0.5}), QUICK),
    "write_run": ((TABLE, io.BytesIO()), {}),
    "write_qrels": ((TABLE, io.BytesIO()), {}),
    "from_lists": ((pl.DataFrame({"query_id": [1], "retrieved": [["a"]], "relevant": [["a"]]}),), {}),
    "from_dicts": ((), {"run": {"q": {"a": 1.0}}, "qrels": {"q": {"a": 1}}}),
    "from_arrays": ((), {"scores": [[0.5, 0.2]], "labels": [[1, 0]]}),
    "parse": (("ndcg@10",), {}),
    "lightgbm_metric": (("ndcg@3",), {}),
    "Accumulator": (("ndcg@3",), {}),
}

READ_INSIDE = {"runs", "method", "fusion", "budgets", "path", "weight", "text", "sequential"}
"""Options that the verbs read themselves, with more to say of a wrong value."""

TYPES_OF_OTHERS = {
    "ax", "bounds", "beyond", "corpus", "dtype", "frame", "group", "label_dtype", "labels", "needs", "pool", "qrels", "queries",
    "query", "run", "scores", "source", "train",
}  # fmt: skip
"""Options that take arrays, tables or types of other libraries."""


def documented() -> Iterator[tuple[str, Callable[..., Any]]]:
    lifted = [(name, x.function) for name, x in vars(FrameRanker).items() if isinstance(x, Lifted)]
    yield from lifted
    for name in PLOTS:
        yield name, next(vars(kind)[name].function for kind in Plots.__mro__ if name in vars(kind))
    yield from ((f"rf.{name}", x) for name in rf.__all__ if inspect.isfunction(x := getattr(rf, name)))


def options_of(function: Callable[..., Any]) -> list[str]:
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [x.name for x in inspect.signature(function).parameters.values() if x.kind not in several]


def test_every_option_is_read_by_its_annotation() -> None:
    functions = dict(documented())
    assert len(functions) > 55
    for name, function in functions.items():
        kinds = kinds_of(function)[1]
        unread = {*options_of(inspect.unwrap(function))} - {"table", "self", *OPTIONS} - kinds.keys()
        assert unread <= READ_INSIDE | TYPES_OF_OTHERS, name


def collected(found: Any) -> object:
    return found.collect() if isinstance(found, pl.LazyFrame) else found


def sampled(
    calls: dict[str, tuple[tuple[Any, ...], dict[str, Any]]], of: Callable[[str], Any], draw: random.Random, n: int
) -> Iterator[tuple[str, str, Any, Callable[[], object]]]:
    for name, (args, options) in calls.items():
        function = of(name)
        places = options_of(function)
        for option in places:
            for value in draw.sample(HOSTILE, n):
                given: Any = {**dict(zip(places, args, strict=False)), **options, option: value}
                first = [given.pop(place) for place in places[: len(args)] if place in given]
                yield name, option, value, partial(function, *first, *args[len(first) :], **given)


def refused(name: str, option: str, value: Any, call: Callable[[], object]) -> bool:
    """Whether the call is refused, and so by an error of the library."""
    try:
        collected(call())
    except (rf.RankframeError, OSError):
        return True
    except Exception as error:
        raise AssertionError(f"{name}({option}={value!r:.80})") from error
    return False


@each("front", FRONTS)
@pytest.mark.filterwarnings("ignore::rankframe.RankframeWarning")
def test_no_value_of_an_option_gives_an_error_of_another_library(front: Callable[[pl.DataFrame], Any]) -> None:
    def method(name: str) -> Any:
        table = TABLE.drop("label") if name == "judge" else TABLE
        return attrgetter(name)(rf.rank(front(table)))

    verbs = {
        name: (tuple(front(x) if isinstance(x, pl.DataFrame) else x for x in args), options)
        for name, (args, options) in VERBS.items()
    }
    for name, (args, options) in verbs.items():
        collected(method(name)(*args, **options))
    draw = random.Random(front.__name__)
    assert sum(refused(*each) for each in sampled(verbs, method, draw, 2)) > 200


@pytest.mark.filterwarnings("ignore::rankframe.RankframeWarning")
def test_no_value_of_an_option_of_a_function_gives_an_error_of_another_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # some values are names of files that can be written
    for name, (args, options) in FUNCTIONS.items():
        getattr(rf, name)(*args, **options)
    assert sum(refused(*each) for each in sampled(FUNCTIONS, partial(getattr, rf), random.Random(1), 15)) > 300


def test_resamples_have_an_upper_bound() -> None:
    with pytest.raises(
        rf.InvalidOption, match="resamples=18446744073709551616: write a whole number from 1 to 10,000,000"
    ):
        TABLE.rank.summarize("map", resamples=2**64)


@each("given", [5, 0, float("nan"), True, object()])
def test_runs_are_a_list_or_a_mapping(given: Any) -> None:
    with pytest.raises(rf.InvalidOption, match=r"^runs=.*: write a list of columns' names, a mapping"):
        TABLE.rank.mean("map", runs=given)


def test_no_runs_in_a_list_or_a_mapping_are_no_runs() -> None:
    alone = TABLE.rank.mean("map")
    assert TABLE.rank.mean("map", runs=[]).equals(alone)
    assert TABLE.rank.mean("map", runs={}).equals(alone)


@each(
    ("call", "message"),
    [
        (lambda r: r.summarize("map", progress=3), "progress=3: write True or False"),
        (lambda r: r.power("map", difference=b"x", **TWO), "difference=b'x': write a finite number above 0 or a list"),
        (lambda r: r.mean("map", by={}), r"by=\{\}: write a list of columns' names, a column's name or None"),
        (lambda r: r.with_ranks(name=5), "name=5: write text or None"),
        (lambda r: r.agreement(5.5, "kendall_tau"), "no column '5.5'"),
        (lambda r: r.on(category=[]), r"\[\] is no column name"),
    ],
)
def test_values_that_passed_or_broke_are_refused(call: Callable[[Any], object], message: str) -> None:
    with pytest.raises(rf.RankframeError, match=message):
        call(TABLE.rank)


def test_deep_json_of_a_trained_method_is_refused() -> None:
    with pytest.raises(rf.InvalidData, match="is no JSON of a trained"):
        rf.results.FittedFusion.from_json("[" * 100_000)


Confidence: TypeAlias = Annotated[float, Range(above=0, below=1)]


@called_by_users
def interval(
    *metrics: str,
    ci: Confidence | None = 0.95,
    method: Literal["bca", "percentile", "t"] = "bca",
    resamples: Annotated[int, Range(least=1, most=10_000_000)] = 1000,
    seed: Annotated[int, Range(least=0)] = 0,
) -> tuple[object, ...]:
    """A function with the options of statistics."""
    return metrics, ci, method, resamples, seed


@each(
    ("options", "message"),
    [
        *(({"ci": ci}, "ci=.*: write a number between 0 and 1 or None") for ci in (95, 0, 1, "0.95", True, math.nan)),
        *(
            ({"resamples": n}, "resamples=.*: write a whole number from 1 to 10,000,000")
            for n in (0, 1.5, True, None, 2**64, 10**400)
        ),
        *(({"seed": seed}, "seed=.*: write a whole number from 0 on") for seed in (-1, 0.5, False, None)),
        ({"method": "percentil"}, r"method='percentil': .* 'bca', 'percentile', 't'\. Did you mean 'percentile'\?"),
        (
            {"ties": "order"},
            r"interval: got an unexpected keyword argument 'ties'; its signature is interval\(\*metrics",
        ),
    ],
)
def test_an_option_of_statistics_is_read_by_its_annotation(options: dict[str, Any], message: str) -> None:
    with pytest.raises(rf.InvalidOption, match=f"^{message}"):
        interval("map", **options)


def test_numbers_of_other_libraries_are_pythons_own_once_read() -> None:
    found = interval("map", ci=np.float32(0.5), resamples=np.int64(7), seed=np.uint8(3))
    assert found == (("map",), 0.5, "bca", 7, 3)
    assert [type(x) for x in found[1:]] == [float, str, int, int]

"""A law over many values is one test, which goes through them and reports each case that fails by its values.

    @each("text", ["ndcg@10", "map"])
    @each("kind", KINDS)
    def test_...(text, kind): ...

takes what ``pytest.mark.parametrize`` takes, and runs the test for every combination. With ``sample=60`` a run takes 60 of
them, drawn by the test's name, so that every value of a shorter axis occurs; ``pytest --all-cases`` takes all.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet

Test = Callable[..., None]

MOST_FAILURES = 10
"""A law ends after so many cases that failed: the next ones would say the same."""


@dataclass(frozen=True)
class Axis:
    """Values of one or several parameters, with the names by which a report tells them apart."""

    names: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    ids: tuple[str, ...]

    @classmethod
    def of(
        cls, names: str | Sequence[str], values: Iterable[Any], ids: Sequence[Any] | Callable[[Any], Any] | None
    ) -> Axis:
        """The axis of the arguments of ``parametrize``."""
        words = tuple(x.strip() for x in names.split(",") if x.strip()) if isinstance(names, str) else tuple(names)
        given = [ParameterSet.extract_from(x, force_tuple=len(words) == 1) for x in values]
        assert given, f"no values for {words}"
        assert not any(x.marks for x in given), "a case of a law has no marks of its own"
        assert all(len(x.values) == len(words) for x in given), f"not every case has {words}"
        written = list(ids) if ids is not None and not callable(ids) else [None] * len(given)
        called = ids if callable(ids) else (lambda value: None)

        def name(x: ParameterSet, wanted: Any) -> str:
            fixed = x.id if x.id is not None else wanted
            if fixed is not None:
                return str(fixed)
            found = ((called(value), value) for value in x.values)
            return "-".join(_short(value) if word is None else str(word) for word, value in found)

        return cls(words, tuple(tuple(x.values) for x in given), tuple(map(name, given, written)))


def _short(value: Any) -> str:
    text = getattr(value, "__name__", None) or repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def each(
    names: str | Sequence[str],
    values: Iterable[Any],
    *,
    ids: Sequence[Any] | Callable[[Any], Any] | None = None,
    sample: int | None = None,
) -> Callable[[Test], Test]:
    """Run a test for each value, as one test; above another ``each``, for each combination."""
    axis = Axis.of(names, values, ids)

    def law(test: Test) -> Test:
        inner, axes, drawn = getattr(test, "law", (test, (), None))
        return _law(inner, (axis, *axes), sample if drawn is None else drawn)

    return law


def _law(test: Test, axes: tuple[Axis, ...], sample: int | None) -> Test:
    looped = {name for axis in axes for name in axis.names}
    wanted = inspect.signature(test).parameters
    assert looped <= set(wanted), f"{looped - set(wanted)} are no parameters of the test"

    @functools.wraps(test)
    def run(**fixtures: Any) -> None:
        subtests, config = fixtures.pop("law_subtests"), fixtures.pop("law_config")
        failed = 0
        for i, case in enumerate(cases(axes, None if config.getoption("--all-cases") else sample, test.__qualname__)):
            given = {name: value for axis, at in zip(axes, case, strict=True) for name, value in _named(axis, at)}
            with ExitStack() as stack:
                own = {name: _fresh(name, fixtures[name], i, stack) for name in wanted if name in fixtures}
                try:
                    test(**own, **given)
                except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:
                    with subtests.test("-".join(axis.ids[at] for axis, at in zip(axes, case, strict=True))):
                        raise
                    failed += not isinstance(error, pytest.skip.Exception)
            if failed == MOST_FAILURES:
                pytest.fail(f"{failed} cases failed; those after them did not run")

    fixtures = [x for name, x in wanted.items() if name not in looped]
    of_law = [inspect.Parameter(x, inspect.Parameter.KEYWORD_ONLY) for x in ("law_subtests", "law_config")]
    kept = [x.replace(kind=inspect.Parameter.KEYWORD_ONLY) for x in fixtures]
    run.__signature__ = inspect.Signature([*kept, *of_law])  # type: ignore[attr-defined]
    run.law = (test, axes, sample)  # type: ignore[attr-defined]
    return run


def _named(axis: Axis, at: int) -> Iterator[tuple[str, Any]]:
    return zip(axis.names, axis.values[at], strict=True)


def _fresh(name: str, fixture: Any, i: int, stack: ExitStack) -> Any:
    """A fixture of pytest as the test of a case finds it: an empty folder, nothing patched, nothing printed or warned."""
    if name == "tmp_path":
        (folder := fixture / f"case-{i}").mkdir()
        return folder
    if name == "monkeypatch":
        return stack.enter_context(pytest.MonkeyPatch.context())
    if name in ("capsys", "capfd"):
        fixture.readouterr()
    elif name == "recwarn":
        fixture.clear()
    return fixture


def cases(axes: Sequence[Axis], sample: int | None, seed: str) -> Iterable[tuple[int, ...]]:
    """The places of the cases on their axes: every combination, or a sample in which every value of a shorter axis occurs."""
    lengths = [len(axis.values) for axis in axes]
    every = itertools.product(*map(range, lengths))
    if sample is None or sample >= math.prod(lengths):
        return every
    rng = random.Random(seed)

    def shuffled(n: int) -> Iterator[int]:
        while True:
            yield from rng.sample(range(n), n)

    places = zip(*(shuffled(n) for n in lengths), strict=True)
    drawn = dict.fromkeys(itertools.islice(places, sample))
    return sorted(drawn)

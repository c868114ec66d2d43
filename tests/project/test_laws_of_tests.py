"""A law over many values is one test, which names each case that fails."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.each import MOST_FAILURES, Axis, cases, each


class Reported:
    """What a law reports of its cases, in the place of pytest's own fixture."""

    def __init__(self, *, all_cases: bool = False) -> None:
        self.failed: list[str] = []
        self.all_cases = all_cases

    @contextmanager
    def test(self, name: str) -> Iterator[None]:
        try:
            yield
        except (AssertionError, pytest.skip.Exception):
            self.failed.append(name)

    def getoption(self, name: str) -> bool:
        assert name == "--all-cases"
        return self.all_cases

    def run(self, law: Callable[..., None], **fixtures: Any) -> list[str]:
        law(**fixtures, law_subtests=self, law_config=self)
        return self.failed


def test_each_case_that_fails_is_named_and_the_others_run() -> None:
    seen = []

    @each("a", [1, 2])
    @each("b, c", [(1, 1), pytest.param(2, 2, id="twos")])
    def law(a: int, b: int, c: int) -> None:
        seen.append((a, b, c))
        if a == c == 2:
            pytest.skip("no such case")
        assert a + b != 3

    assert Reported().run(law) == ["1-twos", "2-1-1", "2-twos"]
    assert seen == [(1, 1, 1), (1, 2, 2), (2, 1, 1), (2, 2, 2)]


@each("x", ["a", "b"])
def test_each_case_finds_its_fixtures_as_new(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    recwarn: pytest.WarningsRecorder,
    x: str,
) -> None:
    assert not [*tmp_path.iterdir(), *recwarn.list]
    assert "LAW" not in os.environ
    (tmp_path / "file").touch()
    monkeypatch.setenv("LAW", x)
    print(x)
    assert capsys.readouterr().out == f"{x}\n"
    print(x)  # which the next case does not find
    warnings.warn(x, stacklevel=1)


def test_many_failures_end_a_law() -> None:
    @each("x", range(100))
    def law(x: int) -> None:
        raise AssertionError

    reported = Reported()
    with pytest.raises(pytest.fail.Exception, match=f"{MOST_FAILURES} cases failed"):
        reported.run(law)
    assert reported.failed == [str(x) for x in range(MOST_FAILURES)]


def test_a_sample_holds_every_value_of_a_shorter_axis_and_is_always_the_same() -> None:
    axes = [Axis.of("a", range(7), None), Axis.of("b", range(20), None)]
    drawn = list(cases(axes, 20, "name"))
    assert len(set(drawn)) == 20
    assert ({a for a, _ in drawn}, {b for _, b in drawn}) == (set(range(7)), set(range(20)))
    assert drawn == list(cases(axes, 20, "name")) != list(cases(axes, 20, "other name"))
    assert len(list(cases(axes, None, "name"))) == len(list(cases(axes, 200, "name"))) == 140


def test_all_cases_run_where_they_are_asked_for() -> None:
    seen = []

    @each("x", range(100), sample=5)
    def law(x: int) -> None:
        seen.append(x)

    Reported().run(law)
    assert len(set(seen)) == 5
    Reported(all_cases=True).run(law)
    assert len(seen) == 105


def test_a_law_says_what_is_wrong_with_its_declaration() -> None:
    def law(x: int) -> None:
        raise AssertionError

    with pytest.raises(AssertionError, match=r"\{'y'\} are no parameters"):
        each("y", [1])(law)
    with pytest.raises(AssertionError, match="no values"):
        each("x", [])(law)
    with pytest.raises(AssertionError, match="not every case"):
        each("x, y", [(1,)])(law)
    with pytest.raises(AssertionError, match="no marks"):
        each("x", [pytest.param(1, marks=pytest.mark.scale)])(law)
    assert Axis.of("x", [len, "a" * 99, Path("p")], None).ids[0] == "len"
    assert Axis.of("x", [1, 2], lambda x: f"<{x}>" if x > 1 else None).ids == ("1", "<2>")

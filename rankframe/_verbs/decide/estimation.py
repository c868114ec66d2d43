"""The estimator that a call asks for, what the call may ask of it, and its options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import get_args

from ..._catalog.call import Call
from ..._catalog.requests import refuse_geometric
from ..._statistics.estimate import Estimate, Estimator
from ..._statistics.estimators import ESTIMATORS
from ..._statistics.sample import Sample
from ..._support.floats import Floats
from ..._support.progress import Progress
from ..._support.statistical_options import Bound, OfDifferences, Test
from ...errors import InvalidOption, Text, option
from ..sample.judged import KINDS, Help
from ..sample.resampling import Resampling
from .sequential import AGAIN, Looks

OF_KNOWN: Sequence[tuple[Estimator, Text]] = [
    (ESTIMATORS[kind], option(**{name: ...})) for name, kind in KINDS.items()
]
"""How a call asks for the estimators of few judged queries."""

OF_INTERVALS: Sequence[tuple[Estimator, Text]] = [
    (ESTIMATORS[name], option(interval=name))
    for name in get_args(OfDifferences)
    if name not in get_args(Test)
]
"""How `compare` asks for the estimators that are no test."""

OF_TESTS = [
    *((ESTIMATORS[name], option(test=name)) for name in get_args(Test)),
    *OF_INTERVALS,
    *OF_KNOWN,
]
"""How `compare` asks for its estimators."""

OF_GATES: Sequence[tuple[Estimator, Text]] = [
    *((ESTIMATORS[name], option(interval=name)) for name in get_args(Bound)),
    (ESTIMATORS["sequential"], AGAIN),
    *OF_KNOWN,
]
"""How `gate` asks for its estimators."""


@dataclass(frozen=True)
class Estimation:
    """An estimator with its options.

    Attributes
    ----------
    estimator
        The estimator.
    resampling
        The confidence of intervals, the resamples and the seed.
    options
        Further options, of which it reads its own.
    """

    estimator: Estimator
    resampling: Resampling
    options: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def by(cls, name: str, resampling: Resampling) -> Estimation:
        """The estimation by a named estimator without further options."""
        return cls(ESTIMATORS[name], resampling)

    def of(self, sample: Sample, step: Progress) -> Estimate:
        """The estimate of each column."""
        how = self.resampling
        draws = {"resamples": how.resamples, "seed": how.seed, "step": step}
        return self.estimator(sample, how.ci, **draws, **self.options)

    def mean(self, sample: Sample) -> Floats:
        """The mean of each column alone."""
        options = self.estimator.own(self.estimator.mean, self.options)
        return self.estimator.mean(sample, **options)

    def enough(self, share: float, ci: float) -> int:
        """After how many queries without a change a bound rules out a loss.

        The loss is a share of the values' range.
        """
        options = self.estimator.own(self.estimator.enough, self.options)
        return self.estimator.enough(share, ci, **options)


@dataclass(frozen=True)
class Choice:
    """Which estimator a call asks for.

    Attributes
    ----------
    estimator
        The estimator.
    asked_by
        How the call asks for it.
    ways
        How calls of the verb ask for others.
    """

    estimator: Estimator
    asked_by: Text
    ways: Sequence[tuple[Estimator, Text]]

    @classmethod
    def of_test(cls, test: Test, interval: OfDifferences, known: Help) -> Choice:
        """The choice of a comparison.

        It is the estimator for what is known of the queries, else the test, else the interval.
        """
        name: str = test
        asked_by: Text = option(test=test)
        if known.estimator is not None:
            name = known.estimator
            asked_by = known.given
        elif test == "auto" and interval != "auto":
            name = interval
            asked_by = option(interval=interval)
        return cls(ESTIMATORS[name], asked_by, OF_TESTS)

    @classmethod
    def of_bound(cls, interval: Bound, looks: Looks, known: Help) -> Choice:
        """The choice of a gate.

        It is the estimator for what is known of the queries, else that of several looks, else the
        interval.
        """
        name: str = interval
        asked_by: Text = option(interval=interval)
        if known.estimator is not None:
            name = known.estimator
            asked_by = known.given
        elif looks.estimator is not None:
            name = looks.estimator
            asked_by = "a sequential gate"
        return cls(ESTIMATORS[name], asked_by, OF_GATES)

    @property
    def is_test(self) -> bool:
        """Whether the call asks by a test or an interval, and not by what is known of queries."""
        return all(self.estimator is not row for row, _ in OF_KNOWN)

    def checked(self, ci: float | None = 0.95, **options: tuple[object, object]) -> Choice:
        """The same choice; refuse options that the estimator does not take.

        Each option comes with its value and its default.
        """
        self.estimator.refuse_others(self.asked_by, options, self.ways)
        if ci is None and "confidence" in self.estimator.needs:
            raise InvalidOption(self.asked_by, " needs an interval; write ", option(ci=0.95))
        return self

    def refuse_metrics(self, calls: Sequence[Call]) -> None:
        """Refuse metrics without the means or the values that the estimator needs."""
        needs = {*self.estimator.needs}
        if "plain means" in needs:
            refuse_geometric(calls)
        for call in calls:
            if call.of_pairs and needs & {"runs", "known"}:
                says = f" needs a value of each run, and {call.text} compares two; leave it out"
                raise InvalidOption(self.asked_by, says)
